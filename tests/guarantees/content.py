"""What a store holds, as bytes, so that two runs can be compared without any tolerance."""

import re
from collections.abc import Iterable, Mapping
from io import BytesIO
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
    return {
        key: table_bytes(result.details.store.read(key, n_rep or result.n_rep[key]))
        for key in result.plan.keys
    }


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.parquet"))


def assert_same_result(one: Result, other: Result) -> None:
    """The same bits in the store and in the summary, whatever files hold them."""
    assert content(one) == content(other)
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


def files_but_manifest(folder: Path) -> dict[str, object]:
    """All of a result but its manifest, which says when it was made, and how long that took."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return whichever_files({str(path.relative_to(folder)): path.read_bytes() for path in found})


def whichever_files(found: Mapping[str, bytes]) -> dict[str, object]:
    """The files of a result by name: of blocks their rows, whichever files hold these.

    Left out is what says how long blocks took, and which files were verified.
    """
    rest: dict[str, object] = {}
    blocks: dict[str, list[pa.Table]] = {}
    for name, content in found.items():
        if match := re.search(r"^(.*/)?(replicates)/[^/]*\.parquet$", name):
            table = pq.read_table(BytesIO(content))
            blocks.setdefault(f"{match[1]}{match[2]}", []).append(table)
        elif not re.search(r"/_runs/|/_verified\.json$", f"/{name}"):
            rest[name] = content
    for folder, tables in blocks.items():
        table = pa.concat_tables(tables, promote_options="permissive")
        rest[folder] = table_bytes(table.sort_by([("scenario", "ascending"), ("rep", "ascending")]))
    return rest
