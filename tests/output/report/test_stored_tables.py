"""Tables that a study wrote, as its page shows them."""

import pandas as pd

from simstudy.output.report.stored_tables import stored_tables
from simstudy.tables import Column, Table, save_table


def test_there_need_be_none(tmp_path):
    assert stored_tables(tmp_path) == []


def test_each_is_shown_with_the_files_that_hold_it(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "2.csv").write_text("method,power\nt,0.80125\nNone,\n")
    (folder / "2.tex").write_text("")
    (folder / "10.csv").write_text("a\n")
    (folder / "torn.csv").write_bytes(b'a,b\n"1')
    (folder / "empty.csv").write_bytes(b"")
    found = {stored.name: stored for stored in stored_tables(tmp_path)}
    assert list(found) == ["10", "2", "empty", "torn"]
    assert found["2"].files == ["2.csv", "2.tex"]
    assert found["2"].table.rows == [("t", "0.8013"), ("None", "–")], "None is a text here"
    assert [column.is_number for column in found["2"].table.columns] == [False, True]
    assert found["10"].table.rows == []
    assert found["torn"].table is None
    assert found["torn"].trouble.startswith("torn.csv cannot be read: ")
    assert found["empty"].trouble.startswith("empty.csv cannot be read: ")


def test_one_that_was_made_is_shown_as_it_is_published(tmp_path):
    """With its title, its notes and its rounding, which the CSV has not."""
    frame = pd.DataFrame({"n": [12500], "x": [0.51234], "se": [0.0123]})
    made = Table(frame, "A share, by n", {"x": Column("share", mcse="se")}, ["Of 100."])
    save_table(made, tmp_path / "tables", "shares")
    (stored,) = stored_tables(tmp_path, {"shares": made})
    assert (stored.title, stored.notes) == ("A share, by n", ("Of 100.",))
    assert stored.table.rows == [("12,500", "0.512 (0.012)")]
    assert stored.files == ["shares.csv", "shares.md", "shares.tex"]
