"""Arguments read on entry, by every public function here: numbers as float64, counts as int64.

Whatever type they come in: an unsigned mean would wrap where it is subtracted, a count of eight
bits would bring down an array to half precision, a float32 would carry its own rounding into
thresholds made for doubles. What is no number is refused before that, and so are arrays whose axes
are not those of the annotation. Annotations say how to read:

==========================  ====================================================================
annotation                  what is given to the function
==========================  ====================================================================
int, float, bool, str       one whole number, number, truth value, text; of Python's own
Numbers, ArrayLike          counts if it is called as a count is (`COUNTS`), else numbers
Fractional                  numbers, however it is called: a count that need not be whole
Float[...], Int[...], Bool  an array with those axes, each name of one length in all arguments
a NamedTuple                the same, with its fields read by their annotations
Sequence[str]               several texts; one alone is refused
a class or protocol of ours what is of that class, or does what the protocol does
anything else               what came
==========================  ====================================================================

Arrays of float64 go through as they are, in their own layout: a call takes some microseconds more.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial, wraps
from types import UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from simstudy.errors import DesignError, in_one_line
from simstudy.shapes import Float, stated
from simstudy.stats.argument_axes import (
    Axes,
    axes_of,
    check_axes,
    named,
    refuse_no_broadcast,
    refuse_other_axes,
    refuse_other_length,
)
from simstudy.stats.arguments import Fractional, Numbers, plain

P = ParamSpec("P")
R = TypeVar("R")
Reader = Callable[[str, Any], Any]

COUNTS = frozenset({
    "n", "n_check", "n_obs", "n_trial", "n_test", "start", "n_looks", "sides", "rank", "successes",
    "successes_reference", "successes_check", "count_reference", "count", "losses", "gains",
    "critical",
})  # fmt: skip
"""Parameters that count and may be arrays, by name, which means the same in every function."""
MOST = 2**53
"""From here on whole numbers are not all doubles."""
ARRAY_LIKE = (ArrayLike, ArrayLike | None, Numbers, Numbers | None)
BROADCAST = (*ARRAY_LIKE, Fractional, Fractional | None)
MOST_SHOWN = 200  # letters of what came, in a refusal


def reading(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function get its arguments as its annotations mean them."""
    parameters = inspect.signature(function).parameters
    readers = {name: _reader(name, each.annotation) for name, each in parameters.items()}
    in_place = [name for name, each in parameters.items() if each.kind in PLACED]
    axes = axes_of({name: each.annotation for name, each in parameters.items()})
    loose = [name for name, each in parameters.items() if each.annotation in BROADCAST]

    @wraps(function)
    def with_arguments(*args: P.args, **kwargs: P.kwargs) -> R:
        given = dict(zip(in_place, args, strict=False)) | kwargs
        read = {name: readers.get(name, _as_it_is)(name, value) for name, value in given.items()}
        check_axes(read, axes)
        _refuse_other_replicates(read, axes)
        by_place = [read[name] for name in in_place[: len(args)]]
        by_name = {name: value for name, value in read.items() if name not in in_place[: len(args)]}
        try:
            return function(*by_place, *args[len(in_place) :], **by_name)  # type: ignore[arg-type]
        except DesignError:
            raise
        except ValueError:
            refuse_no_broadcast({name: read[name] for name in loose if name in read})
            raise

    return with_arguments


PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


# ---------------------------------------------------------------- which way to read
def _reader(name: str, annotation: Any) -> Reader:
    if annotation in ARRAY_LIKE:
        read: Reader = _as_counts if name in COUNTS else _as_numbers
        return partial(_unless_none, read) if type(None) in get_args(annotation) else read
    if annotation in (Fractional, Fractional | None):
        return partial(_unless_none, _as_numbers)
    if get_origin(annotation) in (Union, UnionType):
        return _of_union(name, get_args(annotation))
    words = stated(annotation)
    if words is not None:
        return _ARRAYS.get(words.kind, _as_it_is)
    if _is_named_tuple(annotation):
        return partial(_with_fields, annotation)
    if annotation in _SINGLE:
        return _SINGLE[annotation]
    return partial(_of_its_kind, annotation) if _is_kind(annotation) else _as_it_is


