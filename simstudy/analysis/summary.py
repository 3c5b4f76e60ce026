"""Replicates to measures: one row per scenario, cell of the axes, and measure."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from simstudy.design import Plan, factors_of, scenario_key
from simstudy.errors import StudyError
from simstudy.lazy.pandas import pd
from simstudy.lazy.pyarrow import pc
from simstudy.measures import Estimates, Measure, MomentMeasure, Moments, impute_worst
from simstudy.store.blocks import Store
from simstudy.store.layout import (
    ERROR,
    Block,
    cell_name,
    columns_of,
    has_text,
    stored_names,
    with_failures_missing,
)

NUMBERS = ("estimate", "mcse", "lower", "upper", "exact", "n_rep", "n_failed", "reason")


def summarize(
    plan: Plan,
    measures: Sequence[Measure],
    estimates: Callable[[Any, Measure], Estimates],
) -> pd.DataFrame:
    """The summary: factors, axes, measure, and its numbers.

    Parameters
    ----------
    estimates
        Of a scenario and a measure: from replicates (`FromRows`) or from moments (`FromMoments`).
    """
    rows: list[dict[str, Any]] = []
    for scenario in plan.scenarios:
        factors = factors_of(scenario)
        exact = scenario.exact() if hasattr(scenario, "exact") else {}
        _refuse_misspelt_exact(scenario, exact, measures)
        for measure in measures:
            numbers = estimates(scenario, measure)
            rows += [factors | row for row in _rows(plan, measure, numbers, exact)]
    own = dict.fromkeys(axis for measure in measures for axis in measure.axes)
    names = [*factor_names(plan), *plan.axes, *own, "measure", *NUMBERS]
    return pd.DataFrame(rows, columns=names)


def factor_names(plan: Plan) -> list[str]:
    """Factors of all scenarios, in order of appearance."""
    return list(dict.fromkeys(name for one in plan.scenarios for name in factors_of(one)))


def _rows(
    plan: Plan, measure: Measure, numbers: Estimates, exact: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    truth = exact.get(measure.name, np.nan) if np.any(numbers.n_rep) else np.nan
    truth = np.broadcast_to(truth, np.shape(numbers.estimate))
    yield from cell_rows(plan, measure, numbers._asdict() | {"exact": truth})


def cell_rows(plan: Plan, measure: Measure, numbers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each cell: its labels, the measure, and its place in each of the numbers."""
    axes = cell_axes(plan, measure, np.ndim(numbers["estimate"]))
    cells = itertools.product(*axes.values())
    for labels, *row in zip(cells, *(np.ravel(one) for one in numbers.values()), strict=True):
        named = dict(zip(axes, labels, strict=True))
        yield named | {"measure": measure.name} | dict(zip(numbers, row, strict=True))


def cell_axes(plan: Plan, measure: Measure, n_dims: int) -> dict[str, tuple[Any, ...]]:
    """The axes of a measure's cells, each with its labels; a measure may not have the study's."""
    own = {name: tuple(values) for name, values in measure.axes.items()}
    shared = dict(plan.axes) if n_dims > len(own) else {}
    return shared | own


def _refuse_misspelt_exact(
    scenario: Any, exact: Mapping[str, Any], measures: Sequence[Measure]
) -> None:
    """A name that is nearly a measure's is a slip; other names may be for other studies."""
    open_names = {measure.name for measure in measures} - set(exact)
    for name in set(exact) - {measure.name for measure in measures}:
        close = difflib.get_close_matches(name, open_names, n=1, cutoff=0.75)
        if close:
            raise StudyError(
                f"{type(scenario).__name__}.exact() speaks of {name!r}, which is no measure of "
                f"the study; did you mean {close[0]!r}?"
            )


@dataclass
class FromRows:
    """Estimates from stored replicates, reading each scenario once.

    Parameters
    ----------
    n_rep
        Replicates to use of each scenario, by its key: the first so many.
    """

    plan: Plan
    store: Store
    measures: Sequence[Measure]
    n_rep: Mapping[str, int]
    prepare: Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]] | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        names = tuple(dict.fromkeys(name for m in self.measures for name in m.reads))
        self._names = names
        self._read = functools.lru_cache(maxsize=1)(self._columns)

    def __call__(self, scenario: Any, measure: Measure) -> Estimates:
        columns = self._read(scenario_key(scenario))
        return measure.estimate(columns, level=self.level)

    def _columns(self, key: str) -> Mapping[str, np.ndarray]:
        columns = read_columns(self.plan, self.store, key, self.n_rep[key], self._names)
        return self.prepare(columns) if self.prepare else columns


