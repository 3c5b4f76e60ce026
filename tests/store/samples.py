"""Rows, blocks and folders to try the store on."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from simstudy.store.block_files import BlockRange, write_blocks
from simstudy.store.blocks import Store
from simstudy.store.files import Files, Folder
from simstudy.store.provenance import Provenance

ROWS = 5
OWNER = Provenance({"study": "toy", "seed": 1, "block_size": 5})
BLOCKS = [(key, block, 1) for key, n in {"a": 4, "b": 6, "c": 1}.items() for block in range(n)]


def rows(key: str, first: int, n: int = 1) -> pa.Table:
    """The same rows for the same blocks, whoever writes them; block 3 of "b" has a failure."""
    rep = np.arange(first * ROWS, (first + n) * ROWS)
    columns = {"scenario": [key] * len(rep), "rep": rep, "x": np.sin(rep) + len(key)}
    table = pa.table(columns)
    if key == "b" and first <= 3 < first + n:
        error = [None if r != 3 * ROWS + 2 else "no root" for r in rep.tolist()]
        table = table.append_column("error", pa.array(error, pa.string()))
    return table


def put(files: Files, *groups: tuple[str, int, int]) -> str:
    table = pa.concat_tables([rows(*group) for group in groups], promote_options="permissive")
    return write_blocks(files, [BlockRange(*group) for group in groups], table, provenance=OWNER)


def write(folder: Path, *groups: tuple[str, int, int]) -> Path:
    return folder / put(Folder(folder), *groups)


def write_as(folder: Path, table: pa.Table, *groups: tuple[str, int, int], **whose) -> Path:
    """A file of somebody's blocks."""
    return folder / write_blocks(Folder(folder), [BlockRange(*g) for g in groups], table, **whose)


def open_store(folder: Path) -> Store:
    return Store(folder, ROWS, OWNER)


def assert_holds(store: Store, key: str, n_blocks: int) -> None:
    """Every prefix comes back as the plain table says."""
    assert store.n_blocks(key) == n_blocks
    for n_rows in {1, ROWS - 1, ROWS, n_blocks * ROWS // 2 + 1, n_blocks * ROWS}:
        table = store.read(key, n_rows, ["rep", "x"])
        plain = rows(key, 0, n_blocks).slice(0, n_rows)
        assert table.equals(plain.select(["rep", "x"]).combine_chunks())


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.parquet"))


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
