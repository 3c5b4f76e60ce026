"""The summary, one row per scenario, cell and measure; contrasts; and look-up by factors."""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.estimates import Estimator, Undefined
from simstudy.array_types import Bool
from simstudy.design import Scenario
from simstudy.design.plan import Plan, factors_in, shown_level
from simstudy.errors import StudyError, UndefinedError, in_one_line, nearest
from simstudy.lazy import pd
from simstudy.measures import Columns, Estimates, Measure, paired, unpaired
from simstudy.measures.contrasts import Scale, take_index
from simstudy.measures.warnings import with_alike
from simstudy.provenance.scenario_id import identity

MEASURE, WARNING = "measure", "warning"
OPTIONAL = tuple(Estimates._field_defaults)
"""Columns of a summary that only some measures have."""

Estimate = Callable[[Scenario, Measure], Estimates]
Compare = Callable[..., Estimates]  # `paired` or `unpaired`

_LIMITS_END = Estimates._fields.index("upper") + 1
_COUNTS = Estimates._fields[_LIMITS_END : -len(OPTIONAL)]
NUMBERS = (*Estimates._fields[:_LIMITS_END], "exact", *_COUNTS)
"""Columns of a summary after the factors, the axes and `measure`."""


def summarize(
    plan: Plan, measures: Sequence[Measure], estimates: Estimator, targets: Collection[str] = ()
) -> pd.DataFrame:
    """Make the summary: factors, axes, measure, estimates.

    Parameters
    ----------
    targets
        Names of measures for which a precision was asked: an error of 0 has a warning.
    """

    def estimate(scenario: Scenario, measure: Measure) -> Estimates:
        numbers = estimates(scenario, measure)
        return with_alike(numbers) if measure.name in targets else numbers

    not_applied, axis = estimates.rows.not_applied, next(iter(plan.axes), "")
    rows = [
        row
        for key, scenario in plan.keys.items()
        for row in _rows_of_scenario(plan, scenario, measures, estimate)
        if row.get(axis) not in not_applied.get(key, ())
    ]
    own = dict.fromkeys(axis for measure in measures for axis in measure.axes)
    names = [*factor_names(plan), *plan.axes, *own, MEASURE, *NUMBERS]
    return _with_optional(pd.DataFrame(rows, columns=[*names, *OPTIONAL]))


