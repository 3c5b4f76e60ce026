"""Which blocks hold a failure, against a look at each row."""

import numpy as np
import pyarrow as pa

from simstudy.store.blocks import Store
from simstudy.store.messages import failed_blocks
from tests.store.samples import OWNER, open_store, write, write_as


def test_of_rows_a_block_with_an_error_in_any(tmp_path):
    for first in (0, 2, 4):
        write(tmp_path, ("b", first, 2))
    write(tmp_path, ("a", 0, 1))
    store = open_store(tmp_path)
    assert failed_blocks(store, "b", 8).tolist() == [block == 3 for block in range(8)]
    assert failed_blocks(store, "b", 3).tolist() == [False] * 3
    assert failed_blocks(store, "never", 2).tolist() == [False] * 2


def test_of_moments_a_block_with_a_count_in_any_cell(tmp_path):
    counts = [[0, 0], [0, 1], [0, 0], [5], [], [2, 0]]
    rows = {
        "scenario": ["m"] * 6,
        "rep": np.arange(6),
        "x.n_failed": pa.array(counts, pa.list_(pa.int64())),
        "y.n_failed": pa.array([[0]] * 5 + [None], pa.list_(pa.int64())),
    }
    write_as(tmp_path, pa.table(rows), ("m", 0, 6), provenance=OWNER)
    found = failed_blocks(Store(tmp_path, 1, OWNER), "m", 6)
    assert found.tolist() == [False, True, False, True, False, True]
