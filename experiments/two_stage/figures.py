"""Figures of `two_stage`: functions of its stored results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments._method_names import colors_of
from experiments.two_stage.trials import grid_of
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.stats.two_stage import (
    boundary_rejection,
    cdf,
    critical_value,
    power,
    unconditional_cdf,
)
from simstudy.figures import captions, in_order, measure_curves, rows_like, theme
from simstudy.figures.theme import STROKES
from simstudy.lazy import ggplot, p9, pd, special
from simstudy.measures import intervals

PP_K = (0, 0.5, 1, 1.5, 2)  # panels of the document's figure 1
PP_N2 = (100, 300, 500)
PP_POINTS = 200  # points drawn of each empirical distribution
SPARSE = 20  # replicates; bins with fewer are left out
LAWS = dict(zip(("conditional", "unconditional"), STROKES, strict=False))
Statistics = Float[np.ndarray, " rep"]


def statistics_by_state(result: Result) -> list[tuple[TwoStage, Statistics, bool]]:
    """The sorted statistics of each trial of figure 1, by state of the null."""
    found = []
    for trial in sorted(grid_of(result), key=lambda trial: (trial.n2, trial.k)):
        if trial.k in PP_K and trial.n2 in PP_N2:
            data = result.columns(trial, "s2", "null_is_false")
            for state in (False, True):
                s2 = np.sort(data["s2"][data["null_is_false"].astype(bool) == state])
                found += [(trial, s2, state)] * (len(s2) > 1)
    if not found:
        raise LookupError(f"k in {PP_K} at n2 in {PP_N2}: none of them is in this run")
    return found


def figure_1(result: Result) -> ggplot:
    """P-P plot: conditional and unconditional p-values of the statistic, by state of the null."""
    cells = statistics_by_state(result)
    n_drawn = [len(s2) for _, s2, _ in cells]
    drawn = pd.concat([_pp(*cell) for cell in cells], ignore_index=True)
    drawn["row"] = pd.Categorical(drawn["row"], drawn["row"].unique())
    scales = theme.color_scales(
        pd.Categorical(drawn["law"], list(LAWS)).categories.to_series().astype("category"),
        "p-value",
        is_quantity=False,
        colors=colors_of(LAWS),
    )
    strokes = p9.scale_linetype_manual(LAWS, name="p-value", limits=list(LAWS))
    ticks = {"breaks": [0, 0.5, 1], "labels": ["0", "0.5", "1"]}
    return (
        p9.ggplot(drawn, p9.aes(x="theoretical", y="empirical", color="law"))
        + p9.geom_abline(slope=1, intercept=0, linetype="dashed", color=theme.MUTED)
        + p9.geom_ribbon(p9.aes(ymin="lower", ymax="upper", fill="law"), alpha=0.15, color="none")
        + p9.geom_line(p9.aes(linetype="law"), size=0.9)
        + p9.facet_grid("row", "column")
        + [*scales[:2], strokes, p9.scale_x_continuous(**ticks), p9.scale_y_continuous(**ticks)]
        + p9.coord_fixed(xlim=(0, 1), ylim=(0, 1))
        + theme.theme_study()
        + p9.theme(panel_spacing=0.015)
        + captions.titles(
            captions.dashed("equality"),
            f"{captions.BANDS} {min(n_drawn):,} to {max(n_drawn):,} replicates behind a curve: few "
            f"have a true null when k is large. n1 = {cells[0][0].n1:,}.",
            x="theoretical probability",
            y="empirical probability",
            size=(theme.FULL_WIDTH, 8.4),
        )
    )


def _pp(trial: TwoStage, s2: Statistics, null_is_false: bool) -> pd.DataFrame:
    """Theoretical against empirical probability of some of the sorted statistics, by both laws."""
    picked = np.unique(np.linspace(0, len(s2) - 1, PP_POINTS).astype(int))
    empirical = (picked + 0.5) / len(s2)
    half = 2 * np.sqrt(empirical * (1 - empirical) / len(s2))
    about = trial.k, trial.n1, trial.n2
    laws = {
        "conditional": cdf(s2[picked], null_is_false, *about),
        "unconditional": unconditional_cdf(s2[picked], *about),
    }
    common = {
        "row": f"n2 = {trial.n2}\nnull is {'false' if null_is_false else 'true'}",
        "column": f"k = {trial.k:g}",
        "empirical": empirical,
        "lower": np.maximum(empirical - half, 0),
        "upper": np.minimum(empirical + half, 1),
    }
    return pd.concat(pd.DataFrame(common | {"law": n, "theoretical": p}) for n, p in laws.items())


def figure_1b(result: Result) -> ggplot:
    """Power and critical value by n2 and k: theory as lines, simulated power on it."""
    rows = _of_first(result)
    figure = measure_curves(
        rows,
        x="n2",
        y="power",
        color="k",
        panel="measure",
        exact=_design_curves(result),
        joined=False,
        dodge=False,
    )
    return figure + captions.titles(figure.labels.caption, x=N2, y="", size=(theme.FULL_WIDTH, 3.7))


N2 = "second-stage sample size n2"


def _of_first(result: Result) -> pd.DataFrame:
    """The summary at the first size of the test and of the first stage."""
    return rows_like(result.summary, result.plan.scenarios[0], "alpha", "n1")


def _design_curves(result: Result) -> pd.DataFrame:
    """Power and critical value on a fine grid of n2, for every k."""
    first, (ks, sizes) = result.plan.scenarios[0], swept(result)
    k, n2 = (x.ravel() for x in np.meshgrid(ks, np.linspace(sizes[0], sizes[-1], 200)))
    about = first.alpha, k, first.n1, n2
    curves = {"power": power(*about), "critical value": critical_value(*about)}
    return pd.concat(
        pd.DataFrame({"k": k, "n2": n2, "measure": name, "exact": values})
        for name, values in curves.items()
    )


def swept(result: Result) -> tuple[list[float], list[int]]:
    """The values of k and of n2, in order."""
    trials = grid_of(result)
    return sorted({trial.k for trial in trials}), sorted({trial.n2 for trial in trials})


def figure_1c(result: Result) -> ggplot:
    """Empirical power and type-I error by n2 and k, with their Monte Carlo error and theory."""
    named = {"power": "power", "type_1_error": "type-I error"}
    rows = _of_first(result)
    rows = rows[rows["measure"].isin(named)]
    rows = rows.assign(measure=in_order(rows["measure"], named))
    figure = measure_curves(
        rows, x="n2", y=tuple(named.values()), panel="k", rows="measure", joined=False
    )
    last = int(rows["n2"].max())
    figure = captions.with_scale(figure, p9.scale_x_continuous(breaks=[last // 2, last]))
    return figure + captions.titles(
        captions.BARS,
        captions.LINES,
        f"Of {int(rows['n_rep'].max()):,} replicates per point, power uses those in which the null "
        "is false, the type-I error the others: "
        f"{_fewest(rows, min)} at k = {rows['k'].min():g}, {_fewest(rows, max)} at k = "
        f"{rows['k'].max():g}.",
        _setting(rows),
        x=N2,
        y="empirical probability of rejecting",
        size=(theme.FULL_WIDTH, 4.4),
    )


def _setting(rows: pd.DataFrame) -> str:
    """The common settings of all points: the size of the test and of the first stage."""
    first = rows.iloc[0]
    return f"α = {first['alpha']:g}, n1 = {first['n1']:,}."


def _fewest(rows: pd.DataFrame, at: Callable[[Any], float]) -> str:
    """The fewest replicates behind a type-I error at the smallest or largest k."""
    shown = rows[(rows["measure"] == "type-I error") & (rows["k"] == at(rows["k"]))]
    return f"at least {shown['n_given'].min():,.0f}"


def figure_boundary(result: Result) -> ggplot:
    """Rejection probability by the bound's distance from the truth.

    The size alpha is an average over all states in which the null is true. If the bound equals the
    truth, the null is also true, and the test rejects far more often.
    """
    n2 = min(swept(result)[1], key=lambda size: abs(size - 400))
    chosen = [trial for trial in grid_of(result) if trial.n2 == n2 and trial.k <= 2]
    bins = pd.concat([_binned_rejections(result, trial) for trial in chosen])
    figure = measure_curves(
        bins,
        x="distance",
        y="rejects",
        color="k",
        exact=pd.concat([_rejection_curve(trial) for trial in chosen]),
        nominal=chosen[0].alpha,
        joined=False,
        dodge=False,
    )
    return (
        figure
        + p9.geom_vline(xintercept=0, color=theme.MUTED)
        + _size_at_the_bound(chosen)
        + p9.scale_y_continuous(limits=(0, 1))
        + captions.titles(
            f"n1 = {chosen[0].n1}, n2 = {n2}, k up to 2: above it few nulls are true. Points: bins "
            f"of a quarter, of {bins['n'].min():,} to {bins['n'].max():,} replicates. "
            f"{captions.BARS} {captions.LINES}",
            captions.dashed(
                f"the size {chosen[0].alpha:g}, which is the average over the left side"
            ),
            x="bound minus truth, in standard errors of the first mean\n"
            "(null true on the left, false on the right)",
            y="probability of rejecting",
            size=(theme.FULL_WIDTH, 4.6),
        )
    )


def _size_at_the_bound(trials: Sequence[TwoStage]) -> list[Any]:
    """The exact probability at the bound, as a label, for the trial with k near 1.5."""
    trial = min(trials, key=lambda each: abs(each.k - 1.5))
    size = float(boundary_rejection(trial.alpha, trial.k, trial.n1, trial.n2))
    at = pd.DataFrame({"x": [0.0], "y": [size], "words": [f"{size:.1%} at k = {trial.k:g}"]})
    place = {"data": at, "inherit_aes": False, "color": theme.INK}
    return [
        p9.geom_point(p9.aes("x", "y"), shape="o", fill="none", size=4, **place),
        p9.geom_text(p9.aes("x", "y", label="words"), ha="left", va="top", nudge_x=0.12,
                     nudge_y=-0.02, size=9, **place),
    ]  # fmt: skip


def _rejection_curve(trial: TwoStage) -> pd.DataFrame:
    distance = np.linspace(-2, 3, 201)
    limit = float(critical_value(trial.alpha, trial.k, trial.n1, trial.n2))
    exact = special.ndtr(limit + np.sqrt(trial.n2 / trial.n1) * distance)
    return pd.DataFrame({"k": trial.k, "distance": distance, "exact": exact})


def _binned_rejections(result: Result, trial: TwoStage) -> pd.DataFrame:
    rows = pd.DataFrame(result.columns(trial, "distance", "reject"))
    rows["bin"] = np.floor(rows["distance"] * 4)
    bins = rows[rows["distance"].between(-2, 3)].groupby("bin")
    shares = {"distance": ("distance", "mean"), "estimate": ("reject", "mean")}
    table: pd.DataFrame = bins.agg(**shares, n=("reject", "size"))
    table = table[table["n"] >= min(SPARSE, table["n"].max())]
    lower, upper = intervals.wilson(table["estimate"].to_numpy(), table["n"].to_numpy(), level=0.95)
    return table.assign(k=trial.k, measure="rejects", lower=lower, upper=upper, mcse=np.nan)
