"""Scenarios, grids of them, and the plan of a run."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from simstudy.errors import DesignError, nearest
from simstudy.identity.names import identity, names_itself, parts_of, short_hash, typed
from simstudy.identity.streams import Streams

Columns = Mapping[str, np.ndarray]
"""What a block computes, by name: each `(rep,)`, `(rep, *axes)`, or a scalar of the scenario."""


@runtime_checkable
class Scenario(Protocol):
    """One point of the design: a frozen dataclass whose fields are the factors.

    It draws and analyses replicates (`Simulates`), or draws data for the study's methods
    (`DrawsData`). It may also say what theory knows of the measures: see `HasExact`.
    """

    __dataclass_fields__: ClassVar[dict[str, "Field[Any]"]]


@runtime_checkable
class Simulates(Scenario, Protocol):
    """A scenario that analyses what it draws."""

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        """Draw and analyse `n_rep` replicates."""
        ...


@runtime_checkable
class DrawsData(Scenario, Protocol):
    """A scenario whose data are analysed by the study's methods."""

    def draw(self, streams: Streams, n_rep: int) -> Mapping[str, Any]:
        """Data of `n_rep` replicates by name: arrays `(rep, ...)`, or constants."""
        ...


Exact = Mapping[str, float | np.ndarray]
"""What theory says, by the measures' names: a number, or an array over the axes."""


@runtime_checkable
class HasExact(Protocol):
    """A scenario for which theory gives some of the measures."""

    def exact(self) -> Exact:
        """In the units of the measures; NaN in the cells of which theory says nothing."""
        ...


AnyScenario = TypeVar("AnyScenario", bound=Scenario)
OfSomeClass: TypeAlias = Any
"""A `Scenario` of a class that only the experiment knows, which reads its factors off it."""

PlainFactor = bool | int | float | str | None
"""A factor as tables and files show it."""


