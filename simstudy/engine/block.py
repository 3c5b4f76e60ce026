"""One block: drawn, and what it returned checked."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simstudy.data.parts import data_parts
from simstudy.data.reads import watching
from simstudy.design import Plan
from simstudy.engine.failures import is_machine_trouble
from simstudy.errors import StudyError, describe
from simstudy.store.layout import ERROR, RESERVED, Block, has_text


class Address(NamedTuple):
    """Where a replicate is found again: `scenario-key/replicate`."""

    key: str
    rep: int

    def __str__(self) -> str:
        return f"{self.key}/{self.rep}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        key, _, rep = text.partition("/")
        if not key or not rep.isdecimal():
            raise StudyError(
                f"{text!r} is not the address of a replicate. Copy one from failures.parquet or "
                "the closing table; it reads like 3f2a90c1d4e5b678/1234."
            )
        return cls(key, int(rep))


def draw_block(plan: Plan, scenario: Any, index: int) -> Block:
    """Simulate one block; an exception becomes rows with its text, so the rest can go on.

    Columns that are not what a study may return are no failure of a replicate but a mistake in the
    study, the same in every block: that is raised.
    """
    try:
        columns = simulate_columns(plan, scenario, index)
    except StudyError as error:
        raise StudyError(f"{scenario!r}: {error}") from error
    except (Exception, SystemExit) as error:  # a method may not end the run, nor its status
        if plan.on_failure == "abort":
            raise
        machine = is_machine_trouble(error)
        return failed_block(plan, scenario, index, describe(error), machine=machine)
    return Block(scenario, index, columns, _count_failed(columns.get(ERROR)))


def failed_block(
    plan: Plan, scenario: Any, index: int, reason: str, *, machine: bool = False
) -> Block:
    """A block of which nothing came back."""
    columns = {ERROR: np.full(plan.block_size, reason, dtype=object)}
    return Block(scenario, index, columns, plan.block_size, machine)


def simulate_columns(plan: Plan, scenario: Any, index: int) -> dict[str, np.ndarray]:
    """What `simulate` returns for a block, each `()`, `(rep,)` or `(rep, *axes)`."""
    return checked_columns(plan, _simulated(plan, scenario, index))


def checked_columns(plan: Plan, raw: Any) -> dict[str, np.ndarray]:
    """What `simulate` returned as columns of full shape, with what is missing named."""
    if not isinstance(raw, Mapping):
        raise StudyError(
            f"simulate returned {type(raw).__name__}, not columns by name: return a dict of arrays."
        )
    columns = {name: _checked(plan, name, value) for name, value in raw.items()}
    return _with_missing_named(plan, columns)


def _simulated(plan: Plan, scenario: Any, index: int) -> Any:
    """What `simulate` returns, or raises, from nothing but what the scenario declares."""
    for data in data_parts(scenario):
        data.check()
    with watching() as undeclared:
        try:
            return scenario.simulate(plan.streams(scenario, index), plan.block_size)
        finally:
            _refuse_undeclared(undeclared)


def _refuse_undeclared(paths: Sequence[str]) -> None:
    """A mistake in the study, whatever else went wrong after the file was read."""
    if paths:
        more = f" (and {len(paths) - 1} more files)" if len(paths) > 1 else ""
        raise StudyError(
            f"simulate read {paths[0]}{more}, which the study does not declare, so a change of "
            "that file would go unnoticed. Make it a part of the scenario: a field `data: Data`, "
            f"given Data.file({_near(paths[0])!r}), and read it with {_how_to_read(paths[0])}."
        )


def _near(path: str) -> str:
    """The path as one would type it in the current folder."""
    return path.removeprefix(os.getcwd() + os.sep)


def _how_to_read(path: str) -> str:
    readers = {".csv": "frame()", ".parquet": "frame()", ".npy": "array()", ".txt": "text()"}
    reader = readers.get(os.path.splitext(path)[1])
    return f"self.data.{reader}" if reader else "self.data.bytes() or from self.data.path"


def _checked(plan: Plan, name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if name in RESERVED or not name or set(name) & set("[],"):
        raise StudyError(
            f"simulate returned a column {name!r}, a name that is the engine's own. Rename it."
        )
    if array.dtype.kind not in "biufUO" or (array.dtype == object and not _is_text(name, array)):
        raise StudyError(
            f"column {name!r} holds {array.dtype}: return booleans, integers, floats or text."
        )
    if array.ndim == 0:
        return np.broadcast_to(array, plan.block_size) if name == ERROR else array
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
    return name == ERROR or all(isinstance(one, str | None) for one in array.flat)


def _with_missing_named(plan: Plan, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """NaN where a study did not announce it is a failure: say so in the `error` column."""
    for name, array in columns.items():
        if array.dtype.kind == "f" and name not in plan.may_be_missing and np.isnan(array).any():
            missing = np.broadcast_to(np.isnan(array), (plan.block_size, *array.shape[1:]))
            columns = columns | {ERROR: _errors_with(columns.get(ERROR), name, missing)}
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


def _count_failed(errors: np.ndarray | None) -> int:
    if errors is None:
        return 0
    return int(has_text(errors).reshape(len(errors), -1).any(axis=1).sum())
