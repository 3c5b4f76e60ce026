"""The axes that annotations state: of arrays that came, held to their names and to one another."""

from collections.abc import Iterator
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import numpy as np

from simstudy.errors import DesignError
from simstudy.shapes import Stated, stated

ARRAYS = ("Float", "Int", "Bool")
NEVER_EMPTY = frozenset(
    {"obs", "n", "n1", "n2", "first", "second", "boot", "draw", "value", "metric", "network"}
)
"""Axes over which something is summed, ordered or chosen from."""


class Axes(NamedTuple):
    """Names of the axes that an annotation states, and the fewest axes there are."""

    names: tuple[str, ...]
    at_least: int
    any_before: bool


def axes_of(annotations: dict[str, Any]) -> dict[str, Axes]:
    """By argument, of those that have any to insist on."""
    found = {name: _axes(annotation) for name, annotation in annotations.items()}
    return {name: axes for name, axes in found.items() if axes}


def _axes(annotation: Any) -> Axes | None:
    """None where any number of axes will do, in any place but before the others."""
    words = stated(annotation) or _stated_beside_none(annotation)
    if words is None or words.kind not in ARRAYS:
        return None
    names = tuple(words.axes.split())
    if len(names) == 1 and names[0].startswith("*"):
        return Axes(names, 0, True)  # any number of axes, the same in all arguments
    any_before = bool(names) and (names[0] == "..." or names[0].startswith("*"))
    names = names[1:] if any_before else names
    if any(name == "..." or name.startswith("*") for name in names):
        return None
    return Axes(names, len(names), any_before)


def _stated_beside_none(annotation: Any) -> Stated | None:
    """Of an array that may be left out; one that may be a number has no axes to insist on."""
    others = [member for member in get_args(annotation) if member is not type(None)]
    if get_origin(annotation) not in (Union, UnionType) or len(others) != 1:
        return None
    return stated(others[0])


def check_axes(read: dict[str, Any], checked: dict[str, Axes]) -> None:
    """Refuse an array without its axes, or of another length than one before it."""
    lengths: dict[str, tuple[str, int]] = {}
    for name, axes in checked.items():
        value = read.get(name)
        if value is not None:
            refuse_other_axes(name, value, axes)
            for axis, length in named(axes, value.shape):
                refuse_other_length(name, axis, length, lengths.setdefault(axis, (name, length)))


def named(axes: Axes, shape: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    """Axes with a name of their own, and how long they are; one of length 1 broadcasts at a #."""
    if axes.names and axes.names[0].startswith("*"):
        yield axes.names[0], shape  # type: ignore[misc]
        return
    own = shape[len(shape) - len(axes.names) :]
    for axis, length in zip(axes.names, own, strict=True):
        if axis.isidentifier() or (axis.startswith("#") and length != 1):
            yield axis.removeprefix("#"), length


def refuse_other_axes(name: str, value: np.ndarray, axes: Axes) -> None:
    """Refuse an array whose axes are not as many as are stated."""
    if value.ndim == axes.at_least or (axes.any_before and value.ndim > axes.at_least):
        return
    hint = f"; {name}[np.newaxis] where there is one replicate" if "rep" in axes.names else ""
    wanted = ("any", *axes.names) if axes.any_before else axes.names
    raise DesignError(
        f"{name} has shape {value.shape}, so its axes cannot be told apart: there is one for each "
        f"of ({', '.join(wanted)}). Give {name} with these axes{hint}."
    )


def refuse_other_length(name: str, axis: str, length: int, first: tuple[str, int]) -> None:
    """Refuse an axis of another length than in the argument that had it first."""
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


def refuse_no_broadcast(read: dict[str, Any]) -> None:
    """Say which arguments do not broadcast, where some do not."""
    shapes = {name: np.shape(value) for name, value in read.items() if is_array_or_number(value)}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        several = {name: shape for name, shape in shapes.items() if shape}
        raise DesignError(
            f"{', '.join(f'{name} {shape}' for name, shape in several.items())} have shapes that "
            "do not broadcast, so which of their numbers belong together cannot be told. Give "
            "arrays of one shape, or add axes: first[:, np.newaxis] for a table."
        ) from None


def is_array_or_number(value: Any) -> bool:
    """Whether it has a shape of its own."""
    return isinstance(value, np.ndarray | np.number | int | float)
