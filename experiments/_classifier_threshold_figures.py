"""Figures of the classifier's threshold: what is simulated, with the exact law beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments._classifier_theory import threshold_cdf
from experiments._classifier_thresholds import (
    BOOTSTRAP,
    METHODS,
    N_SIM,
    PUBLISHED,
    OrderLaw,
    Target,
    draw_resamples,
    exact_moments,
    first_test_sets,
    order_law,
    pick,
    sample_quantile,
)
from simstudy.analysis.result import Result
from simstudy.figures import theme
from simstudy.figures.frame import caption
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.lazy.scipy import special, stats
from simstudy.stats.bootstrap import quantiles as bootstrap

N_BINS = 20
LABELS = {
    "empirical": "empirical quantile",
    "percentile": "percentile",
    "basic": "basic",
    "normal": "normal",
    "bca strict": "BCa, ties left out",
    "bca mid": "BCa, ties by half",
    "bca weak": "BCa, ties counted",
    "umbrella": "umbrella",
    "tolerance": "normal tolerance",
}
BOTH = ("infinitely many resamples", "1000 resamples")


def share_in_words(share: float, n: int) -> str:
    """A share with its Monte Carlo error."""
    return f"{share:.3f} ± {np.sqrt(share * (1 - share) / n):.3f}"


# ---------------------------------------------------------------- 1
def figure_1(result: Result) -> ggplot:
    """Empirical thresholds beside the true one, with their exact law."""
    one = pick(result, n_boot=0)
    drawn = result.columns(one, "threshold")["threshold"][:, METHODS.index("empirical")]
    edges = np.linspace(drawn.min(), drawn.max(), N_BINS + 1)
    law = order_law("empirical", one.n_obs, one.target)
    assert law is not None
    bars = _histogram(drawn, edges, np.diff(threshold_cdf(one.scores, law, edges)))
    too_high = 1 - float(threshold_cdf(one.scores, law, np.array([one.true_threshold]))[0])
    simulated = share_in_words(float((drawn > one.true_threshold).mean()), len(drawn))
    return (
        _bars(bars)
        + p9.geom_vline(xintercept=one.true_threshold, linetype="dashed", color=theme.INK)
        + p9.labs(
            x=f"empirical threshold for {one.sensitivity:.0%} sensitivity",
            y="count",
            caption=caption(
                f"Dashed: the true threshold. Too high: {simulated} of {len(drawn):,} test sets of "
                f"{one.n_obs} positive cases; exactly {too_high:.3f}.",
                "Orange: exact expected counts, with 2 standard deviations of a count.",
            ),
        )
    )


def _histogram(drawn: Any, edges: Any, chance: Any) -> pd.DataFrame:
    """Counts by bin, with the exact expectation and two standard deviations of each."""
    counts, _ = np.histogram(drawn, edges)
    expected, spread = len(drawn) * chance, 2 * np.sqrt(len(drawn) * chance * (1 - chance))
    return pd.DataFrame(
        {
            "x": (edges[1:] + edges[:-1]) / 2,
            "left": edges[:-1],
            "right": edges[1:],
            "count": counts,
            "expected": expected,
            "lower": np.maximum(expected - spread, 0),
            "upper": expected + spread,
        }
    )


def _bars(bars: pd.DataFrame) -> Any:
    return (
        p9.ggplot(bars)
        + p9.geom_rect(
            p9.aes(xmin="left", xmax="right", ymin=0, ymax="count"),
            fill="#BCCDDC", color="white", size=0.3,
        )
        + p9.geom_linerange(
            p9.aes(x="x", ymin="lower", ymax="upper"), color=theme.VERMILLION, size=0.5
        )
        + p9.geom_segment(
            p9.aes(x="left", xend="right", y="expected", yend="expected"),
            color=theme.VERMILLION, size=0.9,
        )
        + p9.scale_y_continuous(expand=(0, 0, 0.06, 0))
        + theme.theme_study()
        + p9.theme(figure_size=(6.4, 4.2))
    )  # fmt: skip


# ---------------------------------------------------------------- the coverage table
def figure_coverage(result: Result) -> ggplot:
    """The coverage table: every method, with infinitely many resamples and with 1000."""
    confidence = result.plan.scenarios[0].confidence
    rows = result.summary.query("measure == 'coverage' and confidence == @confidence")
    rows = rows[(rows["n_boot"] == 0) | rows["method"].isin(BOOTSTRAP)].copy()
    ways = [BOTH[0], _drawn_way(result)]
    rows["way"] = pd.Categorical(np.where(rows["n_boot"] == 0, *ways), ways)
    aside = np.where(rows["n_boot"] == 0, 0.2, -0.2) * rows["method"].isin(BOOTSTRAP)
    rows["place"] = _places(rows["method"]) + aside
    rows["words"] = [f"{e:.3f} ± {m:.3f}" for e, m in zip(rows["estimate"], rows["mcse"],
                                                           strict=True)]  # fmt: skip
    said = pd.DataFrame({"method": list(PUBLISHED), "estimate": list(PUBLISHED.values())})
    said["place"] = _places(said["method"])
    half = 1.96 * np.sqrt(said["estimate"] * (1 - said["estimate"]) / N_SIM)
    said = said.assign(lower=said["estimate"] - half, upper=said["estimate"] + half)
    known = rows.dropna(subset="exact")
    edge = 1.03
    return (
        p9.ggplot(rows, p9.aes(y="place", x="estimate"))
        + p9.geom_vline(xintercept=confidence, linetype="dashed", color=theme.MUTED)
        + p9.geom_segment(
            p9.aes(x="lower", xend="upper", yend="place"), said, color="#BBBBBB", size=2.6
        )
        + p9.geom_point(p9.aes(), said, color=theme.INK, shape="x", size=2.6)
        + p9.geom_segment(p9.aes(x="lower", xend="upper", yend="place", color="way"), size=0.7)
        + p9.geom_point(p9.aes(color="way", shape="way"), size=2.2)
        + p9.geom_point(p9.aes(x="exact"), known, shape="|", size=5, color=theme.INK)
        + p9.geom_text(p9.aes(label="words", color="way"), x=edge, ha="left", size=7.5,
                       show_legend=False)
        + theme.scale_color_study(name=" ")
        + theme.scale_shape_study(name=" ")
        + p9.scale_y_continuous(
            breaks=list(range(len(METHODS))), labels=[LABELS[m] for m in METHODS[::-1]]
        )
        + p9.scale_x_continuous(breaks=[0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
        + p9.coord_cartesian(xlim=(_left(rows), 1.17))
        + p9.labs(
            x="coverage: share of thresholds that keep the sensitivity",
            y="",
            caption=caption(
                "Dots: simulation, with 95% Wilson intervals, and in figures with one MCSE.",
                "Upright marks: exact theory. Crosses: as published, grey the 95% interval of its "
                f"{N_SIM} replicates. Dashed: nominal.",
                f"{int(rows['n_rep'].min()):,} replicates.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(7.6, 5.0), legend_position="top")
    )  # fmt: skip


def _left(rows: pd.DataFrame) -> float:
    return float(np.floor(10 * rows["lower"].min()) / 10)


def _drawn_way(result: Result) -> str:
    n_boot = [one.n_boot for one in result.plan.scenarios if one.n_boot]
    return f"{n_boot[0]} resamples" if n_boot else BOTH[1]


def _places(methods: pd.Series) -> Any:
    """Height of a method in the table: the first on top."""
    return np.array([len(METHODS) - 1 - METHODS.index(m) for m in methods], dtype=float)


# ---------------------------------------------------------------- 2
N_SHOWN = 4  # test sets: no single one is typical


def figure_2(result: Result) -> ggplot:
    """Bootstrap distributions of the quantile of the first test sets: drawn, and exactly."""
    one = pick(result, n_boot=0)
    n_boot = max([s.n_boot for s in result.plan.scenarios if s.n_boot], default=1000)
    x = first_test_sets(result, one)
    rng = result.plan.streams(one, 0)("figure 2")
    made = draw_resamples(rng, x[:N_SHOWN], n_boot=n_boot, q=one.target.q)
    panels = [_one_bootstrap(x[i], one, made, i) for i in range(len(made.values))]
    bars, lines = (pd.concat(frames) for frames in zip(*panels, strict=True))
    shape, estimate = exact_moments(x, one.target.q), sample_quantile(x, one.target.q)
    above, left = (shape.mean > estimate).mean(), (shape.skewness < 0).mean()
    return (
        _bars(bars)
        + p9.geom_vline(p9.aes(xintercept="value", color="line", linetype="line"), lines, size=0.8)
        + p9.facet_wrap("panel", scales="free")
        + p9.scale_color_manual(values=[theme.BLUE, theme.INK], name=" ")
        + p9.scale_linetype_manual(values=["solid", "dashed"], name=" ")
        + p9.labs(
            x=f"bootstrapped threshold for {one.sensitivity:.0%} sensitivity",
            y="count",
            caption=caption(
                f"The first {N_SHOWN} test sets of {one.n_obs} positive cases, {n_boot} resamples "
                "each. Orange: exact expected counts, with 2 standard deviations of a count.",
                f"The mean exceeds the quantile in {above:.0%}, and the skew is to the left in "
                f"{left:.0%}, of {len(x):,} test sets.",
            ),
        )
        + p9.theme(figure_size=(7.6, 6.0), legend_position="top")
    )


def _one_bootstrap(x: Any, one: Any, made: Any, i: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Bars of one test set's resamples, and where its quantile and bootstrap mean are."""
    values = np.repeat(made.values[i], made.counts[i])
    atoms, chance = bootstrap_atoms(x, one.target)
    edges = np.linspace(values.min(), values.max(), N_BINS + 1)
    inside, _ = np.histogram(atoms, edges, weights=chance)
    estimate = float(sample_quantile(x[None], one.target.q)[0])
    tie = float(chance[atoms == estimate].sum())
    panel = f"test set {i + 1}: {tie:.1%} equal the quantile"
    lines = pd.DataFrame(
        {
            "line": pd.Categorical(LINES, LINES),
            "value": [estimate, float((atoms * chance).sum())],
            "panel": panel,
        }
    )
    return _histogram(values, edges, np.minimum(inside, 1.0)).assign(panel=panel), lines


