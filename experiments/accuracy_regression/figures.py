"""Figures of `accuracy_regression`: drawings of the formulas, and shares of checks that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from experiments._method_names import colors_of
from simstudy.analysis.result import Result
from simstudy.array_types import Float, Int
from simstudy.documents.scenarios.accuracy import (
    METHODS,
    SIGMA_LIMIT,
    AccuracyCheck,
    document_counts,
    exact_shares,
)
from simstudy.documents.stats.accuracy import counts, design, paired
from simstudy.figures import (
    captions,
    in_order,
    measure_curves,
    rows_like,
    theme,
)
from simstudy.lazy import ggplot, p9, pd, stats

METHOD_WORDS = {
    "document": "z, σ = 1/2 (document)",
    "known": "z, true σ",
    "estimated": "Welch's t, σ estimated",
    "fisher": "Fisher",
    "fisher_mid_p": "Fisher, mid-p",
    "boschloo": "Boschloo",
    "z_pooled": "z, pooled",
    "rounded": "rounded γ, at or below",
    "document_strict": "z, σ = 1/2, below γ",
    "rounded_strict": "rounded γ, below",
    "paired_t": "paired t",
    "mcnemar": "McNemar",
    "mcnemar_mid_p": "McNemar, mid-p",
    "paired_z": "paired z",
}
COLORS = colors_of(METHOD_WORDS.values()) | {METHOD_WORDS["mcnemar_mid_p"]: theme.GREEN}
SIGMAS = ("document", "known", "estimated")
EXACT_TESTS = ("estimated", "fisher", "fisher_mid_p", "boschloo", "z_pooled")
AT_OR_BELOW = ("document", "rounded", "rounded_strict")
PAIRS = ("document", "known", "mcnemar", "mcnemar_mid_p", "paired_z")
POINTS = 100.0  # points per unit of accuracy, the document's scale
TARGETS = (10.0, 5.0, 2.0, 1.0)  # effects to be detected, in points
FIRST_SIZE = 32  # prompts; the document doubles from here
LATTICE_TO = 160  # largest n in the figure of the lattice; cycles merge beyond
SHARE = "share of checks that fail"


# ---------------------------------------------------------------- what is drawn
def like(result: Result, **where: Any) -> list[AccuracyCheck]:
    """The scenarios with these factors; LookupError if there are none."""
    found = [
        each
        for each in result.plan.scenarios
        if all(getattr(each, name) == value for name, value in where.items())
    ]
    if not found:
        raise LookupError(", ".join(f"{name} = {value:g}" for name, value in where.items()))
    return found


def _rows(scenarios: Iterable[AccuracyCheck], result: Result, methods: Sequence[str]) -> Any:
    """Shares that fail, for some scenarios and methods, with labels."""
    shares = result.summary[result.summary["measure"] == "rejection_rate"]
    shares = shares[shares["method"].isin(methods)]
    rows = pd.concat(
        rows_like(shares, each, "n", "accuracy", "effect", "correlation", "quantile").assign(
            luck=each.luck
        )
        for each in scenarios
    )
    return _with_words(rows, methods, result)


def _with_words(rows: pd.DataFrame, methods: Sequence[str], result: Result) -> pd.DataFrame:
    first = result.plan.scenarios[0]
    words = {effect: _question(effect) for effect in sorted(rows["effect"].unique())}
    return rows.assign(
        method=in_order(rows["method"], {name: METHOD_WORDS[name] for name in methods}),
        question=in_order(rows["effect"], words),
        asked=rows["effect"].map({0: first.alpha, 1: 1 - first.beta}),
    )


def _question(effect: float) -> str:
    if effect == 0:
        return "nothing has changed"
    return "worse by θ" if effect == 1 else f"worse by {effect:g} θ"


def _exactly(
    scenarios: Iterable[AccuracyCheck],
    methods: Sequence[str],
    factor: str,
    values: Float[np.ndarray, " value"],
) -> pd.DataFrame:
    """Exact shares of scenarios that differ from these in one factor."""
    changes: list[dict[str, Any]] = [{factor: float(value)} for value in values]
    finer = [replace(each, **change) for each in scenarios for change in changes]
    about = {
        name: np.repeat([getattr(check, name) for check in finer], len(methods))
        for name in ("n", "accuracy", "correlation", "effect")
    }
    columns = [METHODS.index(method) for method in methods]
    shares = [exact_shares(check)[columns] for check in finer]
    return pd.DataFrame(
        {**about, "method": [*methods] * len(finer), "exact": np.concatenate(shares)}
    )


def _panels(
    rows: pd.DataFrame,
    finer: pd.DataFrame,
    *,
    x: str,
    methods: Sequence[str],
    panel: str | None = None,
    log_x: bool = False,
) -> ggplot:
    """Shares by a factor: nothing changed above, worse below, each on its own scale."""
    figure = measure_curves(
        rows.drop(columns="effect"),
        x=x,
        y="rejection_rate",
        color="method",
        panel=panel,
        rows="question",
        nominal="asked",
        exact=finer,
        joined=False,
        dodge=False,
        log_x=log_x,
        colors={METHOD_WORDS[name]: COLORS[METHOD_WORDS[name]] for name in methods},
    )
    columns = {"cols": "panel"} if panel else {}
    return figure + p9.facet_grid(rows="rows", scales="free_y", **columns)


# ---------------------------------------------------------------- drawings of the formulas
def hypotheses_figure(result: Result) -> ggplot:
    """Both distributions of a check about its reference, with the threshold, θ, α and β."""
    first = result.plan.scenarios[0]
    n = max(each.n for each in result.plan.scenarios)
    error = float(design.standard_error(POINTS * SIGMA_LIMIT, n))
    gamma = float(design.threshold(0.0, first.alpha, error))
    theta = float(design.detectable_effect(first.alpha, first.beta, error))
    curves = pd.concat(
        [_normal("H0: not worse", 0.0, error), _normal("H1: worse by θ", -theta, error)]
    )
    false_alarm = curves[(curves["law"] == "H0: not worse") & (curves["x"] <= gamma)]
    missed = curves[(curves["law"] == "H1: worse by θ") & (curves["x"] >= gamma)]
    top = float(curves["density"].max())
    return (
        p9.ggplot(curves, p9.aes("x", "density", color="law"))
        + p9.geom_area(data=false_alarm, fill=theme.BLUE, alpha=0.35, color="none")
        + p9.geom_area(data=missed, fill=theme.VERMILLION, alpha=0.35, color="none")
        + p9.geom_line(size=0.9)
        + p9.geom_vline(xintercept=gamma, linetype="dashed", color=theme.INK)
        + p9.annotate("segment", x=-theta, xend=0, y=1.06 * top, yend=1.06 * top, color=theme.INK,
                      arrow=p9.arrow(ends="both", length=0.08))
        + p9.annotate("segment", x=gamma - 0.6 * error, xend=gamma - 0.25 * error, y=0.165 * top,
                      yend=0.06 * top, color=theme.INK, size=0.4)
        + _words(_marks(gamma, theta, error, top, first))
        + p9.scale_color_manual(values=[theme.BLUE, theme.VERMILLION], name=" ")
        + p9.scale_y_continuous(limits=(0, 1.24 * top), breaks=[])
        + theme.theme_study()
        + captions.titles(
            f"A drawing of the document's formulas, in which nothing is simulated: α = "
            f"{first.alpha:g}, β = {first.beta:g}, σ = 50 points, n = {n}. Blue area: α. "
            "Vermillion area: β. Dashed: the threshold γ.",
            x="check minus reference, points of accuracy",
            y="density",
            size=(theme.FULL_WIDTH, 4.2),
        )
    )  # fmt: skip


def _normal(law: str, mean: float, error: float) -> pd.DataFrame:
    z = np.linspace(-4, 4, 401)
    density = np.exp(-(z**2) / 2) / (np.sqrt(2 * np.pi) * error)
    return pd.DataFrame({"law": law, "x": mean + error * z, "density": density})


def _marks(
    gamma: float, theta: float, error: float, top: float, about: AccuracyCheck
) -> pd.DataFrame:
    """Labels of the marks, left-aligned at their positions."""
    return pd.DataFrame(
        [
            (gamma + 0.08 * error, 1.11 * top, f"θ = {theta:.2f}"),
            (gamma + 0.08 * error, 1.19 * top, f"γ − x̄ = −{abs(gamma):.2f}"),
            (gamma - 1.4 * error, 0.2 * top, f"α = {about.alpha:g}"),
            (gamma + 0.08 * error, 0.05 * top, f"β = {about.beta:g}"),
        ],
        columns=["x", "density", "words"],
    )


def _words(marks: pd.DataFrame) -> Any:
    text = p9.aes("x", "density", label="words")
    return p9.geom_text(text, marks, inherit_aes=False, size=8.5, ha="left", color=theme.INK)


def sizes_figure(result: Result) -> ggplot:
    """θ by n, and the number of prompts for some effects: the least, and the first by doubling."""
    first = result.plan.scenarios[0]
    found = pd.DataFrame([sizes_of(target, first) for target in TARGETS])
    last = int(found["doubled"].max())
    curve = _effects(np.array([FIRST_SIZE // 2, 2 * last]), first)  # straight on logarithmic axes
    tried = _effects(FIRST_SIZE * 2 ** np.arange((last // FIRST_SIZE).bit_length()), first)
    return (
        p9.ggplot(curve, p9.aes("n", "theta"))
        + p9.geom_line(color=theme.INK, size=0.7)
        + p9.geom_segment(p9.aes("least", "target", xend="doubled", yend="target"), found,
                          linetype="dashed", color=theme.MUTED)
        + p9.geom_point(data=tried, color=theme.BLUE, size=2.2)
        + p9.geom_point(p9.aes("least", "target"), found, color=theme.VERMILLION, shape="v",
                        size=2.6)
        + p9.geom_text(p9.aes("doubled", "target", label="words"), found, ha="left", size=8,
                       nudge_x=0.06, color=theme.INK)
        + p9.scale_x_log10(breaks=[32, 128, 512, 2048, 8192, 32768],
                           labels=["32", "128", "512", "2,048", "8,192", "32,768"],
                           expand=(0.02, 0, 0.46, 0))
        + p9.scale_y_log10(breaks=[1, 2, 5, 10, 20, 30], labels=["1", "2", "5", "10", "20", "30"])
        + theme.theme_study()
        + captions.titles(
            f"From the formula with α = {first.alpha:g}, β = {first.beta:g} and σ = 50 points; "
            f"nothing is simulated. Blue: numbers that doubling from {FIRST_SIZE} tries. "
            "Triangles: the least n whose θ is at most so many points; dashed from there to the "
            "number that doubling takes.",
            x="prompts n of the reference, and of the check (log scale)",
            y="detectable effect θ, points of accuracy (log scale)",
            size=(theme.FULL_WIDTH, 4.6),
        )
    )  # fmt: skip


def _effects(n: Int[np.ndarray, " size"], about: AccuracyCheck) -> pd.DataFrame:
    error = design.standard_error(POINTS * SIGMA_LIMIT, n)
    effects = design.detectable_effect(about.alpha, about.beta, error)
    return pd.DataFrame({"n": n, "theta": effects})


def sizes_of(target: float, about: AccuracyCheck) -> dict[str, Any]:
    """Prompts with which an effect, in points, is detectable: the least, and by doubling."""
    asked = target, about.alpha, about.beta, POINTS * SIGMA_LIMIT
    least = int(design.sample_size(*asked))
    doubled = int(design.doubled_sample_size(*asked, start=FIRST_SIZE))
    words = f"{least:,} prompts for {target:g} points"
    return {"target": target, "least": least, "doubled": doubled, "words": words}


# ---------------------------------------------------------------- one reference
def reference_figure(result: Result) -> ggplot:
    """The document's test given its reference, by the luck of the reference."""
    kept = [each for each in result.plan.scenarios if each.quantile]
    if not kept:
        raise LookupError("a reference that is used again")
    rows = _rows(kept, result, ["document"]).drop_duplicates(["n", "luck", "effect"])
    finer = pd.concat(_given_each_count(each) for each in _each_n_and_effect(kept))
    finer = _with_words(finer, ["document"], result)
    figure = _panels(rows, finer.drop(columns="effect"), x="luck", panel="n", methods=["document"])
    said = captions.titles(
        "Accuracy 1/2, where σ = 1/2 is true. Solid, blue: exact, by enumeration. Dashes and dots, "
        "vermillion: the normal approximation Φ(√2 Φ⁻¹(α) + δ), and with θ in it. "
        f"{captions.BARS} Dashed: asked for. In the panels: the simulated average over references. "
        f"{captions.PLUS_MINUS}",
        captions.format_replicates(rows),
        x="luck of the reference δ: its distance above the truth, in its own standard errors",
        y=SHARE,
        size=(theme.FULL_WIDTH, 6.2),
    )
    own = _formula_and_averages(result, kept)
    return figure + own + said + p9.theme(legend_position="none")