CONVERGED = "converged"  # a column that the engine makes: 1, or NaN where a cell failed


def read_columns(
    plan: Plan, store: Store, key: str, n_rep: int, names: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Stored columns of a scenario, `(rep,)` or `(rep, *axes)`; `converged` is made of errors."""
    if CONVERGED not in names:
        table = store.read(key, n_rep, [*stored_names(plan, names), ERROR])
        return columns_of(plan, table, names)
    stored = tuple(name for name in names if name != CONVERGED)
    table = store.read(key, n_rep, [*stored_names(plan, (*stored, ERROR)), "rep"])
    return {**columns_of(plan, table, stored), CONVERGED: _converged(plan, table)}


def _converged(plan: Plan, table: pa.Table) -> np.ndarray:
    """Shape `(rep, *axes)`: a failure of the whole replicate is one of every cell."""
    failed = np.zeros((len(table), *plan.shape), dtype=bool)
    if ERROR in table.column_names:
        whole = has_text(table.column(ERROR).to_numpy())
        failed |= whole.reshape(-1, *(1 for _ in plan.shape))
    cells = failed.reshape(len(table), -1)
    for i, labels in enumerate(plan.cells()):
        name = cell_name(ERROR, labels)
        if plan.axes and name in table.column_names:
            cells[:, i] |= has_text(table.column(name).to_numpy())
    return np.where(cells.reshape(failed.shape), np.nan, 1.0)


def imputed(columns: Mapping[str, np.ndarray], worst: Mapping[str, float]) -> Mapping[str, Any]:
    """Failed values of the columns named in `worst` replaced by what is said there."""
    named = {name: value for name, value in worst.items() if name in columns}
    return impute_worst(columns, named) if named else columns


@dataclass(frozen=True)
class KeepMoments:
    """Keeps of each block only what its measures need: a row with their moments.

    A million replicates then cost as much disk as a thousand.
    """

    measures: tuple[MomentMeasure, ...]
    worst: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, _plan: Plan, blocks: Sequence[Block]) -> pa.Table:
        rows = [self._row(block) for block in blocks]
        lists = {name: _lists([row[name] for row in rows]) for name in rows[0]}
        keys = [scenario_key(block.scenario) for block in blocks]
        return pa.table({"scenario": keys, "rep": [block.number for block in blocks], **lists})

    def _row(self, block: Block) -> dict[str, np.ndarray]:
        came_back = with_failures_missing(block)
        columns = dict(imputed(came_back or self._nothing(block), self.worst))
        row: dict[str, np.ndarray] = {}
        for measure in self.measures:
            moments = measure.moments(columns)
            row |= _moments_row(measure.name, moments if came_back else moments._replace(centre=()))
        return row

    def _nothing(self, block: Block) -> dict[str, np.ndarray]:
        """Columns of a block that failed as a whole: NaN, in every cell."""
        names = dict.fromkeys(name for measure in self.measures for name in measure.reads)
        return dict.fromkeys(names, np.full(len(block.columns[ERROR]), np.nan))


def _moments_row(name: str, moments: Moments) -> dict[str, np.ndarray]:
    """The parts of some moments, each as one list of numbers."""
    return {
        f"{name}.n": moments.n.ravel(),
        f"{name}.n_failed": moments.n_failed.ravel(),
        f"{name}.mean": moments.mean.ravel(),
        f"{name}.comoment": moments.comoment.ravel(),
        f"{name}.centre": np.concatenate([np.empty(0), *map(np.ravel, moments.centre)]),
        f"{name}.shape": np.asarray((len(moments.mean), *moments.n.shape)),
    }


def _lists(rows: Sequence[np.ndarray]) -> pa.Array:
    """A column with one list for each row."""
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, np.concatenate(rows))


@dataclass
class FromMoments:
    """Estimates from the moments of whole blocks, merged pairwise in order of the blocks."""

    plan: Plan
    store: Store
    n_rep: Mapping[str, int]
    level: float = 0.95

    def __post_init__(self) -> None:
        self._read = functools.lru_cache(maxsize=1)(self._table)
        self._cells_elsewhere = functools.cache(self._cells)

    def __call__(self, scenario: Any, measure: Measure) -> Estimates:
        assert isinstance(measure, MomentMeasure)
        merged = _merged(measure.name, self._read(scenario_key(scenario)))
        if self.plan.axes and np.ndim(merged.n) == 0:
            merged = _spread(merged, self._cells_elsewhere(measure.name))
        return measure.from_moments(merged, level=self.level)

    def _cells(self, name: str) -> tuple[int, ...]:
        """The cells of a measure in any scenario: one that only failed does not know them."""
        shape = f"{name}.shape"
        for key in self.plan.keys:
            table = self.store.read(key, self.n_rep[key] // self.plan.block_size, [shape])
            _, *cells = _longest(table.column(shape))
            if cells:
                return tuple(cells)
        return ()

    def _table(self, key: str) -> pa.Table:
        return self.store.read(key, self.n_rep[key] // self.plan.block_size)


def _merged(name: str, table: pa.Table) -> Moments:
    """Moments of all blocks: the block is a last axis that is halved until it is gone."""
    n_terms, *cells = _longest(table.column(f"{name}.shape"))
    n, n_failed, mean, comoment, centre = (
        _stacked(table, f"{name}.{part}") for part in Moments._fields
    )
    blocks = Moments(
        n.astype(int).reshape(*cells, -1),
        n_failed.astype(int).reshape(*cells, -1),
        mean.reshape(n_terms, *cells, -1),
        comoment.reshape(n_terms, n_terms, *cells, -1),
        _one_centre(name, centre),
    )
    while blocks.n.shape[-1] > 1:
        blocks = _halved(blocks)
    return _cut(blocks, np.s_[..., 0])


def _spread(moments: Moments, cells: tuple[int, ...]) -> Moments:
    """The same numbers in every cell."""
    n, n_failed, mean, comoment, centre = moments

    def wide(part: np.ndarray) -> np.ndarray:
        return np.asarray(np.multiply.outer(part, np.ones(cells, np.asarray(part).dtype)))

    return Moments(wide(n), wide(n_failed), wide(mean), wide(comoment), centre)


def _cut(blocks: Moments, place: Any) -> Moments:
    """The same places of every part."""
    n, n_failed, mean, comoment, centre = blocks
    return Moments(n[place], n_failed[place], mean[place], comoment[place], centre)


def _longest(column: pa.ChunkedArray) -> list[int]:
    """A block that failed as a whole does not know the cells that the others have."""
    at = int(np.argmax(pc.list_value_length(column).to_numpy()))
    found: list[int] = column[at].as_py()
    return found


def _stacked(table: pa.Table, name: str) -> np.ndarray:
    """A column of lists as (value, block); of a shorter list each value holds for several cells.

    Blocks without a value, which have no centre, are left out.
    """
    column = table.column(name).combine_chunks()
    values = column.flatten().to_numpy(zero_copy_only=False)
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    if (lengths == lengths[0]).all():
        return np.ascontiguousarray(values.reshape(len(table), -1).T)
    rows = [row for row in np.split(values, np.cumsum(lengths)[:-1]) if row.size]
    return np.stack([np.repeat(row, lengths.max() // row.size) for row in rows], axis=1)


def _one_centre(name: str, centre: np.ndarray) -> tuple[np.ndarray, ...]:
    if centre.size and not np.array_equal(centre, centre[:, :1].repeat(centre.shape[1], 1)):
        raise StudyError(
            f"{name}: blocks were centred on different values, so their squares cannot be added. "
            "Give the measure a fixed `around`."
        )
    return tuple(np.asarray(value) for value in centre[:, 0]) if centre.size else ()


def _halved(blocks: Moments) -> Moments:
    even = blocks.n.shape[-1] // 2 * 2
    merged = _cut(blocks, np.s_[..., 0:even:2]) + _cut(blocks, np.s_[..., 1:even:2])
    rest = _cut(blocks, np.s_[..., even:])
    return Moments(
        np.concatenate([merged.n, rest.n], axis=-1),
        np.concatenate([merged.n_failed, rest.n_failed], axis=-1),
        np.concatenate([merged.mean, rest.mean], axis=-1),
        np.concatenate([merged.comoment, rest.comoment], axis=-1),
        blocks.centre,
    )


def streamable(measures: Sequence[Measure]) -> tuple[MomentMeasure, ...]:
    """The measures as ones that need no replicates, or a refusal that names those that do."""
    needy = [measure.name for measure in measures if not isinstance(measure, MomentMeasure)]
    if needy:
        raise StudyError(
            f"keep=summary keeps no replicates, and {', '.join(needy)} cannot do without. "
            "Run with keep=replicates, or leave these measures out."
        )
    return tuple(one for one in measures if isinstance(one, MomentMeasure))
