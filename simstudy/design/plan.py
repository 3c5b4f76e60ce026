"""The plan of a run: scenarios, methods, blocks, and the seeds of their random streams."""

import inspect
import itertools
import numbers
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from simstudy.design import AnyScenario, PlainFactor, Scenario
from simstudy.provenance.scenario_id import (
    LEVEL_NAMES,
    identity,
    level_of,
    names_itself,
    short_hash,
)
from simstudy.provenance.streams import Streams

SCENARIO_CLASS = "scenario_class"  # name of the factor for the class of a scenario


@dataclass(frozen=True)
class Method:
    """One analysis of the data that scenarios draw.

    Parameters
    ----------
    name
        Name of the method: its label on the axis of methods, and part of its key in the store and
        of the addresses of its random streams.
    function
        Function that analyses the data; its parameters are names of data, factors and streams.
    axis
        Name of the axis of methods in tables.
    """

    name: str
    function: Callable[..., Any]
    axis: str = "method"

    def identity_text(self) -> str:
        """The method's name: a new function under an old name is the same method with new code."""
        return self.name


@dataclass(frozen=True)
class Derived:
    """A column computed from other columns.

    Parameters
    ----------
    name
        Name of the column.
    function
        Function of the columns and factors that its parameters name, for a block. The first axis of
        its return value is the replicate.
    """

    name: str
    function: Callable[..., Any]


@dataclass(frozen=True, repr=False)
class WorkUnit:
    """A pair of scenario and method, which is drawn and stored as a unit."""

    scenario: AnyScenario
    method: Method

    def __repr__(self) -> str:
        return f"method {self.method.name} of {self.scenario!r}"

    def identity_text(self) -> str:
        """The text behind the key in the store; a change of it would lose all stored blocks."""
        return f"Analysed(method={self.method.name},scenario={identity(self.scenario)})"


