"""What a run says at its end: what was found, the claims, the files."""

from __future__ import annotations

from typing import Any

from simstudy.analysis.precision import spent
from simstudy.analysis.result import Result
from simstudy.claims import shown
from simstudy.lazy.pandas import pd
from simstudy.output.folder import Published
from simstudy.output.report import number

EXPECTED = {
    ("differs", "reproduced"): " (unexpected)",
    ("reproduced", "differs"): " (unexpected)",
    ("differs", "differs"): " (as derived)",
}
MARKS = {"reproduced": "green", "differs": "red", "no data": "yellow"}


def print_closing(result: Result, made: Published) -> None:
    """The closing table, on standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_found(result))
    if len(result.claims):
        console.print(_claimed(result.claims))
    if result.targets:
        console.print(_reached(result))
    for name, why in made.not_drawn.items():
        console.print(f"figure {name} was not drawn: {why}")
    if len(result.failures):
        _print_failures(console, result)
    elif result.n_failed:
        console.print(f"[red]{result.n_failed:,} replicates failed[/]; keep=replicates tells why")
    console.print(f"{_work(result)} {_written(made)}: {made.folder}")


def _written(made: Published) -> str:
    n_figures = sum(path.suffix == ".png" for path in made.files)
    said = ["summary", "claims"] + [f"{n_figures} figures"] * bool(n_figures)
    said += ["report"] * any(path.name == "report.html" for path in made.files)
    return ", ".join(said[:-1]) + f" and {said[-1]}"


def _reached(result: Result) -> str:
    """Whether the Monte Carlo errors that were asked for are there, and what that saved."""
    taken = spent(result, result.targets)
    n_short = int((~taken["reached"]).sum())
    uniform = int(taken["n_rep"].max()) * len(taken)
    text = f"precision reached in {len(taken) - n_short:,} of {len(taken):,} scenarios"
    if n_short:
        return f"{text}; the others stopped at max_rep: raise it to go on"
    return f"{text}; the same number everywhere would have taken {uniform:,} replicates"


def print_cost(cost: pd.DataFrame) -> None:
    """What a precision will cost, scenario by scenario and in all."""
    from rich.console import Console

    table = _table("scenario", "replicates", "seconds on one core", "MB")
    for row in cost.to_dict("records"):
        table.add_row(row["scenario"], *_cost(row["n_rep"], row["seconds"], row["bytes"]))
    table.add_section()
    table.add_row("in all", *_cost(cost["n_rep"].sum(), cost["seconds"].sum(), cost["bytes"].sum()))
    Console(highlight=False).print(table)


def _cost(n_rep: float, seconds: float, n_bytes: float) -> tuple[str, str, str]:
    return f"{n_rep:,.0f}", f"{seconds:,.1f}", f"{n_bytes / 1e6:,.1f}"


def replicates_in_words(result: Result) -> str:
    """How many replicates of how many scenarios."""
    n = len(result.plan.scenarios)
    least, most = min(result.n_rep.values()), max(result.n_rep.values())
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{each} replicates in each of {n:,} scenarios"


def _work(result: Result) -> str:
    n_rep, outcome = sum(result.n_rep.values()), result.outcome
    drawn = outcome.n_blocks * result.plan.block_size
    text = f"{replicates_in_words(result)}, {n_rep:,} in all"
    return f"{text} ({drawn:,} drawn now, {outcome.seconds:.1f} s)."


def _found(result: Result) -> Any:
    """Each measure's range over the scenarios, its error, and its distance from theory."""
    table = _table("measure", "rows", "least", "greatest", "largest MCSE", "worst z from theory")
    proportions = {one.name for one in result.measures if one.bounds == "wilson"}
    for measure, rows in result.summary.groupby("measure", sort=False):
        estimate = rows["estimate"]
        z = _worst_z(rows, is_proportion=measure in proportions)
        table.add_row(
            str(measure), str(len(rows)), number(estimate.min()), number(estimate.max()),
            number(rows["mcse"].max()), number(z),
        )  # fmt: skip
    return table


def _worst_z(rows: pd.DataFrame, *, is_proportion: bool) -> float:
    """Largest distance from theory, in the standard error that theory gives a proportion."""
    known = rows[(rows["mcse"] > 0) & rows["exact"].notna()]
    error = known["mcse"]
    if is_proportion:
        trials = known["estimate"] * (1 - known["estimate"]) / error**2
        error = (known["exact"] * (1 - known["exact"]) / trials) ** 0.5
    z = ((known["estimate"] - known["exact"]) / error)[error > 0].abs()
    return float(z.max()) if len(z) else float("nan")


def _claimed(claims: pd.DataFrame) -> Any:
    table = _table("claim", "published", "reproduced", "MCSE", "verdict", numeric_from=1)
    for row in claims.to_dict("records"):
        expected = EXPECTED.get((row["verdict"], row["expected"]), "")
        color = MARKS[row["verdict"]]
        table.add_row(
            row["claim"], shown(row["kind"], row["published"]),
            shown(row["kind"], row["reproduced"]),
            number(row["mcse"]), f"[{color}]{row['verdict']}{expected}[/]",
        )  # fmt: skip
    return table


def _table(*names: str, numeric_from: int = 1) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for place, name in enumerate(names):
        table.add_column(name, justify="right" if place >= numeric_from else "left")
    return table


def _print_failures(console: Any, result: Result) -> None:
    failures = result.failures
    first = failures.iloc[0]
    n_failed = failures["address"].nunique()
    console.print(
        f"[red]{n_failed:,} replicates failed[/] (failures.parquet); the first: {first['error']}"
    )
    console.print(f"see it happen: python run.py experiment={result.plan.name} "
                  f"replay={first['address']}")  # fmt: skip
