"""Opens a folder of results without the code of its study."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from simstudy.analysis.comparisons import contrast_of
from simstudy.analysis.lookup import SUMMARY, SummaryAccess, rows_with
from simstudy.design.plan import Plan
from simstudy.errors import StoreError, StudyError, describe, in_one_line, nearest
from simstudy.lazy import pd
from simstudy.measures import Measure
from simstudy.measures.contrasts import Scale, paired
from simstudy.remote.paths import Place, place_of
from simstudy.store.arrow_schema import ERROR, REP, WARNING
from simstudy.store.block_files import provenance_of_files
from simstudy.store.blocks import Store, damaged_file_error, files_at
from simstudy.store.columns import columns_of, simulated_columns
from simstudy.store.files import REPLICATES
from simstudy.store.manifest import MANIFEST, file_hash, listed_files, read_manifest
from simstudy.store.provenance import UNKNOWN, Provenance
from simstudy.store.runs import is_used, study_folder

if TYPE_CHECKING:
    from simstudy.tables.table import Table


def load(folder: str | os.PathLike[str] | Place) -> StoredResult:
    """Load the results in a folder such as `results/NAME`, or at a URL.

    Parameters
    ----------
    folder
        Folder of one study, or its URL.

    Returns
    -------
    StoredResult
        Read-only, and read when something asks for it. The study's code is not needed, nor looked
        for.

    Raises
    ------
    StoreError
        If there are no results.
    """
    place = place_of(folder)
    manifest = read_manifest(place)
    if manifest is None or "study" not in manifest:
        below = sorted(path.parent.name for path in place.glob(f"*/{MANIFEST}"))
        if below:
            raise StoreError(f"{place} holds several studies; name one: {', '.join(below)}.")
        raise StoreError(
            f"{place} holds no {MANIFEST}, so it is not the folder of a study whose run has ended: "
            "name one, such as results/NAME."
        )
    return StoredResult(place, manifest)


@dataclass(frozen=True, repr=False)
class StoredResult(SummaryAccess):
    """A result loaded from a folder.

    Parameters
    ----------
    folder
        The folder of one study.
    manifest
        Its manifest.
    """

    folder: Place
    manifest: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        """Explain where to find what needs the study's code."""
        raise AttributeError(
            f"a loaded result has no {name!r}. If a fresh result has it, "
            f"study.partial_result(out={str(self.folder.parent)!r}) gives one of this folder."
        )

    def _short_repr(self) -> str:
        n_scenarios, n_rep = (self.manifest[what] for what in ("scenarios", "replicates"))
        failed = f" ({self.n_failed:,} failed)" * bool(self.n_failed)
        text = f"{n_scenarios:,} scenarios, {n_rep:,} replicates{failed}"
        return f"<{self._name}: {text}, in {self.folder}>"

    @property
    def _name(self) -> str:
        return str(self.manifest["study"])

    # ---------------------------------------------------------------- what was found
    @cached_property
    def summary(self) -> pd.DataFrame:
        """The summary: one row per scenario, cell and measure, each with its MCSE."""
        return self._frame("summary")

    @cached_property
    def summary_all_methods(self) -> pd.DataFrame:
        """The summary over replicates in which all methods succeeded (published results)."""
        return self._frame("summary_all_methods")

    @property
    def n_failed(self) -> int:
        """The number of replicates that failed in any cell."""
        return int(self.manifest.get("failed_replicates") or 0)

    @cached_property
    def scenarios(self) -> pd.DataFrame:
        """The factors of each scenario, with its key in `scenario`."""
        return self._frame("scenarios")

    @cached_property
    def claims(self) -> pd.DataFrame:
        """One row per claim; empty if the results are not published."""
        return self._frame("claims", or_else=pd.DataFrame())

    @cached_property
    def failures(self) -> pd.DataFrame:
        """One row per failed replicate and cell; empty without failures."""
        return self._frame("failures", or_else=pd.DataFrame())

    @cached_property
    def warnings(self) -> pd.DataFrame:
        """One row per warning text and cell."""
        return self._frame("warnings", or_else=pd.DataFrame())

    def _frame(self, name: str, or_else: pd.DataFrame | None = None) -> pd.DataFrame:
        content = self._content(f"{name}.parquet", is_needed=or_else is None)
        if content is None:
            return cast(pd.DataFrame, or_else)
        try:
            return pd.read_parquet(BytesIO(content))
        except Exception as error:  # a file may hold anything
            path = self.folder / f"{name}.parquet"
            raise StoreError(
                f"{path} is damaged ({describe(error)}): run the study again."
            ) from None

    def _content(self, name: str, *, is_needed: bool) -> bytes | None:
        """The bytes of an output, which have to be those that the manifest lists.

        Outputs of another run, as a copy that was interrupted leaves them, are refused.
        """
        path, digest = self.folder / name, self._files.get(name, "")
        if not digest and not (is_needed or path.exists()):
            return None
        found = file_hash(path)
        if not found:
            raise StoreError(f"{path} is not there, although {MANIFEST} is: run the study again.")
        if digest and found != digest:
            raise StoreError(
                f"{path} is not the file that {MANIFEST} lists: its content differs, so its "
                "numbers may be another run's. Copy the folder again, or run the study again."
            )
        return path.read_bytes()

    @cached_property
    def _files(self) -> dict[str, str]:
        return listed_files(self.manifest, self.folder)

    def table(self, name: str = SUMMARY, *, columns: str | None = None) -> Table:
        """The summary as a table; `columns` names an axis whose labels become columns."""
        return self._summary_table(name, columns)

    # ---------------------------------------------------------------- replicates
    @cached_property
    def n_rep(self) -> dict[str, int]:
        """The number of replicates behind the summary, by scenario key."""
        said, keys = self.manifest["replicates_per_scenario"], self.scenarios["scenario"]
        if isinstance(said, int):
            return dict.fromkeys(keys, said)
        n_methods = len(keys) // len(said)  # those of a scenario follow each other
        each = np.repeat(list(said.values()), n_methods).tolist()
        return dict(zip(keys, each, strict=True))

    @property
    def replicates(self) -> pd.DataFrame:
        """All replicates behind the summary, as `rows` returns them."""
        return self.rows()

    def values(self, column: str, **factors: Any) -> np.ndarray:
        """A column of one scenario, at one position of each axis: `(rep,)`.

        Raises
        ------
        LookupError
            If several scenarios, or several positions, have these factors.
        """
        rows = self.rows([column], **factors)
        if rows[REP].duplicated().any():
            open_names = [
                str(name)
                for name in rows
                if name not in (REP, column) and rows[name].astype(str).nunique() > 1
            ]
            raise LookupError(f"it is open which {', '.join(open_names)} is meant: name it too.")
        return rows[column].to_numpy()

    def rows(self, columns: Sequence[str] | None = None, **where: Any) -> pd.DataFrame:
        """The replicates behind the summary, with their factors.

        Parameters
        ----------
        columns
            Stored columns. Default: all.
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
            If no replicates were kept.
        """
        of_factors = {name: value for name, value in where.items() if name in self.scenarios}
        chosen = rows_with(self.scenarios, of_factors)
        if chosen.empty:
            raise StudyError(f"no scenario has {of_factors}; `scenarios` lists those there are")
        there = list(simulated_columns(sorted(self._store.column_names())))
        names = there if columns is None else list(columns)
        for name in names:
            if name not in there:
                raise StudyError(f"no column {name!r} is stored; {nearest(name, there)}")
        parts = [self._scenario_rows(key, names) for key in chosen["scenario"]]
        frame = pd.concat(parts, ignore_index=True)
        of_axes = {name: value for name, value in where.items() if name not in of_factors}
        return rows_with(frame, of_axes).reset_index(drop=True)

    def contrast(
        self,
        measure: Measure,
        *,
        axis: str,
        first: str,
        second: str,
        scale: Scale = "difference",
        **where: Any,
    ) -> pd.DataFrame:
        """Compare a measure between two methods, or two labels of another axis or factor.

        Parameters
        ----------
        measure
            A measure over stored columns and factors, such as `bias("estimate", truth=0.0)`.
        axis
            The axis or factor on which the two are.
        first, second
            Its labels, compared on the replicates that they share.
        scale
            `difference` (first - second) or `ratio` (first/second).
        **where
            Factors and labels of the rows to keep.

        Returns
        -------
        DataFrame
            A row for each scenario and cell of the other axes; the MCSE is that of the pairs.

        Raises
        ------
        StudyError
            If there is no such axis or label, or the measure reads a column that is not stored.
        """
        if not isinstance(measure, Measure):
            raise StudyError(
                f"contrast({measure!r}): a loaded result knows no measures by name. Give one, "
                'such as simstudy.measures.bias("estimate", truth=0.0).'
            )
        stored = [name for name in measure.reads if name not in self.scenarios]
        rows = self.rows(stored, **where)
        known = [*self._plan.axes, *(str(n) for n in self.scenarios if n != "scenario")]
        if axis not in known:
            raise StudyError(f"there is no axis {axis!r} to compare along; {nearest(axis, known)}")
        labels = list(dict.fromkeys(rows[axis].astype(str)))
        pair = (str(first), str(second))
        for label in pair:
            if label not in labels:
                raise StudyError(f"axis {axis!r} has no {label!r}; {nearest(label, labels)}")
        keys = [name for name in known if name != axis]
        cells = (
            rows.groupby(keys, observed=True, sort=False, dropna=False) if keys else [((), rows)]
        )
        found = []
        for levels, cell in cells:
            sides = []
            for label in (first, second):
                side = cell[cell[axis].astype(str) == str(label)].sort_values(REP)
                sides.append({n: side[n].to_numpy(float) for n in measure.reads})
            n_pairs = {len(column) for side in sides for column in side.values()}
            if len(n_pairs) == 1:
                numbers = contrast_of(paired, measure, sides, scale)._asdict()
                named = dict(zip(keys, levels, strict=True))
                about = {"contrast": f"{first} against {second}", "measure": measure.name}
                found.append(
                    named
                    | about
                    | {n: np.asarray(v)[()] for n, v in numbers.items() if v is not None}
                )
        return pd.DataFrame(found)

    @cached_property
    def _store(self) -> Store:
        return _open_store(self.folder, self.n_rep, self.manifest)

    @cached_property
    def _plan(self) -> Plan:
        """A plan without scenarios, which describes the stored rows."""
        settings = self._store.provenance.settings
        return Plan(
            name=self._name,
            seed=int(settings["seed"]),
            scenarios=(),
            axes={axis: tuple(labels) for axis, labels in settings["axes"].items()},
            block_size=self._store.rows_per_block,
            vectors=dict.fromkeys(settings.get("vectors", ()), 0),
        )

    @cached_property
    def _factors(self) -> pd.DataFrame:
        """The factors as categories, by scenario key."""
        named = self.scenarios.set_index("scenario")
        return named.astype("category") if len(named.columns) else named

    def _scenario_rows(self, key: str, names: Sequence[str]) -> pd.DataFrame:
        """The replicates of a scenario, with its factors."""
        n_rep, n_cells = self.n_rep[key], math.prod(self._plan.shape)
        factors = self._factors.loc[[key]]
        made: dict[str, Any] = {REP: np.repeat(np.arange(n_rep), n_cells)}
        cells = zip(*self._plan.cells(), strict=True)
        for (axis, known), labels in zip(self._plan.axes.items(), cells, strict=True):
            made[axis] = pd.Categorical(np.tile(np.array(labels), n_rep), categories=list(known))
        for name, column in self._columns(key, names).items():
            made[name] = self._long(name, column, n_cells)
        values = factors.iloc[0].to_dict()
        for name in set(made) & set(values):
            if np.all(made[name] == values[name]):
                del made[name]
        same = factors.take(np.zeros(n_rep * n_cells, dtype=int)).reset_index(drop=True)
        hidden = {name: f"{name} (factor)" for name in made if name in values}
        return pd.concat([same.rename(columns=hidden), pd.DataFrame(made)], axis=1)

    def _columns(self, key: str, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Columns as arrays; missing columns are NaN, or None in text."""
        table = self._store.read(key, self.n_rep[key])
        there = set(simulated_columns(table.column_names))
        found = columns_of(self._plan, table, [n for n in names if n in there], holes=True)
        nothing = {ERROR: np.full(len(table), None), WARNING: np.full(len(table), None)}
        empty = np.full(len(table), np.nan)
        return {name: found.get(name, nothing.get(name, empty)) for name in names}

    def _long(self, name: str, column: np.ndarray, n_cells: int) -> Any:
        """One value per row and cell; a vector is an array."""
        if name in self._plan.vectors:
            n_rep, length = len(column), column.shape[-1]
            vectors = np.broadcast_to(column.reshape(n_rep, -1, length), (n_rep, n_cells, length))
            return list(vectors.reshape(-1, length))
        flat = column.reshape(len(column), -1)
        return np.broadcast_to(flat, (len(column), n_cells)).ravel()


# ---------------------------------------------------------------- the store
def _open_store(folder: Place, keys: Collection[str], manifest: Mapping[str, Any]) -> Store:
    """Open the stored replicates of some scenarios of a run.

    Raises
    ------
    StoreError
        If there are none, or those of several runs of which the manifest does not say which.
    """
    place = study_folder(folder) / REPLICATES
    if not place.exists():
        raise StoreError(
            f"{folder} holds no replicates: they lie elsewhere, or were deleted. "
            "Its summary is there; draw the replicates again to read them."
        )
    files = files_at(place)
    found, values, codes = None, dict[str, str](), dict[str, Any]()
    for name, owner in provenance_of_files(files):
        if owner.settings.get("study") == UNKNOWN:
            raise damaged_file_error(files, name)
        for key in set(keys) & set(owner.values):
            if not is_used(manifest, owner, key):
                continue
            found = found or Provenance(owner.settings, values, codes)
            known = (
                values.setdefault(key, owner.values[key]),
                codes.setdefault(key, owner.codes[key]),
            )
            if (found.settings, *known) != (owner.settings, owner.values[key], owner.codes[key]):
                what = in_one_line(", ".join(found.differences(owner, key)[:1]))
                raise StoreError(
                    f"{folder} holds blocks of several runs under one name ({what}): read them "
                    "with the study's own partial_result(out=...), which knows its own."
                )
    if found is None:
        raise StoreError(f"{folder} holds no block of the scenarios that it names: run it again.")
    return Store(files, int(found.settings["block_size"]), found, read_only=True)
