"""Data sets to predict from, by name or as a file: features, and a response as the last column.

A data set is its numbers: rows in their order, and not the file that they came in, nor the names
of its columns. So the same table from another source, or in another layout, is the same scenario
with the same random streams.

The Boston housing data (Harrison & Rubinfeld 1978, J. Environ. Econ. Manage. 5, 81-102; as given by
Belsley, Kuh & Welsch 1980) are here to reproduce published analyses and for nothing else. Their
column B is a function of the share of Black residents, made on the assumption that segregation
raises the value of houses; scikit-learn took the data out for that. They are fetched when a user
asks for them, and no part of this package.
"""

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from lzma import LZMAError
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from simstudy.data.content_hash import hash_of_array
from simstudy.data.parts import Data
from simstudy.errors import ConfigError, NotHereError, StudyError, describe, nearest
from simstudy.lazy import pd
from simstudy.shapes import Float
from simstudy.whole_files import write_bytes

Table = Float[np.ndarray, "row column"]

OFFLINE = "data=diabetes and data=friedman need no download, and data=path/to.csv target=COLUMN"
PATIENCE = 20.0  # seconds for each address

UNREADABLE = (ValueError, OSError, EOFError, ImportError, StudyError, BadZipFile, LZMAError)
"""What a broken file, or a compression that this machine cannot read, is reported as."""

BOSTON_SHAPE = (506, 14)
BOSTON_SHA256 = "3f290d4cc104404b603bdf63a4befbb45902730c9c718ec5d69ab387fac1a41b"
"""Of the numbers in this order, as `simstudy.data.content_hash` hashes an array."""
BOSTON_SOURCES = (
    "http://lib.stat.cmu.edu/datasets/boston",  # StatLib, whose layout takes two lines a row
    "https://raw.githubusercontent.com/selva86/datasets/master/BostonHousing.csv",
)


def regression_data(named: str, target: str | None = None) -> Data:
    """A data set as an array: a row for each observation, the response in the last column.

    Parameters
    ----------
    named
        `boston`, `diabetes`, or the path of a table (`.csv` or `.parquet`, compressed or not).
    target
        Of a file, the column that is to be predicted; all others are features.

    Raises
    ------
    NotHereError
        Where the data cannot be had on this machine at the moment.
    ConfigError
        Where the file is no table of numbers, or the target is not in it.
    """
    if named in NAMED:
        if target is not None:
            raise ConfigError(
                f"target={target}: {named} has its own response, so another one would be other "
                "data under its name. Leave target out, or give a file as data=path/to.csv."
            )
        return Data.array(NAMED[named](), name=named)
    path = Path(named)
    if not path.suffix:
        raise ConfigError(
            f"data={named} is neither a data set known by name ({', '.join([*NAMED, 'friedman'])}) "
            "nor a file with an ending, so there is nothing to read. Give a name, or "
            "data=path/to.csv with target=COLUMN."
        )
    return Data.array(_from_file(path, target), name=path.name.split(".")[0])


# ---------------------------------------------------------------- files
def _from_file(path: Path, target: str | None) -> Table:
    if not _is_file(path):
        raise NotHereError(
            f"data={path} is not there, so there is nothing to predict. Give the path of a table "
            f"from the folder that the run starts in; {OFFLINE} are the other choices."
        )
    try:
        frame = Data.file(path).frame()
    except UNREADABLE as error:
        raise ConfigError(
            f"data={path} cannot be read as a table: {describe(error)}. Give a file of columns "
            f"with their names in the first line; {OFFLINE} are the other choices."
        ) from None
    _refuse_nameless(frame, path)
    return _numbers(frame, path, _checked_target(frame, path, target))


