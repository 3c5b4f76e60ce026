"""Figures of `two_sample`: functions of its stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from experiments._method_names import colors_of
from simstudy.analysis.result import Result
from simstudy.documents.dgps.location import Gamma, Gaussian, LocationDgp, Lognormal, StudentT
from simstudy.figures import captions, in_order, measure_curves, theme, with_labels
from simstudy.lazy import ggplot, p9, pd

DGPS: dict[str, LocationDgp] = {
    "normal": Gaussian(mean=0.0, variance=1.0),
    "student_t": StudentT(df=5),
    "exponential": Gamma(shape=1),
    "lognormal": Lognormal(sigma=1),
}
WORDS = {
    "normal": "normal",
    "student_t": "t, 5 df",
    "exponential": "exponential",
    "lognormal": "lognormal",
}
METHOD_WORDS = {
    "welch": "Welch t",
    "rank_sum": "rank sum",
    "permutation": "studentized permutation",
    "bootstrap_t": "bootstrap t",
    "plain_permutation": "plain permutation",
    "trimmed_t": "trimmed t",
    "student": "Student's t",
}
FOUR = ("welch", "rank_sum", "permutation", "bootstrap_t")
SHUFFLED = ("student", "plain_permutation", "permutation")
COLORS = colors_of(METHOD_WORDS.values())
SAYS = {
    "type_1_error": "Null: equal means.",
    "coverage": "Covered: the difference of means, which is 0.",
}
OWN_SCALES = "Each row of panels has its own scale."
RATIO = "variance of the first sample over that of the second"


def size_figure(result: Result, *, n_total: int) -> ggplot:
    """Type-I error by variance ratio, allocation and distribution."""
    return _panels(result, "type_1_error", "type-I error", n_total, FOUR)


def coverage_figure(result: Result, *, n_total: int) -> ggplot:
    """Coverage of the difference of means where it is 0."""
    return _panels(result, "coverage", "coverage", n_total, FOUR)


def studentized_figure(result: Result, *, n_total: int) -> ggplot:
    """Type-I error of permutation tests, studentized or not, and of Student's t."""
    return _panels(result, "type_1_error", "type-I error", n_total, SHUFFLED)


def _panels(
    result: Result, measure: str, title: str, n_total: int, methods: Sequence[str]
) -> ggplot:
    rows = _readable(result, n_total, methods)
    alpha = result.plan.scenarios[0].alpha
    figure = measure_curves(
        rows[rows["effect"] == 0],
        x="variance_ratio",
        y=measure,
        color="method",
        panel="allocation",
        rows="data",
        nominal=1 - alpha if measure == "coverage" else alpha,
        log_x=True,
        colors=_colors(methods),
    )
    # each row of panels has its own scale, since rank tests of skewed data would dominate
    own_scales = p9.facet_grid(rows="rows", cols="panel", scales="free_y")
    said = captions.titles(
        SAYS[measure], figure.labels.caption, OWN_SCALES,
        x=RATIO, y=title, size=(theme.FULL_WIDTH, 8.6),
    )  # fmt: skip
    return figure + own_scales + said + p9.theme(panel_spacing_y=0.02)  # separates scales


def power_figure(result: Result, *, n_total: int, share: float) -> ggplot:
    """Power and size, for one allocation."""
    rows = _readable(result, n_total, METHOD_WORDS)
    named = {"type_1_error": "type-I error", "power": "power"}
    rows = rows[rows["n1"] == round(n_total * share)]
    rows = rows[rows["measure"].isin(named) & rows["estimate"].notna()]
    rows = rows.assign(measure=in_order(rows["measure"], named))
    if rows.empty:
        raise LookupError(f"{share:g} of {n_total} observations in the first sample")
    figure = measure_curves(
        rows.drop(columns="effect"),
        x="variance_ratio",
        y=tuple(named.values()),
        color="method",
        panel="data",
        rows="measure",
        nominal={"type-I error": result.plan.scenarios[0].alpha},
        log_x=True,
        colors=_colors(METHOD_WORDS),
    )
    effect = rows.loc[rows["measure"] == "power", "effect"].iloc[0]
    return figure + captions.titles(
        f"{rows['allocation'].iloc[0]}. {SAYS['type_1_error']} Power: means differ by {effect:g} "
        "standard errors of their difference.",
        figure.labels.caption,
        x=RATIO, y="share that rejects", size=(theme.FULL_WIDTH, 5.0),
    )  # fmt: skip


def _readable(
    result: Result, n_total: int, methods: Sequence[str] | Mapping[str, str]
) -> pd.DataFrame:
    """Rows of one total size and some methods, with labels for the parts of a scenario."""
    labels = {DGPS[name]: words for name, words in WORDS.items()}
    rows = with_labels(result.summary, result.plan.scenarios, dgp=labels)
    rows = rows.rename(columns={"dgp": "data"})
    rows = rows[(rows["n1"] + rows["n2"] == n_total) & rows["method"].isin(list(methods))]
    if rows.empty:
        raise LookupError(f"{n_total} observations in both samples")
    said = "n1 = " + rows["n1"].astype(str) + ", n2 = " + rows["n2"].astype(str)
    order = {said[at]: said[at] for at in rows["n1"].sort_values(kind="stable").index}
    return rows.assign(
        allocation=in_order(said, order),
        method=in_order(rows["method"], {name: METHOD_WORDS[name] for name in methods}),
    )


def _colors(methods: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    return {METHOD_WORDS[name]: COLORS[METHOD_WORDS[name]] for name in methods}


FIGURES = {
    "size": partial(size_figure, n_total=40),
    "size_large": partial(size_figure, n_total=160),
    "coverage": partial(coverage_figure, n_total=40),
    "coverage_large": partial(coverage_figure, n_total=160),
    "studentized": partial(studentized_figure, n_total=160),
    "power_balanced": partial(power_figure, n_total=40, share=0.5),
    "power_few_vary_more": partial(power_figure, n_total=40, share=0.25),
    "power_many_vary_more": partial(power_figure, n_total=40, share=0.75),
}
