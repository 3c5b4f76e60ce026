"""Statements about rows of a summary, tested with allowance for Monte Carlo error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from simstudy.claims.claim import Claim, WrongValue
from simstudy.claims.verdict import DIFFERS, REPRODUCED, Finding, decide, mc_margin
from simstudy.lazy import pd


def statement(
    words: str,
    check: Callable[..., Finding],
    right: Mapping[str, Any],
    wrong: Mapping[str, Any] | str,
    scored: bool = True,
    *,
    source: str,
    **more: Any,
) -> Claim:
    """Make a claim without a number: a check that must hold, and fail for wrong arguments.

    Parameters
    ----------
    words
        Statement of the document, in our words; also the name of the claim.
    check
        Function of the result and keyword arguments, such as `is_above`.
    right
        Arguments with which the check must hold.
    wrong
        Arguments that differ in a plausible wrong answer, such as another factor; a text is
        another method. Empty if the claim itself is expected to differ.
    scored
        Whether the document states it.
    source
        Figure, table or section of the document.
    **more
        Further parameters of `Claim`, such as `note`.

    Returns
    -------
    Claim
        The claim, an argument for `Study(claims=...)`.
    """
    other = {"method": wrong} if isinstance(wrong, str) else dict(wrong)
    known = {"expected": DIFFERS, "scored": scored, **more}
    if other:
        said = [v if isinstance(v, str) else f"{n} = {v}" for n, v in other.items()]
        wrong_value = WrongValue(", ".join(said), partial(check, **{**right, **other}))
        known |= {"expected": REPRODUCED, "wrong_value": wrong_value} | more
    return Claim(words, words, source, partial(check, **right), True, **known)


def is_above(
    result: Any, measure: str, limit: float, *, everywhere: bool = True, **where: Any
) -> Finding:
    """Decide whether a measure is above a limit, in every row with these factors or in one of them.

    Parameters
    ----------
    result
        A `Result`, or another object with its `select` method.
    measure
        Name of the measure.
    limit
        Limit, in the units of the measure.
    everywhere
        Whether it must hold in every row. False: one row is enough.
    **where
        Factors and axes of the rows; see `Result.select`.

    Returns
    -------
    Finding
        1 if it is, 0 if it is not.

    Raises
    ------
    TooFewReplicatesError
        If there are too few replicates for either answer.
    """
    rows = result.select(measure=measure, **where)
    return _decided(rows, rows["estimate"] - limit, everywhere)


def is_below(
    result: Any, measure: str, limit: float, *, everywhere: bool = True, **where: Any
) -> Finding:
    """Decide whether a measure is below a limit, in every row with these factors or in one of them.

    Parameters
    ----------
    result, measure, limit, everywhere, **where
        See `is_above`.

    Returns
    -------
    Finding
        1 if it is, 0 if it is not.

    Raises
    ------
    TooFewReplicatesError
        If there are too few replicates for either answer.
    """
    rows = result.select(measure=measure, **where)
    return _decided(rows, limit - rows["estimate"], everywhere)


def is_near(result: Any, measure: str, value: float | str, margin: float, **where: Any) -> Finding:
    """Decide whether a measure is nearer to a value than a margin, in every row with these factors.

    Parameters
    ----------
    result, measure, **where
        See `is_above`.
    value
        Number, or the column that holds it, such as `exact`.
    margin
        Smallest relevant distance, in the units of the measure.

    Returns
    -------
    Finding
        1 if it is, 0 if it is not.

    Raises
    ------
    TooFewReplicatesError
        If there are too few replicates for either answer.
    """
    rows = result.select(measure=measure, **where)
    return _decided(rows, margin - _distance(rows, value), True)


def is_far(
    result: Any,
    measure: str,
    value: float | str,
    margin: float,
    *,
    everywhere: bool = True,
    **where: Any,
) -> Finding:
    """Decide whether a measure is further from a value than a margin, in every row or in one.

    Parameters
    ----------
    result, measure, everywhere, **where
        See `is_above`.
    value
        Number, or the column that holds it, such as `exact`.
    margin
        Smallest relevant distance, in the units of the measure.

    Returns
    -------
    Finding
        1 if it is, 0 if it is not.

    Raises
    ------
    TooFewReplicatesError
        If there are too few replicates for either answer.
    """
    rows = result.select(measure=measure, **where)
    return _decided(rows, _distance(rows, value) - margin, everywhere)


def is_more(
    result: Any,
    measure: str,
    first: str,
    second: str,
    *,
    by: float = 0.0,
    axis: str = "method",
    **where: Any,
) -> Finding:
    """Decide whether a measure of one method exceeds that of another on the same data, everywhere.

    Parameters
    ----------
    result
        A `Result`.
    measure
        Name of the measure.
    first, second
        Labels of the axis.
    by
        Difference to exceed; a negative number allows `first` to be smaller by this amount.
    axis
        Axis of the two labels.
    **where
        Factors and other axes of the rows; see `Result.contrast`.

    Returns
    -------
    Finding
        1 if it does, 0 if it does not.

    Raises
    ------
    TooFewReplicatesError
        If there are too few replicates for either answer.
    """
    rows = result.contrast(measure, axis=axis, first=first, second=second, **where)
    return _decided(rows, rows["estimate"] - by, True)


def _distance(rows: pd.DataFrame, value: float | str) -> pd.Series:
    known = rows[value] if isinstance(value, str) else value
    return (rows["estimate"] - known).abs()


def _decided(rows: pd.DataFrame, excess: pd.Series, everywhere: bool) -> Finding:
    """Decide whether an excess is above 0, given the errors of the rows."""
    reach = mc_margin(rows["mcse"], rows.get("n_given", rows["n_rep"]), max(len(rows), 1))
    found = rows["estimate"]
    text = f"{found.min():.4f}"
    text += f" ± {rows['mcse'].max():.4f}" if len(rows) == 1 else f" to {found.max():.4f}"
    return decide(excess, reach, text, everywhere=everywhere)
