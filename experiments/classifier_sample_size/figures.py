"""Figures of the classifier's sample size: exact curves, and the simulated trials on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.documents.stats.classifier_trial import normal_power, sample_sizes, trial_power
from simstudy.figures import caption, captions, in_order, measure_curves, rows_like, theme
from simstudy.figures.curves import staircase
from simstudy.lazy import ggplot, p9, pd

SYMBOLS = "k: sensitivity of the classifier; l: of the null; β: nominal type-II error."
DRAWN = {"exact": "exact", "score": "score"}  # rules of the sawtooth: the document's is on top
COLORS = {"exact": theme.VERMILLION, "score": theme.BLUE}


def designs_of(result: Result) -> list[Any]:
    """The scenarios at the normal approximation's sizes."""
    return [scenario for scenario in result.plan.scenarios if not scenario.n_obs]


# ---------------------------------------------------------------- 5
def figure_5(result: Result) -> ggplot:
    """Sample size by margin: the normal approximation, and the distance of exact sizes."""
    drawn = pd.DataFrame([_sizes(design) for design in designs_of(result)])
    low, high = drawn["normal"].min(), drawn["normal"].max()
    first, forever = (_shares(drawn[name] / drawn["normal"]) for name in ("first", "forever"))
    return (
        p9.ggplot(drawn, p9.aes(x="margin", y="normal"))
        + p9.geom_line(color=theme.BLUE, size=0.7)
        + p9.geom_point(color=theme.BLUE, size=1.8)
        + p9.geom_text(p9.aes(label="words"), size=theme.WORDS_SIZE, ha="left", va="bottom",
                       nudge_x=0.001, color=theme.INK)
        + p9.facet_grid("k", "beta")
        + p9.scale_y_log10(limits=(0.7 * low, 2 * high), labels=_whole)
        + p9.scale_x_continuous(
            breaks=sorted(drawn["margin"].unique()), expand=(0.08, 0, 0.35, 0)
        )
        + p9.labs(
            x="margin b = k − l",
            y="positive cases n (log scale)",
            caption=caption(
                "Points, with their number: normal approximation; lines only join them. For the "
                f"score test exactly, the least n with power 1 − β is {first} of it, and the least "
                f"from which the power never falls below again {forever}. {SYMBOLS} "
                f"α = {designs_of(result)[0].alpha:g}.",
                "Nothing is simulated.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(theme.FULL_WIDTH, 6.0), panel_spacing=0.015)
    )  # fmt: skip


def _whole(values: Any) -> list[str]:
    return [f"{value:,.0f}" for value in values]


def _shares(ratios: pd.Series) -> str:
    return f"{ratios.min():.0%} to {ratios.max():.0%}"


def _sizes(design: Any) -> dict[str, Any]:
    exact = sample_sizes(*_asked(design), rule="score")
    return {
        "k": f"k = {design.sensitivity:g}",
        "beta": f"β = {design.beta:g}",
        "margin": design.margin,
        "normal": design.n_trial,
        "first": exact.first,
        "forever": exact.forever,
        "words": f"{design.n_trial:,}",
    }


def _asked(design: Any) -> tuple[float, float, float, float]:
    return design.sensitivity, design.margin, 1 - design.beta, design.alpha


# ---------------------------------------------------------------- 6
LIMITS = (0.05, 0.25)  # limits of both axes, as in the document
BAND = 2.0  # points: "within 2%" in the document


def figure_6(result: Result) -> ggplot:
    """Simulated against predicted type-II error of every design, on the document's axes."""
    rows = type_2_errors(result)
    ticks = [0.05, 0.1, 0.15, 0.2, 0.25]
    apart = p9.position_dodge(0.012)
    return (
        p9.ggplot(rows, p9.aes("beta", "beta_hat", color="k", shape="k"))
        + p9.geom_ribbon(
            p9.aes("beta", ymin="low", ymax="high"), _band(), fill=theme.MUTED, alpha=0.12,
            inherit_aes=False,
        )
        + p9.geom_abline(slope=1, intercept=0, color=theme.MUTED, linetype="dashed")
        + p9.geom_linerange(
            p9.aes(ymin="low", ymax="high"), position=apart, size=0.6, show_legend=False
        )
        + p9.geom_point(position=apart, size=2)
        + theme.color_scales(rows["k"].astype("category"), "sensitivity", is_quantity=False)
        + p9.scale_x_continuous(breaks=ticks)
        + p9.scale_y_continuous(breaks=ticks)
        + p9.coord_fixed(xlim=LIMITS, ylim=LIMITS)
        + p9.labs(
            x="predicted type-II error β",
            y="simulated type-II error",
            caption=caption(
                f"Points: {int(rows['n_rep'].min()):,} trials each, one per margin; sensitivities "
                f"are shown side by side. {captions.BARS}",
                f"Dashed: equality, with a band of {BAND:g} percentage points. Score test at the n "
                f"of the normal approximation. α = {designs_of(result)[0].alpha:g}. The document "
                "labels both axes power.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(theme.FULL_WIDTH, 5.2))
    )  # fmt: skip


def _band() -> pd.DataFrame:
    """Both ends of the band around equality."""
    ends = np.array([-1.0, 1.0])
    return pd.DataFrame({"beta": ends, "low": ends - BAND / 100, "high": ends + BAND / 100})


def figure_6_deviation(result: Result) -> ggplot:
    """Type-II error minus β for every design: simulated, and exact."""
    rows = deviations(type_2_errors(result))
    ends = {"xmin": -np.inf, "xmax": np.inf, "ymin": -BAND, "ymax": BAND}
    return (
        p9.ggplot(rows, p9.aes(x="margin", y="excess"))
        + p9.annotate("rect", **ends, fill=theme.MUTED, alpha=0.12)
        + p9.geom_hline(yintercept=0, color=theme.MUTED, linetype="dashed")
        + p9.geom_linerange(p9.aes(ymin="low", ymax="high"), size=0.6, color=theme.BLUE)
        + p9.geom_point(size=1.9, color=theme.BLUE)
        + p9.geom_point(p9.aes(y="exact_excess"), shape="_", size=4.2, color=theme.INK)
        + p9.facet_grid("k", "asked")
        + p9.scale_y_continuous(expand=(0.08, 0))
        + p9.labs(
            x="margin b = k − l",
            y="type-II error minus β, in percentage points",
            caption=caption(
                f"Points: {int(rows['n_rep'].min()):,} trials each. {captions.BARS} "
                f"{captions.LEVEL_MARKS}",
                f"Dashed: no deviation, with a band of {BAND:g} percentage points. Score test at "
                f"the n of the normal approximation. {SYMBOLS} α = "
                f"{designs_of(result)[0].alpha:g}.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(theme.FULL_WIDTH, 5.2))
    )


def type_2_errors(result: Result) -> pd.DataFrame:
    """One row per design, the score rule: its type-II error."""
    rows = result.summary.query("measure == 'power' and rule == 'score' and n_obs == 0")
    words = {margin: f"{margin:g}" for margin in sorted(rows["margin"].unique())}
    error = {"beta_hat": "estimate", "low": "upper", "high": "lower", "exact_beta": "exact"}
    return rows.assign(
        margin=in_order(rows["margin"], words),
        k="k = " + rows["sensitivity"].map("{:g}".format),
        asked="β = " + rows["beta"].map("{:g}".format),
        **{name: 1 - rows[column] for name, column in error.items()},
    )


def deviations(rows: pd.DataFrame) -> pd.DataFrame:
    """Type-II errors minus β, in percentage points."""
    errors = {"excess": "beta_hat", "exact_excess": "exact_beta", "low": "low", "high": "high"}
    return rows.assign(**{name: 100 * (rows[had] - rows["beta"]) for name, had in errors.items()})


# ---------------------------------------------------------------- the sawtooth
def figure_sawtooth(result: Result) -> ggplot:
    """Exact power by n around the last design's size, with the trials simulated on it."""
    design = designs_of(result)[-1]
    rows = around(result, design)
    n = np.arange(rows["n_obs"].min(), rows["n_obs"].max() + 1)
    figure = measure_curves(
        rows, x="n_obs", y=["power", "size"], color="rule", rows="measure",
        nominal={"power": 1 - design.beta, "size": design.alpha},
        exact=staircase(pd.concat(_curve(design, n, rule) for rule in DRAWN), "n_obs"),
        joined=False, dodge=False, colors=COLORS,
    )  # fmt: skip
    normal = normal_power(n, design.sensitivity, design.margin, design.alpha)
    line = pd.DataFrame({"x": n, "estimate": normal, "rows": "power"})
    sizes = {rule: sample_sizes(*_asked(design), rule=rule) for rule in DRAWN}
    found = "; ".join(f"{rule} {size.first} and {size.forever}" for rule, size in sizes.items())
    return (
        figure
        + p9.geom_line(p9.aes("x", "estimate"), line, color=theme.MUTED, inherit_aes=False)
        + p9.geom_vline(xintercept=design.n_trial, color=theme.INK, linetype="dotted")
        + p9.geom_point(p9.aes("x", "estimate", color="color"), _marks(design, sizes), shape="v",
                        size=3.4, show_legend=False)
        + p9.labs(
            x="positive cases n",
            y="",
            caption=caption(
                f"k = {design.sensitivity:g}, l = {design.null:g}, α = {design.alpha:g}.",
                "Score: the document's score test. Exact: the exact binomial test, hidden where "
                "both decide alike. Both were applied to the same simulated trials.",
                figure.labels.caption,
                f"Grey: normal approximation, whose n = {design.n_trial} is dotted. Triangles: the "
                f"least n with power {1 - design.beta:g}, and the least n from which power stays "
                f"above it: {found}.",
            ),
        )
        + p9.theme(figure_size=(theme.FULL_WIDTH, 6.0))
    )  # fmt: skip


def around(result: Result, design: Any) -> pd.DataFrame:
    """Rows of the sizes around that of a design, which is 0 on the axis."""
    own = rows_like(result.summary, design, "sensitivity", "margin", "beta", "alpha", "n_obs")
    rows = pd.concat([result.summary[result.summary["n_obs"] > 0], own])
    rows = rows[rows["rule"].isin(DRAWN)]
    n_obs = rows["n_obs"].where(rows["n_obs"] > 0, design.n_trial)
    return rows.assign(n_obs=n_obs, rule=in_order(rows["rule"], DRAWN))


def _curve(design: Any, n: Any, rule: str) -> pd.DataFrame:
    known = trial_power(n, design.sensitivity, design.null, design.alpha, rule=rule)
    curves = {"power": known.power, "size": known.size}
    return pd.concat(
        pd.DataFrame({"n_obs": n, "exact": curves[name], "measure": name, "rule": rule})
        for name in curves
    )


def _marks(design: Any, sizes: dict[str, Any]) -> pd.DataFrame:
    """Marks at the least n with the power, and at the n from which on all have it, by rule."""
    above = 1 - design.beta + 0.012
    return pd.DataFrame(
        [
            {"x": n, "color": rule, "rows": "power", "estimate": above}
            for rule, found in sizes.items()
            for n in found
        ]
    )
