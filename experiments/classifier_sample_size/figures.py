"""Figures of the classifier's sample size: exact curves, and the simulated trials on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.figures import caption, captions, in_order, measure_curves, rows_like, theme
from simstudy.figures.curves import staircase
from simstudy.lazy import ggplot, p9, pd
from simstudy.stats.classifier.trial import normal_power, sample_sizes, trial_power

SYMBOLS = "k: sensitivity of the classifier; l: of the null; beta: type-II error asked for."
DRAWN = {"score": "score", "exact": "exact"}  # rules of the sawtooth


def designs_of(result: Result) -> list[Any]:
    """The scenarios at the normal approximation's sizes."""
    return [scenario for scenario in result.plan.scenarios if not scenario.n_obs]


# ---------------------------------------------------------------- 5
def figure_5(result: Result) -> ggplot:
    """Sample size by margin: the normal approximation, with the sizes that really suffice."""
    drawn = pd.DataFrame([_sizes(design) for design in designs_of(result)])
    low, high = drawn["normal"].min(), drawn["normal"].max()
    return (
        p9.ggplot(drawn, p9.aes(x="margin", y="normal"))
        + p9.geom_line(color=theme.BLUE, size=0.7)
        + p9.geom_point(color=theme.BLUE, size=1.8)
        + p9.geom_text(p9.aes(y="place", label="words"), size=theme.WORDS_SIZE, ha="left",
                       va="bottom", nudge_x=-0.001, color=theme.INK)
        + p9.facet_grid("k", "beta")
        + p9.scale_y_log10(limits=(0.7 * low, 3.5 * high), labels=_whole)
        + p9.scale_x_continuous(
            breaks=sorted(drawn["margin"].unique()), expand=(0.08, 0, 0.5, 0)
        )
        + p9.labs(
            x="margin b = k - l",
            y="positive cases n (log scale)",
            caption=caption(
                "Points, joined by lines: normal approximation. In parentheses, for the score test "
                "exactly: the least n with power 1 - beta, and the least from which it never falls "
                f"below again. {SYMBOLS} alpha = {designs_of(result)[0].alpha:g}.",
                "Nothing is simulated.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(theme.FULL_WIDTH, 6.4), panel_spacing=0.015)
    )  # fmt: skip


def _whole(values: Any) -> list[str]:
    return [f"{value:,.0f}" for value in values]


def _sizes(design: Any) -> dict[str, Any]:
    exact = sample_sizes(*_asked(design), rule="score")
    return {
        "k": f"k = {design.sensitivity:g}",
        "beta": f"beta = {design.beta:g}",
        "margin": design.margin,
        "normal": design.n_trial,
        "place": design.n_trial * 1.25,
        "words": f"{design.n_trial:,}\n({exact.first:,}; {exact.forever:,})",
    }


def _asked(design: Any) -> tuple[float, float, float, float]:
    return design.sensitivity, design.margin, 1 - design.beta, design.alpha


# ---------------------------------------------------------------- 6
BAND = 2.0  # points: "within 2%", as the document has it


def figure_6(result: Result) -> ggplot:
    """Type-II error of every design less what was asked for: exactly, and from simulated trials."""
    rows = beyond_what_was_asked(type_2_errors(result))
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
            x="margin b = k - l",
            y="type-II error minus beta, in percentage points",
            caption=caption(
                f"Points: {int(rows['n_rep'].min()):,} trials each. {captions.BARS} "
                f"{captions.LEVEL_MARKS}",
                f"Dashed: as asked for, with a band of {BAND:g} percentage points. Score test at "
                f"the n of the normal approximation. {SYMBOLS} alpha = "
                f"{designs_of(result)[0].alpha:g}.",
                "The document calls both errors power.",
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
        asked="beta = " + rows["beta"].map("{:g}".format),
        **{name: 1 - rows[column] for name, column in error.items()},
    )


def beyond_what_was_asked(rows: pd.DataFrame) -> pd.DataFrame:
    """The errors less those asked for, in points."""
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
        joined=False, apart=False,
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
                f"k = {design.sensitivity:g}, l = {design.null:g}, alpha = {design.alpha:g}.",
                "Rules: the score test, and the exact binomial test.",
                figure.labels.caption,
                "Both rules decide the same trials; where they decide alike one point hides "
                "the other.",
                f"Grey: normal approximation, whose n = {design.n_trial} is dotted. Triangles: "
                f"least n with power {1 - design.beta:g}, and least n from which it is never lost: "
                f"{found}.",
            ),
        )
        + p9.theme(figure_size=(theme.FULL_WIDTH, 6.0))
    )  # fmt: skip


def around(result: Result, design: Any) -> pd.DataFrame:
    """Rows of the sizes around a design's, and of that size itself, which stands as 0."""
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
    """Where each rule first has the power, and from where on it always has."""
    above = 1 - design.beta + 0.012
    return pd.DataFrame(
        [
            {"x": n, "color": rule, "rows": "power", "estimate": above}
            for rule, found in sizes.items()
            for n in found
        ]
    )
