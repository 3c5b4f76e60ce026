"""Files of rows, by the endings of their names: CSV, Parquet, Feather, and Stata's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from simstudy.errors import ConfigError, describe, nearest
from simstudy.lazy.pandas import pd

PACKED = (".gz", ".bz2", ".xz", ".zip")  # which pandas unpacks as it reads text


def read_rows(path: Path) -> pd.DataFrame:
    """The rows of a file.

    Raises
    ------
    ConfigError
        Where it is not there, has an ending that says nothing, cannot be read, or is empty.
    """
    read = _reader(path)
    if not path.is_file():
        raise ConfigError(_absent(path))
    try:
        rows: pd.DataFrame = read(path)
    except pd.errors.EmptyDataError:
        rows = pd.DataFrame()
    except Exception as error:  # whatever a library makes of a damaged file
        raise ConfigError(
            f"{path} cannot be read as {_ending(path)}: {describe(error)}. Write it again, with "
            "one row for each replicate and method."
        ) from error
    if rows.empty:
        raise ConfigError(f"{path} has no rows, so there is nothing to summarise: write it again.")
    return rows


def _reader(path: Path) -> Callable[[Path], Any]:
    readers: dict[str, Callable[[Path], Any]] = {
        ".csv": pd.read_csv,
        ".tsv": lambda file: pd.read_csv(file, sep="\t"),
        ".txt": lambda file: pd.read_csv(file, sep=None, engine="python"),
        ".parquet": pd.read_parquet,
        ".feather": pd.read_feather,
        ".dta": pd.read_stata,
    }
    ending = _ending(path)
    if ending not in readers:
        raise ConfigError(
            f"{path} ends in {ending or 'nothing'!r}, which does not say what it holds. Write one "
            f"of {', '.join(readers)}: R has write.csv and arrow::write_parquet, Stata its .dta."
        )
    return readers[ending]


def _ending(path: Path) -> str:
    packed = path.suffix.lower() in PACKED
    return Path(path.stem if packed else path.name).suffix.lower()


def _absent(path: Path) -> str:
    there = [beside.name for beside in path.parent.glob("*") if beside.is_file()]
    meant = nearest(path.name, there)
    near = meant if meant.startswith("did you mean") else "name a file that is"
    return f"{path} is not there; {near}"