def _is_file(path: Path) -> bool:
    """Whether it is there; what is no path, or may not be looked at, is not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _refuse_nameless(frame: "pd.DataFrame", path: Path) -> None:
    nameless = [str(name) for name in frame if re.fullmatch(r"(Unnamed: \d+)?", str(name))]
    if nameless:
        raise ConfigError(
            f"{len(nameless)} of {len(frame.columns)} columns of {path.name} have no name, as the "
            "row numbers that DataFrame.to_csv writes, and they would be features. Write the file "
            "with index=False, or give each column a name."
        )


def _checked_target(frame: "pd.DataFrame", path: Path, target: str | None) -> str:
    columns = [str(column) for column in frame.columns]
    if target not in columns or len(columns) < 2:
        said = "target is not given" if target is None else f"target={target}"
        raise ConfigError(
            f"{said}, and of {path.name} one column has to be the response and the others "
            f"features; {nearest(target or '', columns)}"
        )
    return target


def _numbers(frame: "pd.DataFrame", path: Path, target: str) -> Table:
    """All columns as floats, the target last."""
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    ordered = frame[[*(name for name in frame.columns if name != target), target]]
    texts = [str(name) for name in ordered if not pd.api.types.is_numeric_dtype(ordered[name])]
    if texts:
        raise ConfigError(
            f"columns {', '.join(texts)} of {path.name} hold no numbers, and a network takes "
            "nothing else. Code them as numbers, or leave them out of the file."
        )
    table = ordered.to_numpy(dtype=float, na_value=np.nan)
    n_missing = int((~np.isfinite(table)).any(axis=1).sum())
    if n_missing:
        raise ConfigError(
            f"{n_missing} of {len(table)} rows of {path.name} have missing or infinite values, "
            "from which nothing can be predicted. Drop or fill them before."
        )
    return table


# ---------------------------------------------------------------- by name
def diabetes() -> Table:
    """Disease progression of 442 patients by ten measurements, as scikit-learn ships them.

    References
    ----------
    Efron, Hastie, Johnstone & Tibshirani (2004), Ann. Statist. 32, 407-499.
    """
    try:
        from sklearn.datasets import load_diabetes
    except ImportError:
        raise NotHereError(
            "data=diabetes comes with scikit-learn, which is not installed. Install it with "
            "pip install 'simstudy[models]', or choose data=friedman, which needs nothing."
        ) from None
    found = load_diabetes(scaled=False)
    return np.column_stack([found.data, found.target]).astype(float)


def boston() -> Table:
    """Median values of houses in 506 tracts by 13 features: from the user's cache, or fetched."""
    kept = boston_cache()
    if _is_file(kept):
        return _checked_boston(Data.file(kept).bytes(), str(kept))
    content = fetched(BOSTON_SOURCES, kept)
    with contextlib.suppress(OSError):  # without a copy, the next run fetches it anew
        write_bytes(kept, content)
    return parsed_boston(content)


def boston_cache() -> Path:
    """Where a copy of the data is kept, in any of the layouts that `parsed_boston` reads."""
    asked = Path(os.environ.get("XDG_CACHE_HOME", ""))
    cache = asked if asked.is_absolute() else Path.home() / ".cache"
    return cache / "simstudy" / "data" / "boston.txt"


def fetched(sources: Sequence[str], kept: Path) -> bytes:
    """The content of the first address that answers with the right numbers."""
    from http.client import HTTPException
    from urllib.error import URLError
    from urllib.request import urlopen

    troubles = []
    for address in sources:
        try:
            with urlopen(address, timeout=PATIENCE) as answer:
                content = bytes(answer.read())
        except (HTTPException, URLError, OSError) as error:
            troubles.append(f"{address}: {describe(error)}")
            continue
        if is_boston(content):
            return content
        troubles.append(f"{address}: other numbers, or none")
    raise NotHereError(
        f"data=boston is not at {kept} and could not be fetched ({'; '.join(troubles)}). Put a "
        f"copy there, or give your own as data=path/to.csv target=medv; {OFFLINE} are the other "
        "choices."
    )


def is_boston(content: bytes) -> bool:
    """Whether a file holds the numbers of the data set."""
    return hash_of_array(parsed_boston(content)) == BOSTON_SHA256


def _checked_boston(content: bytes, where: str) -> Table:
    table = parsed_boston(content)
    if not is_boston(content):
        raise StudyError(
            f"{where} holds {table.shape} numbers with the checksum {hash_of_array(table)[:12]} "
            f"and not the {BOSTON_SHAPE} of the Boston housing data with {BOSTON_SHA256[:12]}: "
            "results would go by their name and be of other data. Delete it or put a right copy "
            "there, or give it as data=path/to.csv with target=COLUMN."
        )
    return table


def parsed_boston(content: bytes) -> Table:
    """Rows in StatLib's layout, in that of scikit-learn's old file, or in a plain table.

    Whatever has letters in it is about the data; the rest are the numbers, row by row.
    """
    lines = content.decode("utf-8", "replace").replace('"', "").splitlines()
    without_words = " ".join(line for line in lines if not re.search(r"[A-DF-Za-df-z]", line))
    tokens = re.split(r"[\s,]+", without_words.strip(" ,"))
    if tokens[:2] == ["506", "13"]:  # the first line of scikit-learn's file: rows and features
        del tokens[:2]
    try:
        numbers = np.array(tokens, dtype=float)
    except ValueError:
        return np.empty((0, BOSTON_SHAPE[1]))
    n_column = BOSTON_SHAPE[1]
    if len(numbers) % n_column:  # numbers too many or too few: rows would be a guess
        return np.empty((0, n_column))
    return numbers.reshape(-1, n_column)


NAMED: dict[str, Callable[[], Table]] = {"boston": boston, "diabetes": diabetes}
"""Data sets that are known by a name."""
