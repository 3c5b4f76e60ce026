"""An interactive page that plots a study's estimates and replicates and works without a network."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np

from simstudy.analysis.result import Result, ResultParts
from simstudy.analysis.summary import MEASURE
from simstudy.errors import SimstudyError
from simstudy.lazy import pd
from simstudy.output.findings import nominal_values
from simstudy.output.manifest import REPORT
from simstudy.output.report.pages import content_hash, link, page, template_text
from simstudy.places import Place, write_bytes
from simstudy.tables.summary import as_words, factor_column

DIGITS = 6  # significant digits of estimates on the page; errors have one less
MAX_REPLICATES = 100_000  # rows of replicates that the page holds
MAX_PACKED = 600_000  # numbers of replicates that the page holds
MAX_CONTRASTS = 1_500  # paired differences, at about 3 ms each
DIFFERENCE, REP = "difference of methods", "rep"
DIGITS_OF = {
    "estimate": DIGITS,
    **dict.fromkeys(("mcse", "_below", "_above"), DIGITS - 1),
    **dict.fromkeys(("exact", "n_rep", "n_failed"), 2 * DIGITS),
    "nominal": DIGITS,
}
"""Significant digits of the columns of numbers."""
AT_ZERO = ("bias", "relative_error")  # measures whose names contain it should be 0

Table = dict[str, Any]
"""Levels of factors, their positions by row (`at`), columns of numbers, texts of warnings."""


def write_explorer(result: Result, path: Place, title: str, answer: Sequence[str] = ()) -> Place:
    """Write a page with a summary, with menus for measure, axes, colour and panels.

    Parameters
    ----------
    result
        Result whose summary is shown, with differences of methods, and with its replicates if they
        are few. Its report is beside the page.
    path
        Path of the page.
    title
        Heading of the page.
    answer
        Sentences below the heading.

    Returns
    -------
    Place
        The path.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    details = result.details
    axis = result.plan.methods_axis or next(iter(result.plan.axes), None)
    tables = {"estimates": _summary_table(result.summary, details)}
    differences = _differences(result, axis)
    if len(differences):
        tables["differences"] = _summary_table(differences, details)
    if replicates := _replicates(result):
        tables["replicates"] = replicates
    content = {"title": title, "names": dict(details.labels), "method": axis, "tables": tables}
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    script = template_text("explore.js")
    shown = page(
        "explore.html", title=title, answer=answer, content=packed, report=link(REPORT),
        explorer=script, explorer_hash=content_hash(script),
    )  # fmt: skip
    write_bytes(path, shown)
    return path


def _factors(frame: pd.DataFrame, names: Sequence[str], details: ResultParts) -> Table:
    """Levels of each factor, quantities ascending, and their indices in each row."""
    factors, at = [], []
    for name in names:
        words: Mapping[Any, str] = details.value_labels.get(name, {})
        values = frame[name].astype(object)
        is_quantity = not words and all(_number(each) is not None for each in values.unique())
        codes, levels = pd.factorize(values, sort=is_quantity, use_na_sentinel=False)
        numbers = [_number(level) for level in levels]
        factors.append({
            "name": name, "label": details.labels.get(name, as_words(name)),
            "levels": list(map(factor_column(list(levels), words).cell, levels)),
            "numbers": numbers if is_quantity else None,
        })  # fmt: skip
        at.append(codes.tolist())
    return {"factors": factors, "at": at, "n": len(frame), "values": {}, "texts": [""]}


def _summary_table(frame: pd.DataFrame, details: ResultParts) -> Table:
    """A summary for the script; limits are in multiples of the Monte Carlo error."""
    names = [*list(frame.columns)[: list(frame.columns).index(MEASURE)], MEASURE]
    made = _factors(frame, names, details)
    numbers = frame.reindex(columns=[*DIGITS_OF, "lower", "upper"]).astype(float)
    unit = numbers["mcse"].where(numbers["mcse"] > 0, 1.0)
    numbers["_below"] = (numbers["estimate"] - numbers["lower"]) / unit
    numbers["_above"] = (numbers["upper"] - numbers["estimate"]) / unit
    numbers["nominal"] = _nominal(frame)
    values = {n: [_number(each, digits) for each in numbers[n]] for n, digits in DIGITS_OF.items()}
    texts = frame.reindex(columns=["reason", "warning"]).astype(object).fillna("").to_numpy()
    warnings = ["; ".join(filter(None, row)) for row in texts]
    codes, distinct = pd.factorize(np.array(["", *warnings], dtype=object))
    return made | {"values": values | {"warning": codes[1:].tolist()}, "texts": list(distinct)}


def _nominal(frame: pd.DataFrame) -> np.ndarray:
    """The value that each estimate should have; NaN if there is none."""
    if DIFFERENCE in frame:
        return np.zeros(len(frame))
    found = pd.Series(np.nan, index=frame.index)
    for name, rows in frame.groupby(MEASURE):
        nominal = nominal_values(str(name), rows)
        at_zero = 0.0 if any(part in str(name) for part in AT_ZERO) else np.nan
        found[rows.index] = at_zero if nominal is None else nominal
    return found.to_numpy()


def _differences(result: Result, axis: str | None) -> pd.DataFrame:
    """Paired differences of methods, of all pairs or from the first method if they are too many."""
    levels = list(result.plan.axes.get(axis, ())) if axis else []
    pairs = list(combinations(levels, 2))
    n_each = len(result.plan.scenarios) * len(result.details.measures)
    for n_pairs in (len(levels) - 1, 0):  # from the first method, or none
        if len(pairs) * n_each > MAX_CONTRASTS:
            pairs = pairs[:n_pairs]
    frames = []
    for measure in result.details.measures:
        for first, second in pairs:
            try:
                rows = result.contrast(measure, axis=axis, first=first, second=second)
            except SimstudyError:  # a measure that compares methods itself
                break
            rows["contrast"] = f"{first} − {second}"
            frames.append(rows.rename(columns={"contrast": DIFFERENCE}))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _replicates(result: Result) -> Table:
    """The replicates of a small store; empty for others."""
    n_cells = math.prod(map(len, result.plan.axes.values()))
    if sum(result.n_rep.values()) * n_cells > MAX_REPLICATES:
        return {}
    frame, is_number = result.replicates, pd.api.types.is_numeric_dtype
    names = list(frame.columns)
    before = names[: names.index(REP)] + [axis for axis in result.plan.axes if axis in names]
    read = [name for measure in result.details.measures for name in measure.reads]
    found = [name for name in names if name not in (*before, REP) and is_number(frame[name])]
    found.sort(key=lambda name: read.index(name) if name in read else len(read))
    packed = {
        name: base64.b64encode(frame[name].to_numpy("<f4", na_value=np.nan).tobytes()).decode()
        for name in found[: MAX_PACKED // max(len(frame), 1)]
    }
    table = _factors(frame, before, result.details)
    return table | {"values": {REP: frame[REP].tolist()}, "packed": packed} if packed else {}


def _number(value: Any, digits: int = DIGITS) -> float | int | None:
    """A finite number to a few digits; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    number = float(f"{float(value):.{digits}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
