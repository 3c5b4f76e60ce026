"""Data sets by name and by path: what is read, and what is refused in one line."""

import gzip

import numpy as np
import pandas as pd
import pytest

from experiments.predictive_pvalue.named_data import boston, regression_data
from simstudy.data.content_hash import hash_of_array
from simstudy.errors import ConfigError, NotHereError

BOSTON_SHA256 = "3f290d4cc104404b603bdf63a4befbb45902730c9c718ec5d69ab387fac1a41b"
"""Of the numbers as StatLib has them, as `hash_of_array` hashes an array."""


def test_boston_is_shipped_number_for_number():
    table = boston()
    assert table.shape == (506, 14)
    assert hash_of_array(table) == BOSTON_SHA256
    assert regression_data("boston").name == "boston"
    assert (table[:, -1].min(), table[:, -1].max()) == (5, 50)


FRAME = pd.DataFrame({"price": [1.0, 2.0, 4.0], "rooms": [3, 4, 5], "age": [0.5, 0.25, 0.125]})


def test_the_target_is_the_last_column(tmp_path):
    FRAME.to_csv(tmp_path / "houses.csv", index=False)
    part = regression_data(str(tmp_path / "houses.csv"), "price")
    np.testing.assert_array_equal(part.read_array(), FRAME[["rooms", "age", "price"]])
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


def test_row_numbers_without_a_name_are_no_feature(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv")
    FRAME.to_csv(tmp_path / "plain.csv", index=False)
    first, other = (regression_data(str(tmp_path / n), "price") for n in ("rows.csv", "plain.csv"))
    assert first == other


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
    "a,b\n1,2,3,4\n4,5,6,7\n": [("b", "data.csv has rows with more cells than")],
    "": [("y", "data.csv has no rows")],
}


@pytest.mark.parametrize(
    ("text", "target", "why"), [(text, *case) for text, cases in REFUSED.items() for case in cases]
)
def test_a_malformed_file_is_refused_in_one_line(tmp_path, text, target, why):
    with pytest.raises(ConfigError, match=why) as refused:
        regression_data(csv(tmp_path, text), target)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("ending", ["gz", "zip", "xz", "bz2", "zst"])
def test_a_broken_archive_is_refused_in_one_line(tmp_path, ending):
    path = tmp_path / f"data.csv.{ending}"
    path.write_bytes(gzip.compress(b"x,y\n1,2\n" * 50)[:-12] if ending == "gz" else b"no archive")
    with pytest.raises(
        ConfigError, match=rf"data.csv.{ending} (cannot be read as|ends in)"
    ) as refused:
        regression_data(str(path), "y")
    assert "\n" not in str(refused.value)


def test_what_is_not_there_names_the_other_choices(tmp_path):
    with pytest.raises(NotHereError, match=r"nowhere.csv is not there.* data=friedman"):
        regression_data(str(tmp_path / "nowhere.csv"), "y")
    with pytest.raises(ConfigError, match=r"data=bostn is neither .* \(boston, diabetes, friedman"):
        regression_data("bostn")