def parameters_of(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    """List the parameters of a function that are not fixed by a `partial`, without `**options`."""
    try:
        return _known_parameters(function)
    except TypeError:  # it has no hash
        return _parameters(function)


def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    fixed = function.keywords if isinstance(function, partial) else {}
    return tuple(
        parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in fixed and parameter.kind is not parameter.VAR_KEYWORD
    )


_known_parameters = lru_cache(_parameters)  # every block needs them


def read_by(function: Callable[..., Any]) -> list[str]:
    """List the columns that a derived column reads: its parameters without `scenario`."""
    return [each.name for each in parameters_of(function) if each.name != "scenario"]


def base_scenario(drawn: AnyScenario) -> AnyScenario:
    """The scenario whose data a method analyses; a plain scenario itself."""
    return drawn.scenario if isinstance(drawn, WorkUnit) else drawn


def method_of(drawn: AnyScenario) -> str:
    """The name of the method; empty for a plain scenario."""
    return drawn.method.name if isinstance(drawn, WorkUnit) else ""


def factors_of(scenario: Scenario) -> dict[str, PlainFactor]:
    """The factors of a scenario as plain values; parts are shown by identity, data by name."""
    if isinstance(scenario, WorkUnit):
        return factors_of(scenario.scenario) | {scenario.method.axis: scenario.method.name}
    return {field.name: shown_level(level_of(scenario, field.name)) for field in fields(scenario)}


def factors_in(plan: "Plan", drawn: Scenario) -> dict[str, PlainFactor]:
    """The factors of a scenario, for a table of a plan's scenarios.

    If the scenarios are of several classes, which may have the same fields, the first factor is
    `scenario_class`: the name of the class, or its `label`.
    """
    factors = factors_of(drawn)
    if not plan.has_classes or SCENARIO_CLASS in factors:
        return factors
    kind = type(base_scenario(drawn))
    label = None if "label" in factors else getattr(kind, "label", None)
    return {SCENARIO_CLASS: label if isinstance(label, str) else kind.__name__} | factors


def number_factors(drawn: AnyScenario) -> dict[str, float]:
    """The numeric factors of a scenario, which measures read as constants."""
    scenario = base_scenario(drawn)
    named = getattr(scenario, LEVEL_NAMES, {})  # of which a number counts by its value
    factors = factors_of(scenario) | {name: getattr(scenario, name) for name in named}
    return {name: float(v) for name, v in factors.items() if isinstance(v, bool | int | float)}


def properties_in(drawn: AnyScenario, names: Iterable[str]) -> set[str]:
    """The names that are properties or plain values of a scenario's class, and no fields."""
    kind = type(base_scenario(drawn))
    wanted = set(names) - {field.name for field in fields(kind)}
    made = ((name, inspect.getattr_static(kind, name, None)) for name in wanted)
    plain = (property, cached_property, numbers.Real, np.ndarray, tuple, Mapping)
    return {name for name, how in made if isinstance(how, plain)}


def shown_level(value: object) -> PlainFactor:
    """A level of a factor as tables show it: a plain value, or the identity of a part."""
    if isinstance(value, np.generic):
        number: PlainFactor = value.item()
        return number
    if names_itself(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return identity(value).removesuffix("()")


class WarningFilter(NamedTuple):
    """Action on a class of warnings, as in the module `warnings`."""

    action: str
    category: Any  # a class of warnings


def current_filters() -> tuple[WarningFilter, ...]:
    """The filters of this process up to the last that turns warnings into errors.

    Filters for some texts, modules or lines do not count.
    """
    found = [
        WarningFilter(action, category)
        for action, text, category, module, line in warnings.filters
        if not (text or module or line)
    ]
    last = max((at for at, each in enumerate(found, start=1) if each.action == "error"), default=0)
    return tuple(found[:last])


def action_of(filters: Iterable[WarningFilter], category: type[Warning]) -> str:
    """The action of the first filter for a class of warnings; empty if there is none."""
    return next((each.action for each in filters if issubclass(category, each.category)), "")


@dataclass(frozen=True)
class Rules:
    """Rules for replicates; the defaults suit independent replicates of plain columns.

    Parameters
    ----------
    max_failed
        Largest proportion of failed replicates per scenario (with methods: per scenario and
        method), from 0 to 1. The run stops if it is exceeded; until then failures are recorded.
        None records any number of failures, but stops if all replicates of a first block fail,
        which is most likely a mistake in the study. 1 records those as well, for example for a
        method that cannot work in some scenarios.
    may_be_missing
        Float columns in which NaN is a result and not a failure. In others, a NaN counts against
        the measures that read the column.
    warnings_as_failures
        Classes of warnings that count as failures of a replicate, where a function is called for
        each of them (`each_replicate`, `draw_one`). The "error" filters of the process that starts
        the run for classes of warnings (`warnings.simplefilter("error", NotConverged)`,
        `python -W error`) count as well.
    block_seconds
        Time limit for drawing a block, in seconds; a block that takes longer has failed. It changes
        no number. `Study.run` can set another limit.
    common_random_numbers
        Factors whose values share random numbers.
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
    warnings_as_failures: type[Warning] | tuple[type[Warning], ...] = ()
    block_seconds: float | None = None
    common_random_numbers: tuple[str, ...] = ()
    group_size: int = 1
    across_replicates: tuple[str, ...] = ()
    vectors: Mapping[str, int | str] = field(default_factory=dict)
    store_vectors: tuple[str, ...] = ()
    rtol: Mapping[str, float] = field(default_factory=dict)
    unrepeatable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The identity of what a run draws: scenarios, methods, axes, seed and sizes.

    Parameters
    ----------
    name
        Name of the study, part of every stream's address.
    seed
        Seed of the study.
    scenarios
        Points of the design, in the order of the summary.
    axes
        Labels of each axis after that of replicates, by its name. The axis of methods, if any, is
        the first.
    block_size
        Replicates in a block; part of the study's identity.
    methods
        Methods that analyse the data; empty if scenarios simulate.
    derived
        Columns computed from others, each only from those before it.
    reads
        Names of the columns that each measure reads, by measure.
    rules
        The study's rules for replicates.
    warning_filters
        Filters that turn warnings of a replicate into its failure, in their order.
    full_size
        Block size in the addresses of random streams, if only its first replicates are drawn.
    has_classes
        Whether the study's scenarios are of several classes. Default: those of this plan.
    """

    name: str
    seed: int
    scenarios: tuple[AnyScenario, ...]
    axes: Mapping[str, tuple[str, ...]]
    block_size: int
    methods: tuple[Method, ...] = ()
    derived: tuple[Derived, ...] = ()
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    warning_filters: tuple[WarningFilter, ...] = ()
    full_size: int = 0
    has_classes: bool | None = None

    def __post_init__(self) -> None:
        if self.has_classes is None:
            kinds = {type(base_scenario(scenario)) for scenario in self.scenarios}
            object.__setattr__(self, "has_classes", len(kinds) > 1)

    @cached_property
    def keys(self) -> dict[str, AnyScenario]:
        """The scenarios by key, in order."""
        return {self.key_of(scenario): scenario for scenario in self.scenarios}

    @cached_property
    def work_units(self) -> "Plan":
        """The units that are drawn and stored: scenarios, or pairs of scenario and method.

        The methods of a scenario are consecutive. Their columns do not have the axis of methods.
        """
        if not self.methods:
            return self
        further = {axis: n for axis, n in self.axes.items() if axis != self.methods_axis}
        pairs = itertools.product(self.scenarios, self.methods)
        scenarios = tuple(WorkUnit(scenario, method) for scenario, method in pairs)
        return replace(self, scenarios=scenarios, axes=further, methods=())

    def inputs_of(self, names: Iterable[str]) -> set[str]:
        """Collect columns with those that they are derived from, directly or not."""
        functions = {derived.name: derived.function for derived in self.derived}
        ahead, found = [*names], set[str]()
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += read_by(functions[name]) if name in functions else ()
        return found

    @cached_property
    def columns_read(self) -> frozenset[str]:
        """The columns that measures read, with those that these are derived from."""
        return frozenset(self.inputs_of(itertools.chain.from_iterable(self.reads.values())))

    @property
    def methods_axis(self) -> str:
        """The name of the axis of methods; empty without methods."""
        return self.methods[0].axis if self.methods else ""

    @cached_property
    def unit_keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of work units by scenario key, in the order of the methods."""
        keys, n = list(self.work_units.keys), len(self.methods) or 1
        return {key: tuple(keys[i * n : (i + 1) * n]) for i, key in enumerate(self.keys)}

    def unit_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes by the keys of work units, from sizes by scenario keys."""
        return {drawn: n for key, n in sizes.items() for drawn in self.unit_keys[key]}

    def identity_of(self, scenario: Scenario) -> str:
        """The identity of a scenario when the plan was made."""
        return self._names_of(scenario)[0]

    def key_of(self, scenario: Scenario) -> str:
        """The key of a scenario in the store."""
        return short_hash(self.identity_of(scenario))

    def streams(self, scenario: Scenario, block: int) -> Streams:
        """The random streams of a block: of its data, or of a method."""
        study = f"{self.name}/{self.full_size or self.block_size}"
        address = self._names_of(base_scenario(scenario))[1]
        return Streams(self.seed, study, address, block, method_of(scenario))

    def cached(self, scenario: Scenario, what: Hashable, work: Callable[[], Any]) -> Any:
        """The result of `work`, which is called one time for each scenario and each `what`."""
        at = self.identity_of(scenario), what
        if at not in self._cache:
            self._cache[at] = work()
        return self._cache[at]

    @cached_property
    def _cache(self) -> dict[tuple[str, Hashable], Any]:
        return {}

    def _names_of(self, scenario: Scenario) -> tuple[str, str]:
        """The identity of a scenario when the plan was made, with and without common factors."""
        return self._names.get(id(scenario)) or self._names_now(scenario)

    def _names_now(self, scenario: Scenario) -> tuple[str, str]:
        return identity(scenario), identity(scenario, without=self.rules.common_random_numbers)

    @cached_property
    def _names(self) -> dict[int, tuple[str, str]]:
        """The names of each scenario, by `id`. Cached, since every block needs them."""
        own = {id(each): each for one in self.scenarios for each in (one, base_scenario(one))}
        return {place: self._names_now(each) for place, each in own.items()}

    def __getstate__(self) -> dict[str, Any]:
        """The state without caches, which are valid in this process only."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def stored_derived(self) -> tuple[str, ...]:
        """The derived columns that read a vector, and those that these read: stored with blocks."""
        wanted = set[str]()
        for derived in reversed(self.derived):  # each may read those before it
            names = read_by(derived.function)
            if derived.name in wanted or not set(self.rules.vectors).isdisjoint(names):
                wanted |= {derived.name, *names}
        return tuple(derived.name for derived in self.derived if derived.name in wanted)

    @cached_property
    def stored_vectors(self) -> tuple[str, ...]:
        """The vectors from which nothing is derived, and those that the rules name."""
        read = {name for derived in self.derived for name in read_by(derived.function)}
        kept = self.rules.store_vectors
        return tuple(name for name in self.rules.vectors if name not in read or name in kept)

    def lengths_of(self, scenario: AnyScenario) -> dict[str, int]:
        """The length of each vector of a scenario."""
        behind = base_scenario(scenario)
        return {
            name: int(getattr(behind, said) if isinstance(said, str) else said)
            for name, said in self.rules.vectors.items()
        }

    def n_blocks(self, n_rep: int) -> int:
        """The number of whole blocks that hold `n_rep` replicates."""
        return -(-n_rep // self.block_size)

    def only(self, scenarios: Iterable[Scenario]) -> "Plan":
        """The plan restricted to some scenarios; streams do not change."""
        return replace(self, scenarios=tuple(scenarios))

    def cells(self) -> Iterator[tuple[str, ...]]:
        """All combinations of positions on the axes, in storage order."""
        return itertools.product(*self.axes.values())

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return tuple(len(labels) for labels in self.axes.values())
