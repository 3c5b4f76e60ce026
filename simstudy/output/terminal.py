"""What is printed at the end of a run: what was found, the claims, the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simstudy.analysis.overview import overview
from simstudy.analysis.result import Result
from simstudy.claims import shown
from simstudy.lazy.pandas import pd
from simstudy.output.folder import Published
from simstudy.output.wording import number, precision_in_words, work_in_words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

EXPECTED = {
    ("differs", "reproduced"): " (unexpected)",
    ("reproduced", "differs"): " (unexpected)",
    ("differs", "differs"): " (as derived)",
}
MARKS = {"reproduced": "green", "differs": "red", "no data": "yellow"}


def print_closing(
    result: Result, made: Published, replay: Callable[[str], str] | None = None
) -> None:
    """The closing table, on standard output.

    Parameters
    ----------
    replay
        The command that draws the replicate of an address again; None says it in Python.
    """
    console = _console()
    console.print(_found_table(result))
    if len(result.claims):
        console.print(_claims_table(result.claims))
    if result.targets:
        console.print(precision_in_words(result))
    for name, why in made.not_drawn.items():
        console.print(f"figure {name} was not drawn: {why}")
    if len(result.failures):
        _print_failures(console, result, replay or _in_python(result))
    elif result.n_failed:
        console.print(f"[red]{result.n_failed:,} replicates failed[/]; keep=replicates tells why")
    console.print(f"{work_in_words(result)} {_files_in_words(made)}: {made.folder}")


def print_cost(cost: pd.DataFrame) -> None:
    """What a precision will cost, scenario by scenario and in all."""
    table = _new_table(["scenario", "replicates", "seconds on one core", "MB"])
    for row in cost.to_dict("records"):
        table.add_row(row["scenario"], *_cost_cells(row["n_rep"], row["seconds"], row["bytes"]))
    table.add_section()
    in_all = cost[["n_rep", "seconds", "bytes"]].sum()
    table.add_row("in all", *_cost_cells(*in_all))
    _console().print(table)


def _cost_cells(n_rep: float, seconds: float, n_bytes: float) -> tuple[str, str, str]:
    return f"{n_rep:,.0f}", f"{seconds:,.1f}", f"{n_bytes / 1e6:,.1f}"


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _found_table(result: Result) -> Table:
    """Each measure's range over the scenarios, its error, and its distance from theory."""
    names = ["measure", "rows", "least", "greatest", "largest MCSE", "worst z from theory"]
    table = _new_table(names)
    for row in overview(result.summary, result.measures).to_dict("records"):
        numbers = (row[name] for name in ("least", "greatest", "largest_mcse", "worst_z"))
        table.add_row(row["measure"], str(row["rows"]), *map(number, numbers))
    return table


def _claims_table(claims: pd.DataFrame) -> Table:
    table = _new_table(["claim", "published", "reproduced", "MCSE", "verdict"])
    for row in claims.to_dict("records"):
        values = (shown(row["kind"], row[name]) for name in ("published", "reproduced"))
        expected = EXPECTED.get((row["verdict"], row["expected"]), "")
        verdict = f"[{MARKS[row['verdict']]}]{row['verdict']}{expected}[/]"
        table.add_row(row["claim"], *values, number(row["mcse"]), verdict)
    return table


def _new_table(names: Sequence[str]) -> Table:
    """The first column is text, the others are numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for place, name in enumerate(names):
        table.add_column(name, justify="right" if place else "left")
    return table


def _in_python(result: Result) -> Callable[[str], str]:
    """What a notebook says to draw a replicate again."""
    return lambda address: f'study.replay(Address.parse("{address}"), seed={result.plan.seed})'


def _print_failures(console: Console, result: Result, replay: Callable[[str], str]) -> None:
    failures = result.failures
    first = failures.iloc[0]
    n_failed = failures["address"].nunique()
    console.print(
        f"[red]{n_failed:,} replicates failed[/] (failures.parquet); the first: {first['error']}"
    )
    again = f"see it happen: {replay(first['address'])}"
    console.print(again, markup=False, soft_wrap=True)  # to be copied whole, brackets and all


def _files_in_words(made: Published) -> str:
    n_figures = sum(path.suffix == ".png" for path in made.files)
    said = ["summary", "claims"] + [f"{n_figures} figures"] * bool(n_figures)
    said += ["report"] * any(path.name == "report.html" for path in made.files)
    return ", ".join(said[:-1]) + f" and {said[-1]}"