@dataclass(frozen=True)
class Linked:
    """Factors that move together; made by `together`."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def together(**factors: Sequence[Any]) -> Linked:
    """Factors zipped: the i-th value of each with the i-th of the others.

    Raises
    ------
    DesignError
        Where their lengths differ.
    """
    lengths = {name: len(values) for name, values in factors.items()}
    if len(set(lengths.values())) > 1:
        raise DesignError(
            f"together(...) pairs values one to one, but the lengths differ: {lengths}. "
            "Give each factor the same number of values, or cross them with grid(...)."
        )
    return Linked(tuple(factors), tuple(zip(*factors.values(), strict=True)))


def grid(
    scenario: Callable[..., AnyScenario],
    *linked: Linked,
    where: Callable[[AnyScenario], bool] | None = None,
    **factors: Any,
) -> list[AnyScenario]:
    """Every combination of the factors' values, the last factor moving fastest.

    Parameters
    ----------
    scenario
        The scenario's class.
    *linked
        Factors that move together, from `together`; crossed with the rest.
    where
        Keeps the scenarios for which it is true.
    **factors
        A value, or several, for each factor. Factors left out keep their defaults.

    Raises
    ------
    DesignError
        For an unknown or missing factor, an empty list of values, a scenario that comes twice,
        or nothing left.
    """
    crossed = [*linked, *(Linked((name,), _column(name, value)) for name, value in factors.items())]
    names = [name for link in crossed for name in link.names]
    _check_factors(scenario, names)
    combinations = itertools.product(*(link.rows for link in crossed))
    made = [
        scenario(**dict(zip(names, itertools.chain(*rows), strict=True))) for rows in combinations
    ]
    kept = made if where is None else list(filter(where, made))
    if not kept:
        raise DesignError(f"the grid of {_name(scenario)} is empty: no combination was kept.")
    refuse_twins(kept)
    return kept


def _name(scenario: object) -> str:
    return str(getattr(scenario, "__name__", scenario))


def _column(name: str, value: Any) -> tuple[tuple[Any, ...], ...]:
    many = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    values = tuple(value) if many else (value,)
    if not values:
        raise DesignError(f"factor {name} has no values, so the grid is empty. Give at least one.")
    return tuple((single,) for single in values)


def _check_factors(scenario: Callable[..., Scenario], names: Sequence[str]) -> None:
    if not is_dataclass(scenario):
        raise DesignError(
            f"{_name(scenario)} is not a dataclass, so its factors cannot be named. "
            "Put @dataclass(frozen=True) above it."
        )
    known = {field.name: field for field in fields(scenario)}
    for name in names:
        if name not in known:
            raise DesignError(f"{_name(scenario)} has no factor {name!r}; {nearest(name, known)}")
        if names.count(name) > 1:
            raise DesignError(f"factor {name!r} is given twice. Give it once.")
    for name, field in known.items():
        if _is_required(field) and name not in names:
            raise DesignError(f"factor {name!r} of {_name(scenario)} has no default: give it.")


def _is_required(field: "Field[Any]") -> bool:
    return field.init and field.default is MISSING and field.default_factory is MISSING


def refuse_twins(scenarios: Sequence[Scenario]) -> None:
    """Refuse scenarios that would share rows: the same one twice, or two classes of one name.

    Raises
    ------
    DesignError
        Naming the two.
    """
    _refuse_namesakes(scenarios)
    seen: dict[str, Scenario] = {}
    for scenario in scenarios:
        name = identity(scenario)
        if name in seen:
            raise DesignError(
                f"{name} is in the grid twice{_differing_by_type(seen[name], scenario)}, so it "
                "would count double. Remove one."
            )
        seen[name] = scenario


def _differing_by_type(first: Scenario, second: Scenario) -> str:
    """How two scenarios of one name differ, in brackets; empty where they do not."""
    if typed(first) == typed(second):
        return ""
    return (
        f" ({typed(first)} and {typed(second)} differ by type only, and numbers are told apart "
        "by value)"
    )


def _refuse_namesakes(scenarios: Sequence[Scenario]) -> None:
    kinds: dict[str, type] = {}
    for kind in dict.fromkeys(type(part) for each in scenarios for part in parts_of(each)):
        other = kinds.setdefault(kind.__name__, kind)
        if other is not kind:
            raise DesignError(
                f"two classes are named {kind.__name__}: {other.__module__}.{other.__qualname__} "
                f"and {kind.__module__}.{kind.__qualname__}. Random streams and stored rows are "
                "found by that name, so they would share both. Rename one."
            )


@dataclass(frozen=True)
class Method:
    """One analysis of the data that scenarios draw.

    Parameters
    ----------
    name
        Its place on the axis of methods, and all that names it: its key in the store and the
        addresses of its random streams.
    function
        What it does: its parameters name what it is given.
    axis
        Name of the axis of methods, under which tables show its name.
    """

    name: str
    function: Callable[..., Any]
    axis: str = "method"

    def identity_text(self) -> str:
        """Its name: another function under that name is the same method, of other code."""
        return self.name


@dataclass(frozen=True, repr=False)
class Analysed:
    """A scenario's data in the hands of one method: drawn, stored and owned apart."""

    scenario: OfSomeClass
    method: Method

    def __repr__(self) -> str:
        return f"method {self.method.name} of {self.scenario!r}"


def scenario_behind(drawn: OfSomeClass) -> OfSomeClass:
    """The scenario whose data a method analyses; of a scenario itself, that."""
    return drawn.scenario if isinstance(drawn, Analysed) else drawn


def method_of(drawn: OfSomeClass) -> str:
    """The name of the method that analyses a scenario's data; empty where it simulates."""
    return drawn.method.name if isinstance(drawn, Analysed) else ""


def factors_of(scenario: Scenario) -> dict[str, PlainFactor]:
    """The factors of a scenario as plain values; parts are shown by identity, data by name."""
    if isinstance(scenario, Analysed):
        return factors_of(scenario.scenario) | {scenario.method.axis: scenario.method.name}
    values = ((field.name, getattr(scenario, field.name)) for field in fields(scenario))
    return {name: _shown(value) for name, value in values}


