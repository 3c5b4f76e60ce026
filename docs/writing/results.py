"""What a page can ask of a study's committed results: rows of its summary, and its claims."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from writing.numbers import Known
from writing.refusals import PageError, listed
from writing.tables import Table, in_words


class Record:
    """A row of a table, its columns as attributes."""

    def __init__(self, values: dict[str, Any], *, what: str) -> None:
        self._values = values
        self._what = what

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._values:
            raise PageError(f"{self._what} has no {name!r}; it has {listed(self._values)}.")
        return self._values[name]

    def __repr__(self) -> str:
        return self._what

    @property
    def values(self) -> dict[str, Any]:
        """All columns by name."""
        return self._values

    def has(self, name: str) -> bool:
        """Whether the table has a column of that name, with something in it here."""
        value = self._values.get(name)
        return not (value is None or value == "" or value != value)


class Row(Record):
    """An estimate of the summary, with its `mcse`, `exact`, `n_rep` and factors."""

    def known(self) -> Known:
        return Known(float(self.estimate), float(self.mcse))


class Claim(Record):
    """A claim of the table, with `published`, `reproduced`, `mcse`, `verdict` and more."""

    def known(self) -> Known:
        """Our value of a claimed number.

        Raises
        ------
        PageError
            For a statement, whose 0 or 1 in prose would be taken for a quantity.
        """
        if self.kind == "statement":
            raise PageError(f"{self!r} is a statement, which has no number: print its verdict.")
        return Known(float(self.reproduced), float(self.mcse))

    @property
    def scored(self) -> bool:
        """Whether it is a statement of the document that no other claim counts."""
        return bool(self._values.get("scored", True))

    @property
    def right(self) -> Known:
        """The value of what the document means by the number.

        Raises
        ------
        PageError
            Where the claim has none.
        """
        if not self.has("right_name"):
            raise PageError(f"{self!r} has no right value beside it.")
        return Known(float(self.right_value), float(self.right_mcse))


class Rows:
    """Several rows of a summary; filters write the range of their estimates."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, column: str) -> list[float]:
        """The values of another column, such as `exact`."""
        return [float(getattr(row, column)) for row in self._rows]

    @property
    def least(self) -> Row:
        return min(self._rows, key=lambda row: row.known().value)

    @property
    def greatest(self) -> Row:
        return max(self._rows, key=lambda row: row.known().value)


class Study:
    """The committed results of an experiment; `common` are factors that every row is to have.

    Raises
    ------
    PageError
        Where no such results are there.
    """

    def __init__(self, results: Path, name: str, **common: Any) -> None:
        self.name = name
        self.folder = results / name
        self._common = common
        if not (self.folder / "manifest.json").exists():
            there = listed(committed(results))
            raise PageError(f"no results of {name!r} are committed; there are {there}.")

    def __repr__(self) -> str:
        return f"the study {self.name!r}"

    def where(self, **common: Any) -> Study:
        """The study, with factors that every row has unless it is asked with others."""
        return Study(self.folder.parent, self.name, **(self._common | common))

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "manifest.json").read_text(encoding="utf-8")))

    @property
    def config(self) -> dict[str, Any]:
        """What the run was asked, by the name of the setting."""
        return dict(self.manifest["config"])

    @property
    def n_rep(self) -> int:
        """Replicates of each scenario."""
        return int(self.manifest["replicates_per_scenario"])

    @property
    def n_scenarios(self) -> int:
        return int(self.manifest["scenarios"])

    @property
    def command(self) -> str:
        """What draws these results again."""
        return f"python run.py experiment={self.name}"

    @property
    def summary(self) -> Table:
        return _table(self.folder / "summary.parquet")

    @cached_property
    def claims(self) -> list[Claim]:
        table = _table(self.folder / "claims.parquet")
        rows = [table.record(row) | {"study": self.name} for row in range(table.n_rows)]
        return [Claim(row, what=f"the claim {row['claim']!r} of {self.name}") for row in rows]

    def claim(self, name: str) -> Claim:
        """A claim by its name.

        Raises
        ------
        PageError
            Where there is none of that name.
        """
        found = [claim for claim in self.claims if claim.claim == name]
        if not found:
            there = listed(claim.claim for claim in self.claims)
            raise PageError(f"{self.name} has no claim {name!r}; it has {there}.")
        return found[0]

    def n_verdict(self, verdict: str) -> int:
        """How many claims have this verdict."""
        return sum(claim.verdict == verdict for claim in self.claims)

    def row(self, measure: str, /, **factors: Any) -> Row:
        """The one row of the summary with this measure and these factors.

        Raises
        ------
        PageError
            Where there is no such row, or several.
        """
        asked = {"measure": measure, **self._common, **factors}
        rows = self.summary.chosen(asked)
        if len(rows) > 1:
            raise PageError(
                f"{len(rows)} rows of {self.name} have {in_words(asked)}: they differ in "
                f"{self.summary.differences(rows)}. Name what is meant."
            )
        return self._read(int(rows[0]))

    def rows(self, measure: str, /, **factors: Any) -> Rows:
        """All rows with this measure and these factors; a list of values stands for any of them.

        Rows without an estimate are left out.

        Raises
        ------
        PageError
            Where there are none.
        """
        rows = self.summary.chosen({"measure": measure, **self._common, **factors})
        read = [self._read(int(row)) for row in rows]
        return Rows([row for row in read if math.isfinite(row.estimate)])

    def _read(self, row: int) -> Row:
        return Row(self.summary.record(row), what=f"a row of {self.name}")


def committed(results: Path) -> list[str]:
    """The studies that have results."""
    return sorted(path.parent.name for path in results.glob("*/manifest.json"))


@cache
def _table(path: Path) -> Table:
    return Table(path)
