"""Checks the columns that `simulate` returns: their shapes, and which values may be missing."""

import itertools
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.design import AnyScenario
from simstudy.design.plan import Plan
from simstudy.errors import StudyError, in_one_line, nearest, writable
from simstudy.store.arrow_schema import (
    CELL_ERROR,
    CONVERGED,
    ERROR,
    REP,
    SCENARIO,
    WARNING,
    Block,
    has_text,
)
from simstudy.validation import refuse_inexact, unmasked

STORED_COLUMNS = frozenset({SCENARIO, REP, CELL_ERROR, CONVERGED})
"""Names of stored columns that a study cannot return."""
MISSING = "NaN in "  # beginning of the error text of a replicate without a value


def validate_columns(
    plan: Plan, scenario: AnyScenario, raw: Any, who: str = "simulate"
) -> dict[str, np.ndarray]:
    """Check the columns that `simulate` or a method returned, and broadcast them to full shape."""
    if not isinstance(raw, Mapping):
        raise StudyError(
            f"{who} returned {type(raw).__name__}, not columns by name: return a dict of arrays."
        )
    lengths = plan.lengths_of(scenario)
    if ERROR not in raw:
        _refuse_absent(lengths, raw, who)
    columns = {
        name: validate_column(plan, name, value, who, lengths.get(name))
        for name, value in raw.items()
    }
    return _with_missing_named(plan, columns)


def _refuse_absent(vectors: Collection[str], raw: Mapping[str, Any], who: str) -> None:
    absent = [name for name in vectors if name not in raw]
    if absent:
        raise StudyError(
            f"{who} did not return the vector {absent[0]!r}, which the study declares; "
            + nearest(absent[0], map(str, raw))
        )


def validate_column(
    plan: Plan, name: str, value: Any, who: str, length: int | None = None
) -> np.ndarray:
    """Check one column and broadcast it; a vector has one more axis, of the given length."""
    _refuse_name(plan, name, who)
    if length is None and not isinstance(value, np.ndarray):
        value = in_axis_order(f"column {name!r}", value, plan.axes, of_block=True)
    array = _own_array(name, value)
    if length is not None:
        return _vector(plan, name, array, length)
    if array.ndim == 0:
        return np.broadcast_to(array, plan.block_size) if name == ERROR else array
    return _of_full_shape(plan, name, array)


def _refuse_name(plan: Plan, name: Any, who: str) -> None:
    if not isinstance(name, str) or not name:
        raise StudyError(
            f"{who} returned a column named {name!r}: the name of a column must be a text that is "
            "not empty, such as 'estimate'."
        )
    if name in STORED_COLUMNS or name in plan.axes:
        raise StudyError(
            f"{who} returned a column {name!r}, which is a reserved name or that of an axis: "
            f"rename it, such as {'is_' + name!r}."
        )


def _own_array(name: str, value: Any) -> np.ndarray:
    """Copy an array, so that later changes by the caller do not reach what is stored."""
    array = np.array(unmasked(value, name))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind in "UO":
        array = _writable_texts(name, array)
    refuse_inexact(name, array)
    if not _may_be_stored(name, array):
        is_message = name in (ERROR, WARNING)
        what = f"text, and None where there is no {name}" if is_message else _STORABLE
        odd = next((v for v in array.flat if not isinstance(v, str | None)), None)
        example = f" such as {in_one_line(repr(odd))[:60]}" if array.dtype == object else ""
        raise StudyError(f"column {name!r} holds {array.dtype}{example}: return {what}.")
    return array


def _writable_texts(name: str, array: np.ndarray) -> np.ndarray:
    """Make texts storable: errors and warnings in one line, None if they are empty."""
    clean = in_one_line if name in (ERROR, WARNING) else writable
    made = [clean(text) if isinstance(text, str) else text for text in array.flat]
    if name in (ERROR, WARNING):
        made = [None if text == "" else text for text in made]
    if made == array.ravel().tolist():
        return array
    return np.array([*made, None], dtype=object)[:-1].reshape(array.shape)


_STORABLE = "booleans, integers, floats or text"


def _may_be_stored(name: str, array: np.ndarray) -> bool:
    if name in (ERROR, WARNING):
        return array.dtype.kind == "U" or (array.dtype.kind == "O" and _is_text(array))
    if array.dtype == object:
        return _is_text(array)
    is_text, max_bytes = array.dtype.kind == "U", 8  # the widest numbers that a table stores
    return is_text or (array.dtype.kind in "biuf" and array.dtype.itemsize <= max_bytes)


