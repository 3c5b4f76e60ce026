"""Figures of `two_stage`: functions of its stored results."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.figures import measure_curves, theme
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.lazy.scipy import special
from simstudy.measures import intervals
from simstudy.stats.two_stage.design import critical_value, power
from simstudy.stats.two_stage.law import TwoStageStatistic, conditional_p_value

PP_K = (0, 0.5, 1, 1.5, 2)  # panels of the document's figure 1
PP_N2 = (100, 300, 500)
PP_POINTS = 200  # of each empirical distribution that are drawn


def figure_1(result: Result) -> ggplot:
    """P-P plot: conditional and unconditional p-values of the statistic, by state of the null."""
    drawn = pp_points(result, PP_K, PP_N2)
    drawn["row"] = "n2 = " + drawn["n2"].astype(str) + "\nnull is " + drawn["null"]
    drawn["column"] = "k = " + drawn["k"].map("{:g}".format)
    drawn["row"] = pd.Categorical(drawn["row"], drawn["row"].unique())
    return (
        p9.ggplot(drawn, p9.aes(x="theoretical", y="empirical", color="p_value"))
        + p9.geom_abline(slope=1, intercept=0, linetype="dashed", color=theme.MUTED)
        + p9.geom_ribbon(
            p9.aes(ymin="lower", ymax="upper", fill="p_value"), alpha=0.15, color="none"
        )
        + p9.geom_line(size=0.9)
        + p9.facet_grid("row", "column")
        + theme.scale_color_study(name="p-value")
        + theme.scale_fill_study(name="p-value")
        + p9.scale_x_continuous(breaks=[0, 0.5, 1], labels=["0", "0.5", "1"])
        + p9.scale_y_continuous(breaks=[0, 0.5, 1], labels=["0", "0.5", "1"])
        + p9.coord_fixed(xlim=(0, 1), ylim=(0, 1))
        + p9.labs(
            x="theoretical probability",
            y="empirical probability",
            caption="Bands: 2 Monte Carlo standard errors of the empirical distribution. Few "
            "replicates have a true null when k is large.",
        )
        + theme.theme_study()
        + p9.theme(figure_size=(9.5, 11), legend_position="top", panel_spacing=0.02)
    )


def pp_points(result: Result, ks: tuple[float, ...], n2s: tuple[int, ...]) -> pd.DataFrame:
    """Theoretical against empirical probability of the statistic, in both states of the null."""
    chosen = [one for one in result.plan.scenarios if one.k in ks and one.n2 in n2s]
    if not chosen:
        raise LookupError(f"figure 1 shows k in {ks} at n2 in {n2s}; none of them is in this run")
    frames = []
    for one in sorted(chosen, key=lambda s: (s.n2, s.k)):
        data = result.columns(one, "s2", "null_is_false")
        for state in (False, True):
            s2 = np.sort(data["s2"][data["null_is_false"].astype(bool) == state])
            if len(s2) > 1:
                frames.append(_pp(one, s2, state))
    return pd.concat(frames, ignore_index=True)


def _pp(one: Any, s2: Any, null_is_false: bool) -> pd.DataFrame:
    n = len(s2)
    picked = np.unique(np.linspace(0, n - 1, PP_POINTS).astype(int))
    empirical = (picked + 0.5) / n
    half = 2 * np.sqrt(empirical * (1 - empirical) / n)
    laws = {
        "conditional": conditional_p_value(s2[picked], null_is_false, one.k, one.n1, one.n2),
        "unconditional": TwoStageStatistic(one.k, one.n1, one.n2, null=None).cdf(s2[picked]),
    }
    state = "false" if null_is_false else "true"
    common = {
        "k": one.k,
        "n2": one.n2,
        "null": state,
        "empirical": empirical,
        "lower": np.maximum(empirical - half, 0),
        "upper": np.minimum(empirical + half, 1),
    }
    return pd.concat(
        pd.DataFrame(common | {"p_value": law, "theoretical": theoretical})
        for law, theoretical in laws.items()
    )


def figure_1b(result: Result) -> ggplot:
    """Power and critical value by n2 and k: theory as lines, simulated power on it."""
    theory = _design_curves(result)
    simulated = _one_alpha(result).query("measure == 'power'")
    simulated = simulated.assign(
        k=_k_levels(simulated["k"]), quantity=_quantity(["power"] * len(simulated))
    )
    return (
        p9.ggplot(theory, p9.aes(x="n2", color="k"))
        + p9.geom_line(p9.aes(y="value"))
        + p9.geom_errorbar(p9.aes(ymin="lower", ymax="upper"), data=simulated, width=0, alpha=0.7)
        + p9.geom_point(p9.aes(y="estimate"), data=simulated, size=0.9)
        + p9.facet_wrap("quantity", scales="free_y")
        + _k_scale(theory)
        + p9.labs(
            x="second-stage sample size n2",
            y="",
            caption="Lines: theory. Points: simulation, with 95% Wilson intervals.",
        )
        + theme.theme_study()
        + p9.theme(figure_size=(9, 4.2))
    )


def _design_curves(result: Result) -> Any:
    """Power and critical value on a fine grid of n2, for every k."""
    alpha, n1 = first_alpha(result), result.plan.scenarios[0].n1
    ks = sorted({one.k for one in result.plan.scenarios})
    sizes = sorted({one.n2 for one in result.plan.scenarios})
    n2 = np.linspace(sizes[0], sizes[-1], 200)
    k, n2 = (grid.ravel() for grid in np.meshgrid(ks, n2, indexing="ij"))
    curves = {"power": power(alpha, k, n1, n2), "critical value": critical_value(alpha, k, n1, n2)}
    long = pd.concat(
        pd.DataFrame({"k": k, "n2": n2, "quantity": name, "value": value})
        for name, value in curves.items()
    )
    return long.assign(k=_k_levels(long["k"]), quantity=_quantity(long["quantity"]))


def _quantity(names: Any) -> Any:
    return pd.Categorical(names, ["power", "critical value"])


def first_alpha(result: Result) -> float:
    return float(result.plan.scenarios[0].alpha)


def _one_alpha(result: Result) -> Any:
    first = result.plan.scenarios[0]
    summary = result.summary
    return summary[(summary["alpha"] == first.alpha) & (summary["n1"] == first.n1)]


def _k_levels(k: Any) -> Any:
    return pd.Categorical([f"{one:g}" for one in k], [f"{one:g}" for one in sorted(set(k))])


def _k_scale(drawn: pd.DataFrame) -> Any:
    levels = drawn["k"].cat.categories
    return p9.scale_color_manual(values=theme.level_colors(len(levels), is_quantity=True))


def figure_1c(result: Result) -> ggplot:
    """Empirical power and type-I error with their Monte Carlo error, theory beside them."""
    rows = _one_alpha(result)
    named = {"power": "power", "type_1_error": "type-I error"}
    rows = rows[rows["measure"].isin(named)].assign(measure=lambda x: x["measure"].map(named))
    figure = measure_curves(rows, x="n2", y=tuple(named.values()), panel="k", rows="measure")
    breaks = p9.scale_x_continuous(breaks=[250, 500, 750])
    labels = p9.labs(x="second-stage sample size n2", y="")
    return figure + breaks + labels + p9.theme(figure_size=(11, 5))


def figure_boundary(result: Result) -> ggplot:
    """Where the type-I error is made: rejection probability by the bound's distance from the truth.

    The size alpha is an average over all states in which the null is true. Where the bound equals
    the truth the null is true as well, and the test rejects far more often.
    """
    n2 = _nearest(sorted({one.n2 for one in result.plan.scenarios}), 400)
    chosen = [one for one in result.plan.scenarios if one.n2 == n2 and one.k <= 2]
    exact = pd.concat(_rejection_curve(one) for one in chosen)
    simulated = pd.concat(_binned_rejections(result, one) for one in chosen)
    for drawn in (exact, simulated):
        drawn["k"] = _k_levels(drawn["k"])
    return (
        p9.ggplot(exact, p9.aes(x="distance", color="k"))
        + p9.geom_vline(xintercept=0, color=theme.MUTED)
        + p9.geom_hline(yintercept=first_alpha(result), linetype="dashed", color=theme.MUTED)
        + p9.geom_line(p9.aes(y="probability"))
        + p9.geom_errorbar(p9.aes(ymin="lower", ymax="upper"), data=simulated, width=0)
        + p9.geom_point(p9.aes(y="probability"), data=simulated, size=1.2)
        + _k_scale(exact)
        + p9.scale_y_continuous(limits=(0, 1))
        + p9.labs(
            x="bound minus truth, in standard errors of the first mean\n"
            "(null true on the left, false on the right)",
            y="probability of rejecting",
            caption=f"n1 = {chosen[0].n1}, n2 = {n2}. Lines: theory. Points: simulation in bins of "
            "a quarter, with 95% Wilson intervals, where a bin has 20 replicates.\n"
            "Dashed: the size, which is the average over the left side.",
        )
        + theme.theme_study()
        + p9.theme(figure_size=(7.5, 4.8))
    )


def _nearest(values: list[int], wanted: int) -> int:
    return min(values, key=lambda one: abs(one - wanted))


def _rejection_curve(one: Any) -> pd.DataFrame:
    distance = np.linspace(-2, 3, 201)
    r = np.sqrt(one.n2 / one.n1)
    limit = float(critical_value(one.alpha, one.k, one.n1, one.n2))
    return pd.DataFrame(
        {"k": one.k, "distance": distance, "probability": special.ndtr(limit + r * distance)}
    )


def _binned_rejections(result: Result, one: Any) -> pd.DataFrame:
    data = result.columns(one, "distance", "reject")
    rows = pd.DataFrame(data)
    rows["bin"] = np.floor(rows["distance"] * 4)
    bins = rows[rows["distance"].between(-2, 3)].groupby("bin")
    table = bins.agg(distance=("distance", "mean"), x=("reject", "sum"), n=("reject", "size"))
    table = table[table["n"] >= 20]
    share = table["x"] / table["n"]
    lower, upper = intervals.wilson(share.to_numpy(), table["n"].to_numpy(), level=0.95)
    return table.assign(k=one.k, probability=share, lower=lower, upper=upper)
