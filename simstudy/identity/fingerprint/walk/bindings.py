"""What a name is bound to: code by reference, a constant as an entry of its own."""

from types import FunctionType

from simstudy.identity.fingerprint.modules.imports import bound_by_import
from simstudy.identity.fingerprint.modules.places import (
    is_project,
    is_project_function,
    is_standard,
)
from simstudy.identity.fingerprint.objects import home_of, is_at_its_name, is_code, unchecked
from simstudy.identity.fingerprint.walk.notes import Walk, hash_of
from simstudy.identity.fingerprint.what_counts import is_ours, is_passed_over

_FILLED = (dict, list, set)  # of ours with a private name: what a process keeps at hand


def binding(walk: Walk, module: str, name: str, value: object) -> str:
    """What stands for a module's name where code reads it."""
    if not is_project(module):
        return _library_name(walk, module, name, value)
    if is_code(value):
        return _reference(walk, value, f"{module}:{name}")
    is_memory = is_ours(module) and name.startswith("_") and isinstance(value, _FILLED)
    if is_memory or is_passed_over(module):
        return name
    imported = _imported_name(module, name, value)
    if imported:
        walk.library(imported)
        return imported
    if (module, name) not in walk.bound:
        _enter_constant(walk, module, name, value)
    return f"{module}.{name}"


def _library_name(walk: Walk, module: str, name: str, value: object) -> str:
    """A library's own name says what it is, unless a program put something else there."""
    if is_code(value) and _is_of_the_project(value):
        return _reference(walk, value, f"{module}:{name}")
    is_plain = isinstance(value, int | float | complex | str | tuple)
    return f"{name} {value!r}" if is_plain and len(repr(value)) < 200 else name


def _is_of_the_project(value: object) -> bool:
    """Whether code is the project's, by its module or, where it was executed, by its file."""
    home, plain = home_of(value), unchecked(value)
    if isinstance(plain, FunctionType):
        return is_project_function(plain, home)
    return is_project(home)


def _reference(walk: Walk, value: object, where: str) -> str:
    """Which code it is; what it does is in the entry of that code, if its name is its own."""
    token, plain = walk.token(value, where), unchecked(value)
    if isinstance(plain, FunctionType) and is_at_its_name(plain):
        return token.rpartition(" ")[0] or token
    return token


def _imported_name(module: str, name: str, value: object) -> str:
    """The library's name of an instance of a library's class; empty where it is none."""
    kind = type(value).__module__
    is_library = not (is_standard(kind) or is_project(kind))
    return bound_by_import(module, name, value) if is_library else ""


def _enter_constant(walk: Walk, module: str, name: str, value: object) -> None:
    walk.bound.add((module, name))
    walk.takes_part(module)
    walk.enter(f"{module}.{name}", hash_of(walk.token(value, f"{module}:{name}")))
