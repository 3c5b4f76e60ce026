"""An interactive page that plots parts of a summary and works without a network."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any

from simstudy.analysis.summary import MEASURE
from simstudy.atomic_files import write_bytes
from simstudy.lazy import pd
from simstudy.output.report.claims import content_hash, page, template_text
from simstudy.output.report.study_page import read_as
from simstudy.remote import Place
from simstudy.tables.summary import Readings, as_words

EXPLORER = "explore.html"
SCRIPT = "explore.js"
DIGITS = 6  # significant digits of numbers on the page
VALUES = ("estimate", "lower", "upper", "exact", "mcse", "n_rep")
"""Columns of a summary that the page shows, if they exist."""


def write_explorer(
    summary: pd.DataFrame,
    path: Place,
    title: str,
    *,
    value_labels: Readings = MappingProxyType({}),
    report: str = "",
) -> Place:
    """Write a page with a summary, with menus for measure, axis, colour and panels.

    Parameters
    ----------
    summary
        Summary whose columns before `measure` are factors and axes. Rows that differ only in other
        columns are drawn at the same position.
    path
        Path of the page.
    title
        Heading of the page.
    value_labels
        Labels for values, by factor.
    report
        Path of the study's report, relative to the page; empty if there is none.

    Returns
    -------
    Place
        The path.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    script = template_text(SCRIPT)
    content = json.dumps(_content(summary, value_labels), allow_nan=False, separators=(",", ":"))
    shown = page(
        "explore.html", title=title, report=report, explorer=script,
        explorer_hash=content_hash(script), content=content.replace("<", "\\u003c"),
    )  # fmt: skip
    write_bytes(path, shown)
    return path


def _content(summary: pd.DataFrame, value_labels: Readings) -> dict[str, Any]:
    """The summary for the script: levels of each factor, and their indices in each row."""
    names = [*list(summary.columns)[: list(summary.columns).index(MEASURE)], MEASURE]
    factors, places = [], []
    for name in names:
        words: Mapping[Any, str] = value_labels.get(name, {})
        found, distinct = pd.factorize(summary[name].astype(object), use_na_sentinel=False)
        codes, levels = found.tolist(), list(distinct)
        numbers = [_number(level) for level in levels]
        is_quantity = not words and all(number is not None for number in numbers)
        if is_quantity:  # ascending
            order = sorted(range(len(levels)), key=lambda at: numbers[at] or 0.0)
            rank = {at: position for position, at in enumerate(order)}
            codes, levels = [rank[code] for code in codes], [levels[at] for at in order]
            numbers = [numbers[at] for at in order]
        factors.append({
            "name": name, "label": as_words(name),
            "levels": [read_as(level, words) for level in levels],
            "numbers": numbers if is_quantity else None,
        })  # fmt: skip
        places.append(codes)
    values = [name for name in VALUES if name in summary]
    columns = [[_number(value) for value in summary[name].tolist()] for name in values]
    return {"factors": factors, "values": values, "places": places, "columns": columns}


def _number(value: Any) -> float | int | None:
    """A finite number to a few digits; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{float(value):.{DIGITS}g}")
