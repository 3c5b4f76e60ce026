"""Scenarios and grids of scenarios."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from simstudy.design.reprs import format_factors, format_scenarios
from simstudy.errors import DesignError, in_one_line, nearest
from simstudy.provenance.scenario_id import LEVEL_NAMES, identity, parts_of, short_hash

Columns = Mapping[str, np.ndarray]
"""Columns of a block, by name: each `(rep,)`, `(rep, *axes)`, or a scalar of the scenario."""


@runtime_checkable
class Scenario(Protocol):
    """One point of the design: a frozen dataclass whose fields are the factors.

    Its class has one of the first two methods, and may have the third:

    - `simulate(streams, n_rep)` draws and analyses replicates. It returns columns by name, each
      `(rep,)` or `(rep, *axes)`, with NaN if a replicate failed.
    - `draw(streams, n_rep)` draws data, which the study's methods analyse. It returns arrays
      `(rep, ...)`, or constants, by name. `draw_one(rng)` draws one data set instead.
    - `exact()` returns exact values of measures, in their units, by measure: numbers or arrays over
      the axes, with NaN in cells without an exact value.

    `streams("purpose")` returns the generator for a purpose; `n_rep` is the number of replicates in
    the block.
    """

    __dataclass_fields__: ClassVar[dict[str, "Field[Any]"]]


ScenarioT = TypeVar("ScenarioT", bound=Scenario)
AnyScenario: TypeAlias = Any
"""A `Scenario` whose class is defined by an experiment, which may read any attribute of it."""

Exact = Mapping[str, float | np.ndarray]
"""Exact values by the measures' names: a number, or an array over the axes."""

PlainFactor = bool | int | float | str | None
"""The value of a factor in tables and files."""


