"""A file of separated values as columns of text: what spreadsheets write is read, the rest refused.

Nothing is guessed about a cell here: numbers are read later, by the column that is asked for, so
that a message can name the cell.
"""

import codecs
import contextlib
import csv
import hashlib
import io
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from simstudy.errors import ConfigError, nearest

DELIMITERS = (",", ";", "\t", "|")
ROWS_LOOKED_AT = 20  # to find the delimiter
NOT_TEXT = {
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF",
}  # by the bytes that a file of that kind begins with
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # encodings by the byte order mark that spreadsheets put first
DECLARED = re.compile(r"sep=(.)\n")  # the first line of some spreadsheets' files
NUMBER_LIKE = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?", re.IGNORECASE)


class Row(NamedTuple):
    """The cells of a record, and the line of the file on which it begins."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class TextTable:
    """Columns of text, by name.

    Parameters
    ----------
    source
        The file's name, for messages.
    sha256
        Of the file's bytes.
    columns
        The cells of each column, without spaces around them, blank where a row is short.
    lines
        The line of the file on which each row begins; the header's is 1.
    """

    source: str
    sha256: str
    columns: dict[str, list[str]]
    lines: list[int]

    def place(self, row: int) -> str:
        """Where a row stands, for a person who looks at the file."""
        return f"{self.source}, line {self.lines[row]}"

    def column(self, name: str, role: str) -> list[str]:
        """The cells of a column that a setting named; refused, with the nearest, where it is not.

        Parameters
        ----------
        role
            The setting.
        """
        if name not in self.columns:
            raise ConfigError(
                f"{role}={name}: {self.source} has no such column; {nearest(name, self.columns)}"
                f"{_headless(list(self.columns))}"
            )
        return self.columns[name]


def _headless(names: Sequence[str]) -> str:
    """What is said where the first line holds numbers."""
    if names and all(map(NUMBER_LIKE.fullmatch, names)):
        return "; its first line holds numbers: write the columns' names above them"
    return ""


def read_table(path: Path) -> TextTable:
    """Read a file of separated values, whose first line names the columns.

    Commas, semicolons, tabs and upright bars separate; UTF-8 with or without a byte order mark,
    and UTF-16 with one. Rows that are blank at the end are left out, and cells that are missing at
    the end of a row are blank.

    Raises
    ------
    ConfigError
        Where it is not there, is not such a file, has no rows, or names a column twice.
    """
    content = _bytes_of(path)
    text = _decoded(content, path.name)
    rows = _records(text, path.name)
    if not rows:
        raise ConfigError(
            f"{path.name} is empty: it needs a line with the columns' names, and a row for each "
            "prompt or task"
        )
    header, body = rows[0].cells, _without_blank_end(rows[1:])
    _refuse_twice(header, path.name)
    if not body:
        raise ConfigError(
            f"{path.name} has names of columns ({', '.join(header)}) and no rows: write one for "
            "each prompt or task"
        )
    cells = [_as_long_as(header, row, path.name) for row in body]
    by_column = zip(*cells, strict=True)
    columns = {name: list(column) for name, column in zip(header, by_column, strict=True)}
    columns.pop("", None)  # an index without a name, as data frames write it
    sha256 = hashlib.sha256(content).hexdigest()
    return TextTable(path.name, sha256, columns, [row.line for row in body])


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{path} is not there{_beside(path)}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder: name the file in it") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path} cannot be read: {why}. Name a file that you may read.") from None


def _beside(path: Path) -> str:
    """The nearest file in the same folder."""
    with contextlib.suppress(OSError):
        names = [neighbour.name for neighbour in path.parent.iterdir() if neighbour.is_file()]
        meant = nearest(path.name, names)
        return f"; {meant}" if meant.startswith("did you mean") else ": name a CSV file that is"
    return f", nor its folder {path.parent}: name a CSV file that is"


def _decoded(content: bytes, name: str) -> str:
    for signature, kind in NOT_TEXT.items():
        if content.startswith(signature):
            raise ConfigError(
                f"{name} is {kind}, not text: export the scores as CSV, or read them in Python and "
                "give them to simstudy.applied"
            )
    marked = (encoding for mark, encoding in MARKS.items() if content.startswith(mark))
    try:
        text = content.decode(next(marked, "utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{name} is not UTF-8 text (byte {error.start + 1:,} of {len(content):,}), so its "
            "columns cannot be read: save it as CSV in UTF-8"
        ) from None
    if "\0" in text:
        raise ConfigError(
            f"{name} holds zero bytes, which no text does: save it as CSV in UTF-8, or export it "
            "again"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


# ---------------------------------------------------------------- records
def _records(text: str, name: str) -> list[Row]:
    """Every record that is not a blank line; the first is the header."""
    declared = DECLARED.match(text)
    offset = 1 if declared else 0
    body = text[declared.end() :] if declared else text
    with _fields_of_any_size():
        try:
            delimiter = declared[1] if declared else _delimiter(body)
            return [Row(row.line + offset, row.cells) for row in _parsed(body, delimiter)]
        except csv.Error as error:
            raise ConfigError(
                f"{name} is no CSV file: {error}. Close every quotation mark, and double those "
                "within a cell."
            ) from None


@contextlib.contextmanager
def _fields_of_any_size() -> Iterator[None]:
    """Prompts may stand beside their scores, and be longer than the csv module expects."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _parsed(text: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True, skipinitialspace=True)
    line = 1
    for cells in reader:
        if cells:
            yield Row(line, [cell.strip() for cell in cells])
        line = reader.line_num + 1


def _delimiter(text: str) -> str:
    """The one that gives all rows the same number of columns, else the one most names are between.

    Of several that give as many to all rows, the one that gives the most.
    """
    names = text.lstrip("\n").partition("\n")[0]

    def fits(delimiter: str) -> tuple[bool, int]:
        return len(set(_widths(text, delimiter))) == 1 and delimiter in names, names.count(
            delimiter
        )

    return max(DELIMITERS, key=fits)


def _widths(text: str, delimiter: str) -> list[int]:
    """How many cells the first rows have; none, where quotation marks do not close."""
    try:
        rows = itertools.islice(_parsed(text, delimiter), ROWS_LOOKED_AT)
        return [len(row.cells) for row in rows]
    except csv.Error:
        return []


def _without_blank_end(rows: list[Row]) -> list[Row]:
    last = max((i for i, row in enumerate(rows) if any(row.cells)), default=-1)
    return rows[: last + 1]


def _as_long_as(header: list[str], row: Row, name: str) -> list[str]:
    extra = [cell for cell in row.cells[len(header) :] if cell]
    if extra:
        raise ConfigError(
            f"{name}, line {row.line} has {len(row.cells)} cells and the header "
            f"{len(header)}, so it is not known which column each belongs to. Write one cell for "
            "each name; where commas are decimal commas, separate cells by ; or tabs."
        )
    return row.cells[: len(header)] + [""] * (len(header) - len(row.cells))


def _refuse_twice(header: list[str], name: str) -> None:
    twice = next((column for column in header if column and header.count(column) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"{name} names the column {twice} {header.count(twice)} times, so it is not known "
            "which one is meant: give each a name of its own"
        )
