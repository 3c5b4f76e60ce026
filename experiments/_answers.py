"""Estimates in words, for the answers of studies."""

from typing import Any

from simstudy.analysis.result import Result
from simstudy.tables import in_words


def span(
    result: Result, measure: str, decimals: int = 1, *, percent: bool = True, **where: Any
) -> str:
    """A measure over the rows with some factors, with errors: "4.9% to 5.4 ± 0.2%".

    Raises
    ------
    LookupError
        If the run has no such rows.
    """
    rows = result.select(measure=measure, **where)
    return in_words(rows, percent=percent, decimals=decimals)


def most(rows: Any, decimals: int = 1, *, percent: bool = True, largest: bool = True) -> str:
    """The largest (or smallest) estimate of some rows of a summary, with its error."""
    row = rows.loc[rows["estimate"].idxmax() if largest else rows["estimate"].idxmin()]
    return in_words(row, percent=percent, decimals=decimals)