def _formula_and_averages(result: Result, kept: Sequence[AccuracyCheck]) -> list[Any]:
    """The normal approximation as a line, and the average over references as text."""
    cells = _each_n_and_effect(kept)
    formula = pd.concat(_by_formula(check, np.linspace(-3, 3, 121)) for check in cells)
    average = pd.concat(_averages(result, check) for check in cells)
    formula, average = (
        _as_panels(_with_words(rows, ["document"], result)) for rows in (formula, average)
    )
    line, words = p9.aes("luck", "exact"), p9.aes("luck", "estimate", label="words")
    corner = {"va": "top", "size": 8, "color": theme.INK, "inherit_aes": False}
    return [
        p9.geom_line(
            line, formula, inherit_aes=False, color=theme.VERMILLION, size=0.7, linetype="dashdot"
        ),
        p9.geom_text(words, average[average["effect"] == 0], ha="left", **corner),
        p9.geom_text(words, average[average["effect"] != 0], ha="right", **corner),
        *_beside_curves(cells, result),
    ]


def _beside_curves(cells: Sequence[AccuracyCheck], result: Result) -> list[Any]:
    """Names of both curves where they are furthest apart: the upper left, the lower right."""
    exact = pd.concat(map(_given_each_count, cells), ignore_index=True)
    formula = pd.concat(_by_formula(each, _lucks(exact, each)) for each in cells)
    gap = exact["exact"] - formula["exact"].to_numpy()
    at = int(gap.abs().argmax())
    names = ["exact", "normal approximation"][:: 1 if gap[at] > 0 else -1]
    heights = sorted([exact["exact"][at], exact["exact"][at] - gap[at]], reverse=True)
    place = pd.concat([exact.loc[[at]]] * 2).assign(words=names, exact=heights)
    place = _as_panels(_with_words(place, ["document"], result))
    look = {"size": 8, "color": theme.INK, "inherit_aes": False}
    label = p9.aes("luck", "exact", label="words")
    return [
        p9.geom_text(label, place[:1], ha="right", nudge_x=-0.15, **look),
        p9.geom_text(label, place[1:], ha="left", va="top", nudge_x=0.15, nudge_y=-0.02, **look),
    ]