def _of_union(name: str, members: tuple[Any, ...]) -> Reader:
    """One kind of thing or None; an array or a number is an array that may have no axes."""
    kinds = [member for member in members if member is not type(None)]
    read = _reader(name, kinds[0]) if len(kinds) == 1 else _as_it_is
    if float in kinds and any(map(stated, kinds)):
        read = _as_numbers
    return partial(_unless_none, read) if type(None) in members else read


def _is_named_tuple(annotation: Any) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "_field_defaults")


def _is_kind(annotation: Any) -> bool:
    """Whether values must be of that class, or do what that protocol does."""
    ours = getattr(annotation, "__module__", "").startswith("simstudy.")
    return isinstance(annotation, type) and (ours or annotation is np.random.Generator)


@lru_cache(maxsize=64)
def _fields_of(kind: type) -> "tuple[dict[str, Reader], dict[str, Axes]]":
    hints = inspect.get_annotations(kind)
    return {name: _reader(name, hint) for name, hint in hints.items()}, axes_of(hints)


# ---------------------------------------------------------------- the readers
def _as_it_is(_name: str, value: Any) -> Any:
    return value


def _unless_none(read: Reader, name: str, value: Any) -> Any:
    return None if value is None else read(name, value)


def _of_its_kind(kind: Any, name: str, value: Any) -> Any:
    if getattr(kind, "_is_protocol", False):
        fits = all(hasattr(value, each) for each in vars(kind) if not each.startswith("_"))
    else:
        fits = isinstance(value, kind)
    if fits:
        return value
    hint = ": numpy.random.default_rng(seed)" if kind is np.random.Generator else ""
    raise DesignError(
        f"{name}={_shown(value)} is no {kind.__name__}, so there is nothing to compute with. Give "
        f"{name} as a {kind.__name__}{hint}."
    )


def _as_texts(name: str, value: Any) -> tuple[str, ...]:
    """Several names; one alone would be taken for its letters."""
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(value)
    alone = f"({value!r},)" if isinstance(value, str) else "('first', 'second')"
    raise DesignError(
        f"{name}={_shown(value)} is no sequence of names, so what to compute cannot be told. Give "
        f"a sequence, {name}={in_one_line(alone)}."
    )


def _shown(value: Any) -> str:
    """What came, in one line of bounded length, whatever it is."""
    try:
        text = in_one_line(repr(value))
    except Exception:  # an integer of too many digits, or whatever a class of a user's own does
        return f"(a {type(value).__name__} that cannot be shown)"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _with_fields(kind: Any, name: str, value: Any) -> Any:
    if not isinstance(value, kind):
        raise DesignError(
            f"{name}={_shown(value)} is no {kind.__name__}, so which number is which cannot be "
            f"told. Give {kind.__name__}({', '.join(kind._fields)})."
        )
    readers, axes = _fields_of(kind)
    read = {each: readers[each](each, part) for each, part in zip(readers, value, strict=True)}
    n_rep: dict[str, tuple[str, int]] = {}
    for each, own in axes.items():
        if read[each] is not None:
            refuse_other_axes(each, read[each], own)
            for axis, length in named(own, read[each].shape):
                same = n_rep.setdefault(axis, (each, length)) if axis == "rep" else (each, length)
                refuse_other_length(each, axis, length, same)
    return kind(**read)


def _as_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise DesignError(
        f"{name}={_shown(value)} is neither True nor False, and what is not nothing would count as "
        f"True. Give {name}=True or {name}=False."
    )


def _as_text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise DesignError(
        f"{name}={_shown(value)} is no text, so it names nothing that could be computed. Give one "
        "of the names that the function's documentation lists."
    )


def _as_number(name: str, value: Any) -> float:
    return value if type(value) is float else float(_one(name, _floats(name, value)))


def _as_count(name: str, value: Any) -> int:
    if type(value) is int and (abs(value) <= MOST or name == "seed"):
        return value
    if name == "seed" and isinstance(value, np.integer):
        return int(value)
    return int(_one(name, np.asarray(_as_counts(name, value))))


def _one(name: str, found: np.ndarray) -> Any:
    """As a number of Python's own."""
    if found.ndim:
        raise DesignError(
            f"{name} has shape {found.shape}, but this is of one design at a time and its answer "
            f"has axes of its own. Give one number as {name}, and call once for each."
        )
    return found.item()


