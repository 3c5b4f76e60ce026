"""What a store holds, as bytes, so that two runs can be compared without any tolerance."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from simstudy.analysis.result import Result
from simstudy.store.blocks import Store

Bytes = dict[str, dict[str, bytes]]


def slow_but(*quick: str, of: Iterable[str]) -> list[Any]:
    """Cases of a parametrised test; all but the named ones are of the slow tier."""
    cases = list(of)
    assert set(quick) <= set(cases)
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in cases]


def as_bytes(column: pa.ChunkedArray) -> bytes:
    """The values of a column, with where it has none."""
    if pa.types.is_list(column.type):
        flat = pa.chunked_array([chunk.flatten() for chunk in column.chunks])
        return repr(pc.list_value_length(column).to_pylist()).encode() + as_bytes(flat)
    if pa.types.is_string(column.type):
        return repr(column.to_pylist()).encode()
    missing = column.is_null().to_numpy().tobytes()
    return missing + column.fill_null(pa.scalar(0).cast(column.type)).to_numpy().tobytes()


def table_bytes(table: pa.Table) -> dict[str, bytes]:
    return {name: as_bytes(table.column(name)) for name in table.column_names}


def content(result: Result, n_rep: int | None = None) -> Bytes:
    """Every stored column of every scenario."""
    return {
        key: table_bytes(result.store.read(key, n_rep or result.n_rep[key]))
        for key in result.plan.keys
    }


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.parquet"))


def assert_same_result(one: Result, other: Result, *, files: bool = True) -> None:
    """The same bits in the store, in the file's name (its hash) and in the summary.

    Without `files` the folders may hold other runs' files beside.
    """
    assert content(one) == content(other)
    if files:
        assert file_names(one.store.files.path) == file_names(other.store.files.path)
    pd.testing.assert_frame_equal(one.summary, other.summary, check_exact=True)


def assert_each_block_once(store: Store, key: str, n_blocks: int) -> None:
    """All of a scenario's rows are there, each once, in files that hold nothing twice."""
    n_rows = n_blocks * store.rows_per_block
    rep = store.read(key, n_rows).column("rep").to_numpy()
    np.testing.assert_array_equal(rep, np.arange(n_rows))
    stored = [
        pq.read_table(path, columns=["scenario", "rep"])
        for path in store.files.path.glob("*.parquet")
    ]
    mine = pa.concat_tables(stored).to_pandas().query("scenario == @key")
    assert not mine.duplicated().any()
    assert len(mine) == n_rows
