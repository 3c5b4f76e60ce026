"""The running estimate: has the simulation run long enough for what is read off it?"""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures.bands import running_mean
from simstudy.figures.frame import (
    caption,
    factors_of_replicates,
    in_words,
    is_number,
    need_columns,
    refuse_hidden,
)
from simstudy.figures.panels import facets, with_panels
from simstudy.figures.theme import BLUE, MUTED, color_scales, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.shapes import Int

BANDS = "Bands: 95% Monte Carlo interval of the running mean (Wilson, for proportions)."
MAX_COUNTS = 300  # places along a curve; more cannot be seen


def running_plot(
    replicates: pd.DataFrame,
    *,
    value: str,
    color: str | None = None,
    panel: str | None = None,
    rows: str | None = None,
    truth: float | str | None = None,
    start: int | None = None,
) -> ggplot:
    """The mean of a column as replicates accrue, with its Monte Carlo interval.

    Parameters
    ----------
    replicates
        One row per replicate, scenario and axis values: their columns, then `rep` (the order in
        which replicates were drawn), then values.
    value
        The column whose mean is followed: an error, a width, or 0 and 1 for a proportion, which
        gets Wilson's interval. NaN is a failed replicate: left out of the mean, and counted below.
    color, panel, rows
        Columns mapped to colour, panels, and rows of panels.
    truth
        What theory says the mean tends to: a number, or a column; a dashed line.
    start
        Number of replicates at which the curves begin, at least 2: the first few are all noise
        and would set the scale. Unless given, a twentieth of the replicates.

    Returns
    -------
    ggplot
        Curves are drawn at no more than 300 numbers of replicates, each the exact running mean
        there, the last one included.
    """
    mapped = {"color": color, "panel": panel, "rows": rows}
    need_columns(replicates, ["rep", value, *mapped.values(), _column(truth)])
    factors = factors_of_replicates(replicates, [value])
    refuse_hidden(replicates, {"rep": "rep", **mapped}, factors)
    paths = _paths(replicates, value, mapped, start, _column(truth))
    drawn = with_panels(paths, paths, mapped)
    return (
        p9.ggplot(drawn, p9.aes("n_rep", "estimate", **_colored(drawn)))
        + _truth(truth, drawn)
        + _curves(drawn)
        + [theme_study(), *_scales(drawn, replicates, color)]
        + facets(drawn, legend=color is not None)
        + p9.labs(x="replicates", y=f"running mean of {in_words(value)}", caption=_says(drawn))
    )


def _column(truth: float | str | None) -> str | None:
    return truth if isinstance(truth, str) else None


def _paths(
    replicates: pd.DataFrame,
    value: str,
    mapped: dict[str, str | None],
    start: int | None,
    truth: str | None,
) -> pd.DataFrame:
    keys = list(dict.fromkeys(column for column in mapped.values() if column is not None))
    if not keys:
        return _path(replicates, value, start, [], truth)
    groups = replicates.groupby(keys, dropna=False, observed=True, sort=False)
    return pd.concat([_path(g, value, start, keys, truth) for _, g in groups], ignore_index=True)


def _path(
    group: pd.DataFrame, value: str, start: int | None, keys: list[str], truth: str | None
) -> pd.DataFrame:
    values = group.sort_values("rep")[value].to_numpy(float)
    if np.isnan(values).all():
        raise FigureError(
            f"Every {value!r} is NaN in one of the groups to draw, so it has no running mean. "
            "Look at the errors of its replicates, or filter that group out."
        )
    running = running_mean(values, at=counts_to_draw(len(values), start))
    kept = {key: group[key].iloc[0] for key in [*keys, *([truth] if truth else [])]}
    path = pd.DataFrame(running._asdict()).assign(**kept)
    return path.assign(n_failed=int(np.isnan(values).sum()), n_all=len(values))


def counts_to_draw(n_rep: int, start: int | None = None) -> Int[np.ndarray, " count"]:
    """Numbers of replicates at which a curve is drawn, evenly from `start` to `n_rep`.

    Unless given, `start` is a twentieth of `n_rep`. Refused: a `start` below 2, where there is no
    standard error, or beyond `n_rep`.
    """
    start = max(n_rep // 20, 2) if start is None else start
    if not 2 <= start <= n_rep:
        raise FigureError(
            f"start={start} with {n_rep} replicates leaves no curve to draw: a running mean has a "
            f"standard error from 2 replicates on. Choose a start from 2 to {n_rep}."
        )
    n_counts = min(MAX_COUNTS, n_rep - start + 1)
    return np.unique(np.linspace(start, n_rep, n_counts).round().astype(np.int64))


def _colored(drawn: pd.DataFrame) -> dict[str, Any]:
    return {"color": "color", "fill": "color"} if "color" in drawn else {}


def _curves(drawn: pd.DataFrame) -> list[Any]:
    band = p9.aes(ymin="lower", ymax="upper")
    if "color" in drawn:
        return [p9.geom_ribbon(band, alpha=0.2, color="none"), p9.geom_line(size=0.7)]
    return [p9.geom_ribbon(band, alpha=0.2, fill=BLUE), p9.geom_line(size=0.7, color=BLUE)]


def _truth(truth: float | str | None, drawn: pd.DataFrame) -> list[Any]:
    if truth is None:
        return []
    line = drawn.assign(truth=drawn[truth] if isinstance(truth, str) else truth)
    where = [c for c in ("truth", "panel", "rows") if c in line]
    line = line[where].drop_duplicates()
    return [p9.geom_hline(p9.aes(yintercept="truth"), line, linetype="dashed", color=MUTED)]


def _scales(drawn: pd.DataFrame, replicates: pd.DataFrame, color: str | None) -> list[Any]:
    if color is None:
        return []
    return color_scales(drawn["color"], color, is_quantity=is_number(replicates[color]))


def _says(drawn: pd.DataFrame) -> str:
    worst, of_all = int(drawn["n_failed"].max()), int(drawn["n_all"].max())
    lost = f"Failed replicates, left out: at most {worst:,} of {of_all:,} in one curve."
    return caption(BANDS, lost * (worst > 0))
