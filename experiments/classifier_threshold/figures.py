"""Figures of the classifier's threshold: simulations with the exact law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments._law_histogram import counts_with_law, law_histogram
from experiments._method_names import colors_of
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import binomial_error
from simstudy.documents.stats.quantile_bootstrap import BOOTSTRAP, resample
from simstudy.documents.stats.threshold_theory import threshold_cdf, threshold_density
from simstudy.documents.stats.thresholds import METHODS, N_SHOWN, n_low, order_law
from simstudy.figures import (
    caption,
    captions,
    density_plot,
    dots_plot,
    in_order,
    rows_like,
    theme,
)
from simstudy.figures.panels import words_in_panels
from simstudy.lazy import ggplot, p9, pd
from simstudy.tables.rounding import with_error

# The document's coverage table, and the replicates behind it.
PUBLISHED = {"bca strict": 0.780, "normal": 0.684, "basic": 0.652, "percentile": 0.640}
N_SIM = 250
# What else it says of coverage: 66% of its simulated quantiles are too high, below figure 1; the
# umbrella's smallest score is safe in 92%, exactly, in the table for n = 50.
PUBLISHED_BESIDE = {"empirical": (0.34, N_SIM), "umbrella": (0.92, np.inf)}

LABELS = {
    "empirical": "empirical quantile",
    "percentile": "percentile",
    "basic": "basic",
    "normal": "normal bootstrap",
    "bca strict": "BCa, ties left out",
    "bca mid": "BCa, ties by half",
    "bca weak": "BCa, ties counted",
    "umbrella": "umbrella",
    "tolerance": "normal tolerance",
}
COLORS = colors_of(LABELS[name] for name in ("bca strict", "umbrella"))
TIES = (
    "BCa shifts its quantiles by the share of resampled quantiles below the test set's own; about "
    "one in ten equals it, and such ties are left out, counted by half, or counted in full."
)
NONE = "none"  # resamples of a method without a bootstrap
N_BINS = 20
Draws = Float[np.ndarray, " draw"]


def share_in_words(hits: Any) -> str:
    """A proportion with two Monte Carlo standard errors."""
    share = float(np.mean(hits))
    rounded = with_error(share, 2 * float(binomial_error(share, len(hits))))
    return f"{rounded.value} ± {rounded.error}"


# ---------------------------------------------------------------- 1
def figure_1(result: Result) -> ggplot:
    """Empirical thresholds and the true one, with their exact law."""
    scenario = _exactly(result)
    drawn = result.columns(scenario, "threshold")["threshold"][:, METHODS.index("empirical")]
    edges, truth = _edges(drawn), scenario.true_threshold
    law = order_law("empirical", scenario.n_obs, scenario.target)
    assert law is not None
    upto = threshold_cdf(scenario.scores, law, np.append(edges, truth))
    bars = counts_with_law(drawn, edges, np.diff(upto[:-1]))
    figure = law_histogram(bars, x="threshold", dashed=truth)
    return figure + p9.labs(
        x=f"empirical threshold for {scenario.sensitivity:.0%} sensitivity",
        caption=caption(
            f"Dashed: the true threshold. Too high: {share_in_words(drawn > truth)} of "
            f"{len(drawn):,} test sets of {scenario.n_obs} positive cases; exactly "
            f"{1 - upto[-1]:.3f}.",
            captions.PLUS_MINUS,
            figure.labels.caption,
        ),
    )


def _exactly(result: Result) -> Any:
    """The first scenario whose bootstraps are exact: its test sets are described."""
    first = result.plan.scenarios[0]
    about = {name: getattr(first, name) for name in ("n_obs", "sensitivity", "confidence")}
    return result.scenario(**about, n_boot=0)


def _edges(drawn: Draws) -> Draws:
    return np.linspace(drawn.min(), drawn.max(), N_BINS + 1)


# ---------------------------------------------------------------- the coverage table
def figure_coverage(result: Result) -> ggplot:
    """The coverage table: every method, with infinitely many resamples and with 1000."""
    first = result.plan.scenarios[0]
    rows = rows_like(result.summary, first, "n_obs", "sensitivity", "confidence")
    figure = dots_plot(
        by_resamples(rows, LABELS), measure="coverage", y="method", color="resamples",
        nominal=first.confidence, published=_published_coverage(), in_figures=True,
    )  # fmt: skip
    return figure + captions.titles(
        figure.labels.caption,
        "Rows without a cross are not in the document, and the umbrella's is exact there.",
        TIES,
        x="coverage: share of thresholds that keep the sensitivity",
        size=(theme.FULL_WIDTH, 5.2),
    )


def _published_coverage() -> pd.DataFrame:
    """The document's value for each method, with the error of its replicates."""
    said = {name: (share, N_SIM) for name, share in PUBLISHED.items()} | PUBLISHED_BESIDE
    shares, sizes = np.transpose(list(said.values()))
    error = np.where(np.isfinite(sizes), binomial_error(shares, sizes), np.nan)
    methods = [LABELS[name] for name in said]
    return pd.DataFrame({"method": methods, "estimate": shares, "mcse": error})


