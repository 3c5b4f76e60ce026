"""Aligns labelled values (pandas objects, dicts) with a study's axes."""

import itertools
import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.errors import StudyError, in_one_line

Axes = Mapping[str, Sequence[str]]


def is_from_pandas(value: Any, kind: str) -> bool:
    """Whether a value is of this pandas class, without importing pandas."""
    found = getattr(sys.modules.get("pandas"), kind, None)
    return found is not None and isinstance(value, found)


def in_axis_order(name: str, value: Any, axes: Axes) -> Any:
    """Put labelled values in the order of the axes' labels; return others unchanged.

    Parameters
    ----------
    name
        Name of the column, for error messages.
    value
        Value of any type. A Series, a frame or a dict is aligned by its labels; labels that no
        axis has are left out. A Series with the default index has no labels.

    Raises
    ------
    StudyError
        If a label of the axis is missing or occurs twice.
    """
    if isinstance(value, Mapping) and axes:
        return _ordered(name, np.array(list(value.values())), [list(value)], axes)
    if is_from_pandas(value, "Series"):
        return _ordered(name, value.to_numpy(), [_labels(value.index)], axes)
    if is_from_pandas(value, "DataFrame"):
        labels = [_labels(value.index), _labels(value.columns)]
        return _ordered(name, value.to_numpy(), labels, axes)
    return value


def block_in_axis_order(name: str, value: Any, axes: Axes) -> Any:
    """Put the labelled values of a whole block, with the replicate first, in the axes' order."""
    if is_from_pandas(value, "Series"):
        return rows_in_order(name, value).to_numpy()
    if is_from_pandas(value, "DataFrame"):
        rows = rows_in_order(name, value)
        return _ordered(name, rows.to_numpy(), [None, _labels(rows.columns)], axes)
    if isinstance(value, Mapping) and axes:
        columns = [np.asarray(column) for column in value.values()]
        return _ordered(name, np.stack(columns, axis=-1), [None, list(value)], axes)
    return value


def rows_in_order(name: str, rows: Any) -> Any:
    """Refuse a frame or Series whose index numbers the replicates in another order."""
    index = rows.index
    is_whole = getattr(getattr(index, "dtype", None), "kind", "") in "iu"
    in_order = not is_whole or index.is_monotonic_increasing
    if not in_order and sorted(index) == list(range(len(index))):
        raise StudyError(
            f"{name} has an index that numbers the replicates in another order "
            f"({', '.join(map(str, index[:3]))}, ...): sort it by its index (.sort_index()), or "
            "return an array."
        )
    return rows


def frame_by_label(frame: Any, axes: Axes) -> dict[str, Any] | None:
    """Convert a frame with one row per label of an axis to columns; None for other frames.

    The labels are in its index, or in a column such as `term`.
    """
    places = [None, *frame.columns]  # None is the index
    for column, (axis, labels) in itertools.product(places, axes.items()):
        found = frame.index if column is None else frame[column]
        texts = [str(label) for label in found]
        if len(texts) > 1 and (set(labels) <= set(texts) or column == axis):
            rest = [other for other in frame if other != column]
            return {str(other): dict_of(str(other), texts, frame[other]) for other in rest}
    return None


def dict_of(name: str, labels: Sequence[str], values: Any) -> dict[str, Any]:
    """Make a dict of values by label; refuse labels that occur twice."""
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise StudyError(f"{name} has two values for {twice!r}: return one for each label.")
    return dict(zip(labels, np.asarray(values).tolist(), strict=True))


def _labels(index: Any) -> list[Hashable] | None:
    """Return the labels of an index; None for the default index, which only numbers the rows."""
    is_default = is_from_pandas(index, "RangeIndex") and index.step > 0
    return None if is_default else list(index)


def _ordered(
    name: str, array: np.ndarray, labels: Sequence[Sequence[Hashable] | None], axes: Axes
) -> np.ndarray:
    """Take the entries of each labelled dimension in the order of the axis that has its labels."""
    if not axes or array.size == 1:
        return array
    first = labels[0]
    if first and all(isinstance(label, tuple) for label in first):
        cells = list(itertools.product(*axes.values()))
        pairs = [tuple(map(str, label)) for label in first if isinstance(label, tuple)]
        _, order = _positions(name, pairs, {", ".join(axes): cells})
        return array[order].reshape([len(each) for each in axes.values()])
    found: list[int] = []
    for at, of_dimension in enumerate(labels):
        if of_dimension is not None:
            texts = [str(label) for label in of_dimension]
            place, order = _positions(name, texts, axes)
            array = np.take(array, order, axis=at)
            found.append(place)
    in_order = len(found) < 2 or found[0] < found[1]
    return array if in_order else np.swapaxes(array, -1, -2)


def _positions(
    name: str, labels: Sequence[Any], axes: Mapping[str, Sequence[Any]]
) -> tuple[int, list[int]]:
    """Find the axis with these labels, and the position of each of its labels among them."""
    for place, wanted in enumerate(axes.values()):
        if set(wanted) <= set(labels):
            twice = [label for label in wanted if labels.count(label) > 1]
            if twice:
                raise StudyError(f"{name} has several values labelled {twice[0]!r}: return one.")
            return place, [labels.index(label) for label in wanted]
    known = "; ".join(f"{axis}: {', '.join(map(str, of))}" for axis, of in axes.items())
    raise StudyError(
        f"{name} has the labels {in_one_line(', '.join(map(str, labels)))[:200]}, which lack some "
        f"of the study's axes ({known}). Return a value for each label (NaN for a missing one), or "
        "an array in the order of the axis."
    )
