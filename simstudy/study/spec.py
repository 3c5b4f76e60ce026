"""The fields of a study, checked when it is created."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, cast

from simstudy.analysis.result import Figure, MakesTable, measure_context
from simstudy.design import Scenario, check_distinct
from simstudy.design.plan import Derived, Method, Plan, Rules, current_filters, filters_of
from simstudy.design.reprs import format_names, shown
from simstudy.engine.methods import EachReplicate
from simstudy.errors import ConfigError, StudyError, in_one_line, nearest
from simstudy.measures import Measure
from simstudy.measures.core import bind
from simstudy.store.arrow_schema import CONVERGED, ERROR, RESERVED, WARNING
from simstudy.validation import check_file_name, check_whole, file_name

if TYPE_CHECKING:
    from simstudy.analysis.result import Result
    from simstudy.claims import Claim

Label = str | Mapping[Any, str] | tuple[str, Mapping[Any, str]]
"""The heading of a factor, axis or measure; the texts of a factor's values; or both."""

BLOCK_SIZE = 1000  # replicates
BLOCK_SIZE_ROW_BY_ROW = 50  # replicates, if a method is called once for each
MAX_FIGURES = 6  # figures of a study that declares none


def default_block_size(methods: Any) -> int:
    """The block size of a study that does not set one."""
    by_name = methods if isinstance(methods, Mapping) else {}
    is_row_by_row = any(isinstance(method, EachReplicate) for method in by_name.values())
    return BLOCK_SIZE_ROW_BY_ROW if is_row_by_row else BLOCK_SIZE


def _all_draw_one(scenarios: Any) -> bool:
    """Whether every scenario draws one data set at a time, so that methods analyse one."""
    kinds = set(map(type, scenarios)) if isinstance(scenarios, Sequence) else set()
    return bool(kinds) and all(hasattr(kind, "draw_one") for kind in kinds)


def _row_by_row(method: Any) -> Any:
    """A method of one data set, if it is a plain function."""
    is_plain = callable(method) and not isinstance(method, EachReplicate)
    return EachReplicate(method) if is_plain else method


def _heading_and_values(label: Label) -> tuple[str, Mapping[Any, str]]:
    if isinstance(label, str):
        return label, {}
    return label if isinstance(label, tuple) else ("", label)


class DefaultFigures(dict[str, Figure]):
    """The figures of a study that declares none: one for each of its first measures."""

    def __init__(self, measures: Any) -> None:
        names = (getattr(measure, "name", None) for measure in measures or ())
        known = [name for name in names if isinstance(name, str)][:MAX_FIGURES]
        files = {file_name(name.replace("/", "_").replace("\\", "_")): name for name in known}
        super().__init__(
            {file: partial(draw_default, measure=name) for file, name in files.items()}
        )


def draw_default(result: Result, measure: str) -> Any:
    """Draw a measure over the study's first factor."""
    from simstudy.figures import default

    return default.draw_default(result, measure)


