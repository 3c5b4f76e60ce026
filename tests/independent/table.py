"""All checks, computed and compared: as rows of README.md here."""

import importlib
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from tests.independent.checks import CHECKS, CRITICAL_Z, Answer, Check, Committed, Verdict, compare

PAGE = Path(__file__).with_name("README.md")
BEGIN = "<!-- numbers: written by `python -m tests.independent --write` -->\n"
END = "<!-- end of numbers -->"
HEAD = "| number | committed | found here | may differ by |\n| --- | --- | --- | --- |\n"

MODULES = (  # each enters its checks, document by document
    *("two_stage", "regression", "predictive", "accuracy"),
    *("classifier", "thresholds", "leave_one_out"),
)
for module in MODULES:
    importlib.import_module(f"tests.independent.{module}")


class Row(NamedTuple):
    check: Check
    committed: Committed
    found: Answer
    verdict: Verdict

    @property
    def z(self) -> float | None:
        """The gap in standard errors of both; None where there is no chance in either."""
        error = math.hypot(self.found.error, self.committed.mcse)
        return self.verdict.gap / error if error else None


def computed(checks: Iterable[Check] = tuple(CHECKS)) -> Iterator[Row]:
    """Rows as they come, on one thread: matrices here are small, and bits are then the same."""
    for check in checks:
        with threadpool_limits(1):
            found, committed = check.compute(), check.committed()
        yield Row(check, committed, found, compare(found, committed))


def with_error(value: float, error: float) -> str:
    """A number with its Monte Carlo standard error in parentheses, where it has one."""
    return f"{value:.6g}".replace("-", "−") + (f" ({error:.2g})" if error else "")


def committed_cell(committed: Committed) -> str:
    return with_error(committed.value, committed.mcse)


def short(number: float) -> str:
    """Two digits, and all before the point."""
    return f"{number:.0f}" if number >= 100 else f"{number:.2g}"


def summary(rows: Sequence[Row]) -> str:
    """How many agree, and whether gaps are as large as their errors say."""
    agree = sum(row.verdict.agrees for row in rows)
    scores = [row.z for row in rows if row.z is not None]
    if not scores:
        return f"{agree} of {len(rows)} numbers agree."
    spread = math.sqrt(sum(z * z for z in scores) / len(scores))
    return (
        f"{agree} of {len(rows)} numbers agree. {len(scores)} have a Monte Carlo error: their gaps "
        f"are {spread:.2f} standard errors in root mean square, the largest "
        f"{max(map(abs, scores)):.2f} of {CRITICAL_Z} allowed."
    )


def markdown(row: Row) -> str:
    allowed = short(row.verdict.allowed) if row.verdict.allowed else "nothing"
    cells = [
        *(row.check.what, committed_cell(row.committed), with_error(*row.found[:2])),
        allowed if row.verdict.agrees else f"{allowed}: **differs**",
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def tables(rows: Sequence[Row]) -> str:
    parts = [f"\n{summary(rows)}\n"]
    for document, of_it in groupby(rows, key=lambda row: row.check.document):
        lines = "".join(markdown(row) + "\n" for row in of_it)
        parts.append(f"\n## {document}\n\n{HEAD}{lines}")
    return "".join(parts) + "\n"


def filled(page: str, rows: Sequence[Row]) -> str:
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}{tables(rows)}{END}{rest.split(END)[1]}"
