"""Files that cannot be read are refused in a line."""

import numpy as np
import pandas as pd
import pytest

from simstudy.elsewhere import from_file
from simstudy.elsewhere.files import read_rows
from simstudy.errors import ConfigError


def refusal(path):
    with pytest.raises(ConfigError) as refused:
        read_rows(path)
    return str(refused.value)


@pytest.mark.parametrize("name", ["rows.rds", "rows.xlsx", "rows"])
def test_an_ending_that_says_nothing_is_refused(name, tmp_path):
    (tmp_path / name).write_text("b\n1\n")
    said = refusal(tmp_path / name)
    assert "which does not say what it holds. Write one of .csv, .tsv, .txt, .parquet" in said


def test_a_file_that_is_not_there_has_a_nearest(tmp_path):
    (tmp_path / "rows.csv").write_text("b\n1\n")
    assert refusal(tmp_path / "row.csv").endswith("is not there; did you mean 'rows.csv'?")
    assert refusal(tmp_path / "no" / "x.csv").endswith("is not there; name a file that is")


@pytest.mark.parametrize("content", ["", "b,se\n"])
def test_an_empty_file_is_refused(content, tmp_path):
    (tmp_path / "rows.csv").write_text(content)
    assert "has no rows, so there is nothing to summarise" in refusal(tmp_path / "rows.csv")


def test_a_file_that_is_something_else_is_refused(tmp_path):
    (tmp_path / "rows.parquet").write_text("b\n1\n")
    assert "cannot be read as .parquet: ArrowInvalid" in refusal(tmp_path / "rows.parquet")


def test_text_finds_its_own_delimiter(tmp_path):
    (tmp_path / "rows.txt").write_text("b;se\n1.5;2\n2;3\n")
    assert list(read_rows(tmp_path / "rows.txt")["b"]) == [1.5, 2.0]


def test_words_for_nothing_are_levels_where_one_is_to_stand(tmp_path):
    """Data may be missing in no way at all, and the methods' names may be numbers of a register."""
    rows = [
        f"{missing},{n},{method},{number}"
        for missing in ("None", "MCAR")
        for n in range(3)
        for method, number in (("01", 0.5 + n), ("001", "None" if n == 2 else n))
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["missing,set,method,b", *rows]))
    asked = {"estimate": "b", "method": "method", "rep": "set", "by": ["missing"], "truth": 0.0}
    found = from_file(tmp_path / "rows.csv", **asked)
    assert found.value("bias", missing="None", method="01")["estimate"] == 1.5
    assert found.value("bias", missing="MCAR", method="001")["n_failed"] == 1


def test_semicolons_come_with_commas_in_numbers(tmp_path):
    (tmp_path / "rows.csv").write_text("b;n\n0,5;1\nNA;2\n1,25;3\n")
    pd.testing.assert_frame_equal(
        read_rows(tmp_path / "rows.csv"), pd.DataFrame({"b": [0.5, np.nan, 1.25], "n": [1, 2, 3]})
    )