def _lucks(rows: pd.DataFrame, about: AccuracyCheck) -> Float[np.ndarray, " luck"]:
    return rows.loc[(rows["n"] == about.n) & (rows["effect"] == about.effect), "luck"].to_numpy()


def _each_n_and_effect(scenarios: Iterable[AccuracyCheck]) -> list[AccuracyCheck]:
    return list({(each.n, each.effect): each for each in scenarios}.values())


def _given_each_count(about: AccuracyCheck) -> pd.DataFrame:
    """Exact shares for every count of the reference within three standard errors."""
    n, spread = about.n, SIGMA_LIMIT * np.sqrt(about.n)
    right = np.arange(np.ceil(n / 2 - 3 * spread), np.floor(n / 2 + 3 * spread) + 1).astype(int)
    critical, accuracy = document_counts(n, about.alpha), 0.5 - about.effect * about.theta
    shares = stats.binom.cdf(critical[right], n, accuracy)
    luck = (right - n / 2) / spread
    return pd.DataFrame({"n": n, "effect": about.effect, "luck": luck, "exact": shares,
                         "method": "document"})  # fmt: skip


def _by_formula(about: AccuracyCheck, luck: Float[np.ndarray, " luck"]) -> pd.DataFrame:
    """The normal approximation; an effect acts like luck."""
    shift = about.effect * about.theta * np.sqrt(about.n) / SIGMA_LIMIT
    share = design.level_given_reference(about.alpha, luck + shift)
    return pd.DataFrame({"n": about.n, "effect": about.effect, "luck": luck, "exact": share,
                         "method": "document"})  # fmt: skip


