"""Arguments of public functions, read on entry: numbers as float64, counts as int64.

Arithmetic in a narrow or unsigned type wraps or loses digits without a word, so no function does
any. Annotations say how an argument is read:

==========================  ====================================================================
annotation                  what the function receives
==========================  ====================================================================
int, float, bool            one whole number, number, truth value; of Python's own
Numbers, ArrayLike          counts if it is called as a count is (`COUNTS`), else numbers
Fractional                  numbers, however it is called: a count that need not be whole
Float[...], Int[...], Bool  an array with those axes, each name of one length in all arguments
a NamedTuple                the same, with its fields read by their annotations
anything else               what came
==========================  ====================================================================

Arrays of float64 go through as they are, in their own layout: a sum in another order is another
number.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from types import UnionType
from typing import Any, NamedTuple, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float, stated
from simstudy.documents.stats.arguments import Fractional, Numbers, plain
from simstudy.errors import DesignError, in_one_line

P = ParamSpec("P")
R = TypeVar("R")
Reader = Callable[[str, Any], Any]

COUNTS = frozenset({
    "n", "n_check", "n_obs", "n_trial", "n_test", "sides", "rank", "successes",
    "successes_reference", "successes_check", "count_reference", "count", "losses", "gains",
    "critical",
})  # fmt: skip
"""Parameters that count and may be arrays, by name, which means the same in every function."""
MOST = 2**53
"""From here on whole numbers are not all doubles."""
NUMBERS = (ArrayLike, ArrayLike | None, Numbers, Numbers | None)
FRACTIONAL = (Fractional, Fractional | None)
NEVER_EMPTY = frozenset(
    {"obs", "n", "n1", "n2", "first", "second", "boot", "draw", "value", "metric", "network"}
)
"""Axes over which something is summed, ordered or chosen from."""


def reading(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function get its arguments as its annotations mean them."""
    parameters = inspect.signature(function).parameters
    hints = {name: each.annotation for name, each in parameters.items()}
    readers = _readers_of(hints)
    axes = _axes_of(hints)
    in_place = [name for name, each in parameters.items() if each.kind in PLACED]

    @wraps(function)
    def with_arguments(*args: P.args, **kwargs: P.kwargs) -> R:
        given = dict(zip(in_place, args, strict=False)) | kwargs
        read = {
            name: readers[name](name, value) if name in readers else value
            for name, value in given.items()
        }
        _check_axes(read, axes)
        placed = [read[name] for name in in_place[: len(args)]]
        named = {name: read[name] for name in kwargs}
        return function(*placed, *args[len(in_place) :], **named)  # type: ignore[arg-type]

    return with_arguments


PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


# ---------------------------------------------------------------- which way to read
def _readers_of(hints: Mapping[str, Any]) -> dict[str, Reader]:
    """Readers by argument, for those that are not taken as they come."""
    found = {name: _reader(name, hint) for name, hint in hints.items()}
    return {name: reader for name, reader in found.items() if reader is not None}


def _reader(name: str, annotation: Any) -> Reader | None:
    kinds = _kinds(annotation)
    if annotation in NUMBERS:
        read: Reader | None = _as_counts if name in COUNTS else _as_numbers
    elif annotation in FRACTIONAL or (float in kinds and any(map(stated, kinds))):
        read = _as_numbers
    elif len(kinds) > 1:
        read = None
    elif words := stated(kinds[0]):
        read = ARRAYS.get(words.kind)
    elif _is_named_tuple(kinds[0]):
        fields = inspect.get_annotations(kinds[0])
        read = partial(_with_fields, kinds[0], _readers_of(fields))
    else:
        read = SINGLE.get(kinds[0])
    return partial(_unless_none, read) if read and type(None) in get_args(annotation) else read


def _kinds(annotation: Any) -> list[Any]:
    """Types that an argument may have besides None."""
    is_union = get_origin(annotation) in (Union, UnionType)
    members = get_args(annotation) if is_union else (annotation,)
    return [member for member in members if member is not type(None)]


def _is_named_tuple(annotation: Any) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "_field_defaults")


# ---------------------------------------------------------------- the readers
def _unless_none(read: Reader, name: str, value: Any) -> Any:
    return None if value is None else read(name, value)


def _with_fields(kind: Any, readers: dict[str, Reader], name: str, value: Any) -> Any:
    if not isinstance(value, kind):
        raise DesignError(
            f"{name}={_shown(value)} is no {kind.__name__}, so which number is which cannot be "
            f"told. Give {kind.__name__}({', '.join(kind._fields)})."
        )
    parts = zip(kind._fields, value, strict=True)
    return kind(*(readers[each](each, part) if each in readers else part for each, part in parts))


def _as_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise DesignError(
        f"{name}={_shown(value)} is neither True nor False, and what is not nothing would count as "
        f"True. Give {name}=True or {name}=False."
    )


def _as_number(name: str, value: Any) -> float:
    return value if type(value) is float else float(_one(name, _floats(name, value)))


def _as_count(name: str, value: Any) -> int:
    if isinstance(value, int | np.integer) and (name == "seed" or abs(int(value)) <= MOST):
        return int(value)
    return int(_one(name, _as_array_of_counts(name, value)))


def _one(name: str, found: np.ndarray) -> Any:
    """Convert to a number of Python's own."""
    if found.ndim:
        raise DesignError(
            f"{name} has shape {found.shape}, but this is of one design at a time and its answer "
            f"has axes of its own. Give one number as {name}, and call once for each."
        )
    return found.item()


def _as_numbers(name: str, value: Any) -> Any:
    return plain(_floats(name, value))


