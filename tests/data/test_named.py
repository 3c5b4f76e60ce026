"""Data sets by name and by path: what is read, and what is refused in one line."""

import gzip

import numpy as np
import pandas as pd
import pytest

from simstudy.data import named
from simstudy.data.content_hash import hash_of_array
from simstudy.data.named import boston, boston_cache, parsed_boston, regression_data
from simstudy.errors import ConfigError, NotHereError, StudyError

TABLE = np.round(np.random.default_rng(1).random((5, 14)) * 100, 3)
"""Stands in for the Boston data, of which no test holds a row."""

WORDS = """ The table below, from a book of 1980, pp. 244-261.
 Variables in order:
 CRIM     per capita rate

"""


def as_statlib(table):
    """Two lines a row, the first with eleven numbers, below words."""
    rows = [[f"{value:8.3f}" for value in row] for row in table]
    lines = [f" {' '.join(row[:11])}\n  {' '.join(row[11:])}" for row in rows]
    return (WORDS + "\n".join(lines) + "\n").encode()


def as_old_scikit_learn(table):
    rows = [",".join(map(repr, map(float, row))) for row in table]
    empty = "," * 12
    return "\n".join([f'506,13,"",""{empty}', '"CRIM","ZN","MEDV"', *rows]).encode()


def as_csv(table):
    header = ",".join(f'"x{place}"' for place in range(14))
    rows = [",".join(f'"{v:g}"' if not at else repr(float(v)) for at, v in enumerate(row))
            for row in table]  # fmt: skip
    return "\n".join([header, *rows]).encode()


@pytest.mark.parametrize("written", [as_statlib, as_old_scikit_learn, as_csv])
def test_rows_are_read_from_every_layout(written):
    table = TABLE.copy()
    table[:, 0] = np.round(table[:, 0])
    np.testing.assert_array_equal(parsed_boston(written(table)), table)


@pytest.mark.parametrize("content", [b"", b"<html>404: not found</html>", b"1,2,3", b"1 2 x\n.."])
def test_what_is_no_table_has_no_rows(content):
    assert parsed_boston(content).shape == (0, 14)