def _averages(result: Result, about: AccuracyCheck) -> pd.DataFrame:
    """Text on the share averaged over references, in a corner without curves."""
    factors = {"n": about.n, "accuracy": about.accuracy, "effect": about.effect}
    row = result.row("rejection_rate", method="document", correlation=0.0, quantile=0.0, **factors)
    words = f"average over references\n{row['estimate']:.4f} ± {2 * row['mcse']:.4f}"
    luck, top = (3.0, 0.25) if about.effect else (-3.0, 0.5)
    return pd.DataFrame([{"n": about.n, "effect": about.effect, "luck": luck, "estimate": top,
                          "words": words, "method": "document"}])  # fmt: skip


def _as_panels(rows: pd.DataFrame) -> pd.DataFrame:
    panels = "n = " + rows["n"].astype(str)
    return rows.assign(
        rows=rows["question"],
        panel=pd.Categorical(panels, list(dict.fromkeys(panels)), ordered=True),
    )


# ---------------------------------------------------------------- the same prompts
def pairing_figure(result: Result) -> ggplot:
    """Error rates by the correlation of the two scores of a prompt, at the largest n."""
    same = same_prompts(result)
    n, accuracies = same[0].n, {each.accuracy for each in same}
    chosen = [each for each in like(result, n=n, quantile=0.0) if each.accuracy in accuracies]
    rows = _rows(chosen, result, PAIRS)
    last = max(each.correlation for each in chosen)
    different = [each for each in chosen if not each.correlation]
    finer = _exactly(different, PAIRS, "correlation", np.linspace(0, last, 33))
    finer = _with_words(finer, PAIRS, result).drop(columns="effect")
    return _panels(rows, finer, x="correlation", panel="accuracy", methods=PAIRS) + captions.titles(
        f"n = {n}. {captions.BARS} Solid lines: exact, by enumeration. Dashed: asked for. "
        "Correlation 0 is also what different prompts have. At an accuracy of one half the true σ "
        "is 1/2, and the two z tests are one.",
        captions.format_replicates(rows),
        x="correlation of the two scores of a prompt",
        y=SHARE,
        size=(theme.FULL_WIDTH, 6.4),
    )