def _shown(value: object) -> PlainFactor:
    if isinstance(value, np.generic):
        number: PlainFactor = value.item()
        return number
    if names_itself(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return identity(value).removesuffix("()")


@dataclass(frozen=True)
class Plan:
    """What is to be drawn, and where its random numbers come from.

    Parameters
    ----------
    name
        The study's name: part of every stream's address.
    seed
        The study's seed.
    scenarios
        Points of the design, in the order of the summary.
    axes
        Names of the axes after the replicate, each with the names of its positions; that of the
        methods, where there are any, is the first.
    block_size
        Replicates in a block; part of the study's identity.
    common
        Factors whose values share random numbers.
    may_be_missing
        Float columns where NaN is a result and not a failure.
    on_failure
        `record` keeps the row with its error, `abort` stops the run.
    methods
        What analyses the data that scenarios draw; none where scenarios simulate.
    """

    name: str
    seed: int
    scenarios: tuple[OfSomeClass, ...]
    axes: Mapping[str, tuple[str, ...]]
    block_size: int
    common: tuple[str, ...] = ()
    may_be_missing: tuple[str, ...] = ()
    on_failure: str = "record"
    methods: tuple[Method, ...] = ()

    @cached_property
    def keys(self) -> dict[str, OfSomeClass]:
        """Scenarios by the name of their place in the store, in order."""
        return {self.key_of(scenario): scenario for scenario in self.scenarios}

    # ---------------------------------------------------------------- methods
    @cached_property
    def drawn(self) -> "Plan":
        """What the engine draws, stores and owns: each scenario, or each method of each scenario.

        The methods of a scenario are neighbours, and their columns have the further axes only.
        """
        if not self.methods:
            return self
        further = {axis: n for axis, n in self.axes.items() if axis != self.methods_axis}
        pairs = itertools.product(self.scenarios, self.methods)
        scenarios = tuple(Analysed(scenario, method) for scenario, method in pairs)
        return replace(self, scenarios=scenarios, axes=further, methods=())

    @property
    def methods_axis(self) -> str:
        """Name of the axis of methods; empty where there are none."""
        return self.methods[0].axis if self.methods else ""

    @cached_property
    def drawn_keys(self) -> dict[str, tuple[str, ...]]:
        """By a scenario's key, the keys of what is drawn of it: of each method, in order."""
        keys, n = list(self.drawn.keys), len(self.methods) or 1
        return {key: tuple(keys[i * n : (i + 1) * n]) for i, key in enumerate(self.keys)}

    def drawn_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes by the keys of what is drawn, from sizes by the scenarios' keys."""
        return {drawn: n for key, n in sizes.items() for drawn in self.drawn_keys[key]}

    def of_methods(self, names: Iterable[str]) -> "Plan":
        """The same plan for some of its methods: no stream moves."""
        named = {method.name: method for method in self.methods}
        chosen = {name: named[name] for name in names}
        axes = {**self.axes, self.methods_axis: tuple(chosen)}
        return replace(self, methods=tuple(chosen.values()), axes=axes)

    # ---------------------------------------------------------------- names
    def identity_of(self, scenario: Scenario) -> str:
        """The identity of a scenario: of the plan's own ones as it was at first."""
        return self._identities.get(id(scenario)) or identity(scenario)

    def key_of(self, scenario: Scenario) -> str:
        """The name of a scenario's place in the store."""
        return short_hash(self.identity_of(scenario))

    def streams(self, scenario: Scenario, block: int) -> Streams:
        """The random streams of one block: of its data, or a method's own."""
        study = f"{self.name}/{self.block_size}"
        address = self._address_of(scenario_behind(scenario))
        return Streams(self.seed, study, address, block, method_of(scenario))

    def _address_of(self, scenario: Scenario) -> str:
        if not self.common:
            return self.identity_of(scenario)
        return self._addresses.get(id(scenario)) or identity(scenario, without=self.common)

    @cached_property
    def _own(self) -> dict[int, OfSomeClass]:
        """The plan's scenarios, and those behind them, by their place in memory."""
        pairs = ((each, scenario_behind(each)) for each in self.scenarios)
        return {id(each): each for each in itertools.chain.from_iterable(pairs)}

    @cached_property
    def _identities(self) -> dict[int, str]:
        """Asked for in every block."""
        return {place: identity(each) for place, each in self._own.items()}

    @cached_property
    def _addresses(self) -> dict[int, str]:
        """Identities without the factors that share random numbers."""
        return {place: identity(each, without=self.common) for place, each in self._own.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Without what is cached, which holds in this process only."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def n_blocks(self, n_rep: int) -> int:
        """Whole blocks that hold `n_rep` replicates."""
        return -(-n_rep // self.block_size)

    def only(self, scenarios: Iterable[Scenario]) -> "Plan":
        """The same plan for some of its scenarios: no stream moves."""
        return replace(self, scenarios=tuple(scenarios))

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Combinations of the axes' positions, in storage order."""
        return itertools.product(*self.axes.values())

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple(len(labels) for labels in self.axes.values())


def scenario_key(scenario: Scenario) -> str:
    """Sixteen hexadecimal digits that name a scenario in the store."""
    return short_hash(identity(scenario))
