"""Short text representations of studies, grids and results."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from simstudy.provenance.scenario_id import level_of

VALUES = 5  # values shown per factor; twice as many names of methods and measures
LETTERS = 24  # letters shown per value
FACTORS = 6  # factors shown in a line


def shown(what: str, scenarios: Sequence[Any], *more: str) -> str:
    """A representation of several lines; empty lines are left out."""
    lines = [f"{what}: {format_scenarios(scenarios)}", format_factors(scenarios), *more]
    return "\n  ".join(filter(None, lines))


def format_scenarios(scenarios: Sequence[Any]) -> str:
    """The number of scenarios and their classes: "4 scenarios of TwoSample"."""
    kinds = list(dict.fromkeys(type(scenario).__name__ for scenario in scenarios))
    n = len(scenarios)
    return f"{n:,} scenario{'s' * (n != 1)} of {format_names(kinds)}"


def format_factors(scenarios: Sequence[Any]) -> str:
    """Each factor with its values, in one line: "n1 = 20; n2 = 5, 20"."""
    kinds = dict.fromkeys(type(scenario) for scenario in scenarios)
    names = list(dict.fromkeys(field.name for kind in kinds for field in fields(kind)))
    said = [f"{name} = {_format_values(scenarios, name)}" for name in names]
    return "; ".join(_first(said, FACTORS, "factors"))


def format_names(names: Iterable[str]) -> str:
    """The first of some names: "bias, coverage"; "none" if there are none."""
    return ", ".join(_first(list(names), 2 * VALUES, "")) or "none"


def _format_values(scenarios: Sequence[Any], name: str) -> str:
    """The distinct values of a factor, in order of appearance."""
    there = (level_of(scenario, name) for scenario in scenarios if hasattr(scenario, name))
    distinct = dict.fromkeys(map(str, there))
    return ", ".join(_first([_cut(value) for value in distinct], VALUES, "values"))


def _first(said: list[str], most: int, of_what: str) -> list[str]:
    """The first items of a list, and its length."""
    if len(said) <= most:
        return said
    return [*said[:most], f"... ({len(said):,}{f' {of_what}' * bool(of_what)})"]


def _cut(value: str) -> str:
    value = " ".join(value.split())
    return value if len(value) <= LETTERS else f"{value[: LETTERS - 3]}..."


def from_to(least: int, most: int) -> str:
    """A range of counts: "50", "50 to 2,000"."""
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
