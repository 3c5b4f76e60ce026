"""Files of rows, by the endings of their names: CSV, Parquet, Feather, and Stata's own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simstudy.errors import ConfigError, describe, nearest
from simstudy.lazy import pd

NOTHING = ["", "NA", "<NA>", "N/A", "n/a", "NaN", "nan"]  # where a level is to stand
EMPTY = [*NOTHING, "None", "null", "NULL", "#N/A", "."]  # where a number is to stand
PACKED = (".gz", ".bz2", ".xz", ".zip")  # which pandas unpacks as it reads text


def read_rows(
    path: Path, labels: Collection[str] = (), texts: Collection[str] = ()
) -> pd.DataFrame:
    """The rows of a file.

    Parameters
    ----------
    labels
        Columns of a text file that tell rows apart: there `None` and `null` are levels.
    texts
        Those of them that are no numbers even if all look like some: `01` is not `1`.

    Raises
    ------
    ConfigError
        Where it is not there, has an ending that says nothing, cannot be read, or is empty.
    """
    read = _reader(path, _Labels(frozenset([*labels, *texts]), frozenset(texts)))
    if not path.is_file():
        raise ConfigError(_absent(path))
    try:
        rows: pd.DataFrame = read(path)
    except pd.errors.EmptyDataError:
        rows = pd.DataFrame()
    except Exception as error:  # whatever a library makes of a damaged file
        raise ConfigError(
            f"{path} cannot be read as {_ending(path)}: {describe(error)}. Write it again, with "
            "one row for each replicate and method (text in UTF-8)."
        ) from error
    if rows.empty:
        raise ConfigError(f"{path} has no rows, so there is nothing to summarise: write it again.")
    return rows


@dataclass(frozen=True)
class _Labels:
    """Which columns of a text have labels, and which of these are texts in any case."""

    names: frozenset[str]
    texts: frozenset[str]

    def read(self, file: Path, **how: Any) -> pd.DataFrame:
        """A text with a row for each line; `how` is what pandas has to know."""
        there = pd.read_csv(file, nrows=0, **how).columns
        nothing = {name: NOTHING if name in self.names else EMPTY for name in there}
        texts = {name: str for name in there if name in self.texts}
        rows: pd.DataFrame = pd.read_csv(
            file, keep_default_na=False, na_values=nothing, dtype=texts, **how
        )
        return rows

    def read_commas(self, file: Path) -> pd.DataFrame:
        """Commas between cells, or semicolons, where decimals have the commas."""
        head = [*pd.read_csv(file, nrows=0).columns]
        is_other = len(head) == 1 and ";" in head[0]
        return self.read(file, **({"sep": ";", "decimal": ","} if is_other else {}))


def _reader(path: Path, labels: _Labels) -> Callable[[Path], Any]:
    readers: dict[str, Callable[[Path], Any]] = {
        ".csv": labels.read_commas,
        ".tsv": lambda file: labels.read(file, sep="\t"),
        ".txt": lambda file: labels.read(file, sep=None, engine="python"),
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
