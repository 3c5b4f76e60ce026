"""The text printed at the end of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from shutil import get_terminal_size
from typing import Any

from simstudy.analysis.result import SUMMARY, Result, doubts_of
from simstudy.analysis.summary import overview
from simstudy.claims.table import format_values
from simstudy.claims.verdict import NO_DATA, TOO_FEW, is_unexpected
from simstudy.lazy import pd
from simstudy.output import formatting
from simstudy.output.folder import Published
from simstudy.output.manifest import REPORT
from simstudy.output.report.findings import answer_of, count_claims
from simstudy.tables.cells import Grid, Heading, as_text
from simstudy.tables.table import Table

MAX_ROWS = 30  # rows of a summary that is printed in full
RANGES = {
    "largest_mcse": "largest MCSE",
    "worst_z": "worst z from theory",
    "least_reduction": "least variance reduction",
}
"""Headings of a table of ranges that differ from its columns."""


def print_closing(
    result: Result,
    published: Published,
    replay: Callable[[str], str] | None = None,
    *,
    claims: bool = True,
) -> None:
    """Print the result of a run.

    Parameters
    ----------
    claims
        Whether to print the claims.
    replay
        Function from the address of a replicate to the command that draws it again. Default:
        Python code is printed.
    """
    for text in published.answer or answer_of(result):
        print(text)
    print()
    print(_format_summary(result))
    if claims and len(result.claims):
        print(_format_claims(result.claims))
    for text in _closing_lines(result, published, replay, claims=claims):
        print(text)


def _closing_lines(
    result: Result, published: Published, replay: Callable[[str], str] | None, *, claims: bool
) -> Iterator[str]:
    """The lines below the tables."""
    if claims:
        for label, counts in count_claims(result.claims.to_dict("records")):
            yield f"{label}: {counts}"
        yield from undecided_claims(result)
    if result.details.targets:
        yield formatting.format_precision(result)
    yield from _format_protocol(published.protocol)
    yield from (f"figure {n} was not drawn: {why}" for n, why in published.not_drawn.items())
    yield from (f"table {n} was not made: {why}" for n, why in published.not_made.items())
    yield from filter(None, [doubts_of(result)])
    yield from (f"warning: {text}" for text in result.outcome.warnings)
    if len(result.warnings):
        n_warned, first = int(result.warnings["replicates"].sum()), result.warnings.iloc[0]
        yield (
            f"{n_warned:,} warnings of replicates (warnings.parquet); the most frequent: "
            f"{first['warning']}"
        )
    if len(result.failures):
        n_failed, first = result.failures["address"].nunique(), result.failures.iloc[0]
        yield f"{n_failed:,} replicates failed (failures.parquet); the first: {first['error']}"
        if not result.details.repeat_command:  # given replicates cannot be drawn again
            address, seed = first["address"], result.plan.seed
            in_python = f'study.replay(Address.parse("{address}"), seed={seed})'
            yield f"see it happen: {replay(address) if replay else in_python}"
    n_files, where = len(published.files), formatting.relative_to_cwd(published.folder)
    files = formatting.counted(n_files, "file")
    yield f"{formatting.format_work(result)} {files} in {where}"
    reports = [path for path in published.files if path.name == REPORT]
    yield from (f"report: {formatting.relative_to_cwd(page)}" for page in reports)


def _format_summary(result: Result) -> str:
    """The summary, if it is short and fits the terminal, or else the range of each measure.

    The table of ranges includes the largest error and the largest distance from theory.
    """
    most, width = MAX_ROWS * max(1, len(result.details.measures)), _width()
    if SUMMARY not in result.details.tables and 0 < len(result.summary) <= most:
        table = result.table(SUMMARY)
        text, n_rows = str(table), len(table.grid.rows)
        lines = text.splitlines()[2 : 4 + n_rows]  # without caption and notes
        if n_rows <= MAX_ROWS and (width is None or max(map(len, lines)) <= width):
            return f"{text}\n"
    found = overview(result.summary, result.details.measures)
    if found.empty:  # the study has no measures
        return ""
    headings = {name: text for name, text in RANGES.items() if name in found}
    return _in_terminal(Table(found, "Range over scenarios", headings).grid)


def _format_claims(claims: pd.DataFrame) -> str:
    rows = [
        [
            row["claim"],
            *format_values(row),
            row["verdict"] + " (unexpected)" * is_unexpected(row["verdict"], row["expected"]),
        ]
        for row in claims.to_dict("records")
    ]
    names = ("claim", "published", "ours ± 2 MCSE", "verdict")
    headings = [Heading(name, is_number=name not in ("claim", "verdict")) for name in names]
    return _in_terminal(Grid(headings, rows, "Claims"))


def _in_terminal(grid: Grid) -> str:
    return f"{as_text(grid, _width())}\n"


def _width() -> int | None:
    """The width of the terminal; None if output goes to a file or pipe."""
    return get_terminal_size().columns if sys.stdout.isatty() else None


def undecided_claims(result: Result) -> list[str]:
    """Each undecided claim, with the replicates that would decide it, or the data it lacks."""
    rows = result.claims[result.claims["verdict"].isin((TOO_FEW, NO_DATA))]
    return [f"{row['claim']}: {row['detail']}" for row in rows.to_dict("records")]


def _format_protocol(protocol: Mapping[str, Any]) -> list[str]:
    """Whether the protocol was followed, if there is one."""
    if not protocol:
        return []
    text = f"protocol of {protocol['written']} ({protocol['hash'][:8]}):"
    if not protocol["deviations"]:
        return [f"{text} no deviations"]
    return [f"{text} done otherwise than planned:", *(f"  {t}" for t in protocol["deviations"])]