def _as_numbers(name: str, value: Any) -> Any:
    return plain(_floats(name, value))


def _as_counts(name: str, value: Any) -> Any:
    floats = np.atleast_1d(_floats(name, value))
    if not (floats == np.floor(floats)).all():
        bad = floats[floats != np.floor(floats)].flat[0]
        raise DesignError(
            f"{name}={bad:g} is not a whole number, so it counts nothing. Give whole numbers as "
            f"{name}, and leave out what has none."
        )
    if (np.abs(floats) > MOST).any():
        bad = floats[np.abs(floats) > MOST].flat[0]
        raise DesignError(
            f"{name}={bad:g} is beyond {MOST:.1g}, where whole numbers are not all told apart, so "
            f"it is no count. Give a smaller {name}; a reference without error of its own is a "
            "standard (fixed_standard)."
        )
    return plain(np.asarray(np.asarray(value), dtype=np.int64, order="C"))


def _as_array_of_counts(name: str, value: Any) -> Any:
    return np.asarray(_as_counts(name, value))


def _as_array_of_flags(name: str, value: Any) -> Any:
    given = np.asarray(value)
    if given.dtype.kind == "b" and not np.ma.is_masked(value):
        return np.asarray(given, order="C")
    raise DesignError(
        f"{name} holds {given.dtype}, maybe masked, so what is true cannot be told. Give booleans "
        f"as {name}: {name} != 0, say."
    )


def _floats(name: str, value: Any) -> Float[np.ndarray, "..."]:
    """Refused where something is no number, or masked; a masked p-value is a missing one."""
    if name == "p" and np.ma.isMA(value):
        value = np.ma.filled(np.ma.asarray(value, float), np.nan)
    if np.ma.is_masked(value):
        raise DesignError(
            f"{np.ma.getmaskarray(value).sum()} of {name} are masked, so they are no numbers, and "
            "what lies under a mask would be taken for them. Leave them out: compressed() does."
        )
    try:
        given = np.asarray(value)
        if (given.dtype.kind not in "biufO" and given.size) or _holds_text(given):
            raise TypeError
        # In the order they came: a sum in another order would be another number.
        return given if given.dtype == np.float64 and given.dtype.isnative else _converted(given)
    except (TypeError, ValueError, OverflowError):
        raise DesignError(
            f"{name}={_shown(value)} is not a number or an array of them, or holds one beyond all "
            f"doubles, so there is nothing to compute with. Give {name} as numbers: 0.05, not "
            "'0.05'."
        ) from None


def _holds_text(given: np.ndarray) -> bool:
    return given.dtype.kind == "O" and any(isinstance(each, str | bytes) for each in given.flat)


def _converted(given: np.ndarray) -> Float[np.ndarray, "..."]:
    return np.asarray(given, dtype=np.float64, order="C")


def _refuse_other_replicates(read: dict[str, Any], axes: dict[str, Axes]) -> None:
    """Replicates are the same in all arguments, also where they are fields of one."""
    n_rep: dict[str, tuple[str, int]] = {}
    for name, value in read.items():
        for each, length in _replicates_of(name, value, axes):
            refuse_other_length(each, "rep", length, n_rep.setdefault("rep", (each, length)))


def _replicates_of(name: str, value: Any, axes: dict[str, Axes]) -> Iterator[tuple[str, int]]:
    if name in axes and value is not None:
        lengths = dict(named(axes[name], value.shape))
        yield from ((name, n) for axis, n in lengths.items() if axis == "rep")
    elif _is_named_tuple(type(value)):
        kind: Any = type(value)
        _, own = _fields_of(kind)
        for field, part in value._asdict().items():
            if field in own and part is not None:
                yield from ((f"{name}.{field}", n) for _, n in _replicates_of(field, part, own))


_SINGLE: dict[Any, Reader] = {
    int: _as_count,
    float: _as_number,
    bool: _as_flag,
    str: _as_text,
    Sequence[str]: _as_texts,
}
_ARRAYS: dict[str, Reader] = {
    "Float": _floats,
    "Int": _as_array_of_counts,
    "Bool": _as_array_of_flags,
}
