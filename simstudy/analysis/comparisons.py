"""Paired and unpaired differences between methods and between scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simstudy.analysis.summary import REMARK, cell_rows, factor_names
from simstudy.analysis.undefined import Undefined
from simstudy.design import Scenario
from simstudy.design.plan import Plan, factors_in
from simstudy.errors import StudyError, UndefinedError, nearest
from simstudy.lazy import pd
from simstudy.measures import Columns, Estimates, Measure, paired, unpaired
from simstudy.measures.contrasts import Scale, take_index
from simstudy.provenance.scenario_id import identity

Compare = Callable[..., Estimates]  # `paired` or `unpaired`
SIDES = ("first ", "second ")  # prefixes of the names of columns


@dataclass(frozen=True)
class Comparisons:
    """Paired and unpaired comparisons within a study.

    Parameters
    ----------
    read
        From a scenario and a measure, the columns that the measure reads.
    """

    plan: Plan
    read: Callable[[Scenario, Measure], Mapping[str, np.ndarray]]
    level: float = 0.95

    def methods(
        self, measure: Measure, axis: str, first: str, second: str, scale: Scale
    ) -> pd.DataFrame:
        """Compare two positions on an axis in every scenario, on their common replicates."""
        place = self._axis(axis)
        method, reference = (self._position(axis, label) for label in (first, second))
        others = {name: labels for name, labels in self.plan.axes.items() if name != axis}
        rest = replace(self.plan, axes=others)
        rows = []
        for scenario in self.plan.scenarios:
            columns = self.read(scenario, measure)
            sides = [take_index(columns, axis=place, index=i) for i in (method, reference)]
            numbers = contrast_of(paired, measure, sides, scale, self.level)
            named = factors_in(self.plan, scenario) | {"contrast": f"{first} against {second}"}
            rows += [named | row for row in cell_rows(rest, measure, numbers._asdict())]
        return _frame(rows, factor_names(self.plan))

    def scenarios(
        self, measure: Measure, first: Scenario, second: Scenario, scale: Scale
    ) -> pd.DataFrame:
        """Compare two scenarios, paired if they share random numbers."""
        shared = self._stream(first) == self._stream(second)
        compare = paired if shared else unpaired
        sides = [self.read(scenario, measure) for scenario in (first, second)]
        numbers = contrast_of(compare, measure, sides, scale, self.level)
        named = {
            "contrast": f"{identity(first)} against {identity(second)}",
            "paired": shared,
        }
        return _frame([named | row for row in cell_rows(self.plan, measure, numbers._asdict())], [])

    def _stream(self, scenario: Scenario) -> str:
        return identity(scenario, without=self.plan.common)

    def _axis(self, axis: str) -> int:
        if axis not in self.plan.axes:
            raise StudyError(
                f"{self.plan.name} has no axis {axis!r} to compare along; "
                + nearest(axis, self.plan.axes)
            )
        return list(self.plan.axes).index(axis)

    def _position(self, axis: str, label: str) -> int:
        labels = self.plan.axes[axis]
        if label not in labels:
            raise StudyError(f"axis {axis!r} has no {label!r}; {nearest(label, labels)}")
        return labels.index(label)


def contrast_of(
    compare: Compare,
    measure: Measure,
    sides: Sequence[Columns],
    scale: Scale,
    level: float = 0.95,
) -> Estimates:
    """A contrast of a measure between two sides; NaN with the reason in undefined cells."""
    contrast = _Contrast(compare, measure, scale)
    return Undefined(level, UndefinedError).estimate(contrast, contrast.columns(sides))


@dataclass(frozen=True)
class _Contrast:
    """The contrast of a measure as a measure of the columns of both sides."""

    compare: Compare
    measure: Measure
    scale: Scale

    @property
    def name(self) -> str:
        return self.measure.name

    @property
    def reads(self) -> list[str]:
        return [side + name for side in SIDES for name in self.measure.reads]

    @property
    def axes(self) -> Mapping[str, tuple[float, ...]]:
        return self.measure.axes

    @property
    def by_cell(self) -> bool:
        return self.measure.by_cell

    def columns(self, sides: Sequence[Columns]) -> Columns:
        """The columns of both sides, each under a name of its own."""
        pairs = zip(SIDES, sides, strict=True)
        return {side + name: column for side, of in pairs for name, column in of.items()}

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        first, second = (
            {name: columns[side + name] for name in self.measure.reads if side + name in columns}
            for side in SIDES
        )
        return self.compare(self.measure, first, second, scale=self.scale, level=level)


def _frame(rows: list[dict[str, Any]], factors: list[str]) -> pd.DataFrame:
    names = list(dict.fromkeys([*factors, *(name for row in rows for name in row)]))
    frame = pd.DataFrame(rows, columns=names)
    return frame.fillna({REMARK: ""}) if REMARK in frame else frame
