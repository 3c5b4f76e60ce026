"""Level lines, upright ones and bands from side to side of a panel: so also on longer axes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

NEAR: Final = 1e-9  # of an axis, within which a place is its end
MOST_CORNERS: Final = 5  # of a straight line or a rectangle


def keep_across(panel: Any, axis: str, before: tuple[float, float], end: int) -> None:
    """Lead whatever went from one end of an axis to the other on to its new end.

    Parameters
    ----------
    panel
        matplotlib's axes, whose axis has gone on.
    axis
        `x` or `y`.
    before
        Its limits before that.
    end
        1 where its second limit is another now, 0 where its first is.
    """
    longer = float(getattr(panel, f"get_{axis}lim")()[end])
    for marks in panel.collections:
        if marks.get_transform().contains_branch(panel.transData) and len(marks.get_offsets()) <= 1:
            for path in marks.get_paths():
                _lead_on(path.vertices, "xy".index(axis), before, end, longer)


def _lead_on(places: Any, at: int, before: tuple[float, float], end: int, longer: float) -> None:
    """Move the corners of a line or of a band that stand at the end of an axis; in place."""
    width = abs(before[1] - before[0])
    is_here, is_there = (abs(places[:, at] - before[e]) <= NEAR * width for e in (end, 1 - end))
    if len(places) > MOST_CORNERS or not (is_here.any() and is_there.any()):
        return
    if len(places) == 2 and np.ptp(places[:, 1 - at]) > 0:
        return  # a slanted line would go on under the words for which the axis goes on
    places[is_here, at] = longer
