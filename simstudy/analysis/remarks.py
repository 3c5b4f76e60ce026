"""What a summary remarks on its estimates, as one sentence for each measure."""

from __future__ import annotations

from collections.abc import Sequence

from simstudy.analysis.summary import MEASURE, REMARK
from simstudy.lazy.pandas import pd


def remarks_in_words(summary: pd.DataFrame, places: Sequence[str]) -> list[str]:
    """For each measure that has remarks, how many, and the first with its place.

    Parameters
    ----------
    places
        Columns that say which scenario and cell a row is about; those that differ are named.
    """
    if REMARK not in summary:
        return []
    places = [place for place in places if summary[place].astype(str).nunique() > 1]
    rows = summary[summary[REMARK] != ""]
    by_measure = rows.groupby(MEASURE, sort=False)
    return [_of_measure(str(name), found, places) for name, found in by_measure]


def _of_measure(name: str, rows: pd.DataFrame, places: Sequence[str]) -> str:
    first = rows.iloc[0]
    where = ", ".join(f"{place} {first[place]}" for place in places if pd.notna(first[place]))
    others = f"{len(rows) - 1:,} other row{'s' * (len(rows) > 2)}"
    more = f" (and in {others})" if len(rows) > 1 else ""
    at = f" at {where}" if where else ""
    return f"{name}{at}: {first[REMARK]}{more}."
