"""Tables to files: three forms of one name, each there whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from simstudy.column_widths import COLUMNS, check_columns, column_files
from simstudy.errors import TableError
from simstudy.remote.paths import Place, place_of
from simstudy.tables.table import Table
from simstudy.whole_files import write_bytes

ENDINGS: Final = ("csv", "md", "tex")


class SavedTable(NamedTuple):
    """Where a table was written."""

    csv: Place
    md: Place
    tex: Place


def save_table(table: Any, folder: str | Place, name: str, *, label: str = "") -> SavedTable:
    """Write `<name>.csv`, `<name>.md` and `<name>.tex`, the same bytes for the same table.

    Parameters
    ----------
    folder
        Made if it is not there.
    name
        File name without its ending, such as "outcomes".
    label
        Of the LaTeX table, without its `tab:`; its name, if empty.

    Raises
    ------
    TableError
        Where it is no table, or the name is none for a file. Nothing is written then.
    """
    _check(table, name)
    paths = SavedTable(*(place_of(folder) / f"{name}.{ending}" for ending in ENDINGS))
    forms = [table.csv(), table.markdown(), table.latex(label or name)]
    for path, text in zip(paths, forms, strict=True):
        write_bytes(path, text.encode())
    return paths


def save_latex(
    table: Any,
    folder: str | Place,
    name: str,
    *,
    columns: Mapping[str, float] = COLUMNS,
    label: str = "",
) -> dict[str, Place]:
    r"""Write `<column>/<name>.tex` for each of a journal's columns, laid out for its width.

    Parameters
    ----------
    folder
        Made if it is not there.
    name
        File name without its ending.
    columns
        By name, widths in inches; from 5 inches on a table spans both columns of a page.
    label
        What `\ref{tab:...}` names; the table's name, if empty.

    Returns
    -------
    dict
        Where each was written, by the column's name.

    Raises
    ------
    TableError
        Where it is no table, the name is none for a file, or a width is none. Nothing is written
        then.
    """
    _check(table, name)
    check_columns(columns, TableError)
    texts = {column: table.latex(label or name, width=width) for column, width in columns.items()}
    files = column_files(name, columns, "tex")
    paths = {column: place_of(folder) / file for column, file in zip(columns, files, strict=True)}
    for column, path in paths.items():
        write_bytes(path, texts[column].encode())
    return paths


def _check(table: Any, name: str) -> None:
    """Refuse what is no table, and a name that is none for a file."""
    if not name or Path(name).name != name:
        raise TableError(
            f"{name!r} is no file name for a table: it has to be one name, without a folder, so "
            "that the table lands where it is looked for. Give the folder as `folder`."
        )
    if not isinstance(table, Table):
        raise TableError(
            f"a {type(table).__name__} cannot be saved as a table: `save_table` writes a "
            "simstudy.tables.Table, which has a caption and says how to round. Return one of these."
        )
