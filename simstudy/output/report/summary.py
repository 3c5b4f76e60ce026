"""The summary as a page shows it: what is the same in every row once, the others by row."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from simstudy.analysis.summary import MEASURE
from simstudy.lazy import pd
from simstudy.output.report.html_tables import HtmlTable, cell_text, html_table, worded
from simstudy.tables.summary import Readings


class Summary(NamedTuple):
    """A summary's table, and the factors that are the same in all of its rows."""

    table: HtmlTable
    common: dict[str, str]
    has_conditions: bool  # some estimates are shares of fewer replicates than were used


def summary_of(summary: pd.DataFrame, readings: Readings = MappingProxyType({})) -> Summary:
    """The summary, with what does not differ set apart.

    Parameters
    ----------
    readings
        By factor, what values mean that are not what they say.
    """
    frame = with_n(summary)
    if not frame["reason"].fillna("").astype(bool).any():
        frame = frame.drop(columns="reason")
    factors = list(frame.columns)[: list(frame.columns).index(MEASURE)]
    same = [name for name in factors if len(frame) > 1 and _is_same(frame[name])]
    common = {
        name: worded(cell_text(frame[name].iloc[0]), frame[name].iloc[0], readings.get(name, {}))
        for name in same
    }
    table = html_table(
        frame.drop(columns=same), "Summary", heading=MEASURE, choices=[*factors, MEASURE],
        readings=readings,
    )  # fmt: skip
    return Summary(table, common, "n" in frame)


def _is_same(values: pd.Series) -> bool:
    return len(set(map(cell_text, values.tolist()))) == 1


def with_n(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary with `n`, the replicates behind each estimate, where not all were used for it.

    A share within a condition is one of those that meet it (`n_given`); summaries of earlier
    versions do not say how many did.
    """
    if "n_given" not in summary:
        return summary
    given = summary["n_given"].fillna(summary["n_rep"])
    rest = summary.drop(columns="n_given")
    if (given == summary["n_rep"]).all():
        return rest
    rest.insert(list(rest.columns).index("n_rep"), "n", given)
    return rest
