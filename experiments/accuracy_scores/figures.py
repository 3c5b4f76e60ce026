"""Figures of `accuracy_scores`: functions of its stored results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments._method_names import colors_of
from simstudy.analysis.result import Result
from simstudy.documents.dgps.prompts import (
    BinaryScores,
    BoundedScores,
    GaussianScores,
    PerplexityScores,
    ScoreDistribution,
)
from simstudy.documents.stats.accuracy.design import level_given_reference
from simstudy.figures import (
    caption,
    captions,
    in_order,
    measure_curves,
    theme,
    with_labels,
)
from simstudy.lazy import ggplot, p9, pd

SCORES: dict[str, ScoreDistribution] = {
    "normal": GaussianScores(),
    "binary": BinaryScores(mean=0.8),
    "bounded": BoundedScores(mean=0.2, precision=6.0),
    "perplexity": PerplexityScores(mean=20.0, spread=1.0),
}
WORDS = {
    "normal": "normal",
    "binary": "right or wrong",
    "bounded": "bounded, skewed",
    "perplexity": "perplexity",
}
METHOD_WORDS = {
    "z": "z, right σ",
    "z_sigma_small": "z, 0.8 σ",
    "z_sigma_large": "z, 1.25 σ",
    "z_pilot_32": "z, σ of a pilot of 32",
    "z_pilot_256": "z, σ of a pilot of 256",
    "t": "Student's t (pooled)",
    "paired_z": "paired z",
    "paired_t": "paired t",
}
COLORS = colors_of(METHOD_WORDS.values())
SIGMA = ("z", "z_sigma_small", "z_sigma_large", "z_pilot_32", "z_pilot_256", "t")
PAIRED = ("z", "t", "paired_z", "paired_t")
NORMAL_ONLY = "Theory is that of normal scores."
NORMAL_THEORY = "Solid lines: theory of normal scores."
RATES = {"level": "type-I error", "power": "power"}


def sigma_figure(result: Result) -> ggplot:
    """Type-I error and power by n and distribution, for each treatment of σ."""
    rows = _redrawn(result, SIGMA)
    figure = _by_rate(_as_levels(rows[rows["correlation"] == 0], "n"), "n", SIGMA)
    return (
        figure
        + captions.titles(
            x="scores in each run, n", y="share of checks that fail", size=(theme.FULL_WIDTH, 6.4)
        )
        + p9.labs(caption=caption(figure.labels.caption, NORMAL_ONLY))
    )


def pairing_figure(result: Result) -> ggplot:
    """Type-I error and power by the correlation of the scores of one prompt, at one n."""
    n = _middle_n(result)
    rows = _redrawn(result, PAIRED)
    rows = _as_levels(rows[rows["n"] == n], "correlation")
    figure = _by_rate(rows, "correlation", PAIRED, exact=False)  # theory knows two of four methods
    title = f"correlation of the two scores of a prompt, n = {n}"
    size = captions.titles(x=title, y="share of checks that fail", size=(theme.FULL_WIDTH, 6.4))
    return figure + size


def _as_levels(rows: pd.DataFrame, factor: str) -> pd.DataFrame:
    """Rows with a quantity as ordered levels, evenly spaced with room for every method."""
    values = sorted(rows[factor].unique())
    return rows.assign(
        **{factor: in_order(rows[factor], {value: f"{value:,g}" for value in values})}
    )


def saving_figure(result: Result) -> ggplot:
    """Power at the n that a paired test needs, by correlation."""
    rows = _labelled(result, PAIRED)
    n_full = saved_from(result)
    rows = rows[rows["reference"].isna() & (rows["detectable_at"] == n_full)]
    smallest = rows.groupby(["scores", "correlation"], observed=True)["n"].transform("min")
    rows = rows[rows["n"] == smallest]
    words = {
        rho: f"{rho:g}\nn = {n}"
        for rho, n in sorted(dict(zip(rows["correlation"], rows["n"], strict=True)).items())
    }
    figure = measure_curves(
        rows.drop(columns="n").assign(correlation=in_order(rows["correlation"], words)),
        x="correlation", y="rejection_rate", color="method", panel="scores",
        nominal=1 - result.plan.scenarios[0].beta, exact=False, colors=_colors(PAIRED), dodge=1.3,
    )  # fmt: skip
    effect = f"The effect is that which z detects on {n_full} other prompts."
    title = f"correlation ρ of the two scores of a prompt, and n = {n_full} (1 − ρ)"
    upright = p9.theme(axis_text_x=p9.element_text(angle=0, ha="center"))
    size = captions.titles(x=title, y="power", size=(theme.FULL_WIDTH, 5))
    return figure + size + upright + p9.labs(caption=caption(figure.labels.caption, effect))


def reference_figure(result: Result) -> ggplot:
    """Type-I error of the z test given the reference, by the luck of the reference."""
    rows = _labelled(result, ("z",))
    rows = rows[rows["reference"].notna()]
    if rows.empty:
        raise LookupError("a reference that is fixed")
    rows = _with_luck(rows, result).drop(columns=["reference", "method"])
    alpha = result.plan.scenarios[0].alpha
    figure = measure_curves(
        rows, x="luck", y="rejection_rate", color="scores", panel="n", nominal=alpha,
        exact=_given_reference(rows, alpha), joined=False, dodge=False,
    )  # fmt: skip
    title = "reference better than the truth by so many of its standard errors"
    words = p9.labs(caption=caption(NORMAL_THEORY, _without_lines(figure)))
    size = captions.titles(
        x=title, y="type-I error of z, given the reference", size=(theme.FULL_WIDTH, 4.6)
    )
    return figure + size + words


def _given_reference(rows: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Φ(√2·Φ⁻¹(alpha) + luck), the same for every n."""
    luck = np.linspace(rows["luck"].min(), rows["luck"].max(), 101)
    line = {"luck": luck, "exact": level_given_reference(alpha, luck), "measure": "rejection_rate"}
    return pd.concat(pd.DataFrame({**line, "n": n}) for n in rows["n"].unique())


