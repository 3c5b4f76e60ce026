"""Figures of `proportion_compatible`: functions of its stored results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from experiments._method_names import colors_of
from simstudy.analysis.result import Figure, Result
from simstudy.figures import captions, in_order, measure_curves, theme
from simstudy.lazy import ggplot, p9, pd

WORDS = {
    "cfdr_clipped": "CFDR, clipped",
    "rfdr": "RFDR",
    "storey": "Storey, λ = 0.5",
    "storey_smoother": "Storey, smoother",
    "storey_bootstrap": "Storey, bootstrap",
    "jiang_doerge": "Jiang & Doerge",
    "pounds_cheng": "Pounds & Cheng",
    "langaas": "Langaas et al.",
}
ORDERED_WORDS = {
    "cfdr": "CFDR, by NFDR",
    "cfdr_by_p": "CFDR, by p",
    "cfdr_clipped": "CFDR clipped, by NFDR",
    "cfdr_by_p_clipped": "CFDR clipped, by p",
    "rfdr": "RFDR, by NFDR",
    "rfdr_by_p": "RFDR, by p",
}
TITLES = {
    "bias": "bias of the estimated share",
    "empirical_se": "standard deviation of the estimated share",
    "rmse": "root mean squared error of the estimated share",
}
SHARE = "share of compatible predictions"
SHIFT = (
    "Shift: mean score of the others, in predictive standard deviations. Theory is set apart with "
    "the points."
)
CORRELATION = "ρ: correlation of any two scores that depend on each other."
TUNED = "λ: the p-value above which Storey's estimator takes all for compatible."


def estimators_figure(result: Result, measure: str) -> ggplot:
    """A measure of clipped and standard estimators by share: a panel for each estimator.

    The bias is shown by shift, since dependence hardly changes it, and the other measures by
    dependence, at the middle shift.
    """
    rows = _by_shift(result, WORDS)
    is_bias = measure == "bias"
    if is_bias:
        rows = rows[rows["dependence"] == rows["dependence"].iloc[0]].drop(columns="dependence")
        fixed = f"Independent predictions. {SHIFT}"
    else:
        shifts = sorted(rows["shift"].unique())
        middle = shifts[len(shifts) // 2]
        rows = rows[rows["shift"] == middle].drop(columns="shift")
        fixed = (
            f"The others are shifted by {middle:g} predictive standard deviations. {CORRELATION}"
        )
    figure = measure_curves(
        rows,
        x="null_share",
        y=measure,
        color="shift" if is_bias else "dependence",
        panel="estimator",
        nominal=0 if is_bias else None,
        dashed="no bias",
    )
    said = (figure.labels.caption, f"Lists of {_n(result)} p-values. {fixed} {TUNED}")
    size = (theme.FULL_WIDTH, 4.8)
    halves = p9.scale_x_continuous(breaks=[0, 0.5, 1])
    titles = captions.titles(*said, x=SHARE, y=TITLES[measure], size=size)
    return captions.with_scale(figure, halves) + p9.facet_wrap("panel", ncol=4) + titles


def orders_figure(result: Result) -> ggplot:
    """Bias of the paper's two estimators, as printed and clipped, in both orders."""
    rows = _by_shift(result, ORDERED_WORDS)
    rows = rows[rows["dependence"] == "independent"].drop(columns="dependence")
    figure = measure_curves(
        rows,
        x="null_share",
        y="bias",
        color="estimator",
        panel="shift",
        nominal=0,
        dashed="no bias",
        colors=colors_of(ORDERED_WORDS.values()),
    )
    said = (figure.labels.caption, f"Lists of {_n(result)} p-values. {SHIFT}")
    return figure + captions.titles(*said, x=SHARE, y=TITLES["bias"], size=(theme.FULL_WIDTH, 4.4))


def size_figure(result: Result) -> ggplot:
    """Root mean squared error by the number of predictions."""
    rows = _rows(result.summary, WORDS)
    rows = rows[(rows["correlation"] == 0) & (rows["spread"] == 1)]
    at = rows.loc[(rows["n_prediction"] != _n(result)) & (rows["null_share"] < 1), "shift"]
    rows = rows[rows["shift"].isin(at) | (rows["null_share"] == 1)].drop(columns="shift")
    figure = measure_curves(
        rows.rename(columns={"null_share": "compatible"}),
        x="n_prediction",
        y="rmse",
        color="compatible",
        panel="estimator",
        log_x=True,
    )
    shifts = ", ".join(f"{shift:g}" for shift in sorted(set(at)))
    return (
        figure
        + p9.facet_wrap("panel", ncol=4)
        + captions.titles(
            figure.labels.caption,
            f"Incompatible predictions are shifted by {shifts} predictive standard deviations."
            if shifts
            else "",
            "Compatible: their share.",
            TUNED,
            x="predictions",
            y=TITLES["rmse"],
            size=(theme.FULL_WIDTH, 4.8),
        )
    )


