"""Which replicates failed."""

from simstudy.store.columns import failed_replicates
from tests.store.samples import ROWS, open_store, write


def test_of_rows_those_with_an_error(tmp_path):
    for first in (0, 2, 4):
        write(tmp_path, ("b", first, 2))
    store = open_store(tmp_path)
    assert failed_replicates(store, "b", 8, ROWS).tolist() == [3 * ROWS + 2]
    assert failed_replicates(store, "b", 3, ROWS).size == 0
    assert failed_replicates(store, "never", 2, ROWS).size == 0