def _as_counts(name: str, value: Any) -> Any:
    return plain(_as_array_of_counts(name, value))


def _as_array_of_counts(name: str, value: Any) -> Any:
    floats = _floats(name, value)
    bad = floats[~((floats == np.floor(floats)) & (np.abs(floats) <= MOST))]
    if bad.size:
        raise DesignError(
            f"{name}={bad.flat[0]:g} is not a whole number, or is beyond {MOST:.1g}, where they "
            f"are not all told apart, so it counts nothing. Give whole numbers as {name}."
        )
    return np.asarray(np.asarray(value), dtype=np.int64, order="C")


def _as_array_of_flags(name: str, value: Any) -> Any:
    given = np.asarray(value)
    if given.dtype.kind == "b" and not np.ma.is_masked(value):
        return np.asarray(given, order="C")
    raise DesignError(
        f"{name} holds {given.dtype}, maybe masked, so what is true cannot be told. Give booleans "
        f"as {name}: {name} != 0, say."
    )


def _floats(name: str, value: Any) -> Float[np.ndarray, "..."]:
    """Refused where something is no number, or masked."""
    if np.ma.is_masked(value):
        raise DesignError(
            f"{np.ma.getmaskarray(value).sum()} of {name} are masked, so they are no numbers, and "
            "what lies under a mask would be taken for them. Leave them out: compressed() does."
        )
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO" or _holds_text(given):
            raise TypeError
        is_read = given.dtype == np.float64
        return given if is_read else np.asarray(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise DesignError(
            f"{name}={_shown(value)} is not a number or an array of them, or holds one beyond all "
            f"doubles, so there is nothing to compute with. Give {name} as numbers: 0.05, not "
            "'0.05'."
        ) from None


def _holds_text(given: np.ndarray) -> bool:
    return given.dtype.kind == "O" and any(isinstance(each, str | bytes) for each in given.flat)


def _shown(value: Any) -> str:
    text = in_one_line(repr(value))
    return text if len(text) <= LIST_LENGTH else f"{text[:LIST_LENGTH]}..."


LIST_LENGTH = 200  # letters of what came, in a refusal
SINGLE: dict[Any, Reader] = {int: _as_count, float: _as_number, bool: _as_flag}
ARRAYS: dict[str, Reader] = {
    "Float": _floats,
    "Int": _as_array_of_counts,
    "Bool": _as_array_of_flags,
}


# ---------------------------------------------------------------- axes
class _Axes(NamedTuple):
    """Names of the axes that an annotation states, and whether any others may come first."""

    names: tuple[str, ...]
    before: str | None


def _axes_of(hints: Mapping[str, Any]) -> dict[tuple[str, ...], _Axes]:
    """Declared axes by argument, or argument and field of a NamedTuple."""
    found: dict[tuple[str, ...], _Axes] = {}
    for name, hint in hints.items():
        kinds = _kinds(hint)
        words = stated(kinds[0]) if len(kinds) == 1 else None
        if words is not None and words.kind in ARRAYS:
            first, *rest = words.axes.split() or [""]
            before = first if first.startswith(("*", "...")) else None
            names = (first, *rest) if before is None and first else tuple(rest)
            found[name,] = _Axes(names, before)
        elif len(kinds) == 1 and _is_named_tuple(kinds[0]):
            own = _axes_of(inspect.get_annotations(kinds[0]))
            found |= {(name, *path): axes for path, axes in own.items()}
    return found


def _check_axes(read: Mapping[str, Any], checked: Mapping[tuple[str, ...], _Axes]) -> None:
    """Refuse an array without its axes, or of another length than one before it.

    Fields of a NamedTuple have the replicates of the other arguments, and other axes of their own.
    """
    lengths: dict[str, tuple[str, Any]] = {}
    for path, axes in checked.items():
        value = read.get(path[0])
        for field in path[1:]:
            value = None if value is None else getattr(value, field)
        if value is None:
            continue
        name = ".".join(path)
        _check_number_of_axes(name, value, axes)
        for axis, length in _lengths(axes, value.shape):
            shared = axis if len(path) == 1 or axis == "rep" else f"{name} {axis}"
            _check_length(name, axis, length, lengths.setdefault(shared, (name, length)))


def _lengths(axes: _Axes, shape: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """Axes with a name of their own, and how long they are; one of length 1 broadcasts at a #."""
    if not axes.names and axes.before != "...":
        yield axes.before or "", shape
    for axis, length in zip(axes.names, shape[len(shape) - len(axes.names) :], strict=True):
        if axis.isidentifier() or (axis.startswith("#") and length != 1):
            yield axis.removeprefix("#"), length


def _check_number_of_axes(name: str, value: np.ndarray, axes: _Axes) -> None:
    n_stated = len(axes.names)
    if value.ndim == n_stated or (axes.before and value.ndim > n_stated):
        return
    hint = f"; {name}[np.newaxis] where there is one replicate" if "rep" in axes.names else ""
    wanted = ("any", *axes.names) if axes.before else axes.names
    raise DesignError(
        f"{name} has shape {value.shape}, so its axes cannot be told apart: there is one for each "
        f"of ({', '.join(wanted)}). Give {name} with these axes{hint}."
    )


def _check_length(name: str, axis: str, length: Any, first: tuple[str, Any]) -> None:
    if length != first[1]:
        raise DesignError(
            f"{name} has {length} along {axis!r} and {first[0]} has {first[1]}, so which belong "
            "together cannot be told. Give both as many."
        )
    if length == 0 and axis in NEVER_EMPTY:
        raise DesignError(
            f"{name} has nothing along {axis!r}, so there is nothing to compute with. Give {name} "
            "at least one."
        )
