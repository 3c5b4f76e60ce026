"""Tables as people and software write them: read alike, or refused in one line."""

import gzip

import numpy as np
import pandas as pd
import pytest

from simstudy import Data
from simstudy.errors import ConfigError
from simstudy.read_table import read_table

FRAME = pd.DataFrame({"a": [1, 0, 1], "b": [0.5, 1.0, 1.25]})
PLAIN = FRAME.to_csv(index=False)


def written(folder, content, name="scores.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (PLAIN, "scores.csv"),
        (PLAIN.replace(",", ";"), "scores.csv"),
        (PLAIN.replace(",", ";").replace(".", ","), "scores.csv"),
        (PLAIN.replace(",", "|"), "scores.csv"),
        (PLAIN.replace(",", "\t"), "scores.tsv"),
        (PLAIN.replace(",", "\t"), "scores.TXT"),
        (PLAIN.replace(",", "  "), "scores.txt"),
        (PLAIN.replace("\n", "\r\n"), "scores.csv"),
        (PLAIN.replace("\n", "\n\n"), "scores.csv"),
        (PLAIN.replace("a,b", ' "a", b '), "scores.csv"),
        (FRAME.to_csv(), "scores.csv"),
        (PLAIN.encode("utf-8-sig"), "scores.csv"),
        (gzip.compress(PLAIN.encode(), mtime=0), "scores.csv.gz"),
    ],
)
def test_one_table_however_it_is_written(content, name, tmp_path):
    pd.testing.assert_frame_equal(read_table(written(tmp_path, content, name)), FRAME)


def test_numbers_are_read_to_the_last_bit(tmp_path):
    """With pandas before 3.1 they are not, unless it is asked to."""
    numbers = np.random.default_rng(1).standard_normal(1000)
    lines = [f"{at};{at}" for at in map(float, numbers)]
    path = written(tmp_path, "\n".join(["a;b", *lines]))
    comma = written(tmp_path, path.read_text().replace(".", ","), "commas.csv")
    for table in (read_table(path), read_table(comma), Data.file(path).read_frame(sep=";")):
        np.testing.assert_array_equal(table, np.column_stack([numbers, numbers]))
    assert len(Data.file(path).read_frame(sep=";", engine="python")) == 1000


@pytest.mark.parametrize("ending", ["parquet", "feather", "dta"])
def test_binary_tables(ending, tmp_path):
    path = tmp_path / f"scores.{ending}"
    getattr(FRAME, "to_stata" if ending == "dta" else f"to_{ending}")(path)
    read = read_table(path).drop(columns="index", errors="ignore")
    pd.testing.assert_frame_equal(read, FRAME, check_dtype=False)


def test_a_table_behind_a_url():
    fsspec = pytest.importorskip("fsspec", reason="needs pip install -e '.[s3]'")
    fsspec.filesystem("memory").pipe("/tables/scores.csv", PLAIN.encode())
    pd.testing.assert_frame_equal(read_table("memory://tables/scores.csv"), FRAME)
    with pytest.raises(ConfigError, match=r"memory://tables/score\.csv is not there"):
        read_table("memory://tables/score.csv")


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("", "s.csv", "s.csv has no rows"),
        ("\n\n", "s.csv", "s.csv has no rows"),
        ("a,b\n", "s.csv", "s.csv has no rows"),
        ("a,b,a\n1,0,1\n", "s.csv", "names the column a 2 times"),
        ("a,b\n0,5,0,25\n", "s.csv", "more cells than its first line has names (2)"),
        ("a;b\n10.000;72,1\n9.500;70,4\n", "s.csv", "decimal points in a and decimal commas in b"),
        ("a,b\n0,1\n0,5,2\n", "s.csv", "Expected 2 fields in line 3, saw 3"),
        ('a,b\n1,"0\n0,1\n', "s.csv", "EOF inside string"),
        (b"a,b\n1,\xe9\n", "s.csv", "UTF-8"),
        (b"PK\x03\x04\x14\0", "s.csv", "s.csv"),
        (b"PAR1...", "s.parquet", "cannot be read as .parquet"),
        ("a,b\n1,0\n", "s.xlsx", "ends in '.xlsx', which is not a known format"),
        ("a,b\n1,0\n", "scores", "ends in 'nothing'"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(content, name, said, tmp_path):
    with pytest.raises(ConfigError) as refusal:
        read_table(written(tmp_path, content, name))
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path):
    written(tmp_path, PLAIN)
    with pytest.raises(ConfigError, match=r"score.csv is not there; did you mean 'scores.csv'\?"):
        read_table(tmp_path / "score.csv")
    with pytest.raises(ConfigError, match=r"is not there: name a file that is"):
        read_table(tmp_path / "nowhere" / "scores.csv")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_table(written(tmp_path, PLAIN).parent.rename(tmp_path.with_suffix(".csv")))


def test_a_level_is_the_same_however_long_the_file_is(tmp_path):
    """Pandas reads long files by pieces, in some of which a column has only numbers."""
    path = written(
        tmp_path, "level,b\n" + "1,0.5\n" * 200_000 + "A,0.5\n" * 2 + "1,0.5\n" * 100_000
    )
    assert set(read_table(path)["level"]) == {"1", "A"}
