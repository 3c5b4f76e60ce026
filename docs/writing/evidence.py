"""The numbers that answers of `simstudy apply` quote, from the published summaries."""

import contextlib
import csv
import io
from pathlib import Path

from writing.results import Study

EVIDENCE = Path("simstudy", "documents", "applied", "evidence.csv")


def evidence(root: Path) -> str:
    """The file with the estimates and errors that the summaries have now.

    Its other columns, which name a row of a study's summary, are written by hand.

    Raises
    ------
    PageError
        Where they name no row, or several.
    """
    with (root / EVIDENCE).open(encoding="utf-8", newline="") as file:
        named = list(csv.DictReader(file))
    studies = {name: Study(root / "results", name) for name in {row["study"] for row in named}}
    made = io.StringIO()
    writer = csv.DictWriter(made, list(named[0]), lineterminator="\n")
    writer.writeheader()
    for row in named:
        factors = dict(part.split("=", 1) for part in row["cell"].split(";"))
        values = {name: _number_or_text(text) for name, text in factors.items()}
        found = studies[row["study"]].row(row["measure"], **values).known()
        writer.writerow(row | {"estimate": f"{found.value:.6g}", "mcse": f"{found.mcse:.4g}"})
    return made.getvalue()


def _number_or_text(text: str) -> float | str:
    for read in (int, float):  # a whole number is also what it is written as
        with contextlib.suppress(ValueError):
            return read(text)
    return text