@dataclass(frozen=True)
class ZippedFactors:
    """Factors whose values are paired; made by `zipped`.

    Parameters
    ----------
    names
        Names of the factors.
    rows
        Values of all factors, a row for each combination.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def zipped(**factors: Sequence[Any]) -> ZippedFactors:
    """Pair the values of several factors: the i-th value of each with the i-th of the others.

    Parameters
    ----------
    factors
        Values of each factor; the same number for all.

    Returns
    -------
    ZippedFactors
        An argument of `grid`.

    Raises
    ------
    DesignError
        If the numbers of values differ.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from simstudy import grid, zipped
    >>> @dataclass(frozen=True)
    ... class TwoSamples:
    ...     n1: int
    ...     n2: int
    ...     shift: float
    >>> len(grid(TwoSamples, zipped(n1=[10, 30], n2=[30, 10]), shift=[0.0, 0.5, 1.0]))
    6
    """
    lengths = {name: len(values) for name, values in factors.items()}
    if len(set(lengths.values())) > 1:
        raise DesignError(
            f"zipped(...) pairs values one to one, but the lengths differ: {lengths}. "
            "Give each factor the same number of values, or cross them with grid(...)."
        )
    return ZippedFactors(tuple(factors), tuple(zip(*factors.values(), strict=True)))


class Grid(list[ScenarioT]):
    """A list of scenarios with a short representation."""

    def __repr__(self) -> str:
        return f"<{format_scenarios(self)}: {format_factors(self)}>" if self else "[]"


def grid(
    scenario: Callable[..., ScenarioT],
    /,
    *linked: ZippedFactors,
    where: Callable[[ScenarioT], bool] | None = None,
    **factors: Any,
) -> Grid[ScenarioT]:
    """Make a scenario of every combination of the factors' values; the last factor changes fastest.

    Parameters
    ----------
    scenario
        Class of the scenarios.
    *linked
        Paired factors, from `zipped`, which are crossed with the other factors.
    where
        Function of a scenario: whether to keep it. Default: all are kept.
    **factors
        One or several values for each factor. Other factors keep their defaults. Levels that are
        objects or arrays need names, in a mapping such as `{"normal": norm(), "t3": t(3)}`. The
        scenario's field is the object, also in `where`; tables, addresses and random streams use
        its name.

    Returns
    -------
    Grid[ScenarioT]
        Sequence of the scenarios, in order.

    Raises
    ------
    DesignError
        If a factor is unknown or without values, a scenario is repeated, or none is left.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from simstudy import grid
    >>> @dataclass(frozen=True)
    ... class Normal:
    ...     n_obs: int
    ...     mean: float = 0.0
    >>> for scenario in grid(Normal, n_obs=[10, 40], mean=[0.0, 0.5], where=lambda s: s.n_obs > 10):
    ...     print(scenario)
    Normal(n_obs=40, mean=0.0)
    Normal(n_obs=40, mean=0.5)
    """
    _refuse_values_without_a_name(scenario, linked)
    crossed = [
        *linked,
        *(ZippedFactors((name,), _column(name, value)) for name, value in factors.items()),
    ]
    names = [name for link in crossed for name in link.names]
    _check_factors(scenario, names)
    made = [
        _scenario(scenario, dict(zip(names, itertools.chain(*rows), strict=True)))
        for rows in itertools.product(*(link.rows for link in crossed))
    ]
    kept = made if where is None else list(filter(where, made))
    if not kept:
        raise DesignError(f"the grid of {_name(scenario)} is empty: no combination was kept.")
    check_distinct(kept)
    return Grid(kept)


def _refuse_values_without_a_name(scenario: object, given: Sequence[object]) -> None:
    for value in given:
        if not isinstance(value, ZippedFactors):
            raise DesignError(
                f"grid was given {in_one_line(repr(value))} for no factor. Write "
                f"grid({_name(scenario)}, n=[5, 10]), with the factor's name before its values, or "
                "zipped(...) for factors that move together."
            )


def _name(scenario: object) -> str:
    return str(getattr(scenario, "__name__", scenario))


@dataclass(frozen=True, eq=False)
class NamedLevel:
    """A level of a factor that is shown by a name."""

    name: str
    value: Any


def _scenario(kind: Callable[..., ScenarioT], levels: Mapping[str, Any]) -> ScenarioT:
    """A scenario, with the names of its named levels attached."""
    named = {factor: level for factor, level in levels.items() if isinstance(level, NamedLevel)}
    made = kind(**{**levels, **{factor: level.value for factor, level in named.items()}})
    if named:
        names = {factor: level.name for factor, level in named.items()}
        object.__setattr__(made, LEVEL_NAMES, names)
    return made


def _column(name: str, value: Any) -> tuple[tuple[Any, ...], ...]:
    if isinstance(value, Mapping):
        value = [NamedLevel(str(key), held) for key, held in value.items()]
    many = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    if isinstance(value, Set):
        raise DesignError(
            f"factor {name} has a set of values, which has another order in each run, and so would "
            "the rows of tables: give a list."
        )
    values = tuple(value) if many else (value,)
    if not values:
        raise DesignError(f"factor {name} has no values, so the grid is empty. Give at least one.")
    return tuple((single,) for single in values)


def _check_factors(scenario: Callable[..., Scenario], names: Sequence[str]) -> None:
    if not (isinstance(scenario, type) and is_dataclass(scenario)):
        raise DesignError(
            f"{in_one_line(repr(scenario))} is not a dataclass, so its factors cannot be named. "
            "Give grid the class, with @dataclass(frozen=True) above it."
        )
    known = [field.name for field in fields(scenario)]
    for name in names:
        if name not in known:
            raise DesignError(f"{_name(scenario)} has no factor {name!r}; {nearest(name, known)}")
        if names.count(name) > 1:
            raise DesignError(f"factor {name!r} is given twice. Give it once.")
    for each in fields(scenario):
        has_default = each.default is not MISSING or each.default_factory is not MISSING
        if each.init and each.name not in names and not has_default:
            raise DesignError(
                f"{_name(scenario)} needs a value of the factor {each.name!r}: give it to grid, or "
                "give its field a default."
            )


def check_distinct(scenarios: Sequence[Scenario]) -> None:
    """Refuse scenarios that would share rows: equal scenarios, or two classes with one name.

    Parameters
    ----------
    scenarios
        Scenarios of a study.

    Raises
    ------
    DesignError
        If two scenarios or classes are not distinct.
    """
    _refuse_namesakes(scenarios)
    seen = set[str]()
    for scenario in scenarios:
        name = identity(scenario)
        if name in seen:
            raise DesignError(f"{name} is in the grid twice, so it would count double. Remove one.")
        seen.add(name)


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


def scenario_key(scenario: Scenario) -> str:
    """Hash a scenario's identity to its key in the store.

    Parameters
    ----------
    scenario
        Any scenario.

    Returns
    -------
    str
        Sixteen hexadecimal digits.
    """
    return short_hash(identity(scenario))