def residual_noise_figure(result: Result) -> ggplot:
    """Three measures if predictive distributions lack the residual noise."""
    rows = without_noise(result)
    figure = measure_curves(
        rows,
        x="spread",
        y=tuple(MEASURED),
        panel="measure",
        exact=False,
    )
    return figure + captions.titles(
        figure.labels.caption,
        "At 1 distributions are right, as with the residual noise in them, and all predictions are "
        "compatible; beyond it is left out, and none is.",
        x="standard deviation of an observation, in predictive standard deviations",
        y="mean over lists",
        size=(theme.FULL_WIDTH, 4.6),
    )


FISHER = "Fisher, log₁₀ p"
MEASURED = {
    FISHER: ("rfdr", "mean_log10_p"),
    "CFDR as printed": ("cfdr", "bias"),
    "CFDR clipped": ("cfdr_clipped", "bias"),
    "RFDR": ("rfdr", "bias"),
}
"""Estimator and measure by name. Combined p-values are the same for each estimator."""


def without_noise(
    result: Result, measured: Mapping[str, tuple[str, str]] = MEASURED
) -> pd.DataFrame:
    """Means of the measures by spread, from 1, where the distributions are right."""
    rows = result.summary
    here = (rows["n_prediction"] == _n(result)) & (rows["correlation"] == 0)
    rows = rows[here & ((rows["spread"] > 1) | (rows["null_share"] == 1))]
    found = []
    for name, (estimator, measure) in measured.items():
        cells = rows[(rows["estimator"] == estimator) & (rows["measure"] == measure)]
        truth = cells["null_share"] if measure == "bias" else 0  # estimate = bias + truth
        moved = {limit: cells[limit] + truth for limit in ("estimate", "lower", "upper")}
        found.append(cells.assign(measure=name, **moved))
    together = pd.concat(found, ignore_index=True).drop(columns=["null_share", "estimator"])
    return together.assign(measure=in_order(together["measure"], {name: name for name in measured}))


# ---------------------------------------------------------------- rows
def _by_shift(result: Result, words: Mapping[str, str]) -> pd.DataFrame:
    """Rows of the document's number of predictions; a share of 1 is repeated for every shift."""
    rows = _rows(result.summary, words)
    rows = rows[(rows["n_prediction"] == _n(result)) & (rows["spread"] == 1)]
    perfect = rows["null_share"] == 1
    shifts = sorted(rows.loc[~perfect, "shift"].unique())
    repeated = [rows[perfect].assign(shift=shift) for shift in shifts]
    found = pd.concat([rows[~perfect], *repeated], ignore_index=True)
    kinds = zip(found["correlation"], found["n_together"], strict=True)
    said = [_dependence(correlation, size) for correlation, size in kinds]
    order = {name: name for name in dict.fromkeys(said)}
    found = found.assign(dependence=in_order(said, order))
    return found.drop(columns=["correlation", "n_together", "n_prediction", "spread"])


def _dependence(correlation: float, n_together: int) -> str:
    if not correlation:
        return "independent"
    return f"ρ = {correlation:g}, {f'groups of {n_together}' if n_together else 'all together'}"


def _n(result: Result) -> int:
    """Number of predictions in the lists with dependence and noise."""
    return int(result.plan.scenarios[0].n_prediction)


def _rows(summary: pd.DataFrame, words: Mapping[str, str]) -> pd.DataFrame:
    """Rows of some estimators, with labels."""
    rows = summary[summary["estimator"].isin(list(words))]
    return rows.assign(estimator=in_order(rows["estimator"], words))


FIGURES: dict[str, Figure] = {
    "residual_noise": residual_noise_figure,
    **{measure: partial(estimators_figure, measure=measure) for measure in TITLES},
    "orders": orders_figure,
    "size": size_figure,
}
