"""Identities of scenarios: class name and non-default fields."""

import enum
import functools
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any, TypeGuard

import numpy as np

PLAIN = (type(None), bool, int, float, str)
MAX_NAMED = 20  # longest array that is named by its values
LEVEL_NAMES = "_level_names"
"""Attribute of a scenario with the names of levels that are objects, by factor."""


def level_of(scenario: object, factor: str) -> Any:
    """Return the value of a factor as tables show it; for a named level, its name."""
    names: Mapping[str, str] = getattr(scenario, LEVEL_NAMES, {})
    return names[factor] if factor in names else getattr(scenario, factor)


def with_factor(scenario: Any, factor: str, value: object) -> Any:
    """Copy a scenario with another value of one factor; other levels keep their names."""
    made = replace(scenario, **{factor: value})
    names = dict(getattr(scenario, LEVEL_NAMES, {}))
    names.pop(factor, None)
    if names:
        object.__setattr__(made, LEVEL_NAMES, names)
    return made


def identity(part: Any, *, without: Collection[str] = ()) -> str:
    """Return the identity of a scenario or part: class name and non-default fields.

    Numbers are named by value: `1`, `1.0` and NumPy's 1 have the same identity; `1`, `True` and
    `"1"` have different ones, as have `0.0` and `-0.0`. An enum member is named with its class. The
    text is the same on every machine. A new field with a default changes no identity that does not
    use it.

    A part may have a method `identity_text() -> str` that returns its identity, which must be the
    same in every process and on every machine. `simstudy.Data`, for example, is identified by its
    content. Tables of results show such a part as its `str`.

    Parameters
    ----------
    part
        A dataclass instance, a number, a string, None, an enum member, a part with
        `identity_text`, or a tuple, list or mapping of these, or an array of up to 20 values.
    without
        Fields of `part` itself to leave out.
    """
    if type(part) is float or type(part) is int or type(part) is str:
        return _scalar(part)
    if names_itself(part):
        return str(part.identity_text())
    if is_dataclass(part) and not isinstance(part, type):
        named = ",".join(f"{name}={value}" for name, value in _non_default(part, without))
        return f"{type(part).__name__}({named})"
    if isinstance(part, dict):
        pairs = sorted(part.items(), key=lambda pair: (type(pair[0]).__name__, pair[0]))
        return "{" + ",".join(f"{k!r}:{identity(v)}" for k, v in pairs) + "}"
    if isinstance(part, tuple | list):
        return "(" + ",".join(map(identity, part)) + ")"
    if is_short_array(part):
        return identity(part.tolist())
    return _scalar(part)


def is_short_array(part: object) -> TypeGuard[np.ndarray]:
    """Whether a part is a vector short enough to be named by its values, like a list."""
    if not isinstance(part, np.ndarray):
        return False
    return part.ndim == 1 and len(part) <= MAX_NAMED and part.dtype.kind in "biufU"


def names_itself(part: object) -> bool:
    """Whether a part has an `identity_text`."""
    return not isinstance(part, type) and callable(getattr(part, "identity_text", None))


def _non_default(part: object, without: Collection[str]) -> Iterable[tuple[str, str]]:
    kind: Any = part.__class__
    for name, default in _defaults(kind):
        if name not in without:
            value = identity(level_of(part, name))
            if value != default:
                yield name, value


@functools.cache
def _defaults(kind: Any) -> tuple[tuple[str, str | None], ...]:
    """List the fields of a dataclass with the identities of their defaults."""
    return tuple(sorted((field.name, _default(field)) for field in fields(kind)))


def _default(field: "Field[Any]") -> str | None:
    missing = type(MISSING)  # compared by type, since workers may have a copy
    if not isinstance(field.default, missing):
        return identity(field.default)
    factory: Any = field.default_factory
    return None if isinstance(factory, missing) else identity(factory())


def _scalar(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, float) and value.is_integer() and float.__repr__(value) != "-0.0":
        return str(int(value))
    if type(value) in PLAIN:
        return repr(value)
    for plain in (int, float, str):
        if isinstance(value, plain):  # a subclass may have another repr
            return f"{type(value).__name__}({plain.__repr__(value)})"
    raise TypeError(
        f"{_shown(value)} has no stable name: the fields of a scenario must be numbers, strings, "
        "None, tuples of these, or frozen dataclasses, because they identify its random streams. "
        f"{_advice(value)}"
    )


def typed(value: object) -> str:
    """Describe a value with its types, so that `1`, `1.0` and `float64(1.0)` differ.

    These share random numbers. But arithmetic may give other results with another type, so blocks
    drawn with one type are not used for another.
    """
    if is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "identity_text"):
        named = (f"{field.name}={typed(level_of(value, field.name))}" for field in fields(value))
        return f"{type(value).__name__}({', '.join(named)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {typed(held)}" for key, held in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + "".join(f"{typed(entry)}," for entry in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(typed, value)) + "]"
    if isinstance(value, np.generic):
        return f"{value.dtype}({value.item()!r})"
    if is_short_array(value):
        return f"array({value.tolist()}, {value.dtype})"
    return repr(value) if type(value) in PLAIN else identity(value)


def parts_of(part: object) -> Iterator[object]:
    """Yield a scenario and its parts that may have code, the scenario first."""
    if type(part) not in (*PLAIN, tuple, list, dict) and not isinstance(part, np.generic):
        yield part
    inside: Iterable[object] = ()
    if isinstance(part, Mapping):
        inside = part.values()
    elif isinstance(part, tuple | list):
        inside = part
    elif is_dataclass(part) and not isinstance(part, type):
        inside = [getattr(part, field.name) for field in fields(part)]
    for inner in inside:
        yield from parts_of(inner)


def _shown(value: object) -> str:
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__} of shape {shape}" if shape is not None else repr(value)


def _advice(value: object) -> str:
    """Advise how to make a value a part of a scenario."""
    makers = {
        "DataFrame": "Data.from_frame(table, name='prices')",
        "Series": "Data.from_frame(column, name='prices')",
        "ndarray": "Data.from_array(values, name='prices')",
    }
    maker = makers.get(type(value).__name__)
    if isinstance(value, os.PathLike):
        maker = f"Data.file({os.fspath(value)!r})"
    if maker is None:
        return 'Give each value a name: a mapping such as {"name": value} in grid(...).'
    return (
        f"Make it a Data part, which is identified by its content: {maker}, from simstudy; or give "
        'it a name: a mapping such as {"name": value} in grid(...).'
    )


def short_hash(text: str, n_hex: int = 16) -> str:
    """Return the first `n_hex` hexadecimal digits of the SHA-256 of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:n_hex]
