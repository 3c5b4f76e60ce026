"""A control: a column, or a function of columns, with known mean."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy.errors import DesignError, StudyError, in_one_line
from simstudy.measures.columns import Columns, Operand, names_in

Value = str | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Control:
    """A column whose mean is known; made by `control`.

    Parameters
    ----------
    name
        What messages call it.
    value
        Name of a column, or a function of columns.
    mean
        Its expectation: a number, or the name of a factor or column.
    reads
        The columns that it needs.
    """

    name: str
    value: Value
    mean: Operand
    reads: tuple[str, ...]


def control(value: Value, *, mean: Operand, name: str | None = None) -> Control:
    """A quantity whose mean is known without simulation.

    Parameters
    ----------
    value
        Name of a column, or a function whose parameters name columns and number factors. It is
        given arrays `(rep, *axes)` and returns one.
    mean
        Its expectation: a number, or the name of a factor or column. Where that varies over
        replicates, the difference of the two has mean 0 and is the control.
    name
        What messages call it; that of the column or of the function, if not given.

    Returns
    -------
    Control
        The control, to be given to `controlled`.

    Raises
    ------
    DesignError
        If `value` is neither a column's name nor a function, or `mean` is no number and no
        name.
    """
    _refuse_no_mean(mean)
    if isinstance(value, str):
        return Control(name or value, value, mean, names_in(value, mean))
    if not callable(value):
        raise DesignError(
            f"control({in_one_line(repr(value))}) is neither a column's name nor a function, so it "
            "has no values. Give one of the two, as in control('age', mean=50)."
        )
    parameters = tuple(inspect.signature(value).parameters)
    label = name or str(getattr(value, "__name__", "control"))
    return Control(label, value, mean, tuple(dict.fromkeys((*parameters, *names_in(mean)))))


def _refuse_no_mean(mean: Operand) -> None:
    names_in(mean)
    if not isinstance(mean, str) and not math.isfinite(mean):
        raise DesignError(
            f"control(mean={mean}) is not a mean that could be known. Give a finite number, or the "
            "name of a factor or column."
        )


def call_control(control: Control, columns: Columns) -> np.ndarray:
    """Evaluate a control's function on columns."""
    assert callable(control.value)
    names = inspect.signature(control.value).parameters
    found = control.value(**{name: columns[name] for name in names})
    try:
        values = np.asarray(found, float)
    except (TypeError, ValueError):
        values = np.asarray(np.nan)
    if not values.ndim:
        raise StudyError(
            f"control {control.name!r}: the function returned {in_one_line(repr(found))}, which is "
            "not an array of numbers. Return one for each replicate."
        )
    return values