def same_prompts(result: Result) -> list[AccuracyCheck]:
    """The scenarios with correlated scores."""
    found = [each for each in result.plan.scenarios if each.correlation]
    if not found:
        raise LookupError("the same prompts for the reference and the check")
    return found


# ---------------------------------------------------------------- the standard deviation
def sigma_figure(result: Result) -> ggplot:
    """Error rates by the true accuracy: σ = 1/2, the true σ, and σ estimated."""
    says = "σ = 1/2, the document's 50 points, is the largest that scores of 0 and 1 can have."
    return _by_accuracy(result, SIGMAS, 91, says)  # jumps where a true σ moves a threshold


def exact_tests_figure(result: Result) -> ggplot:
    """Error rates of tests without a known σ, by the true accuracy."""
    return _by_accuracy(result, EXACT_TESTS, 46, "Tests that take no σ as known.")


def _by_accuracy(result: Result, methods: Sequence[str], n_place: int, says: str) -> ggplot:
    chosen = like(result, correlation=0.0, quantile=0.0)
    rows = _rows(chosen, result, methods)
    low, high = rows["accuracy"].min(), rows["accuracy"].max()
    cells = {(each.n, each.effect): each for each in chosen}.values()
    finer = _exactly(cells, methods, "accuracy", np.linspace(low, high, n_place))
    finer = _with_words(finer, methods, result).drop(columns="effect")
    figure = _panels(rows, finer, x="accuracy", panel="n", methods=methods)
    return figure + captions.titles(
        f"{says} {captions.BARS} Solid lines: exact, by enumeration. Dashed: asked for. θ is the "
        "document's at each n.",
        captions.format_replicates(rows),
        x="true accuracy of the reference",
        y=SHARE,
        size=(theme.FULL_WIDTH, 6.2),
    )


