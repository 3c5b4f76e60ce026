"""A scenario's columns and estimates, put together from what is stored of each of its methods."""

from collections.abc import Mapping, Sequence

import numpy as np

from simstudy.design import Plan
from simstudy.engine.methods import TEXTS
from simstudy.measures import Estimates
from simstudy.store import columns as stored
from simstudy.store.blocks import Store


def read_columns(
    plan: Plan, store: Store, key: str, n_rep: int, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Columns of a scenario, `(rep,)` or `(rep, *axes)`; with methods `(rep, method, *axes)`.

    A method that only failed is NaN.
    """
    if not plan.methods:
        return stored.read_columns(plan, store, key, n_rep, names)
    each = [
        stored.read_columns(plan.drawn, store, drawn, n_rep, names)
        for drawn in plan.drawn_keys[key]
    ]
    return {name: _stacked([columns[name] for columns in each]) for name in names}


def every_column(
    plan: Plan, store: Store, key: str, n_rep: int, names: Sequence[str] | None
) -> dict[str, np.ndarray]:
    """Columns `(rep, method, *axes)` of a scenario with methods.

    Parameters
    ----------
    names
        All that any method has, if None: of another, `error` and `warning` say nothing.
    """
    tables = [store.read(drawn, n_rep) for drawn in plan.drawn_keys[key]]
    there = [stored.simulated_columns(table.column_names) for table in tables]
    wanted = list(dict.fromkeys(name for of in there for name in of)) if names is None else names
    each = [
        stored.columns_of(plan.drawn, table, [n for n in wanted if n in of or n not in TEXTS])
        for table, of in zip(tables, there, strict=True)
    ]
    silent = np.full(n_rep, None, dtype=object)
    stacked = {name: _stacked([columns.get(name, silent) for columns in each]) for name in wanted}
    return {name: _over_axes(column, (n_rep, *plan.shape)) for name, column in stacked.items()}


def _stacked(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Along axis 1; a column without the further axes holds for all of their positions."""
    widest = max(columns, key=np.ndim).shape
    return np.stack([_over_axes(column, widest) for column in columns], axis=1)


def _over_axes(column: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Axes are matched from the left."""
    lacking = len(shape) - column.ndim
    return np.broadcast_to(column.reshape(column.shape + (1,) * lacking), shape)


def stacked_estimates(each: Sequence[Estimates]) -> Estimates:
    """The estimates of each method along a first axis."""
    return Estimates(*(np.stack(np.broadcast_arrays(*parts)) for parts in zip(*each, strict=True)))


def seconds_by_method(plan: Plan, seconds_per_block: Mapping[str, float]) -> dict[str, float]:
    """Seconds per replicate of each method, without drawing its data, averaged over scenarios.

    Parameters
    ----------
    seconds_per_block
        By the key of what was drawn; a method of which nothing was drawn is left out.
    """
    spent: dict[str, list[float]] = {}
    for drawn in plan.drawn_keys.values():
        for method, key in zip(plan.methods, drawn, strict=False):
            if key in seconds_per_block:
                spent.setdefault(method.name, []).append(seconds_per_block[key])
    return {name: float(np.mean(each)) / plan.block_size for name, each in spent.items()}