@pytest.fixture
def standing_in(monkeypatch, tmp_path):
    """A cache of its own, and a data set that stands in for the one known by its checksum."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(named, "BOSTON_SHA256", hash_of_array(TABLE))
    return tmp_path


def test_it_is_fetched_once_and_kept(standing_in, monkeypatch):
    source = standing_in / "served.txt"
    source.write_bytes(as_statlib(TABLE))
    (standing_in / "moved.html").write_bytes(b"<html>moved</html>")
    sources = ("file:///nowhere/at/all", (standing_in / "moved.html").as_uri(), source.as_uri())
    monkeypatch.setattr(named, "BOSTON_SOURCES", sources)
    np.testing.assert_array_equal(boston(), TABLE)
    source.unlink()
    np.testing.assert_array_equal(boston(), TABLE)
    assert boston_cache().read_bytes() == as_statlib(TABLE)


def test_a_copy_that_a_user_put_there_is_taken(standing_in):
    boston_cache().parent.mkdir(parents=True)
    boston_cache().write_bytes(as_csv(TABLE))
    part = regression_data("boston")
    np.testing.assert_array_equal(part.array(), TABLE)
    assert part.name == "boston"


def test_other_numbers_are_refused(standing_in):
    boston_cache().parent.mkdir(parents=True)
    boston_cache().write_bytes(as_csv(TABLE + 1))
    with pytest.raises(StudyError, match=r"holds \(5, 14\) numbers with the checksum .* and not"):
        boston()


def test_what_was_fetched_and_is_something_else_is_not_kept(standing_in, monkeypatch):
    source = standing_in / "served.txt"
    source.write_bytes(b"<html>moved</html>")
    monkeypatch.setattr(named, "BOSTON_SOURCES", (source.as_uri(),))
    with pytest.raises(NotHereError, match=r"served.txt: other numbers, or none\)"):
        boston()
    assert not boston_cache().exists()


def test_a_cache_that_cannot_be_written_does_not_cost_the_run(standing_in, monkeypatch):
    source = standing_in / "served.txt"
    source.write_bytes(as_csv(TABLE))
    monkeypatch.setattr(named, "BOSTON_SOURCES", (source.as_uri(),))
    boston_cache().mkdir(parents=True)
    assert boston().shape == TABLE.shape
    boston_cache().rmdir()
    boston_cache().parent.rmdir()
    boston_cache().parent.write_text("a file where the folder should be")
    assert boston().shape == TABLE.shape


@pytest.mark.parametrize("n_more", [1, 13])
def test_numbers_that_fill_no_row_are_refused(n_more):
    assert parsed_boston(as_csv(TABLE) + b"\n" + b"1,2\n"[:2] * n_more).shape == (0, 14)


def test_without_a_source_the_other_choices_are_named(standing_in, monkeypatch):
    monkeypatch.setattr(named, "BOSTON_SOURCES", ("file:///nowhere/at/all",))
    with pytest.raises(NotHereError) as refused:
        regression_data("boston")
    said = str(refused.value)
    assert str(boston_cache()) in said
    assert "file:///nowhere/at/all: URLError" in said
    assert "data=diabetes and data=friedman need no download" in said
    assert "\n" not in said


def test_diabetes_comes_with_scikit_learn():
    pytest.importorskip("sklearn")
    table = regression_data("diabetes").array()
    assert table.shape == (442, 11)
    assert (table[:, -1].min(), table[:, -1].max()) == (25, 346)  # as its authors describe it


# ---------------------------------------------------------------- files
FRAME = pd.DataFrame({"price": [1.0, 2.0, 4.0], "rooms": [3, 4, 5], "age": [0.5, 0.25, 0.125]})


def test_the_target_is_the_last_column(tmp_path):
    FRAME.to_csv(tmp_path / "houses.csv", index=False)
    part = regression_data(str(tmp_path / "houses.csv"), "price")
    np.testing.assert_array_equal(part.array(), FRAME[["rooms", "age", "price"]])
    assert part.name == "houses"


def test_the_same_numbers_are_the_same_data_whatever_holds_them(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.rename(columns={"age": "years"}).to_parquet(tmp_path / "b.parquet")
    with gzip.open(tmp_path / "c.csv.gz", "wt") as file:
        FRAME.to_csv(file, index=False)
    a, b, c = (
        regression_data(str(tmp_path / n), "price") for n in ("a.csv", "b.parquet", "c.csv.gz")
    )
    assert a == b == c
    assert c.name == "c"


def csv(folder, text):
    (folder / "data.csv").write_text(text)
    return str(folder / "data.csv")


REFUSED = {
    "x,y\n1,2\n": [
        (None, "target is not given, and of data.csv one column has to be the response"),
        ("z", "target=z, and of data.csv one column"),
    ],
    "x,y\na,2\n": [("y", "columns x of data.csv hold no numbers")],
    "x,y\n1,2\n,3\n4,inf\n": [("y", "2 of 3 rows of data.csv have missing or infinite values")],
    "y\n1\n": [("y", "target=y, and of data.csv one column has to be the response and the others")],
    "a,b\n1,2,3\n4,5,6\n": [("b", "rows have more values than the header has names")],
    ",x,y\n0,1,2\n1,3,5\n": [("y", "1 of 3 columns of data.csv have no name, as the row numbers")],
    "": [("y", "cannot be read as a table: EmptyDataError")],
}


@pytest.mark.parametrize(
    ("text", "target", "why"),
    [(text, *case) for text, cases in REFUSED.items() for case in cases],
)
def test_a_malformed_file_is_refused_in_one_line(tmp_path, text, target, why):
    with pytest.raises(ConfigError, match=why) as refused:
        regression_data(csv(tmp_path, text), target)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("ending", ["gz", "zip", "xz", "bz2", "zst"])
def test_a_broken_archive_is_refused_in_one_line(tmp_path, ending):
    path = tmp_path / f"data.csv.{ending}"
    path.write_bytes(gzip.compress(b"x,y\n1,2\n" * 50)[:-12] if ending == "gz" else b"no archive")
    with pytest.raises(ConfigError, match="cannot be read as a table") as refused:
        regression_data(str(path), "y")
    assert "\n" not in str(refused.value)


def test_a_missing_file_names_the_other_choices(tmp_path):
    with pytest.raises(NotHereError, match=r"nowhere.csv is not there.* data=friedman"):
        regression_data(str(tmp_path / "nowhere.csv"), "y")


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(ConfigError, match=r"data=bostn is neither .* \(boston, diabetes, friedman"):
        regression_data("bostn")


def test_a_named_data_set_has_its_own_target():
    with pytest.raises(ConfigError, match="target=price: diabetes has its own response"):
        regression_data("diabetes", "price")
