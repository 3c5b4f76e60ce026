"""A user's numbers: files and arrays read, columns found, cells checked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.errors import ConfigError, DesignError, nearest
from simstudy.lazy import pd
from simstudy.places import place_of as place_of_path
from simstudy.read_table import read_table

Values = Float[np.ndarray, " row"]

LARGEST = 1e100  # number: its square, times as many as there are, is a double
CELL_WIDTH = 40  # characters of a cell in a message
TRUE_WORDS = ("1", "1.0", "true", "yes", "positive", "pos")
FALSE_WORDS = ("0", "0.0", "false", "no", "negative", "neg")
NO_NUMBER = "so nothing can be computed from it. Write a number, or leave the row out."


class Source(NamedTuple):
    """Source of numbers.

    Attributes
    ----------
    name
        Name of the file; "arrays" for arrays.
    sha256
        SHA-256 of the file's bytes, or of the arrays' values.
    """

    name: str
    sha256: str

    @classmethod
    def of_file(cls, path: str) -> Source:
        """Identify a file by its name and the hash of its bytes."""
        place = place_of_path(path)
        return cls(place.name, hashlib.sha256(place.read_bytes()).hexdigest())


@dataclass(frozen=True)
class Table:
    """Columns of a file whose names the settings have, or arrays under the default names.

    Parameters
    ----------
    columns
        A frame whose rows are numbered from 0, or a dictionary of arrays.
    settings
        The settings of the method; `y="response"` names the column of the role `y`.
    source
        The file; None for arrays.
    """

    columns: Any
    settings: Any
    source: Source | None = None

    @classmethod
    def read(cls, path: str, settings: Any, labels: Sequence[str] = ()) -> Table:
        """Read a table file; only blank cells are missing.

        Parameters
        ----------
        labels
            Further columns that stay text; groups, models and prompts always do.
        """
        roles = (getattr(settings, role, None) for role in ("cluster", "model", "prompt"))
        texts = {name: str for name in (*roles, *labels) if name is not None}
        table = read_table(path, dtype=texts, keep_default_na=False, na_values=[""])
        return cls(table, settings, Source.of_file(path))

    @property
    def name(self) -> str:
        """Name of the file, for messages; empty for arrays."""
        return "" if self.source is None else self.source.name

    def source_or(self, *arrays: Any) -> Source:
        """The file; of arrays a hash of the values that were read."""
        if self.source is not None:
            return self.source
        digest = hashlib.sha256()
        for values in arrays:
            digest.update(np.ascontiguousarray(values).tobytes())
        return Source("arrays", digest.hexdigest())

    def column(self, role: str, name: str | None = None) -> Any:
        """Find the column of a role, or suggest the nearest name.

        Parameters
        ----------
        name
            Name of the column. Default: the one in the settings.

        Raises
        ------
        ConfigError
            If there is no such column.
        """
        name = getattr(self.settings, role) if name is None else name
        if name in self.columns:
            return self.columns[name]
        known = nearest(name, map(str, self.columns))
        stop = "" if known.endswith("?") else "."
        raise ConfigError(
            f"{role}={name}: {self.name} has no such column; {known}{stop} Name it with "
            f"{role}=COLUMN."
        )

    def numbers(self, role: str, name: str | None = None) -> Values:
        """Read a column of numbers without blanks; `name` as in `column`.

        Raises
        ------
        SimstudyError
            Naming the column, or the first cell that is no number.
        """
        shown = getattr(self.settings, role) if name is None else name
        return numbers_of(shown, self.column(role, name), self.name)

    def codes(self, n_rows: int) -> Int[np.ndarray, " row"] | None:
        """Number the groups of dependent cases from 0; None without groups.

        Raises
        ------
        DesignError
            If a label is missing, there are not as many as cases, or there is one group only.
        """
        if self.source is None:
            groups = self.columns.get("cluster")
        else:
            groups = None if self.settings.cluster is None else self.column("cluster")
        if groups is None:
            return None
        texts = texts_of(groups)
        if len(texts) != n_rows:
            raise DesignError(
                f"cluster has {len(texts)} labels for {n_rows} cases. Give one for each."
            )
        if (blank := (texts == "").to_numpy()).any():
            place = place_of(int(blank.argmax()), self.name)
            raise DesignError(f"{place}: cluster is blank, so its group is not known.")
        codes, names = pd.factorize(texts)
        if len(names) < 2:
            raise DesignError(
                f"cluster has one group ({names[0]!r}), and a spread between groups needs at least "
                "2. Leave cluster out if cases are independent."
            )
        return np.asarray(codes, dtype=np.int64)


# ---------------------------------------------------------------- cells as numbers
def numbers_of(
    name: str, cells: Any, source: str = "", advice: str = NO_NUMBER, *, blanks: bool = False
) -> Values:
    """Read a column as numbers.

    Parameters
    ----------
    source, advice
        For messages: the file that the rows are of, and what to do about a cell without a number.
    blanks
        Whether cells may be blank or missing, which are then NaN.

    Raises
    ------
    DesignError
        Naming the first cell that is no finite number, by row and value.
    """
    if np.ndim(cells) != 1:
        raise DesignError(
            f"{name} has shape {np.shape(cells)}, and one value for each case is needed. Give one "
            "dimension, such as predict_proba(X)[:, 1]."
        )
    column = pd.Series(cells)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
    blank = column.isna().to_numpy()
    if column.dtype.kind not in "biuf":
        blank = blank | (column.astype(str).str.strip() == "").to_numpy()
    if (wrong := ~blank & ~(np.abs(numbers) <= LARGEST)).any():
        at = int(wrong.argmax())
        what = "not a number" if np.isnan(numbers[at]) else "not finite"
        raise DesignError(
            f"{place_of(at, source)}: {name} is {str(column.iloc[at])[:CELL_WIDTH]!r}, which is "
            f"{what}, {advice}"
        )
    if blank.any() and not blanks:
        place = place_of(int(blank.argmax()), source)
        raise DesignError(f"{place}: {name} is blank or missing, {advice}")
    return numbers


def place_of(row: int, source: str = "") -> str:
    """Format a row number: row 1 is the first below the names."""
    return f"{source}, row {row + 1}" if source else f"row {row + 1}"


def texts_of(labels: Any) -> pd.Series[Any]:
    """Read labels as stripped text, empty where missing."""
    column = pd.Series(labels)
    return column.astype(object).where(column.notna(), "").astype(str).str.strip()


def is_positive(
    name: str, cells: Any, positive: str | None, source: str
) -> Bool[np.ndarray, " row"]:
    """Read labels of two classes as whether each case is positive.

    Parameters
    ----------
    positive
        The label of positive cases; None if labels are 0 and 1, true and false, or the like.

    Raises
    ------
    DesignError
        If labels are missing, not of two classes, or nothing says which one is positive.
    """
    codes, labels = pd.factorize(pd.Series(cells), use_na_sentinel=False)
    texts = texts_of(labels)
    found = list(texts.unique())
    if "" in found:
        row = int((texts == "").to_numpy()[codes].argmax())
        raise DesignError(f"{place_of(row, source)}: {name} is blank, so its class is not known.")
    shown = ", ".join(map(repr, found[:4])) + (", ..." if len(found) > 4 else "")
    if len(found) > 2:
        raise DesignError(
            f"{name} has {len(found)} different labels ({shown}), and two classes are needed. "
            "Write 1 for positive cases and 0 for the others."
        )
    if positive is None:
        if not {word.lower() for word in found} <= {*TRUE_WORDS, *FALSE_WORDS}:
            raise DesignError(
                f"{name} has the labels {shown}, and nothing says which one is positive. Add "
                f"positive={found[0]}, or write 0 and 1."
            )
        answer = texts.str.lower().isin(TRUE_WORDS)
    else:
        answer = texts.isin([positive, f"{positive}.0", positive.removesuffix(".0")])
        if not answer.any():
            raise DesignError(f"positive={positive}: no case of {name} has that label ({shown}).")
    if answer.all() or not answer.any():
        raise DesignError(
            f"{name} has one class only ({shown}): a threshold is set with positive cases, and its "
            "price is counted among the negative ones. Give cases of both classes."
        )
    return np.asarray(answer.to_numpy()[codes])


def check_same_length(**columns: Any) -> int:
    """Refuse columns of different lengths, and return the number of rows.

    Raises
    ------
    DesignError
        Naming both columns.
    """
    (first, values), *others = columns.items()
    for name, other in others:
        if len(other) != len(values):
            raise DesignError(
                f"{first} has {len(values):,} values and {name} {len(other):,}, so they do not "
                "belong to the same cases. Give one of each for every case."
            )
    return len(values)
