"""Which replicates failed, from rows and from moments."""

import numpy as np
import pyarrow as pa

from simstudy.store.blocks import Store
from simstudy.store.columns import failed_replicates
from tests.store.samples import OWNER, ROWS, open_store, write, write_as


def test_of_rows_those_with_an_error(tmp_path):
    for first in (0, 2, 4):
        write(tmp_path, ("b", first, 2))
    store = open_store(tmp_path)
    assert failed_replicates(store, "b", 8, ROWS).tolist() == [3 * ROWS + 2]
    assert failed_replicates(store, "b", 3, ROWS).size == 0
    assert failed_replicates(store, "never", 2, ROWS).size == 0


def test_of_moments_those_that_are_listed_each_once(tmp_path):
    lists = {"rep": [[], [7, 8, 8], None], "cell": [[], [0, 0, 1], None]}
    table = pa.table(
        {"scenario": ["m"] * 3, "rep": np.arange(3)}
        | {f"error.{name}": pa.array(each, pa.list_(pa.int64())) for name, each in lists.items()}
        | {"error.text": pa.array([[], ["lost"] * 3, None], pa.list_(pa.string()))}
    )
    write_as(tmp_path, table, ("m", 0, 3), provenance=OWNER)
    assert failed_replicates(Store(tmp_path, 1, OWNER), "m", 3, ROWS).tolist() == [7, 8]
