"""Scenarios by their factors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from simstudy.errors import nearest


def scenario_with(scenarios: Sequence[Any], where: Mapping[str, Any]) -> Any:
    """The one scenario with these factors; LookupError where there is none, or more than one.

    Numbers are compared as the grid made them, but for the last bits of floats.
    """
    for name in where:
        _check_factor(scenarios, name)
    found = [scenario for scenario in scenarios if not _differing(scenario, where)]
    if len(found) == 1:
        return found[0]
    if found:
        raise LookupError(
            f"{len(found)} scenarios have {_in_words(where)}, so it is open which is meant. Name "
            "more of their factors."
        )
    near = min(scenarios, key=lambda scenario: _distance(scenario, where))
    theirs = {name: getattr(near, name) for name in where}
    raise LookupError(
        f"no scenario of this run has {_in_words(where)}; the nearest has {_in_words(theirs)}"
    )


def _check_factor(scenarios: Sequence[Any], name: str) -> None:
    known = [field.name for field in fields(scenarios[0])]
    if name not in known:
        raise LookupError(f"{name!r} is no factor of these scenarios: {nearest(name, known)}")


def _differing(scenario: Any, where: Mapping[str, Any]) -> list[str]:
    pairs = ((name, getattr(scenario, name), wanted) for name, wanted in where.items())
    return [name for name, value, wanted in pairs if not _same(value, wanted)]


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(value, float) and isinstance(wanted, int | float):
        return math.isclose(value, wanted, rel_tol=1e-9)
    return bool(value == wanted)


def _distance(scenario: Any, where: Mapping[str, Any]) -> tuple[int, float]:
    """How many factors differ, then how far numbers are apart in proportion."""
    differing = _differing(scenario, where)
    return len(differing), sum(_apart(getattr(scenario, n), where[n]) for n in differing)


def _apart(value: Any, wanted: Any) -> float:
    if not (isinstance(value, int | float) and isinstance(wanted, int | float)):
        return 1.0
    gap = abs(value - wanted) / max(abs(value), abs(wanted))
    return gap if math.isfinite(gap) else 1.0


def _in_words(factors: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in factors.items())
