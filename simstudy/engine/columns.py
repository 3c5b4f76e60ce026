"""What `simulate` returned, checked: columns of full shape, with what is missing named."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from simstudy.design import OfSomeClass
from simstudy.errors import StudyError, nearest
from simstudy.plan import Plan
from simstudy.store.layout import ERROR, RESERVED, has_text


def checked_columns(
    plan: Plan, scenario: OfSomeClass, raw: Any, who: str = "simulate"
) -> dict[str, np.ndarray]:
    """What `simulate` or a method returned as columns of full shape, with what is missing named."""
    if not isinstance(raw, Mapping):
        raise StudyError(
            f"{who} returned {type(raw).__name__}, not columns by name: return a dict of arrays."
        )
    lengths = plan.lengths_of(scenario)
    if ERROR not in raw:
        _refuse_absent(lengths, raw, who)
    columns = {
        name: checked_column(plan, name, value, who, lengths.get(name))
        for name, value in raw.items()
    }
    return _with_missing_named(plan, columns)


def _refuse_absent(vectors: Collection[str], raw: Mapping[str, Any], who: str) -> None:
    absent = [name for name in vectors if name not in raw]
    if absent:
        raise StudyError(
            f"{who} returned no vector {absent[0]!r}, which the study declares; "
            + nearest(absent[0], map(str, raw))
        )


def checked_column(
    plan: Plan, name: str, value: Any, who: str, length: int | None = None
) -> np.ndarray:
    """One column of full shape; with a last axis of this length, where it is a vector."""
    array = np.asarray(value)
    if name in RESERVED or not name or set(name) & set("[],"):
        raise StudyError(
            f"{who} returned a column {name!r}, a name that is the engine's own. Rename it."
        )
    if array.dtype.kind not in "biufUO" or (array.dtype == object and not _is_text(name, array)):
        raise StudyError(
            f"column {name!r} holds {array.dtype}: return booleans, integers, floats or text."
        )
    if length is not None:
        return _vector(plan, name, array, length)
    if array.ndim == 0:
        return np.broadcast_to(array, plan.block_size) if name == ERROR else array
    return _of_full_shape(plan, name, array)


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
    target = full if array.ndim > 1 else full[:1]
    if array.shape == target:
        return array
    if not _fits(array, target):
        axes = ", ".join(f"{axis}: {len(labels)}" for axis, labels in plan.axes.items())
        raise StudyError(
            f"column {name!r} has shape {array.shape}; with n_rep={plan.block_size} it must be "
            f"{full[:1]}" + (f" or {full} (axes {axes})" if axes else "") + "."
        )
    return np.broadcast_to(array, target)


def _fits(array: np.ndarray, target: tuple[int, ...]) -> bool:
    """One value for each replicate; an axis of size 1 holds for all of its positions."""
    if array.ndim != len(target) or len(array) != target[0]:
        return False
    return all(n in (1, wanted) for n, wanted in zip(array.shape, target, strict=True))


def _is_text(name: str, array: np.ndarray) -> bool:
    return name == ERROR or all(isinstance(text, str | None) for text in array.flat)


def _with_missing_named(plan: Plan, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """NaN where a study did not announce it is a failure: say so in the `error` column."""
    for name, array in columns.items():
        if array.dtype.kind == "f" and name not in plan.may_be_missing and np.isnan(array).any():
            missing = np.broadcast_to(np.isnan(array), (plan.block_size, *array.shape[1:]))
            cells = np.asarray(missing.any(axis=-1)) if name in plan.vectors else missing
            columns = columns | {ERROR: _errors_with(columns.get(ERROR), name, cells)}
    return columns


def _errors_with(errors: np.ndarray | None, name: str, missing: np.ndarray) -> np.ndarray:
    text = np.full(missing.shape, None, dtype=object)
    text[missing] = f"NaN in {name}"
    if errors is None:
        return text
    if errors.ndim < text.ndim:
        errors = errors.reshape(errors.shape + (1,) * (text.ndim - errors.ndim))
    elif text.ndim < errors.ndim:
        text = text.reshape(text.shape + (1,) * (errors.ndim - text.ndim))
    return np.where(has_text(errors), errors, text)


def count_failed(errors: np.ndarray | None) -> int:
    """Replicates with an error, in any cell."""
    if errors is None:
        return 0
    return int(has_text(errors).reshape(len(errors), -1).any(axis=1).sum())
