"""Estimate against estimate: two methods on the same replicates."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.errors import FigureError, nearest
from simstudy.figures.frame import (
    caption,
    factors_of_replicates,
    in_words,
    need_columns,
    refuse_hidden,
)
from simstudy.figures.panels import facets, with_panels
from simstudy.figures.theme import BLUE, INK, MUTED, VERMILLION, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.measures import intervals

SEES_THROUGH = 2_000  # points from which on they are drawn lighter


def agreement_plot(
    replicates: pd.DataFrame,
    *,
    value: str,
    pair: tuple[Any, Any],
    by: str = "method",
    panel: str | None = None,
    rows: str | None = None,
    bland_altman: bool = False,
) -> ggplot:
    """Each replicate's value under one method against that under another.

    Parameters
    ----------
    replicates
        One row per replicate, scenario and axis values.
    value
        The column compared, such as "estimate".
    pair
        Two levels of `by`: the first on the horizontal axis, the second on the vertical.
    by
        Column that tells the methods apart.
    panel, rows
        Columns mapped to panels, and to rows of panels.
    bland_altman
        Whether to draw difference (second minus first) against mean instead, with the mean
        difference, its 2 MCSE band, and 95% limits of agreement (mean difference plus and minus
        1.96 standard deviations).

    Returns
    -------
    ggplot
        Each panel says its mean difference and the MCSE of that. Replicates that lack a finite
        value under either method are counted beneath.

    References
    ----------
    Bland & Altman (1986), Lancet 327(8476), 307-310.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(replicates, ["rep", value, by, *mapped.values()])
    _check_pair(replicates, by, pair)
    chosen = replicates[replicates[by].isin(list(pair))]
    factors = factors_of_replicates(replicates, [value])
    refuse_hidden(chosen, {"rep": "rep", "by": by, **mapped}, factors)
    both = paired(chosen, value, pair, by, mapped)
    drawn = with_panels(_complete(both), _complete(both), mapped)
    summed = _differences(drawn)
    return (
        p9.ggplot(_placed(drawn, bland_altman), p9.aes("x", "y"))
        + (_bland_altman(summed) if bland_altman else _identity())
        + _points(len(drawn))
        + _difference_text(summed)
        + theme_study()
        + facets(drawn, legend=False)
        + p9.labs(**_titles(value, pair, bland_altman), caption=_says(both, bland_altman))
    )


def _check_pair(replicates: pd.DataFrame, by: str, pair: tuple[Any, Any]) -> None:
    levels = list(replicates[by].unique())
    for level in pair:
        if level not in levels:
            raise FigureError(
                f"There is no {by} {level!r} among the replicates: "
                f"{nearest(str(level), map(str, levels))} Compare two that were run."
            )
    if pair[0] == pair[1]:
        raise FigureError(
            f"pair={pair!r} compares {by} {pair[0]!r} with itself, so every point would lie on the "
            "diagonal. Name two different levels."
        )


def paired(
    chosen: pd.DataFrame,
    value: str,
    pair: tuple[Any, Any],
    by: str,
    mapped: dict[str, str | None],
) -> pd.DataFrame:
    """One row per replicate: `first` and `second`, NaN where a method lacks that replicate."""
    keys = list(dict.fromkeys(["rep", *(c for c in mapped.values() if c is not None)]))
    place = chosen.groupby(keys, sort=False, dropna=False, observed=True).ngroup()
    numbered = chosen.set_axis(place, axis=0)
    both: pd.DataFrame = numbered.loc[~numbered.index.duplicated(), keys]
    sides = {
        name: numbered.loc[numbered[by] == level, value].reindex(both.index)
        for name, level in zip(("first", "second"), pair, strict=True)
    }
    return both.assign(**sides)


