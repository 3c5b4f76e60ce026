"""What drawing took, as a page shows it: what took most stands first, a long table is folded."""

from __future__ import annotations

from typing import NamedTuple

from simstudy.analysis.frames import IN_ALL
from simstudy.analysis.result import Result
from simstudy.output.report.html_tables import HtmlTable, html_table
from simstudy.output.wording import run_time_in_words

MOST_UNFOLDED = 12  # rows


class RunTimes(NamedTuple):
    """A table of seconds, and what it comes to."""

    table: HtmlTable
    in_words: str
    is_folded: bool


def run_times(result: Result) -> RunTimes | None:
    """Seconds by scenario and method; None where nothing was timed."""
    seconds = result.seconds
    if seconds.empty:
        return None
    ordered = seconds.sort_values(IN_ALL, ascending=False, kind="stable")
    axis = [result.plan.methods_axis] if result.plan.methods else []
    table = html_table(ordered, "Run time", choices=axis, readings=result.readings)
    return RunTimes(table, run_time_in_words(result), len(seconds) > MOST_UNFOLDED)