LINES = ("empirical quantile", "bootstrap mean, exact")


def bootstrap_atoms(x: Any, target: Target) -> tuple[Any, Any]:
    """Every value that a bootstrapped quantile of sorted scores can take, and its probability."""
    law = bootstrap.quantile_law(len(x), target.q)
    joint = bootstrap.pair_probabilities(law)
    lower, upper = np.nonzero(joint > 0)
    both = np.stack([x[lower], x[upper]], axis=-1)
    atoms = bootstrap.quantile_of_sorted(both, bootstrap.Interpolation(1, law.g))
    return atoms, joint[lower, upper]


# ---------------------------------------------------------------- 4
PAIR = {"bca strict": "BCa", "umbrella": "umbrella"}
METRICS = {"threshold": "threshold", "sensitivity": "true sensitivity"}


def figure_4(result: Result) -> ggplot:
    """Thresholds and their true sensitivities: BCa against the umbrella."""
    drawn_ones = [one for one in result.plan.scenarios if one.n_boot]
    one = (drawn_ones or list(result.plan.scenarios))[0]
    data = result.columns(one, "threshold", "sensitivity", "safe")
    long = pd.concat(_values(data, name, method) for name in METRICS for method in PAIR)
    curves = pd.concat(
        _kernel_density(values) for _, values in long.groupby(["metric", "method"], observed=True)
    )
    exact = _umbrella_density(one)
    truth = pd.DataFrame(
        {"metric": _metric(METRICS), "value": [one.true_threshold, one.sensitivity]}
    )
    rates = {
        m: share_in_words(float(data["safe"][:, METHODS.index(m)].mean()), len(data["safe"]))
        for m in PAIR
    }
    return (
        p9.ggplot(curves, p9.aes(x="value"))
        + p9.geom_area(
            p9.aes(y="density", fill="method"), position="identity", alpha=0.45,
            color="#444444", size=0.4,
        )
        + p9.geom_line(p9.aes(y="density"), exact, color=theme.VERMILLION, linetype="dashed")
        + p9.geom_vline(p9.aes(xintercept="value"), truth, color=theme.INK)
        + p9.geom_rug(
            p9.aes(color="method"), long, alpha=0.5, size=0.3, length=0.02, show_legend=False
        )
        + p9.facet_wrap("metric", scales="free")
        + theme.scale_fill_study(name=" ")
        + theme.scale_color_study(name=" ")
        + p9.scale_y_continuous(expand=(0, 0, 0.06, 0))
        + p9.labs(
            x="",
            y="density",
            caption=caption(
                f"Line: truth for {one.sensitivity:.0%}. Safe: BCa {rates['bca strict']}, umbrella "
                f"{rates['umbrella']}, for {one.confidence:.0%} asked. Dashed: exact density of "
                f"the umbrella. {len(data['safe']):,} test sets of {one.n_obs}; "
                f"{one.n_boot or 'infinitely many'} resamples, ties left out.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8.6, 4.2), legend_position="top")
    )  # fmt: skip


def _metric(names: Any) -> Any:
    return pd.Categorical([METRICS[name] for name in names], list(METRICS.values()))


def _values(data: Any, name: str, method: str) -> pd.DataFrame:
    values = data[name][:, METHODS.index(method)]
    kind = pd.Categorical([PAIR[method]] * len(values), list(PAIR.values()))
    return pd.DataFrame({"metric": _metric([name] * len(values)), "method": kind, "value": values})


def _kernel_density(rows: pd.DataFrame) -> pd.DataFrame:
    """Kernel density of one method's values; sensitivities are reflected at 1."""
    values = rows["value"].to_numpy()
    is_share = rows["metric"].iloc[0] == METRICS["sensitivity"]
    kernel = stats.gaussian_kde(np.r_[values, 2 - values] if is_share else values)
    kernel.set_bandwidth(stats.gaussian_kde(values).factor * values.std() / _spread(kernel))
    margin = 3 * kernel.factor * _spread(kernel)
    x = np.linspace(values.min() - margin, 1 if is_share else values.max() + margin, 300)
    like = rows.iloc[[0] * len(x)].reset_index(drop=True)
    return like.assign(value=x, density=kernel(x) * (1 + is_share))


def _spread(kernel: Any) -> float:
    return float(kernel.dataset.std())


def _umbrella_density(one: Any) -> pd.DataFrame:
    """Exact densities of the umbrella's threshold and of its sensitivity, by differences."""
    law = order_law("umbrella", one.n_obs, one.target)
    assert law is not None
    chance = np.linspace(0.0005, 0.9995, 400)
    u = _order_statistic_quantile(law, chance)
    parts = {"threshold": one.scores.quantile(u), "sensitivity": 1 - u}
    return pd.concat(
        pd.DataFrame(
            {
                "metric": _metric([name] * (len(x) - 1)),
                "value": (x[1:] + x[:-1]) / 2,
                "density": np.diff(chance) / np.abs(np.diff(x)),
            }
        )
        for name, x in parts.items()
    )


def _order_statistic_quantile(law: OrderLaw, chance: Any) -> Any:
    """Quantiles of X_(rank) on the scale of the scores' distribution function."""
    return special.betaincinv(law.rank, law.n_obs - law.rank + 1, chance)