def _vector(plan: Plan, name: str, array: np.ndarray, length: int) -> np.ndarray:
    short, full = (plan.block_size, length), (plan.block_size, *plan.shape, length)
    if array.dtype.kind not in "biuf":
        raise StudyError(f"vector {name!r} holds {array.dtype}: return numbers.")
    if length == 1 and array.shape in (short[:-1], full[:-1]):
        return array[..., np.newaxis]
    if array.shape not in (short, full):
        raise StudyError(
            f"vector {name!r} has shape {array.shape}; with n_rep={plan.block_size} and the "
            f"declared length {length} it must be {short}"
            + (f" or {full}." if full != short else ".")
        )
    return array


def _of_full_shape(plan: Plan, name: str, array: np.ndarray) -> np.ndarray:
    full = (plan.block_size, *plan.shape)
    if array.shape in (full, full[:1]):
        return array
    wide = with_all_axes(name, array, plan) if 1 < array.ndim < len(full) else array
    if not fits(wide, full):
        axes = ", ".join(f"{axis}: {len(labels)}" for axis, labels in plan.axes.items())
        raise StudyError(
            f"column {name!r} has shape {array.shape}; with n_rep={plan.block_size} it must be "
            f"{full[:1]}" + (f" or {full} (axes {axes})" if axes else "") + "."
        )
    return np.broadcast_to(wide, full)


def fits(array: np.ndarray, full: tuple[int, ...]) -> bool:
    """Whether an array broadcasts to the shape of the replicates and axes."""
    if array.ndim != len(full) or array.ndim == 1:
        return False
    return all(n in (1, wanted) for n, wanted in zip(array.shape, full, strict=True))


def with_all_axes(name: str, array: np.ndarray, plan: Plan) -> np.ndarray:
    """Broadcast a column that has only some of the axes."""
    sizes = [n for n in array.shape[1:] if n != 1]
    found = [
        chosen
        for chosen in itertools.combinations(range(len(plan.shape)), len(sizes))
        if [plan.shape[at] for at in chosen] == sizes
    ]
    if len(found) > 1:
        axes = list(plan.axes)
        either = " or ".join(", ".join(axes[at] for at in chosen) for chosen in found)
        raise StudyError(
            f"column {name!r} has shape {array.shape}, whose axes could be {either}, which have "
            "the same size: add an axis of size 1 (np.newaxis) for each axis that it lacks."
        )
    wide = [n if found and at in found[0] else 1 for at, n in enumerate(plan.shape)]
    return array.reshape(len(array), *wide) if found else array


def _is_text(array: np.ndarray) -> bool:
    return all(isinstance(text, str | None) for text in array.flat)


