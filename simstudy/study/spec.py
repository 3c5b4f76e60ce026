"""The fields of a study, checked when it is created."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, cast

from simstudy.analysis.result import Figure, MakesTable, measure_context
from simstudy.design import Scenario, check_distinct
from simstudy.design.plan import Derived, Method, Plan, Rules, WarningFilter, current_filters
from simstudy.design.reprs import format_names, shown
from simstudy.engine.methods import EachReplicate
from simstudy.errors import StudyError, in_one_line, nearest
from simstudy.measures import Measure
from simstudy.measures.core import bind
from simstudy.store.arrow_schema import CONVERGED, ERROR, RESERVED, WARNING
from simstudy.validation import check_file_name, check_whole, file_name, is_whole

if TYPE_CHECKING:
    from simstudy.analysis.result import Result
    from simstudy.claims import Claim

Label = str | Mapping[Any, str] | tuple[str, Mapping[Any, str]]
"""The heading of a factor, axis or measure; the texts of a factor's values; or both."""

BLOCK_SIZE = 1000  # replicates
BLOCK_SIZE_ROW_BY_ROW = 50  # replicates, if a method is called once for each
MAX_FIGURES = 6  # figures of a study that declares none


def _row_by_row(method: Callable[..., Any]) -> EachReplicate:
    return method if isinstance(method, EachReplicate) else EachReplicate(method)


def _heading_and_values(label: Label) -> tuple[str, Mapping[Any, str]]:
    if isinstance(label, str):
        return label, {}
    return label if isinstance(label, tuple) else ("", label)


class DefaultFigures(dict[str, Figure]):
    """The figures of a study that declares none: one for each of its first measures."""

    def __init__(self, measures: Iterable[Measure]) -> None:
        names = [measure.name for measure in measures][:MAX_FIGURES]
        files = {file_name(name.replace("/", "_").replace("\\", "_")): name for name in names}
        super().__init__(
            {file: partial(draw_default, measure=name) for file, name in files.items()}
        )


def draw_default(result: Result, measure: str) -> Any:
    """Draw a measure over the study's first factor."""
    from simstudy.figures import curves

    return curves.draw_default(result, measure)


@dataclass(frozen=True)
class StudySpec:
    """The declaration of a study; `Study` documents the fields."""

    name: str
    scenarios: Sequence[Scenario]
    measures: Sequence[Measure] = ()
    methods: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    derived: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    block_size: int = cast(int, None)  # default: by the methods
    n_rep: int = 1000
    figures: Mapping[str, Figure] = cast(Mapping[str, Figure], None)  # default: `DefaultFigures`
    tables: Mapping[str, MakesTable] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    labels: Mapping[str, Label] = field(default_factory=dict)
    answer: Callable[[Result], str | Sequence[str]] | None = None
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        check_study_name(self.name)
        check_values(self, FIELDS)
        check_values(self.rules, RULES)
        if self.scenarios and all(hasattr(type(each), "draw_one") for each in self.scenarios):
            rows = {name: _row_by_row(method) for name, method in self.methods.items()}
            object.__setattr__(self, "methods", rows)
        if self.block_size is None:
            is_by_row = any(isinstance(each, EachReplicate) for each in self.methods.values())
            size = BLOCK_SIZE_ROW_BY_ROW if is_by_row else BLOCK_SIZE
            object.__setattr__(self, "block_size", size)
        if self.figures is None or isinstance(self.figures, DefaultFigures):
            # a figure of one number says nothing
            has_points = len(self.scenarios) > 1 or len(self.methods) > 1 or self.axes
            object.__setattr__(self, "figures", DefaultFigures(self.measures if has_points else ()))
        check_declared(self)

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
        failures = self.rules.warnings_as_failures
        by_rule = failures if isinstance(failures, tuple) else (failures,)
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
            warning_filters=(
                *(WarningFilter("error", each) for each in by_rule),
                *current_filters(),
            ),
        )


# ---------------------------------------------------------------- names
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