def _without_lines(figure: ggplot) -> str:
    """The caption of a figure without the sentence on lines."""
    return str(figure.labels.caption).replace("\n", " ").replace(captions.LINES + " ", "")


FIGURES = {
    "sigma": sigma_figure,
    "pairing": pairing_figure,
    "saving": saving_figure,
    "reference": reference_figure,
}


# ---------------------------------------------------------------- parts
def saved_from(result: Result) -> int:
    """Number of scores of the z test whose effect paired tests detect with fewer prompts."""
    found = [
        each.detectable_at
        for each in result.plan.scenarios
        if each.reference is None and each.detectable_at not in (0, each.n)
    ]
    if not found:
        raise LookupError("paired tests with fewer prompts")
    return int(found[0])


def _middle_n(result: Result) -> int:
    """The baseline n for savings if it has scenarios with its own effect; else the largest."""
    paired = (each for each in result.plan.scenarios if each.correlation > 0)
    sizes = {each.n for each in paired if each.detectable_at == each.n}
    wanted = saved_from(result)
    return wanted if wanted in sizes else max(sizes)


def _by_rate(
    rows: pd.DataFrame,
    x: str,
    methods: tuple[str, ...],
    *,
    exact: bool = True,
) -> ggplot:
    """Both error rates over a factor, a panel for each distribution."""
    figure = measure_curves(
        rows.drop(columns="detectable_at"), x=x, y="rejection_rate", color="method",
        panel="scores", rows="rate", nominal="asked", exact=exact,
        colors=_colors(methods), dodge=1.4,
    )  # fmt: skip
    return figure + p9.facet_grid(rows="rows", cols="panel", scales="free_y")


def _redrawn(result: Result, methods: tuple[str, ...]) -> pd.DataFrame:
    """Rows of checks without an effect, or with the effect detectable at their n."""
    rows = _labelled(result, methods)
    own_effect = rows["detectable_at"].isin([0]) | (rows["detectable_at"] == rows["n"])
    rows = rows[rows["reference"].isna() & own_effect]
    is_level = rows["detectable_at"] == 0
    scenario = result.plan.scenarios[0]
    return rows.assign(
        rate=in_order(np.where(is_level, "level", "power"), RATES),
        asked=np.where(is_level, scenario.alpha, 1 - scenario.beta),
    )


def _labelled(result: Result, methods: tuple[str, ...]) -> pd.DataFrame:
    """Rows of failures by these methods, with labels."""
    rows = result.summary
    rows = rows[(rows["measure"] == "rejection_rate") & rows["method"].isin(methods)]
    labels = {SCORES[name]: words for name, words in WORDS.items()}
    named = with_labels(rows, result.plan.scenarios, scores=labels)
    return named.assign(method=in_order(rows["method"], {m: METHOD_WORDS[m] for m in methods}))


def _with_luck(rows: pd.DataFrame, result: Result) -> pd.DataFrame:
    """Rows with a fixed reference, and its distance above the truth in standard errors."""
    words = {SCORES[name]: said for name, said in WORDS.items()}
    luck = {
        (words[each.scores], each.n, each.reference): each.luck
        for each in result.plan.scenarios
        if each.reference is not None
    }
    places = zip(rows["scores"], rows["n"], rows["reference"], strict=True)
    return rows.assign(luck=[luck[place] for place in places])


def _colors(methods: tuple[str, ...]) -> Mapping[str, str]:
    return {METHOD_WORDS[name]: COLORS[METHOD_WORDS[name]] for name in methods}