def _complete(both: pd.DataFrame) -> pd.DataFrame:
    finite = np.isfinite(both[["first", "second"]].to_numpy(float)).all(axis=1)
    if not finite.any():
        raise FigureError(
            f"None of the {len(both)} replicates has a finite value under both methods, so there "
            "is nothing to compare. Look at their errors, or choose another pair."
        )
    kept: pd.DataFrame = both.loc[finite]
    return kept


def _placed(drawn: pd.DataFrame, bland_altman: bool) -> pd.DataFrame:
    first, second = drawn["first"], drawn["second"]
    if bland_altman:
        return drawn.assign(x=(first + second) / 2, y=second - first)
    return drawn.assign(x=first, y=second)


# ---------------------------------------------------------------- differences
def _differences(drawn: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation and MCSE of second minus first, in each panel."""
    keys = [role for role in ("panel", "rows") if role in drawn]
    difference = drawn.assign(difference=drawn["second"] - drawn["first"])
    if not keys:
        table = difference["difference"].agg(["mean", "std", "count"]).to_frame().T
    else:
        by_panel = difference.groupby(keys, observed=True)["difference"]
        table = by_panel.agg(["mean", "std", "count"]).reset_index()
    return table.assign(mcse=table["std"] / np.sqrt(table["count"].astype(float)))


def _bland_altman(summed: pd.DataFrame) -> list[Any]:
    low, high = intervals.normal(summed["mean"], summed["std"], level=0.95)
    limits = summed.assign(
        low=low,
        high=high,
        band_low=summed["mean"] - 2 * summed["mcse"],
        band_high=summed["mean"] + 2 * summed["mcse"],
    )
    band = p9.aes(ymin="band_low", ymax="band_high")
    dashed: dict[str, Any] = {"linetype": "dashed", "color": VERMILLION, "size": 0.5}
    return [
        p9.geom_hline(yintercept=0, color=MUTED, size=0.4),
        p9.geom_rect(
            band, limits, xmin=-np.inf, xmax=np.inf, fill=VERMILLION, alpha=0.25, inherit_aes=False
        ),
        p9.geom_hline(p9.aes(yintercept="mean"), limits, color=VERMILLION, size=0.6),
        p9.geom_hline(p9.aes(yintercept="low"), limits, **dashed),
        p9.geom_hline(p9.aes(yintercept="high"), limits, **dashed),
    ]


def _identity() -> list[Any]:
    return [p9.geom_abline(intercept=0, slope=1, color=MUTED, linetype="dashed", size=0.5)]


def _points(n_points: int) -> Any:
    alpha = 0.5 if n_points < SEES_THROUGH else 0.25
    return p9.geom_point(size=1.3, stroke=0, alpha=alpha, color=BLUE)


def _difference_text(summed: pd.DataFrame) -> list[Any]:
    """Words above the points, with room made for them."""
    columns = zip(summed["mean"], summed["mcse"], summed["count"], strict=True)
    said = [f"  mean difference {m:.3g}, MCSE {e:.2g}\n  n = {int(n):,}" for m, e, n in columns]
    place = summed.assign(said=said, x=-np.inf, y=np.inf)
    words = p9.geom_text(p9.aes(label="said"), place, ha="left", va="top", size=7.5, color=INK)
    return [words, p9.scale_y_continuous(expand=(0.05, 0, 0.18, 0))]


def _titles(value: str, pair: tuple[Any, Any], bland_altman: bool) -> dict[str, str]:
    name, (first, second) = in_words(value), pair
    if bland_altman:
        return {"x": f"{name}: mean of {first} and {second}", "y": f"{second} minus {first}"}
    return {"x": f"{name}: {first}", "y": f"{name}: {second}"}


def _says(both: pd.DataFrame, bland_altman: bool) -> str:
    lost = len(both) - len(_complete(both))
    lines = "Solid: mean difference, with 2 MCSE shaded. Dashed: 95% limits of agreement."
    return caption(
        lines if bland_altman else "Dashed: equality.",
        f"Failed replicates, without a value under both: {lost:,} of {len(both):,}." * (lost > 0),
    )