@dataclass(frozen=True)
class StudySpec:
    """The declaration of a study; `Study` documents the fields."""

    name: str
    scenarios: Sequence[Scenario]
    measures: Sequence[Measure] = ()
    methods: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    derived: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    block_size: int = cast(int, None)  # default: `default_block_size` of the methods
    n_rep: int = 1000
    figures: Mapping[str, Figure] = cast(Mapping[str, Figure], None)  # default: `DefaultFigures`
    tables: Mapping[str, MakesTable] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    labels: Mapping[str, Label] = field(default_factory=dict)
    answer: Callable[[Result], str | Sequence[str]] | None = None
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        if _all_draw_one(self.scenarios) and isinstance(self.methods, Mapping):
            rows = {name: _row_by_row(method) for name, method in self.methods.items()}
            object.__setattr__(self, "methods", rows)
        if self.block_size is None:
            object.__setattr__(self, "block_size", default_block_size(self.methods))
        if self.figures is None or isinstance(self.figures, DefaultFigures):
            measures = self.measures if self._has_points else ()
            object.__setattr__(self, "figures", DefaultFigures(measures))
        check_declared(self)

    @property
    def _has_points(self) -> bool:
        """Whether a measure has more than one number: a figure of one says nothing."""
        several = (self.scenarios, 2), (self.methods, 2), (self.axes, 1)  # checked later
        return any(isinstance(each, Collection) and len(each) >= least for each, least in several)

    def __repr__(self) -> str:
        """A representation in a few lines."""
        return shown(
            f"Study {self.name}",
            self.scenarios,
            f"methods: {format_names(self.methods)}" * bool(self.methods),
            f"measures: {format_names(measure.name for measure in self.measures)}",
            f"{self.n_rep:,} replicates of each scenario, in blocks of {self.block_size:,}",
        )

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def methods_axis(self) -> str:
        """The name of the axis of methods: `method`, or that of the axis which names them.

        An axis may name more or fewer methods, as in a copy of a study with other methods.
        """
        names = set(self.methods)
        named = (
            axis
            for axis, labels in self.axes.items()
            if names and (names <= set(labels) or names >= set(labels))
        )
        return next(named, "method")

    @property
    def all_axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of a result's columns, methods first."""
        own = {self.methods_axis: tuple(self.methods)} if self.methods else {}
        return own | {axis: tuple(labels) for axis, labels in self.axes.items() if axis not in own}

    @property
    def headings(self) -> dict[str, str]:
        """Headings by name of a factor, axis or measure."""
        parts = {name: _heading_and_values(label) for name, label in self.labels.items()}
        return {name: heading for name, (heading, _) in parts.items() if heading}

    @property
    def value_labels(self) -> dict[str, Mapping[Any, str]]:
        """Texts for values, by factor."""
        parts = {name: _heading_and_values(label) for name, label in self.labels.items()}
        return {name: dict(values) for name, (_, values) in parts.items() if values}

    def bound_measures(self, plan: Plan) -> tuple[Measure, ...]:
        """The measures, with the names of the axes and the seed for their own random numbers."""
        context = measure_context(plan)
        return tuple(bind(measure, context) for measure in self.measures)

    def plan(self, seed: int = 1, block_seconds: float | None = None) -> Plan:
        """The plan of the study, without the number of replicates.

        Parameters
        ----------
        block_seconds
            Time limit of a block in a run. Default: that of the rules.
        """
        limit = block_seconds or self.rules.block_seconds
        check_whole(
            "seed", seed, least=0, counts="that names a sequence of random numbers", usual=1
        )
        return Plan(
            name=self.name,
            seed=int(seed),
            scenarios=tuple(self.scenarios),
            axes=self.all_axes,
            block_size=self.block_size,
            methods=tuple(
                Method(name, function, self.methods_axis) for name, function in self.methods.items()
            ),
            derived=tuple(Derived(name, function) for name, function in self.derived.items()),
            reads={measure.name: tuple(measure.reads) for measure in self.measures},
            rules=replace(self.rules, block_seconds=limit),
            warning_filters=(*filters_of(self.rules.warnings_as_failures), *current_filters()),
        )


# ---------------------------------------------------------------- checks
REPLICATE_COLUMNS = (*RESERVED, ERROR, WARNING, CONVERGED, "block", "address", "measure")
RESERVED_NAMES = (*REPLICATE_COLUMNS, "data")
SUMMARY_COLUMNS = (
    *("estimate", "mcse", "lower", "upper", "exact", "n_rep", "n_failed", "n_given", "reason"),
    *("variance_reduction", "n_effective", "warning"),
)
MAX_BLOCK_SIZE = 10**8  # replicates: of one column, 0.8 GB
SEPARATORS = set("[],/")  # characters between the parts of column names and addresses