# ---------------------------------------------------------------- the lattice
def lattice_figure(result: Result) -> ggplot:
    """The document's test by n: failing at the threshold or below it, as computed or rounded."""
    chosen = like(result, correlation=0.0, quantile=0.0, accuracy=0.5)
    rows = _rows(chosen, result, AT_OR_BELOW)
    rows = rows[rows["n"] <= LATTICE_TO] if rows["n"].min() <= LATTICE_TO else rows
    sizes = range(int(rows["n"].min()), max(LATTICE_TO, int(rows["n"].max())) + 1)
    cells = {each.effect: each for each in chosen}.values()
    finer = pd.concat(_at_or_below(replace(each, n=n)) for n in sizes for each in cells)
    finer = _with_words(finer, AT_OR_BELOW, result).drop(columns="effect")
    panels = {METHOD_WORDS[name]: METHOD_WORDS[name] for name in AT_OR_BELOW}
    rows, finer = (each.assign(test=in_order(each["method"], panels)) for each in (rows, finer))
    figure = _panels(rows, finer, x="n", methods=AT_OR_BELOW, panel="test", log_x=True)
    without_key = p9.theme(legend_position="none")
    return (
        figure
        + without_key
        + captions.titles(
            "Accuracy 1/2. As computed, γ never falls on a number of right answers; rounded to "
            "one, it makes checks that fail at γ and checks that fail only below it differ. "
            f"{captions.BARS} Solid lines: exact, at every n. Dashed: asked for.",
            captions.format_replicates(rows),
            x="prompts n (log scale)",
            y=SHARE,
            size=(theme.FULL_WIDTH, 6.0),
        )
    )


def _at_or_below(about: AccuracyCheck) -> pd.DataFrame:
    """Exact shares of the document's test, by how its threshold is meant."""
    shares = [
        counts.rejection_probability(
            critical, about.n, about.n, about.accuracy, about.check_accuracy
        )
        for critical in _counts_at_or_below(about.n, about.alpha)
    ]
    return pd.DataFrame({"n": about.n, "effect": about.effect, "exact": shares,
                         "method": AT_OR_BELOW})  # fmt: skip


