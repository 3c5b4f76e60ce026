"""The text printed at the end of a run."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simstudy.analysis.lookup import SUMMARY
from simstudy.analysis.result import Result, remarks_of
from simstudy.analysis.summary import overview
from simstudy.claims import (
    DIFFERS,
    IN_PRINT_ONLY,
    NO_DATA,
    REPRODUCED,
    TOO_FEW,
    UNCHECKABLE,
    Finding,
    format_values,
    is_unexpected,
)
from simstudy.lazy import pd
from simstudy.output.folder import Published
from simstudy.output.formatting import (
    counted,
    format_outliers,
    format_precision,
    format_run_time,
    format_work,
    number,
    relative_to_cwd,
)
from simstudy.output.report.findings import count_claims

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


MOST_ROWS = 30  # of a summary that is printed itself
MOST_SCENARIOS = 10  # of a forecast: a line says how many more there are
MARKS = {
    REPRODUCED: "green",
    DIFFERS: "red",
    IN_PRINT_ONLY: "magenta",
    TOO_FEW: "yellow",
    NO_DATA: "yellow",
    UNCHECKABLE: "dim",
}


def print_closing(
    result: Result, published: Published, replay: Callable[[str], str] | None = None
) -> None:
    """Print the result of a run.

    Parameters
    ----------
    replay
        The command that draws the replicate of an address again; None says it in Python.
    """
    console = new_console()
    summary = _short_summary(result, console.width)
    console.print(_found_table(result) if summary is None else summary)
    if len(result.claims):
        console.print(_claims_table(result.claims))
    for text in _closing_lines(result, published, replay):
        console.print(text, markup=False, soft_wrap=True)


def _closing_lines(
    result: Result, published: Published, replay: Callable[[str], str] | None
) -> Iterator[str | Text]:
    """What is said below the tables."""
    from rich.text import Text

    claims = result.claims
    for label, counts in count_claims(claims.to_dict("records")):
        yield f"{label}: {counts}"
    yield from undecided_claims(result)
    for row in claims[claims["verdict"] == NO_DATA].to_dict("records"):
        yield f"{row['claim']}: {row['detail']}"
    if result.details.targets:
        yield format_precision(result)
    yield from _format_protocol(published.protocol)
    for name, why in published.not_drawn.items():
        yield f"figure {name} was not drawn: {why}"
    for name, why in published.not_made.items():
        yield f"table {name} was not made: {why}"
    for text in format_outliers(result):
        yield Text.assemble(("outliers", "yellow"), ": ", text)
    for text in (*remarks_of(result), *result.outcome.noticed):
        yield Text.assemble(("warning", "yellow"), ": ", text)
    if len(result.warnings):
        n_warned, first = int(result.warnings["replicates"].sum()), result.warnings.iloc[0]
        more = " of replicates (warnings.parquet); the most frequent: "
        yield Text.assemble((f"{n_warned:,} warnings", "yellow"), more, str(first["warning"]))
    if len(result.failures):
        n_failed, first = result.failures["address"].nunique(), result.failures.iloc[0]
        more = " (failures.parquet); the first: "
        yield Text.assemble((f"{n_failed:,} replicates failed", "red"), more, str(first["error"]))
        if not result.details.given:  # else nobody here knows how to draw it
            address, seed = first["address"], result.plan.seed
            in_python = f'study.replay(Address.parse("{address}"), seed={seed})'
            yield f"see it happen: {replay(address) if replay else in_python}"
    took = format_run_time(result) if result.outcome.n_blocks and not result.details.given else ""
    if took:
        yield f"drawing took {took}"
    where = relative_to_cwd(published.folder)
    yield f"{format_work(result)} {_format_files(published)}: {where}"


def _short_summary(result: Result, width: int) -> Text | None:
    """The summary, if it is short and fits the terminal."""
    from rich.text import Text

    most = MOST_ROWS * max(1, len(result.details.measures))
    if SUMMARY in result.details.tables or not 0 < len(result.summary) <= most:
        return None
    table = result.table(SUMMARY)
    lines = str(table).splitlines()[2 : 4 + len(table.grid.rows)]  # without caption and notes
    if len(table.grid.rows) > MOST_ROWS or max(map(len, lines)) > width:
        return None
    return Text(f"{table}\n")


def undecided_claims(result: Result) -> list[str]:
    """For each undecided claim, the replicates that would decide it."""
    rows = result.claims[result.claims["verdict"] == TOO_FEW]
    claimed = {claim.name: claim for claim in result.details.claimed}
    most, texts = max(result.n_rep.values()), []
    for row in rows.to_dict("records"):
        ours = Finding(row["reproduced"], row["mcse"])
        times = claimed[row["claim"]].times_needed(ours)
        if row["kind"] != "statement" and math.isfinite(times) and times > 1:
            texts.append(f"{row['claim']}: about n_rep={_rounded_up(times * most):,} decide it")
    return texts


def _rounded_up(n_rep: float) -> int:
    """Round up to two digits: the number is an estimate."""
    step = 10.0 ** max(math.floor(math.log10(n_rep)) - 1, 0)
    return int(math.ceil(n_rep / step) * step)


def _format_protocol(protocol: Mapping[str, Any]) -> list[str]:
    """Whether the protocol was followed, if there is one."""
    if not protocol:
        return []
    text = f"protocol of {protocol['written']} ({protocol['hash'][:8]}):"
    if not protocol["deviations"]:
        return [f"{text} no deviations"]
    return [f"{text} done otherwise than planned:", *(f"  {t}" for t in protocol["deviations"])]


def print_cost(cost: pd.DataFrame) -> None:
    """Print the cost of a precision: in total, then by scenario."""
    from rich.markup import escape

    dearest = cost.sort_values("n_rep", ascending=False, kind="stable").head(MOST_SCENARIOS)
    sums = {"scenario": f"all {len(cost):,} scenarios", **cost[["n_rep", "seconds", "bytes"]].sum()}
    rows = [
        (
            escape(row["scenario"]),
            f"{row['n_rep']:,.0f}",
            f"{row['seconds']:,.1f}",
            f"{row['bytes'] / 1e6:,.1f}",
        )
        for row in (sums, *dearest.to_dict("records"))
    ]
    table = new_table(["scenario", "replicates", "seconds on one core", "MB"], rows)
    table.rows[0].end_section = True
    console = new_console()
    console.print(table)
    if len(cost) > len(dearest):
        n_more = len(cost) - len(dearest)
        console.print(f"and {n_more:,} more scenarios, with fewer replicates each")


def _found_table(result: Result) -> Table:
    """The range of each measure over scenarios, its error, and its distance from theory."""
    from rich.markup import escape

    names = ["measure", "rows", "least", "greatest", "largest MCSE", "worst z from theory"]
    found = overview(result.summary, result.details.measures)
    shown = ["least", "greatest", "largest_mcse", "worst_z"]
    if "least_reduction" in found:
        names, shown = [*names, "least variance reduction"], [*shown, "least_reduction"]
    rows = []
    for row in found.to_dict("records"):
        numbers = (row[name] for name in shown)
        rows.append((escape(row["measure"]), str(row["rows"]), *map(number, numbers)))
    return new_table(names, rows)


def _claims_table(claims: pd.DataFrame) -> Table:
    from rich.markup import escape

    rows = []
    for row in claims.to_dict("records"):
        unexpected = " (unexpected)" * is_unexpected(row["verdict"], row["expected"])
        verdict = f"[{MARKS[row['verdict']]}]{row['verdict']}{unexpected}[/]"
        rows.append((escape(row["claim"]), *format_values(row), verdict))
    return new_table(["claim", "published", "ours ± 2 MCSE", "verdict"], rows)


def _format_files(published: Published) -> str:
    endings = Counter(path.suffix for path in published.files)
    lines = ["summary", "claims"]
    lines += [counted(endings[".csv"], "table")] * (".csv" in endings)
    lines += [counted(endings[".png"], "figure")] * (".png" in endings)
    lines += ["report"] * (".html" in endings)
    return ", ".join(lines[:-1]) + f" and {lines[-1]}"


# ---------------------------------------------------------------- the console
WIDE = 100_000  # where nobody wraps: what reads a pipe wants whole lines
NARROWEST = 72  # a table does not fit into less, and a terminal breaks lines better than numbers


def new_console() -> Console:
    """A console on standard output."""
    from rich.console import Console

    class Unbroken(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # where Rich would end the process, with the status of a defect

    console = Unbroken(highlight=False)
    console.width = max(console.width, NARROWEST) if console.is_terminal else WIDE
    return console


def new_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table with text in the first column and numbers in the others."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for place, (name, *cells) in enumerate(zip(names, *rows, strict=True)):
        widest = max(_longest_word(cell) for cell in (name, *cells))
        table.add_column(
            name,
            justify="right" if place else "left",
            overflow="fold",
            min_width=widest if place else None,
        )
    for name, *numbers in rows:
        table.add_row(name, *map(with_minus, numbers))
    return table


def with_minus(text: str) -> str:
    """Replace a leading hyphen by a minus sign, if the output can encode it."""
    has_sign = "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()
    return f"−{text[1:]}" if has_sign and text[:1] == "-" and text[1:2].isdigit() else text


def _longest_word(cell: str) -> int:
    """The length of the longest word, without markup."""
    from rich.text import Text

    return max(map(len, Text.from_markup(cell).plain.split()), default=0)