def check_study_name(name: Any) -> None:
    """Refuse a name that is not a folder name."""
    is_text = isinstance(name, str) and bool(name)
    if not is_text or not all(letter.isalnum() or letter in "-_" for letter in name):
        raise StudyError(
            f"study name {in_one_line(repr(name))} is not a folder name: the first argument must "
            "be a text of letters, digits, '-' and '_', the second the scenarios."
        )


def check_kinds(study: StudySpec) -> None:
    """Refuse fields that are no dict or list, and values in a function's place.

    Sets are no lists: their order differs in every process.
    """
    for what in ("methods", "derived", "figures", "tables", "labels", "axes"):
        value = getattr(study, what)
        if not isinstance(value, Mapping):
            raise StudyError(f"{what}={in_one_line(repr(value))} is not a dict: give one by name.")
        for name in value if what in ("methods", "derived", "figures", "tables") else ():
            if not callable(value[name]):
                raise StudyError(
                    f"{what}[{name!r}] is {in_one_line(repr(value[name]))}: give a function, which "
                    "the run calls."
                )
    for what in ("scenarios", "measures", "claims"):
        value = getattr(study, what)
        if not isinstance(value, Collection) or isinstance(value, str | Mapping | Set):
            raise StudyError(f"{what}={in_one_line(repr(value))} is not a list: give one.")
    for scenario in study.scenarios:
        if not is_dataclass(scenario) or isinstance(scenario, type):
            raise StudyError(
                f"scenarios has {in_one_line(repr(scenario))} in it: give objects of a class with "
                "@dataclass(frozen=True), such as grid(MyScenario, n=[10, 20])."
            )
    for measure in study.measures:
        if not isinstance(measure, Measure):
            raise StudyError(
                f"measures has {in_one_line(repr(measure))} in it: give measures, such as "
                "mean('x')."
            )


def check_unique(what: str, names: Sequence[str], other: str = "") -> None:
    """Refuse two measures or claims of one name; `other` is an example of another name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        remedy = f" with name={other!r}" if other and other not in names else ""
        raise StudyError(
            f"two {what} are named {twice!r}: rename one of them{remedy}, so that tables and pages "
            "can tell them apart."
        )


def another_name(measures: Sequence[Measure]) -> str:
    """A name for the second measure of the first name that occurs twice: with its column."""
    names = [measure.name for measure in measures]
    again = [each for at, each in enumerate(measures) if each.name in names[:at] and each.reads]
    return f"{again[0].name}_{again[0].reads[0]}" if again else ""


def check_known(what: str, names: Collection[str], kind: str, known: Collection[str]) -> None:
    """Refuse names of unknown factors or methods, which would be ignored."""
    for name in names:
        if name not in known:
            raise StudyError(f"{what} names no {kind} {name!r}; {nearest(name, known)}")


def check_columns(study: StudySpec, factors: Set[str]) -> None:
    """Refuse factors, axes, vectors and derived columns that have the name of another column."""
    for what, names in (("a factor", factors), ("an axis", study.all_axes)):
        for name in sorted(names):
            if name in (*REPLICATE_COLUMNS, *SUMMARY_COLUMNS) or not name.strip():
                raise StudyError(
                    f"{what} is named {name!r}, which is blank or the name of a standard column "
                    "in tables of replicates, failures or measures: give it another name."
                )
    axes = {*study.all_axes, *(axis for measure in study.measures for axis in measure.axes)}
    for name in sorted(factors & axes):
        raise StudyError(
            f"{name!r} is a factor of the scenarios and an axis, and the summary has one column "
            "for it: rename one of the two."
        )
    for name in study.derived:
        if name in {*study.rules.vectors, *study.all_axes, *factors}:
            raise StudyError(
                f"derived column {name!r} has the name of a factor, an axis or a vector: rename "
                "it, so that measures can tell them apart."
            )


def check_own_names(what: str, names: Collection[str]) -> None:
    """Refuse names of methods or columns that are no text, reserved, blank, or hold a separator."""
    for name in names:
        if not isinstance(name, str):
            why = f"of type {type(name).__name__} and not a text: write {str(name)!r}"
        elif name in RESERVED_NAMES:
            why = f"the name of a column of simstudy's own tables: write {name + '_'!r}"
        elif held := sorted(set(name) & SEPARATORS):
            why = f"not allowed to hold {' '.join(held)}, which separate the parts of addresses"
        elif not name.isprintable() or not name.strip() or name != name.strip():
            why = "blank, or has blanks at its ends or letters that cannot be printed"
        else:
            continue
        raise StudyError(f"a {what} is named {in_one_line(repr(name))}, which is {why}.")


def check_file_names(what: str, names: Collection[str]) -> None:
    """Refuse names of figures or tables that have no file of their own on some system."""
    files = dict[str, str]()
    for name in names:
        check_file_name(name, what, StudyError)
        other = files.setdefault(file_name(name).casefold(), name)
        if other != name:
            raise StudyError(
                f"{what}s {other!r} and {name!r} would be one file on some systems, which do not "
                "tell upper from lower case: rename one of them."
            )


def check_axis_labels(axis: str, labels: Any) -> None:
    """Check the names of an axis's positions: distinct texts in a fixed order."""
    if (
        isinstance(labels, str | Set)
        or not len(labels)
        or len(set(labels)) < len(labels)
        or any(not str(label).strip() for label in labels)
    ):
        raise StudyError(
            f"axis {axis!r} has labels {in_one_line(repr(labels))}: give a list of at least one "
            "label, each only once and none blank."
        )


