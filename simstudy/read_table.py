"""Reads users' tables from files and URLs: text, Parquet, Feather, Stata."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

from simstudy.errors import ConfigError, SimstudyError, describe, nearest
from simstudy.lazy import pd
from simstudy.places import Place, place_of

SEPARATORS = {".csv": ",;\t|", ".tsv": "\t", ".txt": ",;\t|"}
BINARY = {".parquet": "read_parquet", ".feather": "read_feather", ".dta": "read_stata"}
PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
OF_SPACES = r"\s+"
EXACT = {"float_precision": "round_trip"}  # needed for the last bit before pandas 3.1


def read_table(path: str | os.PathLike[str], **csv: Any) -> pd.DataFrame:
    """Read a table, in the format given by the file's ending.

    The separator of a text file is the one of comma, semicolon, tab and `|` that gives the first
    line the most names. In `.tsv` it is always the tab; a `.txt` file without any of these is split
    at white space. With semicolons, numbers may have decimal commas. A column without a name, in
    which R and pandas write row names, is left out.

    Parameters
    ----------
    path
        Path or URL that ends in .csv, .tsv or .txt (also compressed, as .csv.gz), .parquet,
        .feather or .dta.
    csv
        Options of `pandas.read_csv` for text, such as `dtype`, `na_values` and `keep_default_na`.

    Raises
    ------
    ConfigError
        If the file does not exist, has another ending, cannot be read, has no rows, names a column
        twice, or has rows with more cells than names.
    """
    place = place_of(path)
    packed = place.suffix.lower() if place.suffix.lower() in PACKED else ""
    ending = Path(place.name.removesuffix(place.suffix) if packed else place.name).suffix.lower()
    if ending not in {**SEPARATORS, **BINARY}:
        raise ConfigError(
            f"{place} ends in {ending or 'nothing'!r}, which is not a known format: save it as one "
            f"of {', '.join([*SEPARATORS, *BINARY])}."
        )
    try:
        with place.open("rb") as file:
            if ending in BINARY:
                table: pd.DataFrame = getattr(pd, BINARY[ending])(file)
            else:
                table = _read_text(file, ending, {**csv, "compression": PACKED.get(packed)}, place)
    except FileNotFoundError:
        siblings = place.parent.glob("*") if isinstance(place, Path) else ()
        meant = nearest(place.name, [each.name for each in siblings if each.is_file()])
        near = f"; {meant}" if meant.startswith("did you mean") else ": name a file that is."
        raise ConfigError(f"{place} is not there{near}") from None
    except SimstudyError:
        raise
    except pd.errors.EmptyDataError:
        table = pd.DataFrame()
    except Exception as error:  # a library may raise anything for a damaged file
        raise ConfigError(
            f"{place} cannot be read as {ending}: {describe(error)}. Write it again, with one cell "
            "for each name in every row (text in UTF-8)."
        ) from error
    if table.empty:
        raise ConfigError(
            f"{place} has no rows: write a line with the columns' names and one row per record."
        )
    return table


def parsed_csv(file: BinaryIO, **options: Any) -> Any:
    """Call `pandas.read_csv` so that numbers are read to the last bit by every version."""
    version = tuple(map(int, pd.__version__.split(".")[:2]))
    exact = EXACT if version < (3, 1) and options.get("engine", "c") == "c" else {}
    return pd.read_csv(file, **{**exact, **options})


def _read_text(file: BinaryIO, ending: str, options: dict[str, Any], path: Place) -> pd.DataFrame:
    def read(**how: Any) -> Any:
        file.seek(0)
        return parsed_csv(file, skipinitialspace=True, low_memory=False, **{**options, **how})

    def names(separator: str) -> list[str]:
        one_line = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
        return [str(name).strip() for name in read(**one_line, na_values=[], sep=separator).iloc[0]]

    separator = max(SEPARATORS[ending], key=lambda each: len(names(each)))
    if ending == ".txt" and len(names(separator)) == 1:
        separator = OF_SPACES
    header = names(separator)
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"{path} names the column {twice} {header.count(twice)} times: give each column "
            "another name."
        )
    table: pd.DataFrame = read(sep=separator)
    if separator == ";":
        other = read(sep=separator, decimal=",")
        points, commas = ({*each.select_dtypes("number")} for each in (table, other))
        if points - commas and commas - points:
            raise ConfigError(
                f"{path} has decimal points in {(points - commas).pop()} and decimal commas in "
                f"{(commas - points).pop()}, so numbers are ambiguous: write all with points."
            )
        table = other if commas > points else table
    if not isinstance(table.index, pd.RangeIndex):
        raise ConfigError(
            f"{path} has rows with more cells than its first line has names ({len(header)}): write "
            "one cell for each name. If numbers have decimal commas, write semicolons between "
            "cells."
        )
    table.columns = pd.Index(header)
    return table.loc[:, [bool(name) for name in header]]
