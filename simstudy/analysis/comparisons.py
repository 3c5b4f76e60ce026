"""Paired and unpaired differences between methods and between scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np

from simstudy.analysis.estimates import Undefined
from simstudy.analysis.summary import WARNING, cell_rows, factor_names
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

    def rows(
        self, measure: Measure, axis: str | None, first: Any, second: Any, scale: Scale
    ) -> pd.DataFrame:
        """Compare two positions on an axis, two levels of a factor, or two scenarios."""
        if axis is None and all(map(is_dataclass, (first, second))):
            return _frame(self._pair(measure, first, second, scale), [])
        known = [*self.plan.axes, *factor_names(self.plan)]
        if axis is None and len(self.plan.axes) == 1:
            axis = known[0]
        if axis is None:
            raise StudyError(
                f"contrast(first={first!r}, second={second!r}) does not say on which axis these "
                f"are: add axis=..., one of {', '.join(known)}."
            )
        if axis not in known:
            raise StudyError(
                f"{self.plan.name} has no axis {axis!r} to compare along; {nearest(axis, known)}"
            )
        if axis in self.plan.axes:
            return self._positions(measure, axis, str(first), str(second), scale)
        return self._levels(measure, axis, first, second, scale)

    def _positions(
        self, measure: Measure, axis: str, first: str, second: str, scale: Scale
    ) -> pd.DataFrame:
        """Compare two positions on an axis in every scenario, on their common replicates."""
        place = list(self.plan.axes).index(axis)
        labels = self.plan.axes[axis]
        at = [labels.index(_known(label, axis, labels)) for label in (first, second)]
        others = {name: labels for name, labels in self.plan.axes.items() if name != axis}
        rest = replace(self.plan, axes=others)
        rows = []
        for scenario in self.plan.scenarios:
            columns = self.read(scenario, measure)
            sides = [take_index(columns, axis=place, index=i) for i in at]
            numbers = contrast_of(paired, measure, sides, scale, self.level)
            named = factors_in(self.plan, scenario) | {"contrast": f"{first} against {second}"}
            rows += [named | row for row in cell_rows(rest, measure, numbers._asdict())]
        return _frame(rows, factor_names(self.plan))

    def _levels(
        self, measure: Measure, factor: str, first: Any, second: Any, scale: Scale
    ) -> pd.DataFrame:
        """Compare two levels of a factor in scenarios that are equal otherwise."""
        levels: dict[Any, dict[str, Scenario]] = {}
        for scenario in self.plan.scenarios:
            factors = factors_in(self.plan, scenario)
            alike = levels.setdefault(factors.pop(factor, None), {})
            alike[repr(factors)] = scenario
        sides = [levels[_known(level, factor, list(levels))] for level in (first, second)]
        rows = []
        for others in [each for each in sides[0] if each in sides[1]]:
            one, other = (side[others] for side in sides)
            named = factors_in(self.plan, one) | {"contrast": f"{first} against {second}"}
            del named[factor]
            rows += [row | named for row in self._pair(measure, one, other, scale)]
        return _frame(rows, [name for name in factor_names(self.plan) if name != factor])

    def _pair(
        self, measure: Measure, first: Scenario, second: Scenario, scale: Scale
    ) -> list[dict[str, Any]]:
        """Compare two scenarios, paired if they share random numbers."""
        shared = self._stream(first) == self._stream(second)
        compare = paired if shared else unpaired
        sides = [self.read(scenario, measure) for scenario in (first, second)]
        numbers = contrast_of(compare, measure, sides, scale, self.level)
        named = {"contrast": f"{identity(first)} against {identity(second)}", "paired": shared}
        return [named | row for row in cell_rows(self.plan, measure, numbers._asdict())]

    def _stream(self, scenario: Scenario) -> str:
        return identity(scenario, without=self.plan.rules.common_random_numbers)


def _known(label: Any, axis: str, labels: Sequence[Any]) -> Any:
    """A label of an axis or a level of a factor, as the study has it.

    Raises
    ------
    StudyError
        If there is none.
    """
    found = [known for known in labels if known == label]
    if not found:
        raise StudyError(f"axis {axis!r} has no {label!r}; {nearest(str(label), map(str, labels))}")
    return found[0]


def contrast_of(
    compare: Compare,
    measure: Measure,
    sides: Sequence[Columns],
    scale: Scale,
    level: float = 0.95,
) -> Estimates:
    """A contrast of a measure between two sides; NaN with the reason in undefined cells."""
    columns = {
        side + name: column
        for side, of_side in zip(SIDES, sides, strict=True)
        for name, column in of_side.items()
        if name in measure.reads
    }

    def compute(both: Columns) -> Estimates:
        first, second = (
            {name.removeprefix(side): c for name, c in both.items() if name.startswith(side)}
            for side in SIDES
        )
        return compare(measure, first, second, scale=scale, level=level)

    return Undefined(level, UndefinedError).estimate(measure, columns, compute)


def _frame(rows: list[dict[str, Any]], factors: list[str]) -> pd.DataFrame:
    names = list(dict.fromkeys([*factors, *(name for row in rows for name in row)]))
    frame = pd.DataFrame(rows, columns=names)
    return frame.fillna({WARNING: ""}) if WARNING in frame else frame
