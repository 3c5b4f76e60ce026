"""Figures of the classifier's sample size: exact curves, and the simulated trials on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.figures import theme
from simstudy.figures.frame import caption
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.stats.classifier.trial import normal_power, sample_sizes, trial_power


def figure_5(result: Result) -> ggplot:
    """Sample size by margin: the normal approximation, with the sizes that really suffice."""
    drawn = pd.DataFrame([_sizes(one) for one in designs_of(result)])
    drawn["k"] = "k = " + drawn["k"].map("{:g}".format)
    drawn["beta"] = "beta = " + drawn["beta"].map("{:g}".format)
    drawn["place"] = drawn["normal"] * 1.25
    top = 3.5 * drawn["normal"].max()
    return (
        p9.ggplot(drawn, p9.aes(x="margin", y="normal"))
        + p9.geom_line(color=theme.BLUE, size=0.7)
        + p9.geom_point(color=theme.BLUE, size=1.8)
        + p9.geom_text(p9.aes(y="place", label="words"), size=7.5, ha="left", va="bottom",
                       nudge_x=-0.001, color=theme.INK)
        + p9.facet_grid("k", "beta")
        + p9.scale_y_log10(limits=(0.7 * drawn["normal"].min(), top), labels=_whole)
        + p9.scale_x_continuous(
            breaks=sorted(drawn["margin"].unique()), expand=(0.08, 0, 0.34, 0)
        )
        + p9.labs(
            x="margin b = k - l",
            y="positive cases n (log scale)",
            caption=caption(
                "Points: normal approximation. In parentheses, for the score test exactly: the "
                "least n with power 1 - beta, and the least from which it never falls below again.",
                "Nothing is simulated.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8.8, 6.8), panel_spacing=0.015)
    )  # fmt: skip


def _whole(values: Any) -> list[str]:
    return [f"{value:,.0f}" for value in values]


def _sizes(one: Any) -> dict[str, Any]:
    exact = sample_sizes(one.sensitivity, one.margin, 1 - one.beta, one.alpha, rule="score")
    return {
        "k": one.sensitivity,
        "beta": one.beta,
        "margin": one.margin,
        "normal": one.n_trial,
        "words": f"{one.n_trial:,}\n({exact.first:,}; {exact.forever:,})",
    }


def designs_of(result: Result) -> list[Any]:
    """The scenarios at the normal approximation's sizes."""
    return [one for one in result.plan.scenarios if not one.n_obs]


