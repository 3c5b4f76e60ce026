"""Three files of one name, or none."""

import pandas as pd
import pytest

from simstudy.errors import TableError
from simstudy.tables import Column, Table, save_table

TABLE = Table(pd.DataFrame({"x": [0.5], "se": [0.1]}), "One row", {"x": Column(mcse="se")})


def test_three_forms_and_nothing_else(tmp_path):
    saved = save_table(TABLE, tmp_path / "tables", "one")
    assert {*saved} == {*(tmp_path / "tables").iterdir()}
    forms = [TABLE.csv(), TABLE.markdown(), TABLE.latex("one")]
    assert [path.read_text() for path in saved] == forms


@pytest.mark.parametrize(
    ("table", "name", "said"),
    [
        (TABLE, "a/b", "'a/b' is not a file name for a table"),
        (TABLE, "", "'' is not a file name for a table"),
        (TABLE.frame, "x", "a DataFrame cannot be saved as a table"),
    ],
)
def test_what_cannot_be_written_writes_nothing(table, name, said, tmp_path):
    with pytest.raises(TableError, match=said):
        save_table(table, tmp_path, name)
    assert list(tmp_path.iterdir()) == []
