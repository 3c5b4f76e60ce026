"""Functions: where they are defined, what they hold, and what type checkers wrap."""

import functools
import types
from types import CellType, FunctionType
from typing import Any

from simstudy.provenance.policy import CALLED_BY_CHECKERS, CHECKERS, MADE_BY_PYTHON
from simstudy.provenance.values import CACHED, attributes

CODE = (FunctionType, types.BuiltinFunctionType, types.MethodType, type, functools.partial, CACHED)


def is_code(value: object) -> bool:
    """Whether a value is a function or a class, also one that a library has wrapped."""
    return isinstance(value, CODE) or "__wrapped__" in attributes(value)


def module_of(function: FunctionType) -> str:
    """Return the name of the module whose globals a function reads."""
    return str(function.__globals__.get("__name__", ""))


def home_of(value: object) -> str:
    """Return the module that defines a function; type checkers' wrappers are ignored."""
    plain = unchecked(value)
    names = getattr(plain, "__globals__", {})
    return str(names.get("__name__") or getattr(plain, "__module__", "") or "")


def is_at_its_name(function: FunctionType) -> bool:
    """Whether a function is the value of its name in its module, so that the name suffices."""
    name = function.__code__.co_qualname
    found = function.__globals__.get(name)
    return "<" not in name and (unchecked(found) is function or "." in name)


def is_generated(method: object) -> bool:
    """Whether Python generated a method, as for dataclasses and named tuples."""
    made = getattr(method, "__wrapped__", method)
    if not isinstance(made, FunctionType):
        return False
    is_tuples = module_of(made).startswith("namedtuple_")
    return is_tuples or made.__code__.co_qualname.startswith("__create_fn__")


# ---------------------------------------------------------------- type checkers
def is_checker(function: FunctionType) -> bool:
    """Whether a function is a wrapper that only checks types."""
    top = module_of(function).split(".")[0]
    return top in CHECKERS or function.__code__.co_filename.startswith("<@beartype")


def unchecked(function: Any) -> Any:
    """Return the function inside wrappers that only check types."""
    while isinstance(function, FunctionType) and is_checker(function):
        behind = _checked_by(function)
        if behind is None:
            break
        function = behind
    return function


def _checked_by(function: FunctionType) -> Any:
    """Return the function that a type checker calls; `__wrapped__` may be another one."""
    held = cells_of(function) | (function.__kwdefaults__ or {})
    called = (held[name] for name in CALLED_BY_CHECKERS if name in held)
    return next(called, getattr(function, "__wrapped__", None))


def cells_of(function: FunctionType) -> dict[str, object]:
    """Return the values of a function's closure by name; None for an unbound cell."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    return {name: _content(cell) for name, cell in zip(names, cells, strict=True)}


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def attributes_of(function: FunctionType) -> dict[str, object]:
    """Return the attributes that decorators set on a function or on its type checker.

    Names and docstrings, which `functools.wraps` sets as well, are left out.
    """
    found: dict[str, object] = {}
    behind: Any = function
    while isinstance(behind, FunctionType):
        function, behind = behind, _checked_by(behind) if is_checker(behind) else None
        own = {name: held for name, held in vars(function).items() if _is_written(name)}
        found = {name: held for name, held in own.items() if held is not behind} | found
    return dict(sorted(found.items()))


def _is_written(attribute: str) -> bool:
    """Whether an attribute was set by a decorator, not by Python or a type checker."""
    is_checkers = attribute.startswith("__beartype")
    return not is_checkers and attribute not in (*MADE_BY_PYTHON, "__name__")
