"""What may be asked of a run, refused where it makes no sense."""

import math
import numbers
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from simstudy.design import Scenario
from simstudy.errors import ConfigError, StudyError, nearest
from simstudy.store.layout import ERROR, RESERVED

KEEPS = ("replicates", "summary")
OWN_NAMES = (*RESERVED, ERROR, "warning", "converged", "block", "address", "measure", "data")
MARKS = set("[],/")  # in names of columns and addresses


def check_keep(keep: str, n_rep: int, block_size: int) -> None:
    """Refuse what cannot be kept, and of moments what is not whole blocks."""
    if keep not in KEEPS:
        raise ConfigError(f"keep={keep!r}: there is {', '.join(KEEPS)}.")
    if keep == "summary" and n_rep % block_size:
        whole = -(-n_rep // block_size) * block_size
        raise ConfigError(
            f"n_rep={n_rep} with keep=summary: only whole blocks of {block_size} "
            f"replicates are kept; nearest that works: n_rep={whole}"
        )


def check_shard(shard: tuple[int, int] | None, precision: Mapping[str, Any]) -> None:
    """Refuse a share of a run whose size is decided as it goes."""
    if shard and precision:
        raise ConfigError(
            "shard with precision: a shard cannot know when the whole study is precise enough. "
            "Run the shards with a fixed n_rep, then precision=... without shard."
        )


def check_retry(retry: Any) -> None:
    """Refuse anything but `failed` and None."""
    if retry not in (None, "failed"):
        raise ConfigError(
            f"retry={retry}: allowed is failed, which draws blocks with recorded failures again; "
            "nearest that works: retry=failed"
        )


def check_redraw(redraw: str | Collection[str], methods: Collection[str]) -> tuple[str, ...]:
    """Names of methods, of which none is unknown; a text may name several, with commas."""
    names = redraw.split(",") if isinstance(redraw, str) else redraw
    for name in names:
        if name not in methods:
            raise ConfigError(
                f"redraw={name}: the study has no such method to draw anew; "
                + nearest(name, methods)
            )
    return tuple(names)


def check_n_rep(n_rep: Any) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not _is_whole(n_rep) or n_rep < 1:
        is_number = isinstance(n_rep, int | float) and math.isfinite(n_rep)
        near = max(1, round(n_rep)) if is_number else 1000
        raise ConfigError(
            f"n_rep={n_rep}: allowed is a whole number at least 1; nearest that works: n_rep={near}"
        )


def check_seed(seed: Any) -> None:
    """Refuse anything but a whole number of at least 0."""
    if not _is_whole(seed) or seed < 0:
        raise ConfigError(
            f"seed={seed}: allowed is a whole number at least 0, which names a sequence of random "
            "numbers; nearest that works: seed=1"
        )


def _is_whole(value: Any) -> bool:
    """Python's whole numbers and NumPy's, but not the truth values."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


# ---------------------------------------------------------------- what a study may declare
def check_methods(methods: Mapping[Any, Any], axis: str, axes: Collection[str]) -> None:
    """Refuse methods that have no usable name or cannot be called, and an axis given twice."""
    for name, function in methods.items():
        _check_method_name(name)
        if not callable(function):
            raise StudyError(
                f"method {name!r} is {function!r}, which cannot be called: give a function whose "
                "parameters name what it needs, or each_replicate(function)."
            )
    if methods and axis in axes:
        raise StudyError(
            f"axes declares {axis!r}, the axis that methods make themselves, so columns would "
            "have it twice: leave it out of axes, or give the methods' another methods_axis=..."
        )


def _check_method_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise StudyError(
            f"a method is named {name!r}, and its replicates are found by its name: give it one "
            "of letters, such as 'welch'."
        )
    if name in OWN_NAMES or set(name) & MARKS or name != name.strip():
        raise StudyError(
            f"a method is named {name!r}, which is the engine's own or has a mark of its own in "
            f"it (one of {' '.join(sorted(MARKS))}, or spaces around it): rename it."
        )


def check_drawing(scenarios: Sequence[Scenario], methods: Mapping[str, Any]) -> None:
    """Refuse scenarios that do not draw data where there are methods, or do not simulate."""
    needed, other = ("draw", "simulate") if methods else ("simulate", "draw")
    for kind in dict.fromkeys(map(type, scenarios)):
        if not callable(getattr(kind, needed, None)):
            has_other = callable(getattr(kind, other, None))
            raise StudyError(_no_drawing(kind.__name__, methods, has_other=has_other))


def _no_drawing(name: str, methods: Mapping[str, Any], *, has_other: bool) -> str:
    if methods:
        simulates = f"{name} has simulate, and" if has_other else f"{name} has no draw, but"
        return (
            f"{simulates} the study has methods ({', '.join(methods)}), which analyse what draw "
            f"returns: give {name} a draw(self, streams, n_rep) that returns data by name"
            + (", or leave out methods." if has_other else ".")
        )
    draws = (
        " but has draw: name the methods=... that analyse its data, or give"
        if has_other
        else (": give")
    )
    return (
        f"{name} has no simulate{draws} it a simulate(self, streams, n_rep) that returns columns."
    )
