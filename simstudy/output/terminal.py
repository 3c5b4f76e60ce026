"""The text printed at the end of a run."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
    from rich.text import Text

    console = new_console()
    summary = _short_summary(result, console.width)
    console.print(_found_table(result) if summary is None else summary)
    if len(result.claims):
        console.print(_claims_table(result.claims))
        for label, counts in count_claims(result.claims.to_dict("records")):
            console.print(f"{label}: {counts}", markup=False, highlight=False)
        for text in undecided_claims(result):
            console.print(Text(text), soft_wrap=True)
        absent = result.claims[result.claims["verdict"] == NO_DATA]
        for row in absent.to_dict("records"):
            console.print(Text(f"{row['claim']}: {row['detail']}"), soft_wrap=True)
    if result.details.targets:
        console.print(format_precision(result))
    for text in _format_protocol(published.protocol):
        console.print(Text(text), soft_wrap=True)
    for name, why in published.not_drawn.items():
        console.print(f"figure {name} was not drawn: {why}", markup=False)
    for name, why in published.tables.not_made.items():
        console.print(f"table {name} was not made: {why}", markup=False)
    for text in format_outliers(result):
        console.print("[yellow]outliers[/]:", Text(text), soft_wrap=True)
    for text in (*remarks_of(result), *result.outcome.noticed):
        console.print("[yellow]warning[/]:", Text(text), soft_wrap=True)
    if len(result.warnings):
        _print_warnings(console, result.warnings)
    if len(result.failures):
        _print_failures(console, result, replay)
    took = format_run_time(result) if result.outcome.n_blocks and not result.details.given else ""
    if took:
        console.print(f"drawing took {took}", markup=False, soft_wrap=True)
    where = relative_to_cwd(published.folder)
    console.print(f"{format_work(result)} {_format_files(published)}: {where}", markup=False)


def _short_summary(result: Result, width: int) -> Text | None:
    """The summary, if it is short and fits the terminal."""
    from rich.text import Text

    if (
        len(result.summary) > MOST_ROWS * max(1, len(result.details.measures))
        or result.summary.empty
    ):
        return None
    table = result.table(SUMMARY) if SUMMARY not in result.details.tables else None
    if table is None or len(table.grid.rows) > MOST_ROWS:
        return None
    lines = str(table).splitlines()[2 : 4 + len(table.grid.rows)]  # without caption and notes
    if max(map(len, lines)) > width:
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
    rows = [
        (escape(row["scenario"]), *_cost_cells(row["n_rep"], row["seconds"], row["bytes"]))
        for row in dearest.to_dict("records")
    ]
    in_all = _cost_cells(*cost[["n_rep", "seconds", "bytes"]].sum())
    names = ["scenario", "replicates", "seconds on one core", "MB"]
    table = new_table(names, [(f"all {len(cost):,} scenarios", *in_all), *rows])
    table.rows[0].end_section = True
    console = new_console()
    console.print(table)
    if len(cost) > len(rows):
        console.print(f"and {len(cost) - len(rows):,} more scenarios, with fewer replicates each")


def _cost_cells(n_rep: float, seconds: float, n_bytes: float) -> tuple[str, str, str]:
    return f"{n_rep:,.0f}", f"{seconds:,.1f}", f"{n_bytes / 1e6:,.1f}"


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
    names = ["claim", "published", "ours ± 2 MCSE", "verdict"]
    return new_table(names, [_claim_cells(row) for row in claims.to_dict("records")])


def _claim_cells(row: Mapping[Any, Any]) -> tuple[str, ...]:
    from rich.markup import escape

    verdict = row["verdict"] + " (unexpected)" * is_unexpected(row["verdict"], row["expected"])
    mark = MARKS[row["verdict"]]
    return escape(row["claim"]), *format_values(row), f"[{mark}]{verdict}[/]"


def _print_failures(console: Console, result: Result, replay: Callable[[str], str] | None) -> None:
    from rich.text import Text

    failures = result.failures
    first = failures.iloc[0]
    n_failed = failures["address"].nunique()
    text = f"[red]{n_failed:,} replicates failed[/] (failures.parquet); the first:"
    console.print(text, Text(str(first["error"])))
    if result.details.given:  # nobody here knows how to draw it
        return
    address, seed = first["address"], result.plan.seed
    in_python = f'study.replay(Address.parse("{address}"), seed={seed})'
    again = f"see it happen: {replay(address) if replay else in_python}"
    console.print(again, markup=False, soft_wrap=True)  # to be copied whole, brackets and all


def _print_warnings(console: Console, counts: pd.DataFrame) -> None:
    """Print how many replicates warned, and the most frequent warnings."""
    from rich.text import Text

    first, n_warned = counts.iloc[0], int(counts["replicates"].sum())
    text = f"[yellow]{n_warned:,} warnings[/] of replicates (warnings.parquet); the most frequent:"
    console.print(text, Text(str(first["warning"])))


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
