"""Calls functions whose parameter names say what they need: methods and derived columns."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from simstudy.design import Scenario
from simstudy.errors import StudyError
from simstudy.store.arrow_schema import SCENARIO

Unknown = Callable[[str], StudyError]
"""From the name of a parameter that names nothing to the refusal."""


def select_arguments(
    name: str, function: Callable[..., Any], available: Mapping[str, Any], unknown: Unknown
) -> dict[str, Any]:
    """Select the arguments that a function's parameters name; missing ones keep their defaults.

    Parameters
    ----------
    name
        The function in a user's words, such as `method 'welch'`.
    available
        What there is, by name.
    """
    found = {}
    for parameter in parameters_of(name, function):
        if parameter.name in available:
            found[parameter.name] = available[parameter.name]
        elif parameter.default is parameter.empty:
            raise unknown(parameter.name)
    return found


def parameters_of(name: str, function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """The parameters of a function that are not fixed by a `partial`."""
    fixed = function.keywords if isinstance(function, partial) else {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise StudyError(
                f"{name} takes {parameter}, and parameters name what a method is given: name "
                "each of them."
            )
        if parameter.name not in fixed:
            yield parameter


def scenario_arguments(scenario: Scenario) -> dict[str, Any]:
    """The scenario's factors by name, and the scenario itself as `scenario`."""
    return {SCENARIO: scenario, **factors_by_name(scenario)}


def factors_by_name(scenario: Scenario) -> dict[str, Any]:
    """The fields of a scenario by name."""
    return {field.name: getattr(scenario, field.name) for field in fields(scenario)}
