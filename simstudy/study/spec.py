"""The fields of a study, checked when it is created."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, cast

from simstudy.analysis.details import Figure, MakesTable
from simstudy.claims import Claim
from simstudy.design import Scenario
from simstudy.design.plan import Derived, Method, Plan
from simstudy.design.reprs import format_names, shown
from simstudy.engine.derived import source_columns
from simstudy.engine.per_replicate import EachReplicate
from simstudy.measures import Measure, MeasureContext
from simstudy.study.validation import check_declared
from simstudy.validation import check_whole

BLOCK_SIZE = 1000  # replicates
BLOCK_SIZE_ROW_BY_ROW = 50  # replicates, where a method is called once for each


def default_block_size(methods: Any) -> int:
    """The replicates of a block where a study does not state them."""
    by_name = methods if isinstance(methods, Mapping) else {}
    is_row_by_row = any(isinstance(method, EachReplicate) for method in by_name.values())
    return BLOCK_SIZE_ROW_BY_ROW if is_row_by_row else BLOCK_SIZE


@dataclass(frozen=True)
class StudySpec:
    """The declaration of a study; `Study` documents the fields."""

    name: str
    scenarios: Sequence[Scenario]
    measures: Sequence[Measure] = ()
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    block_size: int = cast(int, None)  # by default `default_block_size` of the methods
    n_rep: int = 1000
    figures: Mapping[str, Figure] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    common: tuple[str, ...] = ()
    may_be_missing: tuple[str, ...] = ()
    on_failure: str = "record"
    worst: Mapping[str, float] = field(default_factory=dict)
    methods: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    methods_axis: str = "method"
    vectors: Mapping[str, int | str] = field(default_factory=dict)
    keep_vectors: bool = True
    derived: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    block_seconds: float | None = None
    max_failed: float | None = None
    tables: Mapping[str, MakesTable] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    group_size: int = 1
    across_replicates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
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
    def all_axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of a result's columns, methods first."""
        own = {self.methods_axis: tuple(self.methods)} if self.methods else {}
        return own | {axis: tuple(labels) for axis, labels in self.axes.items()}

    def bound_measures(self, seed: int) -> tuple[Measure, ...]:
        """The measures, with the names of the axes and the seed for their own random numbers."""
        context = MeasureContext(self.all_axes, self.name, seed, self.group_size)
        return tuple(measure.bind(context) for measure in self.measures)

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
            common=tuple(self.common),
            may_be_missing=tuple(self.may_be_missing),
            on_failure=self.on_failure,
            methods=tuple(
                Method(name, function, self.methods_axis) for name, function in self.methods.items()
            ),
            vectors=self.vectors,
            derived=derived,
            at_drawing=self._at_drawing(derived),
            keep_vectors=self.keep_vectors,
            max_failed=self.max_failed,
            reads={measure.name: tuple(measure.reads) for measure in self.measures},
            named=self._named(),
            across_replicates=tuple(self.across_replicates),
        )

    def _named(self) -> dict[str, tuple[str, ...]]:
        """The columns that settings name, by scenario class where they differ."""
        if len({type(scenario) for scenario in self.scenarios}) > 1:
            return {}
        return {"may_be_missing": tuple(self.may_be_missing), "worst": tuple(self.worst)}

    def _at_drawing(self, derived: Sequence[Derived]) -> tuple[str, ...]:
        """The derived columns that are computed when a block is drawn."""
        needy: set[str] = set() if self.keep_vectors else set(self.vectors)
        return tuple(d.name for d in derived if needy.intersection(source_columns(derived, d)))
