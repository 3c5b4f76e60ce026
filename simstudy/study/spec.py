"""The fields of a study and its rules for replicates, checked when it is created."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, cast

from simstudy.analysis.result import Figure, MakesTable
from simstudy.design import Scenario
from simstudy.design.plan import Derived, Method, Plan
from simstudy.design.reprs import format_names, shown
from simstudy.engine.columns import derived_at_drawing, read_by
from simstudy.engine.per_replicate import EachReplicate
from simstudy.measures import Measure, MeasureContext
from simstudy.measures.groups import bind
from simstudy.study.validation import check_declared
from simstudy.validation import check_whole

if TYPE_CHECKING:
    from simstudy.analysis.result import Result
    from simstudy.claims import Claim

Label = str | Mapping[Any, str] | tuple[str, Mapping[Any, str]]
"""The heading of a factor, axis or measure; the texts of a factor's values; or both."""

BLOCK_SIZE = 1000  # replicates
BLOCK_SIZE_ROW_BY_ROW = 50  # replicates, if a method is called once for each


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


@dataclass(frozen=True)
class Rules:
    """Rules for replicates; the defaults suit independent replicates of plain columns.

    Parameters
    ----------
    max_failed
        Largest proportion of failed replicates per scenario (with methods: per scenario and
        method), from 0 to 1. The run stops if it is exceeded; until then failures are recorded.
        None records any number of failures, but stops if all replicates of a first block fail
        with the same error, which is most likely a mistake in the study. 1 records those as well,
        for example for a method that cannot work in some scenarios.
    may_be_missing
        Float columns in which NaN is a result and not a failure.
    block_seconds
        Time limit for drawing a block, in seconds; a block that takes longer has failed. It changes
        no number. `Study.run` can set another limit.
    common
        Factors whose values share random numbers (common random numbers).
    group_size
        Number of consecutive replicates that may depend on each other, as antithetic or stratified
        draws do; groups are independent. Monte Carlo errors are then computed from groups. The
        block size must be a multiple of it.
    across_replicates
        Methods that combine the replicates of a block on purpose, as an empirical Bayes estimate
        does. For every other block method without random numbers, a few rows of the first block
        are analysed again on their own, and a difference is reported.
    vectors
        Lengths of columns with one more axis, such as a p-value for each test point, by name: a
        number, or the name of a field or property of the scenario. Measures cannot read vectors,
        only columns derived from them. These are computed when a block is drawn, and stored in the
        vector's place; a vector from which nothing is derived is stored itself.
    store_vectors
        Vectors to store although columns are derived from them, such as those that a figure reads.
    rtol
        Relative differences up to which numbers count as equal where stored blocks are compared
        with blocks that are drawn again, by column: `{"estimate": 1e-6}` for a method that iterates
        until it is that precise. Default: 1e-9. It changes no number.
    unrepeatable
        Columns that differ each time a block is drawn, such as seconds of computing time. They are
        not compared when blocks are drawn again.
    """

    max_failed: float | None = None
    may_be_missing: tuple[str, ...] = ()
    block_seconds: float | None = None
    common: tuple[str, ...] = ()
    group_size: int = 1
    across_replicates: tuple[str, ...] = ()
    vectors: Mapping[str, int | str] = field(default_factory=dict)
    store_vectors: tuple[str, ...] = ()
    rtol: Mapping[str, float] = field(default_factory=dict)
    unrepeatable: tuple[str, ...] = ()


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
    figures: Mapping[str, Figure] = field(default_factory=dict)
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

    def bound_measures(self, seed: int) -> tuple[Measure, ...]:
        """The measures, with the names of the axes and the seed for their own random numbers."""
        context = MeasureContext(self.all_axes, self.name, seed, self.rules.group_size)
        return tuple(bind(measure, context) for measure in self.measures)

    def plan(self, seed: int = 1) -> Plan:
        """The plan of the study, without the number of replicates."""
        check_whole(
            "seed", seed, least=0, counts="that names a sequence of random numbers", usual=1
        )
        derived = tuple(Derived(name, function) for name, function in self.derived.items())
        return Plan(
            name=self.name,
            seed=int(seed),
            scenarios=tuple(self.scenarios),
            axes=self.all_axes,
            block_size=self.block_size,
            common=tuple(self.rules.common),
            may_be_missing=tuple(self.rules.may_be_missing),
            methods=tuple(
                Method(name, function, self.methods_axis) for name, function in self.methods.items()
            ),
            vectors=self.rules.vectors,
            derived=derived,
            at_drawing=derived_at_drawing(derived, self.rules.vectors),
            stored_vectors=self._stored_vectors,
            max_failed=self.rules.max_failed,
            reads={measure.name: tuple(measure.reads) for measure in self.measures},
            named=self._named(),
            across_replicates=tuple(self.rules.across_replicates),
            rtol=dict(self.rules.rtol),
            group_size=self.rules.group_size,
            unrepeatable=tuple(self.rules.unrepeatable),
        )

    def _named(self) -> dict[str, tuple[str, ...]]:
        """The columns that each setting names; empty if there are several scenario classes."""
        if len({type(scenario) for scenario in self.scenarios}) > 1:
            return {}
        return {"may_be_missing": tuple(self.rules.may_be_missing)}

    @property
    def _stored_vectors(self) -> tuple[str, ...]:
        """The vectors from which nothing is derived, and those named."""
        read = {name for function in self.derived.values() for name in read_by(function)}
        return tuple(
            n for n in self.rules.vectors if n not in read or n in self.rules.store_vectors
        )
