"""The text printed at the end of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from shutil import get_terminal_size
from typing import Any

from simstudy.analysis.result import SUMMARY, Result, doubts_of
from simstudy.analysis.summary import overview
from simstudy.claims.claim import format_values
from simstudy.claims.verdict import NO_DATA, TOO_FEW, is_unexpected
from simstudy.lazy import pd
from simstudy.output.findings import count_claims
from simstudy.output.folder import Published
from simstudy.output.formatting import format_precision, format_work, relative_to_cwd
from simstudy.output.manifest import REPORT
from simstudy.tables.table import Grid, Heading, Table, as_text

MAX_ROWS = 30  # rows of a summary that is printed in full


def print_closing(
    result: Result, published: Published, replay: Callable[[str], str] = str, *, claims: bool = True
) -> None:
    """Print the result of a run.

    Parameters
    ----------
    claims
        Whether to print the claims.
    replay
        Function from the address of a replicate to the command that draws it again.
    """
    lines = [*published.manifest.get("answer", []), "", _format_summary(result)]
    if claims:
        lines += [_format_claims(result.claims)] if len(result.claims) else []
        lines += map(": ".join, count_claims(result.claims.to_dict("records")))
        lines += undecided_claims(result)
    lines += [format_precision(result)] if result.details.targets else []
    lines += _lines_of_manifest(published.manifest)
    lines += filter(None, [doubts_of(result)])
    lines += [f"warning: {text}" for text in result.outcome.warnings]
    if len(result.warnings):
        n_warned, first = int(result.warnings["replicates"].sum()), result.warnings.iloc[0]
        files = f"{n_warned:,} warnings of replicates (warnings.parquet)"
        lines.append(f"{files}; the most frequent: {first['warning']}")
    if len(result.failures):
        n_failed, first = result.failures["address"].nunique(), result.failures.iloc[0]
        files = f"{n_failed:,} replicates failed (failures.parquet)"
        lines.append(f"{files}; the first: {first['error']}")
        if not result.details.repeat_command:  # given replicates cannot be drawn again
            lines.append(f"see it happen: {replay(first['address'])}")
    n_files, where = len(published.files), relative_to_cwd(published.folder)
    lines.append(f"{format_work(result)} {n_files:,} files in {where}")
    print("\n".join([*lines, *lines_of_report(published)]))


def lines_of_report(published: Published) -> list[str]:
    """The line that names the report, if there is one."""
    return [f"report: {relative_to_cwd(path)}" for path in published.files if path.name == REPORT]


def _lines_of_manifest(manifest: Mapping[str, Any]) -> list[str]:
    """Whether the protocol was followed, if there is one; what was not made, with reasons."""
    lines = []
    if protocol := manifest.get("protocol"):
        how = "done otherwise than planned:" if protocol["deviations"] else "no deviations"
        lines = [f"protocol of {protocol['written']} ({protocol['hash'][:8]}): {how}"]
        lines += [f"  {text}" for text in protocol["deviations"]]
    missing = manifest.get("figures_not_drawn", {}), manifest.get("tables_not_made", {})
    lines += [f"figure {name} was not drawn: {why}" for name, why in missing[0].items()]
    return lines + [f"table {name} was not made: {why}" for name, why in missing[1].items()]


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
    return _in_terminal(Table(found, "Range over scenarios").grid)


def _format_claims(claims: pd.DataFrame) -> str:
    rows = []
    for row in claims.to_dict("records"):
        unexpected = " (unexpected)" * is_unexpected(row["verdict"], row["expected"])
        rows.append([row["claim"], *format_values(row), row["verdict"] + unexpected])
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