def check_methods_axis(study: StudySpec) -> None:
    """Refuse an axis that has the name of the methods' axis and other labels."""
    axis, names = study.methods_axis, set(study.methods)
    labels = set(study.axes.get(axis, names))
    if names and not (labels <= names or names <= labels):
        raise StudyError(
            f"axes declares {axis!r}, the axis of the methods, with other names than theirs: "
            f"rename it, or give the methods' axis another name: axes={{'approach': "
            f"{tuple(study.methods)}}}."
        )


def factor_names_of(scenarios: Sequence[Scenario]) -> set[str]:
    """Collect the names of the factors of all scenarios."""
    kinds = {type(scenario) for scenario in scenarios}
    return {field.name for kind in kinds for field in fields(kind)}


def check_drawing(scenarios: Sequence[Scenario], methods: Mapping[str, Any]) -> None:
    """Check that scenarios have either `draw` or `draw_one` with methods, `simulate` without."""
    needed = ("draw", "draw_one") if methods else ("simulate",)
    for kind in dict.fromkeys(map(type, scenarios)):
        if sum(callable(getattr(kind, name, None)) for name in needed) != 1:
            raise StudyError(
                f"{kind.__name__} needs exactly one of {', '.join(needed)}, since methods= names "
                f"{', '.join(methods) or 'none'}: scenarios draw the data that methods analyse, "
                "or simulate columns if there are no methods."
            )


def check_vectors(study: StudySpec) -> None:
    """Check that no measure reads a vector, and that vectors to store are declared."""
    check_known("store_vectors", study.rules.store_vectors, "vector", study.rules.vectors)
    for measure in study.measures:
        for name in set(measure.reads) & set(study.rules.vectors):
            raise StudyError(
                f"measure {measure.name!r} reads {name!r}, a vector with many values in each "
                "replicate: reduce it to a column in derived={...}, and read that."
            )


def check_max_failed(max_failed: Any) -> None:
    """Check the proportion of replicates that may fail."""
    if max_failed is not None and not 0 <= max_failed <= 1:
        raise StudyError(
            f"max_failed={max_failed!r} is not allowed: must be the proportion of replicates that "
            "may fail before the run stops, from 0 to 1, such as 0.05."
        )


