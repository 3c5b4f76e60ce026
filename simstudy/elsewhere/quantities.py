"""What measures read of each row: the numbers that are there, and those that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from simstudy.elsewhere.checks import (
    cells_of,
    numbers_in,
    refuse_crossed,
    refuse_no_errors,
    refuse_no_probability,
    refuse_no_truth,
)
from simstudy.elsewhere.roles import Roles, refuse_own_names
from simstudy.errors import ConfigError, DesignError
from simstudy.lazy import pd, special
from simstudy.shapes import Float

LOWER, UPPER, REJECT, TRUTH = "lower_limit", "upper_limit", "reject", "truth"  # made of others

Quantities = dict[str, Float[np.ndarray, " row"]]
"""Numbers of each row, by the name under which measures read them."""


def quantities_of(frame: pd.DataFrame, roles: Roles, reads: Iterable[str]) -> Quantities:
    """The numbers of every row.

    Parameters
    ----------
    reads
        Further columns, which measures of the user's own read.

    Raises
    ------
    DesignError
        For what is no number, and for numbers that cannot be what they are said to be.
    """
    further = [name for name in reads if name in frame.columns]
    refuse_own_names([*roles.numbers, *further])
    read = {name: numbers_in(frame, name) for name in dict.fromkeys([*roles.numbers, *further])}
    made = _limits(read, roles)
    _refuse_odd(read, roles)
    made |= _verdicts(read | made, roles)
    made |= _truths(frame, roles)
    _refuse_hidden(made, further)
    return read | made


def _refuse_odd(read: Quantities, roles: Roles) -> None:
    if roles.se:
        refuse_no_errors(read[roles.se], roles.se)
    if roles.lower and roles.upper:
        refuse_crossed(read[roles.lower], read[roles.upper], (roles.lower, roles.upper))
    if roles.p_value:
        refuse_no_probability(read[roles.p_value], roles.p_value)
    if isinstance(roles.truth, str):
        there = ~np.isnan(read[roles.estimate])
        refuse_no_truth(read[roles.truth], there, roles.truth)


def _refuse_hidden(made: Quantities, further: Iterable[str]) -> None:
    for name in further:
        if name in made:
            raise ConfigError(
                f"a measure reads column {name!r}, and what follows from the other columns has "
                "that name, too: rename the column."
            )


# ---------------------------------------------------------------- intervals and tests
def limit_names(roles: Roles) -> tuple[str, str]:
    """The columns that hold the limits of intervals."""
    return roles.lower or LOWER, roles.upper or UPPER


def _limits(read: Quantities, roles: Roles) -> Quantities:
    """Of t or normal intervals, where none are given."""
    if roles.lower or not roles.se:
        return {}
    half = _quantile(read, roles) * read[roles.se]
    return {LOWER: read[roles.estimate] - half, UPPER: read[roles.estimate] + half}


def _quantile(read: Quantities, roles: Roles) -> Any:
    at = (1 + roles.level) / 2
    if roles.df is None:
        return special.ndtri(at)
    df = read[roles.df] if isinstance(roles.df, str) else np.asarray(float(roles.df))
    if (df <= 0).any():
        raise DesignError(
            f"df={np.min(df):g} is not above 0, so there is no t interval: give the degrees of "
            "freedom of the standard errors."
        )
    return special.stdtrit(df, at)


def _verdicts(known: Quantities, roles: Roles) -> Quantities:
    """Whether an interval excludes 0, where there are intervals and no p-values."""
    if roles.p_value or not roles.has_limits:
        return {}
    lower, upper = (known[name] for name in limit_names(roles))
    excludes = ((lower > 0) | (upper < 0)).astype(float)
    return {REJECT: np.where(np.isnan(lower) | np.isnan(upper), np.nan, excludes)}


# ---------------------------------------------------------------- truth
def _truths(frame: pd.DataFrame, roles: Roles) -> Quantities:
    """The truth of each row, where it is given by the levels of `by`."""
    if not isinstance(roles.truth, Mapping):
        return {}
    found = np.empty(len(frame))
    for levels, rows in cells_of(frame, roles.by):
        found[rows.index] = _truth_at(roles.truth, levels, roles.by)
    return {TRUTH: found}


def _truth_at(truth: Mapping[Any, float], levels: tuple[object, ...], by: tuple[str, ...]) -> float:
    """The one value for these levels, or else for what they are to six digits."""
    found = [key for key in truth if _all_of(_is_level, key, levels)]
    found = found or [key for key in truth if _all_of(_is_nearly, key, levels)]
    if len(found) == 1:
        return truth[found[0]]
    where = ", ".join(f"{name}={level}" for name, level in zip(by, levels, strict=True))
    known = ", ".join(map(str, found or truth))
    cell = repr(levels[0] if len(levels) == 1 else levels)
    raise ConfigError(
        f"truth has {'several values' if found else 'no value'} for {where or 'the table'}, so "
        f"nothing there can be compared with it; it has some for {known}. Give one for each cell, "
        f"such as {cell}, or name a column that has them."
    )


def _all_of(are_same: Callable[[Any, Any], bool], key: Any, levels: tuple[Any, ...]) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return len(parts) == len(levels) and all(map(are_same, parts, levels))


def _is_level(said: Any, level: Any) -> bool:
    """Whether it is what was said: 1, 1.0 and "1" are one."""
    is_number = isinstance(level, int | float) and _as_number(said) == level
    return is_number or str(said) == str(level)


def _is_nearly(said: Any, level: Any) -> bool:
    """Whether it differs as a number of single precision does, which Stata's often are."""
    return isinstance(level, float) and f"{_as_number(said):g}" == f"{level:g}"


def _as_number(said: Any) -> float:
    try:
        return float(said)
    except (TypeError, ValueError):
        return np.nan