def figure_6(result: Result) -> ggplot:
    """Type-II error asked for and had, in every design: exactly, and from simulated trials."""
    rows = type_2_errors(result)
    low, high = rows["beta"].min() - 0.05, rows["beta"].max() + 0.05
    n_rep = int(rows["n_rep"].min())
    return (
        p9.ggplot(rows, p9.aes(x="x", y="beta_hat", color="margin", shape="margin"))
        + p9.annotate("segment", x=low, xend=high, y=low, yend=high, color=theme.MUTED)
        + p9.annotate("ribbon", x=[low, high], ymin=[low - 0.02, high - 0.02],
                      ymax=[low + 0.02, high + 0.02], fill=theme.MUTED, alpha=0.12)
        + p9.geom_linerange(p9.aes(ymin="low", ymax="high"), size=0.5, show_legend=False)
        + p9.geom_point(size=1.9)
        + p9.geom_point(p9.aes(y="exact_beta"), shape="_", size=4.2, color=theme.INK)
        + p9.facet_wrap("k", nrow=1)
        + theme.scale_color_study(name="margin")
        + theme.scale_shape_study(name="margin")
        + p9.scale_x_continuous(breaks=sorted(rows["beta"].unique()))
        + p9.coord_cartesian(xlim=(low, high), ylim=(low, high))
        + p9.labs(
            x="type-II error asked for, beta",
            y="type-II error of the trial",
            caption=caption(
                f"Points: {n_rep:,} trials each, with 95% Wilson intervals. Level marks: exact. "
                "Band: within 2 points. Designs of one beta are set apart. The document calls "
                "both axes power.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(9.6, 4.4))
    )  # fmt: skip


def type_2_errors(result: Result) -> Any:
    """One row per design, the score rule: its type-II error, and its place beside the others."""
    rows = result.summary.query("measure == 'power' and rule == 'score' and n_obs == 0").copy()
    margins = sorted(rows["margin"].unique())
    apart = [0.007 * (margins.index(m) - (len(margins) - 1) / 2) for m in rows["margin"]]
    words = [f"{m:g}" for m in rows["margin"]]
    return rows.assign(
        x=rows["beta"] + apart,
        beta_hat=1 - rows["estimate"],
        low=1 - rows["upper"],
        high=1 - rows["lower"],
        exact_beta=1 - rows["exact"],
        margin=pd.Categorical(words, [f"{m:g}" for m in margins]),
        k="k = " + rows["sensitivity"].map("{:g}".format),
    )


def figure_sawtooth(result: Result) -> ggplot:
    """Exact power by n around the last design's size, with the trials simulated on it."""
    one = designs_of(result)[-1]
    simulated = result.summary.query("n_obs > 0 and rule in ['score', 'exact']")
    low, high = int(simulated["n_obs"].min()), int(simulated["n_obs"].max())
    n = np.arange(low, high + 1)
    curves = pd.concat(_curve(one, n, rule) for rule in ("score", "exact"))
    normal = pd.DataFrame({"n": n, "value": normal_power(n, *_margin(one), one.alpha)})
    normal["panel"] = _panel(["power"] * len(n))
    simulated = simulated.assign(panel=_panel(simulated["measure"]), rule=_rule(simulated["rule"]))
    levels = pd.DataFrame({"panel": _panel(["power", "size"]), "y": [1 - one.beta, one.alpha]})
    about = (one.sensitivity, one.margin, 1 - one.beta, one.alpha)
    first = {rule: sample_sizes(*about, rule=rule) for rule in ("score", "exact")}
    marks = _marks(one, first)
    return (
        p9.ggplot(curves, p9.aes(x="n", y="value", color="rule"))
        + p9.geom_hline(p9.aes(yintercept="y"), levels, linetype="dashed", color=theme.MUTED)
        + p9.geom_line(p9.aes(x="n", y="value"), normal, color=theme.MUTED, inherit_aes=False)
        + p9.geom_vline(xintercept=one.n_trial, color=theme.INK, linetype="dotted")
        + p9.geom_line(size=0.6)
        + p9.geom_linerange(p9.aes(x="n_obs", y="estimate", ymin="lower", ymax="upper"), simulated,
                            position=p9.position_dodge(1.6))
        + p9.geom_point(p9.aes(x="n_obs", y="estimate", shape="rule"), simulated, size=1.7,
                        position=p9.position_dodge(1.6))
        + p9.geom_point(p9.aes(x="n", y="value", color="rule"), marks, shape="v", size=3.4,
                        show_legend=False)
        + p9.facet_wrap("panel", ncol=1, scales="free_y")
        + theme.scale_color_study(name="test")
        + theme.scale_shape_study(name="test")
        + p9.labs(
            x="positive cases n",
            y="",
            caption=caption(
                f"k = {one.sensitivity:g}, l = {one.null:g}, alpha = {one.alpha:g}. Lines: exact. "
                "Points: simulated, 95% Wilson intervals. Grey: normal approximation, whose "
                f"n = {one.n_trial} is dotted. Triangles: least n with power {1 - one.beta:g}, and "
                f"least n from which it is never lost: {_found(first)}.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8.2, 6.6), legend_position="top")
    )  # fmt: skip


def _margin(one: Any) -> tuple[float, float]:
    return one.sensitivity, one.margin


def _panel(names: Any) -> Any:
    return pd.Categorical(names, ["power", "size"])


def _rule(names: Any) -> Any:
    return pd.Categorical(names, ["score", "exact"])


def _curve(one: Any, n: Any, rule: str) -> pd.DataFrame:
    known = trial_power(n, one.sensitivity, one.null, one.alpha, rule=rule)
    frame = pd.concat(
        pd.DataFrame({"n": n, "value": value, "panel": name})
        for name, value in (("power", known.power), ("size", known.size))
    )
    return frame.assign(panel=_panel(frame["panel"]), rule=_rule([rule] * len(frame)))


def _marks(one: Any, sizes: dict[str, Any]) -> pd.DataFrame:
    """Where each rule first has the power, and from where on it always has."""
    rows = [
        {"n": n, "rule": rule, "panel": "power", "value": 1 - one.beta + 0.012}
        for rule, found in sizes.items()
        for n in found
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(panel=_panel(frame["panel"]), rule=_rule(frame["rule"]))


def _found(sizes: dict[str, Any]) -> str:
    return "; ".join(f"{rule} {s.first} and {s.forever}" for rule, s in sizes.items())
