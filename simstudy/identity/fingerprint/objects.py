"""Small questions about objects, asked without running their code."""

import functools
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from simstudy.identity.fingerprint.plain_values import UnknownValueError, plain_token
from simstudy.identity.fingerprint.what_counts import (
    CALLED_BY_CHECKERS,
    CHECKERS,
    GENERATED_TUPLES,
    MADE_BY_PYTHON,
)

CACHED = type(functools.cache(lambda: None))
BUILT_IN = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_CODE = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type,
    functools.partial,
    CACHED,
)
_OF_ENUMS = ("_value_", "_name_", "__objclass__", "_sort_order_")  # of every member
_NOTHING = object()


# ---------------------------------------------------------------- what it is
def is_code(value: object) -> bool:
    """Whether it does something when it is called or made."""
    wraps = python_of(value) is not None or "__wrapped__" in attributes(value)
    return wraps or isinstance(value, _CODE)


def has_code(value: object) -> bool:
    """Whether a container holds functions or classes."""
    if isinstance(value, dict):
        return any(map(is_code, value.values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(is_code, value))


def is_plain(value: object) -> bool:
    """Whether a value is data through and through, whose content is the same in every process."""
    try:
        plain_token(value, lambda inner: str(is_plain(inner) or _refuse(inner)))
    except (UnknownValueError, RecursionError):
        return False
    return True


def _refuse(value: object) -> str:
    raise UnknownValueError(repr(type(value)))


def is_random(kind: type) -> bool:
    """Whether instances of a class are NumPy's generators, whose state is no content."""
    return kind.__module__.startswith("numpy.random") and not issubclass(kind, type)


def is_global_generator(value: object) -> bool:
    """Whether it is the random generator that everybody shares, or the module that holds it."""
    mtrand = getattr(sys.modules.get("numpy.random"), "mtrand", _NOTHING)
    shared = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", _NOTHING)
    return value is mtrand or value is shared


# ---------------------------------------------------------------- what it holds
def attributes(value: object) -> Mapping[str, Any]:
    """What an object stores, without asking the object: it might import what it stands for."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, Mapping) else {}


def state_of(value: object) -> Iterator[tuple[str, Any]]:
    """Fields of an instance by name, in `__dict__` and in slots."""
    yield from sorted((str(name), held) for name, held in attributes(value).items())
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            hidden = name.startswith("__") and not name.endswith("__")
            name = f"_{kind.__name__.lstrip('_')}{name}" if hidden else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)


def beside_its_value(member: object) -> dict[str, Any]:
    """What an enum's member has beside its name and value."""
    held = sorted(attributes(member).items())
    return {name: value for name, value in held if name not in _OF_ENUMS}


def class_attribute(kind: type, name: str) -> object:
    """What a class has by a name, without what a descriptor would make of it."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def cells_of(function: types.FunctionType) -> list[object]:
    """What a function's closed-over names are bound to."""
    return [_content(cell) for cell in function.__closure__ or ()]


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet
        return None


# ---------------------------------------------------------------- functions
def home_of(value: object) -> str:
    """The module in which code was written; of a checker of types, that of what it calls."""
    plain = unchecked(value)
    names = getattr(plain, "__globals__", {})
    return str(names.get("__name__") or getattr(plain, "__module__", "") or "")


def module_of(function: types.FunctionType) -> str:
    """The module whose names a function reads."""
    return str(function.__globals__.get("__name__", ""))


def python_of(value: object) -> types.FunctionType | None:
    """The function that numba compiled, if that is what a value is."""
    if not type(value).__module__.startswith("numba."):
        return None
    dispatcher = getattr(value, "_dispatcher", value)
    found = (getattr(dispatcher, name, None) for name in ("py_func", "_defn", "_pyfunc"))
    return next((held for held in found if isinstance(held, types.FunctionType)), None)


def is_at_its_name(function: types.FunctionType) -> bool:
    """Whether a function is what its module's name of it means: then the name is enough."""
    name = function.__code__.co_qualname
    found = function.__globals__.get(name)
    return "<" not in name and (unchecked(found) is function or "." in name)


def is_made(value: object) -> bool:
    """Whether Python wrote a method: those of a dataclass follow from its fields."""
    made = getattr(value, "__wrapped__", value)
    if not isinstance(made, types.FunctionType):
        return False
    is_tuples = module_of(made).startswith(GENERATED_TUPLES)
    return is_tuples or made.__code__.co_qualname.startswith("__create_fn__")


def belongs_to(function: types.FunctionType, kind: type) -> bool:
    """Whether a function was written in the body of a class."""
    written: types.FunctionType = unchecked(function)
    return written.__code__.co_qualname.startswith(f"{kind.__qualname__}.")


def is_checker(function: types.FunctionType) -> bool:
    """Whether a function only checks types, and calls another."""
    top = module_of(function).split(".")[0]
    return top in CHECKERS or function.__code__.co_filename.startswith("<@beartype")


def unchecked(function: Any) -> Any:
    """The function behind those that only check types."""
    while isinstance(function, types.FunctionType) and is_checker(function):
        behind = _checked_by(function)
        if behind is None:
            break
        function = behind
    return function


def _checked_by(function: types.FunctionType) -> Any:
    """What a checker calls: what it says that it wraps may be another decorator's word."""
    held = dict(zip(function.__code__.co_freevars, cells_of(function), strict=True))
    held |= function.__kwdefaults__ or {}
    called = (held[name] for name in CALLED_BY_CHECKERS if name in held)
    return next(called, getattr(function, "__wrapped__", None))


def attributes_of(function: types.FunctionType) -> dict[str, object]:
    """What decorators wrote on a function, or on a checker that stands before it, by name.

    `functools.wraps` writes name and docstring on it, too, which are no attributes.
    """
    own = {name: value for name, value in sorted(vars(function).items()) if _is_written(name)}
    if not is_checker(function):
        return own
    behind = _checked_by(function)
    if own.get("__wrapped__") is behind:
        own.pop("__wrapped__", None)
    below = attributes_of(behind) if isinstance(behind, types.FunctionType) else {}
    return dict(sorted((below | own).items()))


def _is_written(attribute: str) -> bool:
    """Whether a decorator wrote it: neither Python nor a checker of types."""
    is_checkers = attribute.startswith("__beartype")
    return not is_checkers and attribute not in (*MADE_BY_PYTHON, "__name__")


def plain_function(method: object) -> object:
    """What stands behind `staticmethod` and `classmethod`."""
    return method.__func__ if isinstance(method, staticmethod | classmethod) else method