def _with_missing_named(plan: Plan, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Record NaN as failures in the `error` column, except in columns of `may_be_missing`."""
    for name, array in columns.items():
        may_fail = array.dtype.kind == "f" and name not in plan.may_be_missing
        if may_fail and np.count_nonzero(np.isnan(array)):  # faster than `any` for short columns
            missing = np.broadcast_to(np.isnan(array), (plan.block_size, *array.shape[1:]))
            cells = np.asarray(missing.any(axis=-1)) if name in plan.vectors else missing
            columns = columns | {ERROR: _errors_with(columns.get(ERROR), name, cells)}
    return columns


def _errors_with(errors: np.ndarray | None, name: str, missing: np.ndarray) -> np.ndarray:
    text = np.full(missing.shape, None, dtype=object)
    text[missing] = f"{MISSING}{name}"
    if errors is None:
        return text
    n_dims = max(errors.ndim, text.ndim)
    errors, text = (x.reshape(x.shape + (1,) * (n_dims - x.ndim)) for x in (errors, text))
    return np.where(has_text(errors), errors, text)


def count_failed(errors: np.ndarray | None) -> int:
    """Count the replicates with an error in any cell."""
    if errors is None:
        return 0
    return int(has_text(errors).reshape(len(errors), -1).any(axis=1).sum())


# ---------------------------------------------------------------- one value for a whole block
BlockConstant = tuple[str, str, tuple[Any, ...]]
"""Key of the work unit, name of the column, and the column's value in each cell, for all
replicates of a block."""

TOLERANCE = float(np.sqrt(np.finfo(float).eps))  # half of the digits, for constants of two machines


def refuse_other_constants(
    first_values: dict[tuple[str, str], tuple[Any, ...]], constants: Iterable[BlockConstant]
) -> None:
    """Refuse a column with one value per block that differs between blocks of a scenario.

    Parameters
    ----------
    first_values
        Values of earlier blocks by key and column, to which new columns are added.
    """
    for key, name, values in constants:
        before = first_values.setdefault((key, name), values)
        for first, other in zip(before, values, strict=False):
            if not agree(first, other):
                raise StudyError(
                    f"column {name!r} is one value for all replicates of a block, {first!r} in "
                    f"one block and {other!r} in another, so it is not a constant. Return a "
                    "value for each replicate, such as x.mean(axis=1) and not x.mean(). If the "
                    "replicates of a block do share a value, return np.full(n_rep, value)."
                )


def agree(first: Any, other: Any) -> bool:
    """Whether two values are equal up to rounding; NaN agrees with everything."""
    if first == other or first is None or other is None:
        return True
    if isinstance(first, str) or isinstance(other, str):
        return False
    missing = math.isnan(first) or math.isnan(other)
    return missing or math.isclose(first, other, rel_tol=TOLERANCE)


def constants_among(plan: Plan, blocks: Iterable[Block]) -> frozenset[BlockConstant]:
    """Collect the columns that have one value for the whole block."""
    if plan.block_size == 1:
        return frozenset()
    return frozenset(
        (block.key, name, tuple((column[0] if column.ndim else column).ravel().tolist()))
        for block in blocks
        for name, column in block.columns.items()
        if name not in (ERROR, WARNING) and not (column.ndim and column.strides[0])
    )


# ---------------------------------------------------------------- values with labels
Axes = Mapping[str, Sequence[str]]


def is_from_pandas(value: Any, kind: str) -> bool:
    """Whether a value is of this pandas class, without importing pandas."""
    found = getattr(sys.modules.get("pandas"), kind, None)
    return found is not None and isinstance(value, found)


def in_axis_order(name: str, value: Any, axes: Axes, *, of_block: bool = False) -> Any:
    """Put labelled values in the order of an axis; return other values unchanged.

    Parameters
    ----------
    name
        Name of the column, for error messages.
    value
        Value of any type. A dict or Series is aligned by its labels; labels that no axis has are
        left out. A Series with the default index has no labels.
    of_block
        Whether the value is that of a whole block: a Series has one row per replicate, and a dict
        an array of them for each label.

    Raises
    ------
    StudyError
        If a label of the axis is missing or occurs twice, or the order is unclear.
    """
    if is_from_pandas(value, "DataFrame"):
        raise StudyError(
            f"{name} is a DataFrame: return an array, or a dict with the values of each label."
        )
    if is_from_pandas(value, "Series"):
        if of_block:
            return _rows_in_order(name, value)
        values, labels = value.to_numpy(), list(value.index)
        is_numbered = is_from_pandas(value.index, "RangeIndex") and value.index.step > 0
        if not axes or len(labels) == 1 or is_numbered:
            return values
    elif isinstance(value, Mapping) and axes:
        values, labels = np.stack([*map(np.asarray, value.values())], axis=-1), list(value)
    else:
        return value
    texts = [str(label) for label in labels]
    return np.take(values, [texts.index(each) for each in _axis_of(name, texts, axes)], axis=-1)


def _rows_in_order(name: str, rows: Any) -> np.ndarray:
    """Refuse a Series whose index is not increasing: it may number replicates in another order."""
    if not rows.index.is_monotonic_increasing:
        raise StudyError(
            f"{name} has an index that is not in order: sort it by replicate (.sort_index()), or "
            "return an array."
        )
    values: np.ndarray = rows.to_numpy()
    return values


def _axis_of(name: str, labels: Sequence[str], axes: Axes) -> Sequence[str]:
    """Find the axis whose labels are all there."""
    for wanted in axes.values():
        if set(wanted) <= set(labels):
            twice = [label for label in wanted if labels.count(label) > 1]
            if twice:
                raise StudyError(f"{name} has several values labelled {twice[0]!r}: return one.")
            return wanted
    known = "; ".join(f"{axis}: {', '.join(map(str, of))}" for axis, of in axes.items())
    raise StudyError(
        f"{name} has the labels {in_one_line(', '.join(labels))[:200]}, which lack some of the "
        f"study's axes ({known}). Return a value for each label (NaN for a missing one), or an "
        "array in the order of the axis."
    )
