"""Cells of text, or of anything, as numbers: a cell that is none is refused by its place.

A blank cell is NaN here; what may be blank is for those who know what the column means.
"""

import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simstudy.errors import DesignError
from simstudy.shapes import Float

Place = Callable[[int], str]
"""Where a cell stands, in words, by its row."""

EXPONENT = r"(?:[eE][+-]?\d+)?"
DOT = re.compile(rf"[+-]?(?:\d+\.?\d*|\.\d+){EXPONENT}", re.ASCII)
COMMA = re.compile(rf"[+-]?(?:\d+,\d*|,\d+){EXPONENT}", re.ASCII)
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+", re.ASCII)  # 1,234: or is it 1.234?
MISSING = frozenset({"nan", "na", "n/a", "#n/a", "null", "none", "-", "--", "?"})
TRUTH = {"true": "1", "false": "0"}
MOST_SHOWN = 40  # characters of a cell in a message
MINUS = "\N{MINUS SIGN}"


class Advice(NamedTuple):
    """What is said of a cell that holds no number: why that matters, and what to write."""

    missing: str
    infinite: str
    per_cent: str
    other: str


OF_SCORES = Advice(
    "which is no score, and a mean without it is of fewer prompts than it says. Score that "
    "prompt, or leave its row out and say so.",
    "which is not finite, and neither is a mean with it. Find out why, or leave its row out and "
    "say so.",
    "with a sign after the number. Write the number alone, all per cent or none.",
    "which is no number, so there is no mean to compare. Write a number there.",
)
OF_TASKS = Advice(
    "which is no number. Leave the cell blank for a default, or write ? for what is to follow "
    "from the others.",
    "which is not finite, so nothing follows from it. Write a number, or leave the cell blank.",
    "with a sign after the number. Write the number alone, in the units of theta and reference.",
    "which is no number, so nothing follows from it. Write a number, or leave the cell blank.",
)


def refuse_two_notations(columns: Mapping[str, Sequence[str]], place: Place) -> None:
    """Refuse decimal commas in one column beside points in another of the same file.

    A point may part thousands where a comma parts decimals.

    Raises
    ------
    DesignError
        Naming the first cell of either kind.
    """
    cells = [(name, row, text) for name, texts in columns.items() for row, text in enumerate(texts)]
    commas = [cell for cell in cells if COMMA.fullmatch(cell[2])]
    points = [cell for cell in cells if "." in cell[2] and DOT.fullmatch(cell[2])]
    if commas and points:
        (name, row, text), (other, at, pointed) = commas[0], points[0]
        raise DesignError(
            f"{place(row)}: {name} is {text!r}, and {other} is {pointed!r} at {place(at)}, so a "
            "comma or a point may part decimals or thousands. Write all with points."
        )


def numbers_of(
    name: str, cells: Sequence[str], place: Place, advice: Advice = OF_SCORES
) -> Float[np.ndarray, " row"]:
    """A column of text as numbers, NaN where a cell is blank.

    True and false are 1 and 0, and decimal commas are read where no cell has a decimal point.

    Raises
    ------
    DesignError
        Naming the first cell that is no finite number, by row and value.
    """
    texts = [TRUTH.get(cell.lower(), cell.replace(MINUS, "-")) for cell in cells]
    if any(map(COMMA.fullmatch, texts)):
        texts = _with_points(name, texts, place)
    values = [_number(name, text, place, row, advice) for row, text in enumerate(texts)]
    return np.array(values, dtype=float)


def _with_points(name: str, texts: Sequence[str], place: Place) -> list[str]:
    """Decimal commas as points, where that is what commas must be."""
    rows = [row for row, text in enumerate(texts) if COMMA.fullmatch(text)]
    points = (row for row, text in enumerate(texts) if "." in text and DOT.fullmatch(text))
    pointed = next(points, None)
    if pointed is not None:
        raise DesignError(
            f"{place(rows[0])}: {name} is {texts[rows[0]]!r}, and {texts[pointed]!r} at "
            f"{place(pointed)}, so a comma may part decimals or thousands. Write all with points."
        )
    if all(GROUPED.fullmatch(texts[row]) for row in rows):
        raise DesignError(
            f"{place(rows[0])}: {name} is {texts[rows[0]]!r}, whose comma may part thousands "
            "or decimals. Write it without a comma, or with a point."
        )
    return [text.replace(",", ".") for text in texts]


def _number(name: str, text: str, place: Place, row: int, advice: Advice) -> float:
    if not text:
        return np.nan
    value = float(text) if DOT.fullmatch(text) else np.nan
    if np.isfinite(value):
        return value
    shown = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
    raise DesignError(f"{place(row)}: {name} is {shown!r}, {_what_is_wrong(text, advice)}")


def _what_is_wrong(text: str, advice: Advice) -> str:
    if text.lower() in MISSING:
        return advice.missing
    if "inf" in text.lower() or DOT.fullmatch(text):
        return advice.infinite
    return advice.per_cent if text.endswith("%") else advice.other


def numbers_of_any(
    name: str, values: Any, place: Place, advice: Advice = OF_SCORES
) -> Float[np.ndarray, " row"]:
    """A column of a data frame, or a sequence, as numbers, NaN where it has none.

    Raises
    ------
    DesignError
        Where it is not one row of numbers, or one of them is not finite.
    """
    array = _filled(values)
    if array.ndim != 1:
        raise DesignError(
            f"{name} has shape {array.shape}, so it is not known which scores belong to one "
            "prompt. Give one score per prompt, in one dimension."
        )
    if array.dtype.kind not in "biuf":
        return numbers_of(name, [as_text(value) for value in array], place, advice)
    floats = array.astype(float)
    if np.isinf(floats).any():
        row = int(np.isinf(floats).argmax())
        raise DesignError(f"{place(row)}: {name} is '{floats[row]:g}', {advice.infinite}")
    return floats


def _filled(values: Any) -> np.ndarray:
    """As an array, NaN where a masked one is masked."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(float), np.nan)
    return np.asarray(values)


def as_text(value: Any) -> str:
    """Blank for what data frames have in an empty cell."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    is_nan = isinstance(value, numbers.Number) and value != value  # of whatever kind and size
    return "" if is_nan else str(value).strip()


def without_blank_end(
    name: str, numbers: Float[np.ndarray, " row"], place: Place
) -> Float[np.ndarray, " score"]:
    """The scores of a column that ends in blank cells, as the shorter of two columns does.

    Raises
    ------
    DesignError
        Where there is no score, or a blank cell among them.
    """
    filled = np.flatnonzero(~np.isnan(numbers))
    if not len(filled):
        raise DesignError(
            f"{name} has no scores: every cell is blank. Give each prompt's score, or name another "
            "column."
        )
    scores = numbers[: filled[-1] + 1]
    if len(filled) < len(scores):
        row = int(np.isnan(scores).argmax())
        raise DesignError(
            f"{place(row)}: {name} is blank or missing, and a mean without it is of fewer prompts "
            "than it says. Score that prompt, or leave its row out and say so."
        )
    return scores
