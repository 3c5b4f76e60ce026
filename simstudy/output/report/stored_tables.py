"""Tables that a study wrote beside its figures, as its page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from simstudy.errors import describe
from simstudy.lazy import pd
from simstudy.output.origin import TABLES
from simstudy.output.report.html_tables import HtmlTable, html_table, table_of_grid
from simstudy.remote.paths import Place
from simstudy.tables.save import ENDINGS
from simstudy.tables.table import Table


@dataclass(frozen=True)
class StoredTable:
    """A table by its name, with the files that hold it, or why it cannot be shown.

    Parameters
    ----------
    title, notes
        What stands above it and below it, if it says so.
    """

    name: str
    files: list[str]
    table: HtmlTable | None
    trouble: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()


def stored_tables(
    folder: Place, made: Mapping[str, Table] = MappingProxyType({})
) -> list[StoredTable]:
    """Every `tables/*.csv` of a study's folder; none where there is no such folder.

    Parameters
    ----------
    made
        Tables that were written there, by name: shown as they are rounded, titled and explained.
    """
    found: dict[str, Place] = {path.name: path for path in (folder / TABLES).glob("*.csv")}
    return [_stored(found[name], made) for name in sorted(found)]


def _stored(path: Place, made: Mapping[str, Table]) -> StoredTable:
    names = (f"{path.stem}.{kind}" for kind in ENDINGS)
    files = [name for name in names if (path.parent / name).exists()]
    return _as_made(path.stem, files, made[path.stem]) if path.stem in made else _read(path, files)


def _as_made(name: str, files: list[str], table: Table) -> StoredTable:
    grid = table.grid
    shown = table_of_grid(grid, f"Table {name}")
    return StoredTable(name, files, shown, title=grid.caption, notes=grid.notes)


def _read(path: Place, files: list[str]) -> StoredTable:
    """What a file alone says, to four digits."""
    try:
        frame = pd.read_csv(path.open("rb"), keep_default_na=False, na_values=[""])
        return StoredTable(path.stem, files, html_table(frame, f"Table {path.stem}"))
    except Exception as error:  # whatever is in a file of that name
        return StoredTable(path.stem, files, None, f"{path.name} cannot be read: {describe(error)}")
