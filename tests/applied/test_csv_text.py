"""Files as spreadsheets and people write them: read alike, or refused in one line."""

import hashlib

import pytest

from simstudy.applied.csv_text import read_table
from simstudy.errors import ConfigError

COLUMNS = {"a": ["1", "0", "1"], "b": ["0", "1", "1"]}
PLAIN = "a,b\n1,0\n0,1\n1,1\n"


def written(folder, content, name="scores.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---------------------------------------------------------------- what is read
@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "|"),
        "sep=;\n" + PLAIN.replace(",", ";"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\n\n"),
        PLAIN + ",\n,\n",
        PLAIN.replace("\n", ",\n"),
        PLAIN.replace("a,b", ' "a", b '),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
    ],
)
def test_one_table_however_it_is_written(content, tmp_path):
    table = read_table(written(tmp_path, content))
    assert table.columns == COLUMNS
    assert table.source == "scores.csv"


def test_it_is_known_by_its_bytes(tmp_path):
    table = read_table(written(tmp_path, PLAIN))
    assert table.sha256 == hashlib.sha256(PLAIN.encode()).hexdigest()


def test_rows_are_at_lines_of_the_file(tmp_path):
    """As an editor counts them, also below a cell of several lines and a line of separators."""
    table = read_table(written(tmp_path, 'sep=,\n\nprompt,a\n"x\ny\nz",1\n\nw,0\n'))
    assert [table.place(row) for row in range(2)] == ["scores.csv, line 4", "scores.csv, line 8"]


def test_a_short_row_is_blank_at_its_end(tmp_path):
    assert read_table(written(tmp_path, "a,b\n1,0\n0\n")).columns["b"] == ["0", ""]


def test_an_index_without_a_name_is_left_out(tmp_path):
    assert read_table(written(tmp_path, ",a,b\n0,1,0\n1,0,1\n2,1,1\n")).columns == COLUMNS


def test_a_prompt_may_be_long(tmp_path):
    """Longer than the csv module takes a cell for a mistake, whose limit is left as it was."""
    import csv

    before = csv.field_size_limit()
    table = read_table(written(tmp_path, f"prompt,a\n{'x' * (before + 1)},1\n"))
    assert table.columns["a"] == ["1"]
    assert csv.field_size_limit() == before


def test_commas_within_cells_do_not_part_columns(tmp_path):
    table = read_table(written(tmp_path, "a;b\n0,5;0,25\n1;0,75\n"))
    assert table.columns == {"a": ["0,5", "1"], "b": ["0,25", "0,75"]}


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "scores.csv is empty: it needs a line with the columns' names"),
        ("\n\n", "scores.csv is empty"),
        ("a,b\n", "scores.csv has names of columns (a, b) and no rows"),
        ("a,b\n,\n", "scores.csv has names of columns (a, b) and no rows"),
        ("a,b,a\n1,0,1\n", "scores.csv names the column a 2 times"),
        ("a,b\n0,5,0,25\n", "line 2 has 4 cells and the header 2"),
        ('a,b\n1,"0\n0,1\n', "scores.csv is no CSV file: unexpected end of data. Close every quo"),
        (b"PK\x03\x04...", "scores.csv is a spreadsheet or a zip archive, not text"),
        (b"PAR1...", "scores.csv is a Parquet file, not text"),
        (b"\x1f\x8b...", "scores.csv is a gzip archive, not text"),
        (b"a,b\n1,\xe9\n", "scores.csv is not UTF-8 text (byte 7 of 8)"),
        (b"a,b\n\0,1\n", "scores.csv holds zero bytes"),
    ],
)
def test_what_is_no_table_is_said_in_one_line(content, said, tmp_path):
    with pytest.raises(ConfigError) as refusal:
        read_table(written(tmp_path, content))
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path):
    written(tmp_path, PLAIN)
    with pytest.raises(ConfigError, match=r"score.csv is not there; did you mean 'scores.csv'\?"):
        read_table(tmp_path / "score.csv")
    with pytest.raises(ConfigError, match=r"is not there: name a CSV file that is"):
        read_table(tmp_path / "elsewhere.txt")
    with pytest.raises(ConfigError, match=r"is not there, nor its folder .*nowhere: name"):
        read_table(tmp_path / "nowhere" / "scores.csv")
    with pytest.raises(ConfigError, match="is a folder: name the file in it"):
        read_table(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path):
    link = tmp_path / "circle.csv"
    link.symlink_to(link)
    with pytest.raises(ConfigError, match=r"cannot be read: .* Name a file that you may read"):
        read_table(link)


def test_a_column_is_named_with_the_nearest(tmp_path):
    table = read_table(written(tmp_path, "base,tuned\n1,0\n"))
    assert table.column("base", "reference") == ["1"]
    with pytest.raises(ConfigError) as refusal:
        table.column("tunde", "candidate")
    assert str(refusal.value) == (
        "candidate=tunde: scores.csv has no such column; did you mean 'tuned'?"
    )


def test_a_file_without_names_is_told_that_they_are_missing(tmp_path):
    table = read_table(written(tmp_path, "0.5,1e-3\n0.7,0.2\n"))
    with pytest.raises(ConfigError, match="its first line holds numbers: write the columns' names"):
        table.column("a", "reference")