def _with_optional(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop optional columns that no measure uses; missing warnings are empty texts."""
    warnings = frame[WARNING].astype(object).where(frame[WARNING].notna(), "")
    frame = frame.assign(warning=warnings if warnings.ne("").any() else None)
    lacking = [name for name in OPTIONAL if frame[name].isna().all()]
    numbers = {"variance_reduction", "n_effective"}.difference(lacking)
    return frame.drop(columns=lacking).astype(dict.fromkeys(numbers, float))


def factor_names(plan: Plan) -> list[str]:
    """The factors of all scenarios, in order of appearance."""
    names = (name for scenario in plan.scenarios for name in factors_in(plan, scenario))
    return list(dict.fromkeys(names))


def _rows_of_scenario(
    plan: Plan, scenario: Scenario, measures: Sequence[Measure], estimates: Estimate
) -> Iterator[dict[str, Any]]:
    factors = factors_in(plan, scenario)
    exact: Mapping[str, float | np.ndarray] = getattr(scenario, "exact", dict)()
    _refuse_misspelt_exact(scenario, set(exact), {measure.name for measure in measures})
    for measure in measures:
        numbers = estimates(scenario, measure)
        truth = exact.get(measure.name, np.nan) if np.any(numbers.n_rep) else np.nan
        truth = _like_cells(plan, scenario, measure, truth, np.shape(numbers.estimate))
        cells = cell_rows(plan, measure, numbers._asdict() | {"exact": truth})
        yield from (factors | row for row in cells)


def _like_cells(
    plan: Plan, scenario: Scenario, measure: Measure, truth: Any, shape: tuple[int, ...]
) -> np.ndarray:
    """The values of `exact()` for each cell of a measure.

    Raises
    ------
    StudyError
        If it has another shape, or is no number.
    """
    try:
        return np.broadcast_to(np.asarray(truth, dtype=float), shape)
    except (TypeError, ValueError) as error:
        axes = cell_axes(plan, measure, len(shape))
        sizes = ", ".join(f"{name}: {len(labels)}" for name, labels in axes.items()) or "none"
        raise StudyError(
            f"{scenario!r}: exact() gives {measure.name!r} {in_one_line(repr(truth))}, which does "
            f"not fit the measure's cells of shape {shape} (axes {sizes}), so theory cannot stand "
            "by the estimates. Return one number, or an array with one for each cell."
        ) from error


def cell_rows(plan: Plan, measure: Measure, numbers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per cell: labels, measure, numbers."""
    axes = cell_axes(plan, measure, np.ndim(numbers["estimate"]))
    cells = itertools.product(*axes.values())
    numbers = {name: part for name, part in numbers.items() if part is not None}
    for labels, *row in zip(cells, *map(np.ravel, numbers.values()), strict=True):
        named = dict(zip(axes, labels, strict=True))
        yield named | {MEASURE: measure.name} | dict(zip(numbers, row, strict=True))


def cell_axes(plan: Plan, measure: Measure, n_dims: int) -> dict[str, tuple[Any, ...]]:
    """The axes of a measure's cells, with labels; a measure may lack the study's last axes."""
    own = {name: tuple(values) for name, values in measure.axes.items()}
    shared = itertools.islice(plan.axes.items(), n_dims - len(own))
    return dict(shared) | own


def _refuse_misspelt_exact(scenario: Scenario, exact: set[str], names: set[str]) -> None:
    """Refuse a name in `exact()` that nearly matches a measure's."""
    for name in exact - names:
        close = difflib.get_close_matches(name, names - exact, n=1, cutoff=0.75)
        if close:
            raise StudyError(
                f"{type(scenario).__name__}.exact() names {name!r}, which is not a measure of "
                f"the study; did you mean {close[0]!r}?"
            )


# ---------------------------------------------------------------- contrasts
@dataclass(frozen=True)
class Comparisons:
    """Paired and unpaired comparisons of a measure within a study.

    Parameters
    ----------
    columns
        From a scenario and names, columns of its replicates.
    """

    plan: Plan
    columns: Callable[..., Columns]
    measure: Measure
    scale: Scale
    level: float

    def rows(self, axis: str | None, first: Any, second: Any) -> pd.DataFrame:
        """Compare two positions on an axis, two levels of a factor, or two scenarios."""
        if axis is None and all(map(is_dataclass, (first, second))):
            return _frame(self._pair(first, second), [])
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
            return self._positions(axis, str(first), str(second))
        return self._levels(axis, first, second)

    def _positions(self, axis: str, first: str, second: str) -> pd.DataFrame:
        """Compare two positions on an axis in every scenario, on their common replicates."""
        place = list(self.plan.axes).index(axis)
        labels = self.plan.axes[axis]
        at = [labels.index(_known(label, axis, labels)) for label in (first, second)]
        others = {name: labels for name, labels in self.plan.axes.items() if name != axis}
        rest = replace(self.plan, axes=others)
        rows = []
        for scenario in self.plan.scenarios:
            columns = self.columns(scenario, *self.measure.reads)
            sides = [take_index(columns, axis=place, index=i) for i in at]
            named = factors_in(self.plan, scenario) | {"contrast": f"{first} against {second}"}
            rows += [named | row for row in self._cells(paired, rest, sides)]
        return _frame(rows, factor_names(self.plan))

    def _levels(self, factor: str, first: Any, second: Any) -> pd.DataFrame:
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
            rows += [row | named for row in self._pair(one, other)]
        return _frame(rows, [name for name in factor_names(self.plan) if name != factor])

    def _pair(self, first: Scenario, second: Scenario) -> list[dict[str, Any]]:
        """Compare two scenarios, paired if they share random numbers."""
        common = self.plan.rules.common_random_numbers
        shared = identity(first, without=common) == identity(second, without=common)
        compare = paired if shared else unpaired
        sides = [self.columns(scenario, *self.measure.reads) for scenario in (first, second)]
        named = {"contrast": f"{identity(first)} against {identity(second)}", "paired": shared}
        return [named | row for row in self._cells(compare, self.plan, sides)]

    def _cells(
        self, compare: Compare, plan: Plan, sides: Sequence[Columns]
    ) -> Iterator[dict[str, Any]]:
        """A contrast of two sides by cell; NaN with the reason where it is undefined."""
        reads = self.measure.reads
        columns = {f"{at} {name}": side[name] for at, side in enumerate(sides) for name in reads}

        def compute(both: Columns) -> Estimates:
            first, second = ({name: both[f"{at} {name}"] for name in reads} for at in "01")
            return compare(self.measure, first, second, scale=self.scale, level=self.level)

        numbers = Undefined(self.level, UndefinedError).estimate(self.measure, columns, compute)
        return cell_rows(plan, self.measure, numbers._asdict())


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


def _frame(rows: list[dict[str, Any]], factors: list[str]) -> pd.DataFrame:
    names = list(dict.fromkeys([*factors, *(name for row in rows for name in row)]))
    frame = pd.DataFrame(rows, columns=names)
    return frame.fillna({WARNING: ""}) if WARNING in frame else frame


# ---------------------------------------------------------------- overview and warnings
def overview(summary: pd.DataFrame, measures: Sequence[Measure]) -> pd.DataFrame:
    """One row per measure of a summary.

    Returns
    -------
    DataFrame
        `measure`, `rows`, `least`, `greatest`, `largest_mcse` and `worst_z`: the largest distance
        from theory in standard errors, NaN where theory says nothing. Where a measure takes less
        work than the plain one, `least_reduction` of the plain variance to its own.
    """
    has_reductions = "variance_reduction" in summary
    proportions = {measure.name for measure in measures if measure.interval.is_proportion}
    rows = [
        {
            "measure": str(name),
            "rows": len(group),
            "least": group["estimate"].min(),
            "greatest": group["estimate"].max(),
            "largest_mcse": group["mcse"].max(),
            "worst_z": worst_z(group, is_proportion=name in proportions),
        }
        | ({"least_reduction": group["variance_reduction"].min()} if has_reductions else {})
        for name, group in summary.groupby(MEASURE, sort=False)
    ]
    return pd.DataFrame(rows)


def worst_z(rows: pd.DataFrame, *, is_proportion: bool) -> float:
    """The largest deviation from the exact value, in standard errors."""
    known = rows[(rows["mcse"] > 0) & rows["exact"].notna()]
    error = known["mcse"]
    if is_proportion:
        trials = known["estimate"] * (1 - known["estimate"]) / error**2
        error = (known["exact"] * (1 - known["exact"]) / trials) ** 0.5
    z = ((known["estimate"] - known["exact"]) / error)[error > 0].abs()
    return float(z.max()) if len(z) else math.nan


class Warned(NamedTuple):
    """A warning about numbers: its kind, its place, its text, and a remedy.

    The kind is `estimate` for numbers of a summary, `replicate` for warnings that the study's code
    issued, and `run` for what was found of the run as a whole.
    """

    kind: str
    place: str
    text: str
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """Place and text."""
        return f"{self.place}: {self.text}."


def warned_measures(summary: pd.DataFrame, locations: Sequence[str]) -> list[Warned]:
    """The first warning of each measure that has any, with the number of others.

    Parameters
    ----------
    locations
        Columns that say which scenario and cell a row is about; those that differ are named.
    """
    if WARNING not in summary:
        return []
    locations = [place for place in locations if summary[place].astype(str).nunique() > 1]
    rows = summary[summary[WARNING] != ""]
    by_measure = rows.groupby(MEASURE, sort=False)
    return [_of_measure(str(name), found, locations) for name, found in by_measure]


REMEDY = (
    "More replicates (n_rep=) help, or a measure that a few replicates do not decide, such as a "
    "median."
)


def format_doubts(summary: pd.DataFrame, locations: Sequence[str]) -> str:
    """How many numbers of a summary have a warning, and which; empty if none has."""
    each = [warned.sentence for warned in warned_measures(summary, locations)]
    if not each:
        return ""
    n = int((summary[WARNING] != "").sum())
    are = "is" if n == 1 else "are"
    return f"{n:,} of {len(summary):,} numbers {are} in doubt: {' '.join(each)} {REMEDY}"


def _of_measure(name: str, rows: pd.DataFrame, locations: Sequence[str]) -> Warned:
    first = rows.iloc[0]
    where = ", ".join(f"{place} {first[place]}" for place in locations if pd.notna(first[place]))
    others = f"{len(rows) - 1:,} other row{'s' * (len(rows) > 2)}"
    more = f" (and in {others})" if len(rows) > 1 else ""
    place = f"{name} at {where}" if where else name
    return Warned("estimate", place, f"{first[WARNING]}{more}", REMEDY)


# ---------------------------------------------------------------- look-up
SAME = 1e-9  # relative: numbers this close are one


def one_with(rows: pd.DataFrame, where: Mapping[str, Any], what: str = "rows") -> pd.Series:
    """Find the one row with these factors; floats are compared up to rounding.

    Parameters
    ----------
    rows
        Rows of a summary, or the factors of scenarios, as `factor_rows` returns them.
    what
        Noun for the rows, in messages.

    Raises
    ------
    KeyError
        If there is no such column.
    LookupError
        If there is no such row, or more than one.
    """
    found = rows_with(rows, where)
    if len(found) == 1:
        return found.iloc[0]
    text = f"{len(found)} {what}" + f" have {_format_factors(where)}" * bool(where)
    if len(found):
        apart = [name for name in _factors_of(rows) if found[name].nunique(dropna=False) > 1]
        raise LookupError(
            f"{text}, and it is not clear which is meant: name {', '.join(apart)} too."
        )
    levels = {name: list(dict.fromkeys(rows[name])) for name in where}
    raise LookupError(f"{text}; available: {_format_factors(levels)}")


def scenarios_with(
    plan: Plan, scenarios: Sequence[Scenario], where: Mapping[str, Any]
) -> list[Scenario]:
    """The scenarios with these factors; other names, such as those of axes, do not count.

    Raises
    ------
    LookupError
        If there is none.
    """
    rows = factor_rows(plan, scenarios)
    of_factors = {name: value for name, value in where.items() if name in rows}
    found = [scenarios[at] for at in rows_with(rows, of_factors).index]
    if not found:
        raise LookupError(f"no scenario has {_format_factors(of_factors)}")
    return found


def factor_rows(plan: Plan, scenarios: Sequence[Scenario]) -> pd.DataFrame:
    """The factors of scenarios, a row for each."""
    return pd.DataFrame([factors_in(plan, each) for each in scenarios])


def _factors_of(summary: pd.DataFrame) -> list[str]:
    """The columns that identify a row: factors, axes, and a measure's own axes."""
    return [str(name) for name in summary if name not in (MEASURE, *NUMBERS, *OPTIONAL)]


def place_on_axes(axes: Mapping[str, Sequence[str]], where: Mapping[str, Any]) -> tuple[int, ...]:
    """The positions of labels on the axes; an axis with one label needs none.

    Raises
    ------
    LookupError
        For an unknown label, and for an axis of several labels that is not named.
    """
    found = []
    for axis, labels in axes.items():
        label = where.get(axis, labels[0] if len(labels) == 1 else None)
        if label is None:
            raise LookupError(
                f"it is not clear which {axis} is meant: name one, such as {labels[0]!r}."
            )
        if label not in labels:
            raise LookupError(f"{axis}={label!r} is not in this run; {nearest(str(label), labels)}")
        found.append(list(labels).index(label))
    return tuple(found)


def rows_with(rows: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Select rows by values, or lists of values; floats are compared up to rounding."""
    is_match = np.ones(len(rows), dtype=bool)
    for name, wanted in where.items():
        if name not in rows:
            raise KeyError(f"there is no column {name!r}; {nearest(name, map(str, rows))}")
        is_match &= _has(rows[name], wanted)
    return rows[is_match]


def known_rows_with(rows: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """The same; a level that no row has is refused, unless it is one of a list."""
    for name, wanted in where.items():
        if name in rows and not isinstance(wanted, list) and not _has(rows[name], wanted).any():
            levels = dict.fromkeys(map(str, rows[name]))
            raise LookupError(f"no row has {name}={wanted!r}; {nearest(str(wanted), levels)}")
    return rows_with(rows, where)


def _has(values: pd.Series, value: Any) -> Bool[np.ndarray, " row"]:
    if isinstance(value, list):  # any of these levels, or a vector that is a level
        return np.asarray(np.any([_has(values, each) for each in (*value, tuple(value))], axis=0))
    value = _as_shown(value)
    if value is None:
        return np.asarray(values.isna().to_numpy(bool))
    if isinstance(value, float) and pd.api.types.is_numeric_dtype(values):
        return np.asarray(np.isclose(values.to_numpy(float), value, rtol=SAME, atol=0.0))
    return np.asarray((values == value).to_numpy(bool, na_value=False))


def _as_shown(level: Any) -> Any:
    """A level as tables show it; an object without an identity by its `repr`."""
    try:
        return shown_level(level)
    except TypeError:
        return repr(level)


def _format_factors(factors: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in factors.items())
