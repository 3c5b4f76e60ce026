"""What is asked of a table, as it is meant: names are texts, and numbers are numbers."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from simstudy.elsewhere.roles import Roles
from simstudy.errors import ConfigError, in_one_line
from simstudy.lazy import pd
from simstudy.measures import Measure

NAMES = ("estimate", "se", "lower", "upper", "p_value", "method", "rep")  # of one column each


def frame_of(rows: Any) -> pd.DataFrame:
    """The rows, numbered from 0, under names that are texts.

    Raises
    ------
    ConfigError
        For anything but a data frame.
    """
    if not isinstance(rows, pd.DataFrame):
        raise ConfigError(
            f"rows is {_shown(rows)}, and no data frame: give one of pandas, with a row for each "
            "replicate and method, or a file to simstudy.from_file."
        )
    return rows.reset_index(drop=True).set_axis([str(name) for name in rows.columns], axis=1)


def roles_of(asked: Mapping[str, Any]) -> Roles:
    """The columns, by what they are.

    Parameters
    ----------
    asked
        Arguments of `from_frame` by name: those of which `Roles` consists.

    Raises
    ------
    ConfigError
        For what is no name where one is to be, and no number where one is to be.
    """
    for role in NAMES:
        _refuse_no_name(role, asked[role])
    if asked["estimate"] is None:
        raise ConfigError("estimate=None names no column, and there is no result without estimates")
    reference = asked["reference"]
    return Roles(
        **{role: asked[role] for role in NAMES},
        df=_named_or_number("df", asked["df"], finite=False),
        truth=_truth(asked["truth"]),
        by=several(asked["by"]),
        level=_number("level", asked["level"]),
        reference=None if reference is None else str(reference),
    )


def measures_of(asked: Any) -> Sequence[Measure | str] | None:
    """Measures and their names, one of them or a list; None for all usual ones."""
    if asked is None or isinstance(asked, str | Measure):
        return None if asked is None else [asked]
    listed = list(asked) if isinstance(asked, Sequence) else [asked]
    for each in listed:
        if not isinstance(each, str | Measure):
            raise ConfigError(
                f"measures has {_shown(each)} in it, which is no measure: give a list such as "
                "['bias', 'coverage'], or measures of simstudy.measures with their columns."
            )
    return listed


def _refuse_no_name(role: str, name: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise ConfigError(f"{role}={_shown(name)} is no name of a column: give a text.")


def several(by: Any) -> tuple[str, ...]:
    """The columns that tell cells apart, in order."""
    if by is None:
        return ()
    names = (by,) if isinstance(by, str) else by
    if not isinstance(names, Sequence | pd.Index) or not all(isinstance(n, str) for n in names):
        raise ConfigError(
            f"by={_shown(by)} are no names of columns in an order: give a list of texts, such as "
            "by=['dgm', 'n']."
        )
    return tuple(names)


def _truth(truth: Any) -> Any:
    if isinstance(truth, Mapping):
        return {levels: _number(f"truth[{levels!r}]", value) for levels, value in truth.items()}
    return _named_or_number("truth", truth)


def _named_or_number(role: str, value: Any, *, finite: bool = True) -> Any:
    if value is None or isinstance(value, str):
        return value
    return _number(role, value, finite=finite, or_else=", or the name of a column")


def _number(role: str, value: Any, *, finite: bool = True, or_else: str = "") -> float:
    """A number of Python's or NumPy's as Python's, whole ones as they are."""
    is_one = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_one or math.isnan(value) or (finite and math.isinf(value)):
        raise ConfigError(f"{role}={_shown(value)} is no number to go by: give one{or_else}.")
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _shown(value: Any) -> str:
    return in_one_line(repr(value))[:100]