def check_unique(what: str, names: Sequence[str]) -> None:
    """Refuse two measures or claims of one name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise StudyError(
            f"two {what} are named {twice!r}: rename one of them with name=..., so that tables and "
            "pages can tell them apart."
        )


def check_known(what: str, names: Collection[str], kind: str, known: Collection[str]) -> None:
    """Refuse names of unknown factors or methods, which would be ignored."""
    for name in names:
        if name not in known:
            raise StudyError(f"{what} names no {kind} {name!r}; {nearest(name, known)}")


def check_own_names(what: str, names: Collection[str]) -> None:
    """Refuse names of methods or columns that are no text, reserved, or hold a separator."""
    for name in names:
        is_plain = isinstance(name, str) and name.isprintable() and name == name.strip() != ""
        if not is_plain or name in RESERVED_NAMES or SEPARATORS & {*name}:
            raise StudyError(
                f"a {what} is named {in_one_line(repr(name))}: give it a text without blanks at "
                f"its ends and without {' '.join(sorted(SEPARATORS))}, and not the name of a "
                "column of simstudy's own tables."
            )


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


# ---------------------------------------------------------------- values
def _is_list(value: Any, is_item: Callable[[Any], bool] = lambda _: True) -> bool:
    """Whether a value is a list of such items; the order of a set differs in every process."""
    is_list = isinstance(value, Collection) and not isinstance(value, str | Mapping | Set)
    return is_list and all(map(is_item, value))


def _is_dict(value: Any, is_item: Callable[[Any], bool] = lambda _: True) -> bool:
    return isinstance(value, Mapping) and all(map(is_item, value.values()))


def _is_scenario(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _are_labels(value: Any) -> bool:
    texts = [str(label).strip() for label in value]
    return _is_list(value) and 0 < len(texts) == len({*texts}) and all(texts)


def _are_warnings(value: Any) -> bool:
    return all(issubclass(each, Warning) for each in (value if type(value) is tuple else [value]))


Allowed = Mapping[str, tuple[Callable[[Any], bool], str]]
"""For each field, whether a value is allowed, and what is."""

FUNCTIONS = partial(_is_dict, is_item=callable), "a dict of functions by name"
FIELDS: Allowed = {
    "scenarios": (
        partial(_is_list, is_item=_is_scenario),
        "a list of objects of a class with @dataclass(frozen=True): grid(MyScenario, n=[10, 20])",
    ),
    "measures": (
        partial(_is_list, is_item=lambda each: isinstance(each, Measure)),
        "a list of measures, such as [mean('x')]",
    ),
    "claims": (_is_list, "a list"),
    "methods": FUNCTIONS,
    "derived": FUNCTIONS,
    "figures": (
        lambda value: value is None or _is_dict(value, callable),
        "a dict of functions by name",
    ),
    "tables": FUNCTIONS,
    "labels": (_is_dict, "a dict by name"),
    "axes": (
        partial(_is_dict, is_item=_are_labels),
        "a dict with a list of labels for each axis, each only once and none blank",
    ),
    "block_size": (
        lambda value: value is None or (is_whole(value) and 1 <= value <= MAX_BLOCK_SIZE),
        f"a whole number of replicates from 1 to {MAX_BLOCK_SIZE:,}, such as 1000: a block is "
        "drawn in one call and held in memory",
    ),
    "n_rep": (lambda value: is_whole(value) and value >= 1, "a whole number at least 1"),
}
RULES: Allowed = {
    "max_failed": (
        lambda value: value is None or 0 <= value <= 1,
        "the proportion of replicates that may fail before the run stops, from 0 to 1",
    ),
    "block_seconds": (
        lambda value: value is None or 0 < value < math.inf,
        "a number of seconds above 0, or None for no limit",
    ),
    "rtol": (
        partial(_is_dict, is_item=lambda each: 0 <= each < 1),
        "the relative differences, from 0 to below 1, up to which numbers count as equal, by "
        "column, such as {'estimate': 1e-6}",
    ),
    "warnings_as_failures": (
        _are_warnings,
        "a class of warnings or a tuple of them, such as UserWarning",
    ),
    "group_size": (
        lambda value: is_whole(value) and value >= 1,
        "a whole number of replicates that depend on each other, or 1 if they are independent",
    ),
}


def check_values(record: object, allowed: Allowed) -> None:
    """Refuse the first field whose value is not allowed."""
    for name, (is_allowed, what) in allowed.items():
        value = getattr(record, name)
        try:
            is_right = is_allowed(value)
        except (TypeError, ValueError):  # it cannot be compared, for example
            is_right = False
        if not is_right:
            text = in_one_line(repr(value))[:200]
            raise StudyError(f"{name}={text} is not allowed: must be {what}.")


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


def check_declared(study: StudySpec) -> None:
    """Check how the fields of a study go together.

    Raises
    ------
    StudyError
        For the first mistake found, in one line.
    """
    if not study.scenarios:
        raise StudyError(f"study {study.name!r} has no scenarios: there is nothing to simulate.")
    check_distinct(study.scenarios)
    factors = factor_names_of(study.scenarios)
    check_own_names("method", study.methods)
    check_own_names("column", [*study.rules.vectors, *study.derived])
    for what, names in (("figure", study.figures), ("table", study.tables)):
        for name in names:
            check_file_name(name, what, StudyError)
    check_methods_axis(study)
    check_columns(study, factors)
    size, group_size = study.block_size, study.rules.group_size
    if size % group_size:
        raise StudyError(
            f"block_size={size} with group_size={group_size}: must be a multiple of the group "
            f"size, such as {max(size // group_size, 1) * group_size}, so that no group is split."
        )
    check_known("across_replicates", study.rules.across_replicates, "method", study.methods)
    check_known("common", study.rules.common_random_numbers, "factor", factors)
    check_known("labels with texts of values", study.value_labels, "factor", factors)
    check_drawing(study.scenarios, study.methods)
    check_vectors(study)
    check_unique("measures", [measure.name for measure in study.measures])
    check_unique("claims", [claim.name for claim in study.claims])
    study.bound_measures(study.plan())