def check_block_seconds(seconds: Any) -> None:
    """Check the time limit of a block."""
    is_number = isinstance(seconds, numbers.Real) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < seconds < math.inf):
        raise ConfigError(
            f"block_seconds={seconds!r} is not allowed: must be a number of seconds above 0, or "
            "None for no limit."
        )


def check_warning_classes(given: Any) -> None:
    """Refuse what is not a class of warnings, or several of them."""
    for each in given if isinstance(given, tuple) else (given,):
        if not (isinstance(each, type) and issubclass(each, Warning)):
            raise StudyError(
                f"warnings_as_failures={in_one_line(repr(given))} is not allowed: must be a class "
                "of warnings, or a tuple of them, for example UserWarning."
            )


def check_rtol(rtol: Any) -> None:
    """Check the relative differences that count as equal, by column."""
    values = rtol.values() if isinstance(rtol, Mapping) else [rtol]
    if not isinstance(rtol, Mapping) or not all(
        isinstance(value, int | float) and 0 <= value < 1 for value in values
    ):
        raise StudyError(
            f"rtol={in_one_line(repr(rtol))} is not allowed: must be the relative difference, from "
            "0 to below 1, up to which numbers of a column count as equal, by column, such as "
            "{'estimate': 1e-6}."
        )


def check_block_size(size: Any, group_size: Any) -> None:
    """Check the block size and the group size, which must divide it."""
    text = "of replicates in a block"
    check_whole("block_size", size, least=1, counts=text, usual=1000, refusal=StudyError)
    if size > MAX_BLOCK_SIZE:
        raise StudyError(
            f"block_size={size}: a block is drawn in one call and held in memory, so it has at "
            f"most {MAX_BLOCK_SIZE:,} replicates. Use, for example, block_size=1000."
        )
    text = "of replicates that depend on each other, or 1 if they are independent"
    check_whole("group_size", group_size, least=1, counts=text, refusal=StudyError)
    if size % group_size:
        near = max(size // group_size, 1) * group_size
        raise StudyError(
            f"block_size={size} with group_size={group_size}: must be a multiple of the group "
            f"size, so that no group is split between blocks; nearest that works: block_size={near}"
        )


def check_n_rep(n_rep: Any) -> None:
    """Check that `n_rep` is an integer of at least 1."""
    check_whole("n_rep", n_rep, least=1, usual=1000)


def check_declared(study: StudySpec) -> None:
    """Check a study's declaration.

    Raises
    ------
    StudyError
        For the first mistake found, in one line.
    """
    check_study_name(study.name)
    check_kinds(study)
    if not study.scenarios:
        raise StudyError(f"study {study.name!r} has no scenarios: there is nothing to simulate.")
    check_distinct(study.scenarios)
    factors = factor_names_of(study.scenarios)
    check_own_names("method", study.methods)
    check_own_names("column", [*study.rules.vectors, *study.derived])
    if not isinstance(study.figures, DefaultFigures):
        check_file_names("figure", study.figures)
    check_file_names("table", study.tables)
    check_methods_axis(study)
    for axis, labels in study.axes.items():
        check_axis_labels(axis, labels)
    check_columns(study, factors)
    check_block_size(study.block_size, study.rules.group_size)
    check_n_rep(study.n_rep)
    check_max_failed(study.rules.max_failed)
    check_block_seconds(study.rules.block_seconds)
    check_rtol(study.rules.rtol)
    check_warning_classes(study.rules.warnings_as_failures)
    check_known("across_replicates", study.rules.across_replicates, "method", study.methods)
    check_known("common", study.rules.common_random_numbers, "factor", factors)
    check_known("labels with texts of values", study.value_labels, "factor", factors)
    check_drawing(study.scenarios, study.methods)
    check_vectors(study)
    names = [measure.name for measure in study.measures]
    check_unique("measures", names, another_name(study.measures))
    check_unique("claims", [claim.name for claim in study.claims])
    study.bound_measures(study.plan())
