"""Statements about rows of a summary, tested with allowance for Monte Carlo error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from simstudy.claims.claim import Claim, WrongAlternative
from simstudy.claims.mc_tolerance import decide, mc_margin
from simstudy.claims.verdict import DIFFERS, REPRODUCED, Finding
from simstudy.lazy import pd


def statement(
    words: str,
    check: Callable[..., Finding],
    right: Mapping[str, Any],
    rival: Mapping[str, Any] | str,
    scored: bool = True,
    *,
    source: str,
    **more: Any,
) -> Claim:
    """Make a claim without a number: a check that must hold, and fail for wrong arguments.

    Parameters
    ----------
    words
        What the document says, in our words; it names the claim too.
    check
        A function of the result and keyword arguments, such as `is_above`.
    right
        The arguments with which it has to hold.
    rival
        Those that differ in the nearest wrong answer, and name it, such as another factor; a text
        is another method. Empty where the claim itself is expected to differ.
    scored
        False for what the document does not state.
    source
        Where the document says so: figure, table or section.
    **more
        Further parameters of `Claim`, such as `note`.

    Returns
    -------
    Claim
        The claim, to be given to `Study(claims=...)`.
    """
    other = {"method": rival} if isinstance(rival, str) else dict(rival)
    wrong = (
        WrongAlternative(_format_arguments(other), partial(check, **{**right, **other}))
        if other
        else None
    )
    expected = REPRODUCED if other else DIFFERS
    known = {"rival": wrong, "expected": expected, "scored": scored, **more}
    return Claim(words, words, source, partial(check, **right), True, **known)


def _format_arguments(arguments: Mapping[str, Any]) -> str:
    """Arguments as text."""
    return ", ".join(v if isinstance(v, str) else f"{n} = {v}" for n, v in arguments.items())


def is_above(
    result: Any, measure: str, limit: float, *, everywhere: bool = True, **where: Any
) -> Finding:
    """Decide whether a measure is above a limit, in every row with these factors or in one of them.

    Parameters
    ----------
    result
        A `Result`, or anything else with its `select`.
    measure
        Name of the measure.
    limit
        In the units of the measure.
    everywhere
        Whether it must be so in every row; else one is enough.
    **where
        Factors and axes of the rows, as of `Result.select`.

    Returns
    -------
    Finding
        1 where it is, 0 where it is not.

    Raises
    ------
    TooFewReplicatesError
        Where replicates are too few for either answer.
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
        As of `is_above`.
    limit
        In the units of the measure.

    Returns
    -------
    Finding
        1 where it is, 0 where it is not.

    Raises
    ------
    TooFewReplicatesError
        Where replicates are too few for either answer.
    """
    rows = result.select(measure=measure, **where)
    return _decided(rows, limit - rows["estimate"], everywhere)


def is_near(result: Any, measure: str, value: float | str, margin: float, **where: Any) -> Finding:
    """Decide whether a measure is nearer to a value than a margin, in every row with these factors.

    Parameters
    ----------
    result, measure, **where
        As of `is_above`.
    value
        A number, or the column that holds it, such as `exact`.
    margin
        The smallest distance worth calling one, in the units of the measure.

    Returns
    -------
    Finding
        1 where it is, 0 where it is not.

    Raises
    ------
    TooFewReplicatesError
        Where replicates are too few for either answer.
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
        As of `is_above`.
    value
        A number, or the column that holds it, such as `exact`.
    margin
        The smallest distance worth calling one, in the units of the measure.

    Returns
    -------
    Finding
        1 where it is, 0 where it is not.

    Raises
    ------
    TooFewReplicatesError
        Where replicates are too few for either answer.
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
        By more than so much; a negative number allows for as much less.
    axis
        The axis on which the two are.
    **where
        Factors and other axes of the rows, as of `Result.contrast`.

    Returns
    -------
    Finding
        1 where it does, 0 where it does not.

    Raises
    ------
    TooFewReplicatesError
        Where replicates are too few for either answer.
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