def by_resamples(rows: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """Rows with labels for methods; methods without a bootstrap have a single row."""
    rows = rows[(rows["n_boot"] == 0) | rows["method"].isin(BOOTSTRAP)]
    words = {n: f"{n:,}" if n else "infinitely many" for n in sorted(rows["n_boot"].unique())}
    resamples = rows["n_boot"].map(words).where(rows["method"].isin(BOOTSTRAP), NONE)
    order = {said: said for said in (*words.values(), NONE) if said in set(resamples)}
    resamples = in_order(resamples, order)
    return rows.assign(method=in_order(rows["method"], labels), resamples=resamples)


# ---------------------------------------------------------------- 2
def figure_2(result: Result) -> ggplot:
    """Bootstrap distributions of the quantile of the first test sets: drawn, and exactly."""
    scenario = _exactly(result)
    names = ("threshold", "bootstrap_mean", "bootstrap_skewness")
    stored = result.columns(scenario, *names)
    estimate = stored["threshold"][:, METHODS.index("empirical")]
    mean, skewness = stored["bootstrap_mean"], stored["bootstrap_skewness"]
    shown = [_bootstrap_of(result, scenario, i, estimate[i], mean[i]) for i in range(N_SHOWN)]
    bars, lines = (pd.concat(frames) for frames in zip(*shown, strict=True))
    figure = law_histogram(bars, x="threshold", panel="panel")
    return (
        figure
        + p9.geom_vline(
            p9.aes(xintercept="value"), lines[lines["line"] == QUANTILE], color=theme.INK,
            linetype="dashed", size=0.7,
        )
        + p9.geom_point(
            p9.aes("value", "height", shape="line"), lines[lines["line"] == MEAN], size=3,
            color=theme.INK, fill=theme.INK,
        )
        + p9.scale_shape_manual({MEAN: "^"}, name=" ")
        + p9.labs(
            x=f"bootstrapped threshold for {scenario.sensitivity:.0%} sensitivity",
            caption=caption(
                "Bars: resamples drawn. Dashed: the empirical quantile. "
                f"The first {N_SHOWN} test sets of {scenario.n_obs} positive cases, "
                f"{_n_resamples(result, scenario):,} resamples each, of which "
                f"{_equal_in_words(scenario)} equal the quantile, whatever the scores.",
                figure.labels.caption,
                f"The mean exceeds the quantile in {(mean > estimate).mean():.0%}, and the skew is "
                f"to the left in {(skewness < 0).mean():.0%}, of {len(mean):,} test sets.",
            ),
        )
        + p9.facet_wrap("panel", scales="free")
        + p9.theme(figure_size=(theme.FULL_WIDTH, 5.4))
    )  # fmt: skip


QUANTILE, MEAN = "empirical quantile", "bootstrap mean, exact"


def _equal_in_words(scenario: Any) -> str:
    """The chance that a resampled quantile is the test set's own: a matter of ranks only."""
    atoms, chance, _ = resample(np.arange(float(scenario.n_obs))[None], scenario.target.q)
    own = (scenario.n_obs - 1) * scenario.target.q  # position of the quantile between two ranks
    return f"{chance[np.isclose(atoms, own)].sum():.1%}"


def _bootstrap_of(
    result: Result, scenario: Any, i: int, estimate: float, mean: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Bars of one test set's resamples, and where its quantile and bootstrap mean are."""
    drawn = f"resample_{i + 1}"
    names = [f"score_{j + 1}" for j in range(n_low(scenario.n_obs, scenario.target.q))]
    stored = result.columns(scenario, drawn, *names, first_block=True)
    lowest = np.array([stored[name][i] for name in names])
    test_set = np.pad(lowest, (0, scenario.n_obs - len(lowest)), "edge")  # others do not matter
    atoms, chance, _ = resample(test_set[None], scenario.target.q)
    edges = _edges(stored[drawn])
    inside, _ = np.histogram(atoms, edges, weights=chance)
    panel = f"test set {i + 1}"
    bars = counts_with_law(stored[drawn], edges, np.minimum(inside, 1.0))
    height = 0.03 * bars["count"].max()  # just above the axis
    lines = pd.DataFrame({"line": (QUANTILE, MEAN), "value": [estimate, mean], "height": height})
    return bars.assign(panel=panel), lines.assign(panel=panel)


def _n_resamples(result: Result, scenario: Any) -> int:
    return len(result.columns(scenario, "resample_1", first_block=True)["resample_1"])


# ---------------------------------------------------------------- 4
PAIR = {name: LABELS[name] for name in ("bca strict", "umbrella")}
METRICS = {"threshold": "threshold", "sensitivity": "true sensitivity"}
EXACT = "umbrella, exact"


def figure_4(result: Result) -> ggplot:
    """Thresholds and their true sensitivities: BCa against the umbrella."""
    scenario = max(result.plan.scenarios, key=lambda drawn: drawn.n_boot > 0)
    stored = result.columns(scenario, *METRICS, "safe")
    drawn = pd.concat(
        pd.DataFrame({"metric": METRICS[name], "method": word, "value": stored[name][:, at]})
        for name in METRICS
        for at, word in ((METHODS.index(method), word) for method, word in PAIR.items())
    )
    safe = {w: stored["safe"][:, METHODS.index(m)] for m, w in PAIR.items()}
    at_most = {METRICS["sensitivity"]: 1.0}
    figure = density_plot(
        drawn.assign(method=in_order(drawn["method"], {word: word for word in COLORS})),
        x="value", color="method", panel="metric", at_most=at_most, colors=COLORS,
    )  # fmt: skip
    rates = "safe thresholds:\n"
    rates += "\n".join(f"{w}\n  {share_in_words(hits)}" for w, hits in safe.items())
    exact = _umbrella_density(scenario)
    truths = [scenario.true_threshold, scenario.sensitivity]
    truth = pd.DataFrame({"panel": list(METRICS.values()), "value": truths})
    return (
        figure
        + p9.geom_point(p9.aes("value", "density", shape="law"), exact, size=1.3,
                        color=theme.INK, fill="white", inherit_aes=False)
        + p9.scale_shape_manual({EXACT: "o"}, name=" ")
        + p9.geom_vline(p9.aes(xintercept="value"), truth, color=theme.INK, linetype="dashed")
        + words_in_panels(figure.data, _in_first(METRICS["threshold"], rates))
        + p9.labs(
            x="",
            caption=caption(
                figure.labels.caption,
                f"Dashed: truth for {scenario.sensitivity:.0%}. A threshold is safe if it is at "
                f"most the true one; nominal {scenario.confidence:.0%}. {captions.PLUS_MINUS} "
                f"{len(stored['safe']):,} test sets of {scenario.n_obs}; "
                f"{scenario.n_boot:,} resamples.",
                "BCa leaves out resampled quantiles that equal the test set's own.",
            ),
        )
        + p9.theme(figure_size=(theme.FULL_WIDTH, 4.4))
    )  # fmt: skip


def _in_first(panel: str, said: str) -> Callable[[pd.DataFrame], str]:
    """A function that returns the text in one panel, and no text in the others."""
    return lambda rows: said * bool((rows["panel"] == panel).all())


def _umbrella_density(scenario: Any) -> pd.DataFrame:
    """Exact densities of the umbrella's threshold and of its sensitivity, at some 30 points."""
    law = order_law("umbrella", scenario.n_obs, scenario.target)
    assert law is not None
    densities = zip(METRICS.values(), threshold_density(scenario.scores, law), strict=True)
    curves = pd.concat(
        pd.DataFrame({"panel": panel, "value": value, "density": density}).iloc[:: len(value) // 30]
        for panel, (value, density) in densities
    )
    return curves.assign(law=EXACT)
