"""Classes: their bases, metaclass, members and fields."""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from types import FunctionType, MemberDescriptorType

from simstudy.identity.fingerprint.modules.places import is_project
from simstudy.identity.fingerprint.objects import (
    belongs_to,
    beside_its_value,
    is_made,
    plain_function,
)
from simstudy.identity.fingerprint.walk.functions import method_token
from simstudy.identity.fingerprint.walk.notes import Walk, hash_of
from simstudy.identity.fingerprint.walk.wholes import whole
from simstudy.identity.fingerprint.what_counts import (
    GENERATED_TUPLES,
    MADE_BY_PYTHON,
    is_passed_over,
)


def class_token(walk: Walk, kind: type) -> str:
    """A class by name; what it is, is an entry."""
    module = str(kind.__module__)
    name = f"{module}.{kind.__qualname__}"
    token = walk.remember(kind, f"<{name}>")
    if is_passed_over(module):
        return token
    if not is_project(module) or module.startswith(GENERATED_TUPLES):
        walk.library(module)
        return token
    walk.takes_part(module)
    if type(kind).__module__.startswith("numba."):  # compiled as a whole
        whole(walk, module)
        return token
    own = _content(walk, kind)
    walk.enter(name, own)
    return f"<{name} {own}>" if "<locals>" in name else token


def _content(walk: Walk, kind: type) -> str:
    module = str(kind.__module__)
    bases = [walk.token(base, module) for base in kind.__bases__ if base is not object]
    bases += [] if type(kind) is type else [walk.token(type(kind), module)]
    members = [f"{name}={_member(walk, kind, name, value)}" for name, value in _members(walk, kind)]
    return hash_of("|".join([*bases, *members, *_fields(walk, kind)]))


def _members(walk: Walk, kind: type) -> Iterator[tuple[str, object]]:
    own = {
        name: value
        for name, value in vars(kind).items()
        if name not in MADE_BY_PYTHON and not is_made(value)
    }
    if isinstance(kind, enum.EnumMeta):
        return iter(_with_enum_members(own, kind).items())  # their order is theirs
    if not walk.with_exact:
        own.pop("exact", None)
    parameters = vars(kind).get("__dataclass_params__")
    if parameters is not None and parameters.init:
        own.pop("__init__", None)
    own["__slots__"] = tuple(vars(kind).get("__slots__", ()))  # whose descriptors say nothing
    return iter(sorted((n, v) for n, v in own.items() if not isinstance(v, MemberDescriptorType)))


def _with_enum_members(own: dict[str, object], kind: enum.EnumMeta) -> dict[str, object]:
    members: Mapping[str, enum.Enum] = kind.__members__
    rest = {name: value for name, value in own.items() if name not in members}
    return rest | {name: (m.value, beside_its_value(m)) for name, m in members.items()}


def _member(walk: Walk, kind: type, name: str, value: object) -> str:
    """A method counts as part of its class; anything else by what it is."""
    where = f"{kind.__module__}:{kind.__qualname__}.{name}"
    function = plain_function(value)
    if not isinstance(function, FunctionType) or not belongs_to(function, kind):
        return walk.token(value, where)
    return f"{type(value).__name__} {method_token(walk, function, kind, where)}"


def _fields(walk: Walk, kind: type) -> list[str]:
    if not is_dataclass(kind):
        return []
    where = f"{kind.__module__}:{kind.__qualname__}"
    shown = [repr(vars(kind).get("__dataclass_params__"))]
    return shown + [_field(walk, entry, where) for entry in fields(kind)]


def _field(walk: Walk, entry: "Field[object]", where: str) -> str:
    how = (entry.init, entry.kw_only, entry.compare, entry.hash)
    parts = (_unless_missing(entry.default), _unless_missing(entry.default_factory))
    made = [walk.token(part, where) for part in (*parts, (dict(entry.metadata),))]
    return f"{entry.name} {how} {made}"


def _unless_missing(default: object) -> tuple[object] | None:
    """By name: a class from a notebook reaches a worker process with a copy of MISSING."""
    return None if type(default).__name__ == type(MISSING).__name__ else (default,)
