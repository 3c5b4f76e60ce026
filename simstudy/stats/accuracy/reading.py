"""Arguments of the functions here, read on entry: numbers as float64, counts as int64.

Whatever type they come in: an unsigned mean would wrap where it is subtracted, a count of eight
bits would bring down an array to half precision. What is no number is refused before that.
"""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from simstudy.errors import DesignError
from simstudy.shapes import Float
from simstudy.stats.accuracy.checks import plain

P = ParamSpec("P")
R = TypeVar("R")
Reader = Callable[[Any], Any]

COUNTS = frozenset({
    "n", "n_check", "start", "n_looks", "sides", "successes", "successes_reference",
    "successes_check", "count_reference", "losses", "gains", "critical",
})  # fmt: skip
NUMBERS = frozenset({
    "alpha", "beta", "theta", "sigma", "correlation", "reference", "check", "gamma", "delta",
    "assumed_error", "true_error", "standard", "error", "sd", "p_check", "confidence",
    "sd_check", "sd_reference", "p_reference", "p_loss", "p_gain", "mean_difference", "lower",
    "upper", "boundaries", "information", "drift", "fraction", "sizes",
})  # fmt: skip
"""Parameters by name, which means the same in every function; others are no numbers."""
MOST = 2**53
"""From here on whole numbers are not all doubles."""


def reading(*single: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function get its counts and numbers as they are meant.

    Parameters
    ----------
    single
        Parameters that are one number, and no array: those of one design.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters
        readers = {name: _reader(name, each.default, single) for name, each in parameters.items()}
        names = tuple(readers)

        @wraps(function)
        def with_numbers(*args: P.args, **kwargs: P.kwargs) -> R:
            by_place = [readers[name](value) for name, value in zip(names, args, strict=False)]
            by_name = {name: readers.get(name, _as_it_is)(kwargs[name]) for name in kwargs}
            return function(*by_place, *args[len(names) :], **by_name)  # type: ignore[arg-type]

        return with_numbers

    return decorate


def _reader(name: str, default: Any, single: tuple[str, ...]) -> Reader:
    if name not in COUNTS | NUMBERS:
        return _as_it_is
    read: Reader = partial(_as_counts if name in COUNTS else _as_numbers, name)
    if name in single:
        read = partial(_as_one, name, read)
    return partial(_unless_none, read) if default is None else read


def _as_it_is(value: Any) -> Any:
    return value


def _unless_none(read: Reader, value: Any) -> Any:
    return None if value is None else read(value)


def _as_one(name: str, read: Reader, value: Any) -> Any:
    """As a number of Python's own."""
    found = np.asarray(read(value))
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
    return plain(np.asarray(value).astype(np.int64))


def _floats(name: str, value: Any) -> Float[np.ndarray, "..."]:
    """Refused where something is no number, or masked."""
    if np.ma.is_masked(value):
        raise DesignError(
            f"{np.ma.getmaskarray(value).sum()} of {name} are masked, so they are no numbers, and "
            "what lies under a mask would be taken for them. Leave them out: compressed() does."
        )
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO":
            raise TypeError
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DesignError(
            f"{name}={value!r} is not a number or an array of them, so there is nothing to "
            f"compute with. Give {name} as numbers: 0.05, not '0.05'."
        ) from None
