"""Stored replicates as one frame: a row for each replicate and cell, with its factors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy.errors import StudyError, nearest
from simstudy.lazy import pd
from simstudy.plan import Plan
from simstudy.store.blocks import Store
from simstudy.store.columns import columns_of, simulated_columns
from simstudy.store.layout import ERROR, REP, WARNING


@dataclass
class LongRows:
    """Replicates of a store.

    Parameters
    ----------
    plan
        How rows lie: axes and vectors.
    scenarios
        A row for each key in `scenario`, and a column for each factor.
    n_rep
        Replicates of each scenario, by its key.
    """

    plan: Plan
    store: Store
    scenarios: pd.DataFrame
    n_rep: Mapping[str, int]

    def frame(self, keys: Sequence[str], names: Sequence[str] | None) -> pd.DataFrame:
        """The rows of some scenarios below each other, factors as categories."""
        known = list(simulated_columns(sorted(self.store.column_names())))
        wanted = known if names is None else list(names)
        for name in wanted:
            if name not in known:
                raise StudyError(f"no column {name!r} is stored; {nearest(name, known)}")
        factors = self._factors()
        parts = [self._rows(key, wanted, factors.loc[[key]]) for key in keys]
        return pd.concat(parts, ignore_index=True)

    def _factors(self) -> pd.DataFrame:
        named = self.scenarios.set_index("scenario")
        return named.astype("category") if len(named.columns) else named

    def _rows(self, key: str, names: Sequence[str], factors: pd.DataFrame) -> pd.DataFrame:
        n_rep, n_cells = self.n_rep[key], math.prod(self.plan.shape)
        columns = self._columns(key, names)
        same = factors.take(np.zeros(n_rep * n_cells, dtype=int)).reset_index(drop=True)
        made: dict[str, Any] = {REP: np.repeat(np.arange(n_rep), n_cells)}
        made |= self._labels(n_rep)
        made |= {name: self._long(name, column, n_cells) for name, column in columns.items()}
        values = factors.iloc[0].to_dict()
        for name in set(made) & set(values):
            if np.all(made[name] == values[name]):
                del made[name]
        hidden = {name: f"{name} (factor)" for name in made if name in values}
        return pd.concat([same.rename(columns=hidden), pd.DataFrame(made)], axis=1)

    def _columns(self, key: str, names: Sequence[str]) -> dict[str, np.ndarray]:
        """As arrays; what a scenario's rows lack altogether is missing, and of text nothing."""
        table = self.store.read(key, self.n_rep[key])
        there = [*simulated_columns(table.column_names)]
        read = [name for name in names if name in there]
        found = columns_of(self.plan, table, read, holes=True)
        absent = {
            name: np.full(len(table), None if name in (ERROR, WARNING) else np.nan)
            for name in names
            if name not in there
        }
        return {name: (found | absent)[name] for name in names}

    def _labels(self, n_rep: int) -> dict[str, Any]:
        """The labels of each cell, for every replicate."""
        cells = list(zip(*self.plan.cells(), strict=True))
        return {
            axis: pd.Categorical(np.tile(np.array(labels), n_rep), categories=list(known))
            for (axis, known), labels in zip(self.plan.axes.items(), cells, strict=True)
        }

    def _long(self, name: str, column: np.ndarray, n_cells: int) -> Any:
        """A value for each row: a column without axes holds for all cells, a vector is an array."""
        if name in self.plan.vectors:
            length = column.shape[-1]
            vectors = column.reshape(len(column), -1, length)
            return list(
                np.broadcast_to(vectors, (len(column), n_cells, length)).reshape(-1, length)
            )
        flat = column.reshape(len(column), -1)
        return np.broadcast_to(flat, (len(column), n_cells)).ravel()
