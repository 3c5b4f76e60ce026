"""Ranges of measures as text, for the answers of studies."""

from typing import Any

from simstudy.analysis.result import Result


def span(result: Result, measure: str, form: str = ".1%", **where: Any) -> str:
    """The range of a measure over the rows with some factors, such as "4.9% to 5.4%".

    Raises
    ------
    LookupError
        If the run has no such rows.
    """
    estimates = result.select(measure=measure, **where)["estimate"].dropna()
    if estimates.empty:
        raise LookupError(f"{measure} for {where}")
    least, most = (
        f"{value:{form}}".replace("-", "−") for value in (estimates.min(), estimates.max())
    )
    return least if least == most else f"{least} to {most}"
