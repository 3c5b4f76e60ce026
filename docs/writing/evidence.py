"""The numbers that answers of `simstudy apply` quote, from the published summaries."""

import csv
import io
from pathlib import Path

import pandas as pd

from writing.refusals import PageError

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
    summaries = {study: _summary(root, study) for study in {row["study"] for row in named}}
    made = io.StringIO()
    writer = csv.DictWriter(made, list(named[0]), lineterminator="\n")
    writer.writeheader()
    for row in named:
        found = _row(summaries[row["study"]], row)
        numbers = {"estimate": f"{found['estimate']:.6g}", "mcse": f"{found['mcse']:.4g}"}
        writer.writerow(row | numbers)
    return made.getvalue()


def _summary(root: Path, study: str) -> pd.DataFrame:
    return pd.read_parquet(root / "results" / study / "summary.parquet")


def _row(summary: pd.DataFrame, named: dict[str, str]) -> dict[str, float]:
    rows = summary[summary["measure"] == named["measure"]]
    for part in named["cell"].split(";"):
        factor, _, value = part.partition("=")
        rows = rows[rows[factor].astype(str) == value]
    if len(rows) != 1:
        raise PageError(f"{EVIDENCE.as_posix()}: {named} names {len(rows)} rows of its summary.")
    estimate, mcse = rows[["estimate", "mcse"]].iloc[0]
    return {"estimate": float(estimate), "mcse": float(mcse)}
