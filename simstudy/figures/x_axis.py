"""The horizontal axis of curves: turned categories, logarithms labelled where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures.frame import is_number
from simstudy.figures.page import page_width
from simstudy.figures.panels import panel_grid, turned_labels
from simstudy.figures.theme import LETTER
from simstudy.lazy import p9, pd


def x_scale(drawn: pd.DataFrame, log_x: bool) -> list[Any]:
    """What the axis of the column `x` needs."""
    x = drawn["x"]
    if not is_number(x):
        return turned_labels(x, alone="panel" not in drawn)
    if not log_x:
        return []
    places = sorted(x.unique())
    if len(places) > 8:
        return [p9.scale_x_log10()]
    # between one place and itself there are no minor breaks, and none could be computed
    between: dict[str, Any] = {"minor_breaks": []} if len(places) == 1 else {}
    labels = _apart(places, panel_grid(drawn)[0])
    return [p9.scale_x_log10(breaks=places, labels=labels, **between)]


def _apart(places: Sequence[float], n_columns: int) -> list[str]:
    """Labels of places on a logarithmic axis; none where it would touch one before it, or the last.

    The last says how far the axis goes, so it always stands.
    """
    labels = [f"{place:,g}" for place in places]
    span = float(np.log10(places[-1] / places[0])) or 1.0
    inches = 0.88 * (page_width() - 0.9) / n_columns / span  # of a power of ten
    middle = inches * np.log10(np.asarray(places, float) / places[0])
    half = (np.array([len(label) for label in labels]) + 0.5) * LETTER / 2
    end = -np.inf
    for i in range(len(places) - 1):
        fits = end <= middle[i] - half[i] and middle[i] + half[i] <= middle[-1] - half[-1]
        labels[i], end = (labels[i], middle[i] + half[i]) if fits else ("", end)
    return labels


def check_log(x: pd.Series) -> None:
    """Refuse quantities that have no logarithm."""
    if is_number(x) and (x <= 0).any():
        raise FigureError(
            f"log_x=True with x={x.min():g}: there is no place for it on a logarithmic axis, so "
            "the point would vanish. Leave log_x out, or filter those rows."
        )
