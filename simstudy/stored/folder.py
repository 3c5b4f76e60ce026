"""A folder of results, opened without the code of its study."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simstudy.analysis.lookup import row_with, rows_with
from simstudy.errors import StoreError, StudyError, nearest
from simstudy.lazy import pd
from simstudy.remote.paths import Place, RemotePath, place_of
from simstudy.store.manifest import MANIFEST
from simstudy.stored.blocks import plan_without_code, stored_blocks
from simstudy.stored.long_rows import LongRows
from simstudy.whole_files import read_json


def load(folder: str | os.PathLike[str] | RemotePath) -> StoredResult:
    """The results that lie in a folder such as `results/NAME`, or at a URL.

    Returns
    -------
    StoredResult
        Read-only, and read when something asks for it. The study's code is not needed, nor looked
        for.

    Raises
    ------
    StoreError
        Where there are no results.
    """
    place = place_of(folder)
    manifest = read_json(place / MANIFEST)
    if manifest is None or "study" not in manifest:
        raise _no_results(place)
    return StoredResult(place, manifest)


def _no_results(place: Place) -> StoreError:
    below = sorted(path.parent.name for path in place.glob(f"*/{MANIFEST}"))
    if below:
        return StoreError(f"{place} holds several studies; name one: {', '.join(below)}.")
    if not place.exists():
        return StoreError(f"{place} is not there: name the folder of a study, such as results/NAME")
    return StoreError(
        f"{place} holds no {MANIFEST}, which says what was found: it is no study's folder, or its "
        "run has not ended. Run it to the end, and load it then."
    )


@dataclass(frozen=True, repr=False)
class StoredResult:
    """What a folder of results holds.

    Parameters
    ----------
    folder
        Where it lies.
    manifest
        What it says of how it was made.
    """

    folder: Place
    manifest: Mapping[str, Any]

    def __repr__(self) -> str:
        n_scenarios, n_rep = (self.manifest[what] for what in ("scenarios", "replicates"))
        n_failed = self.manifest.get("failed_replicates") or 0
        failed = f" ({n_failed:,} failed)" * bool(n_failed)
        said = f"{n_scenarios:,} scenarios, {n_rep:,} replicates{failed}"
        return f"<{self.name}: {said}, in {self.folder}>"

    @property
    def name(self) -> str:
        """Of the study."""
        return str(self.manifest["study"])

    # ---------------------------------------------------------------- what was found
    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per scenario, cell of the axes, and measure, each number with its MCSE."""
        return self._frame("summary")

    @cached_property
    def scenarios(self) -> pd.DataFrame:
        """The factors of each scenario, beside its key in `scenario`."""
        return self._frame("scenarios")

    @cached_property
    def claims(self) -> pd.DataFrame:
        """One row per claim of the document; none where nobody published the results."""
        return self._frame_or_none("claims")

    @cached_property
    def failures(self) -> pd.DataFrame:
        """One row per failed replicate and cell; none where nothing failed."""
        return self._frame_or_none("failures")

    @cached_property
    def warnings(self) -> pd.DataFrame:
        """One row per text of a warning and cell of the axes."""
        return self._frame_or_none("warnings")

    def _frame(self, name: str) -> pd.DataFrame:
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            raise StoreError(f"{path} is not there, although {MANIFEST} is: run the study again.")
        with path.open("rb") as file:
            return pd.read_parquet(file)

    def _frame_or_none(self, name: str) -> pd.DataFrame:
        return self._frame(name) if (self.folder / f"{name}.parquet").exists() else pd.DataFrame()

    def value(self, measure: str, **where: Any) -> pd.Series:
        """The one row of the summary with this measure and these factors.

        Raises
        ------
        LookupError
            Where there is none, or more than one; KeyError for a factor that it does not have.
        """
        return row_with(self.summary, measure, where)

    # ---------------------------------------------------------------- replicates
    @cached_property
    def n_rep(self) -> dict[str, int]:
        """Replicates behind the summary, by the key of a scenario."""
        said, keys = self.manifest["replicates_per_scenario"], self.scenarios["scenario"]
        if isinstance(said, int):
            return dict.fromkeys(keys, said)
        n_methods = len(keys) // len(said)  # those of a scenario follow each other
        each = np.repeat(list(said.values()), n_methods).tolist()
        return dict(zip(keys, each, strict=True))

    def replicates(self, columns: Sequence[str] | None = None, **where: Any) -> pd.DataFrame:
        """The replicates behind the summary, with their factors.

        Parameters
        ----------
        columns
            Of those that were drawn; all, if None.
        **where
            Values of factors, or labels of axes: rows that have others are left out, and of other
            scenarios nothing is read.

        Returns
        -------
        DataFrame
            A row for each replicate (`rep`, from 0) and cell of the axes. Factors and axes are
            categories; what failed is missing, with its `error`.

        Raises
        ------
        StoreError
            Where none were kept.
        """
        rows = self._rows
        known = [*self.scenarios.columns.drop("scenario"), *rows.plan.axes]
        for name in where:
            if name not in known:
                raise StudyError(f"{name!r} is no factor and no axis; {nearest(name, known)}")
        of_factors = {name: value for name, value in where.items() if name in self.scenarios}
        chosen = rows_with(self.scenarios, of_factors)
        if chosen.empty:
            raise StudyError(
                f"no scenario has {of_factors}; see scenarios for those that there are"
            )
        frame = rows.frame(list(chosen["scenario"]), columns)
        of_axes = {name: value for name, value in where.items() if name not in of_factors}
        return rows_with(frame, of_axes).reset_index(drop=True)

    @cached_property
    def _rows(self) -> LongRows:
        store = stored_blocks(self.folder, self.n_rep, self.manifest.get("seed"))
        return LongRows(plan_without_code(self.name, store), store, self.scenarios, self.n_rep)
