"""Which file follows what, and a walk from its first part to its last entry."""

import types
from collections.abc import Iterable

from simstudy.identity.fingerprint.walk.classes import class_token
from simstudy.identity.fingerprint.walk.functions import function_token
from simstudy.identity.fingerprint.walk.instances import instance_token
from simstudy.identity.fingerprint.walk.notes import Walk
from simstudy.identity.fingerprint.walk.surroundings import enter_surroundings
from simstudy.identity.fingerprint.walk.wholes import module_as_value


def walked(
    parts: Iterable[object], *, without_main: bool, with_exact: bool = False
) -> tuple[Walk, tuple[str, ...]]:
    """A finished walk from some parts, and the text of each of them."""
    walk = Walk(_token, with_exact=with_exact, without_main=without_main)
    tokens = tuple(walk.token(part, f"{_home(part)}:") for part in parts)
    enter_surroundings(walk)
    walk.settle()
    return walk, tokens


def _home(part: object) -> str:
    return getattr(part, "__module__", None) or type(part).__module__


def _token(walk: Walk, value: object, where: str) -> str:
    """The text of a value that is not plain, by its kind."""
    home = type(value).__module__
    if home == "simstudy.lazy":
        return _lazy(walk, value)
    if home == "simstudy.data.parts" and hasattr(value, "identity_text"):
        return f"<{walk.token(type(value), where)} {value.identity_text()}>"
    if isinstance(value, types.FunctionType):
        return function_token(walk, value)
    if isinstance(value, type):
        return class_token(walk, value)
    if isinstance(value, types.ModuleType):
        return module_as_value(walk, value)
    return instance_token(walk, value, where)


def _lazy(walk: Walk, value: object) -> str:
    """A library that is imported late counts as if it had been imported."""
    name: str = object.__getattribute__(value, "_name")
    walk.library(name)
    return f"<module {name}>"
