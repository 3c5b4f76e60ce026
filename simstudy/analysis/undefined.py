"""Measures that have no value in some cells: NaN there, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from simstudy.errors import StudyError, UndefinedError, in_one_line
from simstudy.measures import Estimates

Columns = Mapping[str, np.ndarray]
NOTHING = {"reason": "", "remark": "", "n_rep": 0, "n_failed": 0, "n_given": 0}  # else NaN


class Measurable(Protocol):
    """A measure, or a contrast of one."""

    @property
    def name(self) -> str: ...
    @property
    def reads(self) -> Sequence[str]: ...
    @property
    def axes(self) -> Mapping[str, Sequence[float]]: ...
    @property
    def by_cell(self) -> bool: ...
    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates: ...


@dataclass
class Undefined:
    """Computes measures; a cell in which one raises is NaN with the reason.

    A measure that raises everywhere is a mistake of the study: `check` raises its first error.

    Parameters
    ----------
    level
        Coverage of the intervals.
    caught
        The errors that become NaN.
    """

    level: float
    caught: type[StudyError] = StudyError
    _first: dict[str, StudyError] = field(default_factory=dict)
    _defined: set[str] = field(default_factory=set)

    def estimate(self, measure: Measurable, columns: Columns) -> Estimates:
        """Compute a measure of some columns `(rep, *axes)`."""
        try:
            found = measure.estimate(columns, level=self.level)
        except self.caught as error:
            return self._by_cell(measure, columns, error)
        self._defined.add(measure.name)
        return found

    def note_defined(self, names: Iterable[str]) -> None:
        """Note measures that have values of other cells."""
        self._defined.update(names)

    def check(self) -> None:
        """Raise the first error of a measure that has no value anywhere.

        Raises
        ------
        StudyError
            The error that the measure raised.
        """
        errors = [error for name, error in self._first.items() if name not in self._defined]
        mistakes = [error for error in errors if not isinstance(error, UndefinedError)]
        if errors:
            raise (mistakes or errors)[0]

    def _by_cell(self, measure: Measurable, columns: Columns, error: StudyError) -> Estimates:
        """Compute cell by cell; one estimate for all cells where cells need each other."""
        self._first.setdefault(measure.name, error)
        read = {name: columns[name] for name in measure.reads if name in columns}
        n_axes = max((column.ndim for column in read.values()), default=1) - 1
        wide = {n: c.reshape(c.shape + (1,) * (n_axes + 1 - c.ndim)) for n, c in read.items()}
        shape = np.broadcast_shapes(*(column.shape[1:] for column in wide.values()))
        own = tuple(len(values) for values in measure.axes.values())
        if not shape or not measure.by_cell:
            return _without_value(error, (*shape, *own))
        full = {n: np.broadcast_to(c, (len(c), *shape)) for n, c in wide.items()}
        each = []
        for cell in np.ndindex(shape):
            try:
                one = {name: column[:, *cell] for name, column in full.items()}
                each.append(measure.estimate(one, level=self.level))
                self._defined.add(measure.name)
            except self.caught as undefined:
                each.append(_without_value(undefined, own))
        return stacked(each).map(lambda part: part.reshape((*shape, *own)))


def _without_value(error: StudyError, shape: tuple[int, ...]) -> Estimates:
    """NaN in each cell, with an error's text as the reason."""
    names = [name for name in Estimates._fields if name not in Estimates._field_defaults]
    values = {name: np.full(shape, NOTHING.get(name, np.nan)) for name in names}
    reason = getattr(error, "reason", "") or in_one_line(str(error))
    return Estimates(**values | {"reason": np.full(shape, reason, dtype=object)})


def stacked(each: Sequence[Estimates]) -> Estimates:
    """Stack estimates along a first axis; what only some of them have is missing in the others."""
    parts = {}
    for name, of_each in zip(Estimates._fields, zip(*each, strict=True), strict=True):
        if any(part is not None for part in of_each):
            kind = object if name in NOTHING else float
            like = [
                np.full(np.shape(one.estimate), NOTHING.get(name, np.nan), kind)
                if part is None
                else part
                for one, part in zip(each, of_each, strict=True)
            ]
            parts[name] = np.stack(np.broadcast_arrays(*like))
    return Estimates(**parts)