@lru_cache(maxsize=1)
def _counts_at_or_below(n: int, alpha: float) -> list[Int[np.ndarray, " count"]]:
    """Counts at or below the threshold for both effects at one n, in turn."""
    knobs: tuple[dict[str, bool], ...]
    knobs = ({}, {"rounded": True}, {"rounded": True, "strictly": True})
    return [document_counts(n, alpha, **said) for said in knobs]


# ---------------------------------------------------------------- what pairs save
def savings_figure(result: Result) -> ggplot:
    """Prompts that find the document's θ: by the formula with pairs, and by exact power."""
    same = [each for each in same_prompts(result) if each.effect == 1]
    if not same:
        raise LookupError("the same prompts with a check that is worse by θ")
    cells = {each.accuracy: each for each in same}.values()
    different = [replace(each, correlation=0.0) for each in cells]
    needed = pd.DataFrame([prompts_needed(each) for each in [*different, *same]])
    line = pd.concat(_needed_by_formula(each, same) for each in cells)
    first = same[0]
    return (
        p9.ggplot(needed, p9.aes("correlation", "n"))
        + p9.geom_hline(yintercept=first.n, linetype="dashed", color=theme.MUTED)
        + p9.geom_line(data=line, color=theme.INK, size=0.7)
        + p9.geom_point(color=COLORS[METHOD_WORDS["mcnemar_mid_p"]], size=2.2)
        + p9.geom_text(p9.aes(label="n"), size=8, nudge_y=26, color=theme.INK)
        + p9.facet_wrap("accuracy", labeller=lambda text: f"accuracy = {text}")
        + p9.scale_y_continuous(limits=(0, 1.12 * max(first.n, needed["n"].max())))
        + theme.theme_study()
        + captions.titles(
            f"Prompts with which a test at α = {first.alpha:g} finds with probability "
            f"{1 - first.beta:g} what the document's formula says takes {first.n} (dashed). Line: "
            "normal approximation with the true σ and correlation. Points: the least n with that "
            "exact power of McNemar's test, mid-p. Nothing is simulated.",
            x="correlation of the two scores of a prompt",
            y="prompts n",
            size=(theme.FULL_WIDTH, 3.9),
        )
    )


def prompts_needed(about: AccuracyCheck) -> dict[str, float]:
    """The least n with which McNemar's mid-p test has the required power."""
    n = int(0.8 * _formula(about))  # power is a sawtooth in n: start well below
    while mid_p_power(n, about) < 1 - about.beta:
        n += 1
    return {"accuracy": about.accuracy, "correlation": about.correlation, "n": n}


def mid_p_power(n: int, about: AccuracyCheck) -> float:
    """Exact power of McNemar's mid-p test with n prompts."""
    critical, chance = paired.critical_losses("mcnemar_mid_p", n, about.alpha), about.chance
    return paired.rejection_probability(critical, n, chance.lost, chance.gained)


def _formula(about: AccuracyCheck) -> float:
    """The normal approximation's number of prompts, by the spread where the model is worse."""
    spread = about.spread * np.sqrt(about.n / 2)  # equivalent to one score on different prompts
    effect = about.effect * about.theta
    return float(design.sample_size(effect, about.alpha, about.beta, spread))


def _needed_by_formula(about: AccuracyCheck, same: Sequence[AccuracyCheck]) -> pd.DataFrame:
    last = max(each.correlation for each in same if each.accuracy == about.accuracy)
    finer = [replace(about, correlation=float(c)) for c in np.linspace(0, last, 41)]
    return pd.DataFrame(
        [{"accuracy": each.accuracy, "correlation": each.correlation, "n": _formula(each)}
         for each in finer]
    )  # fmt: skip


FIGURES: Mapping[str, Callable[[Result], ggplot]] = {
    "one_reference": reference_figure,
    "hypotheses": hypotheses_figure,
    "sample_size": sizes_figure,
    "lattice": lattice_figure,
    "same_prompts": pairing_figure,
    "savings": savings_figure,
    "sigma": sigma_figure,
    "exact_tests": exact_tests_figure,
}
