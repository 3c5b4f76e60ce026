"""Opens a folder of results without the code of its study."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from functools import cached_property
from io import BytesIO
from typing import Any, cast

from simstudy.analysis.replicates import Replicates, StoredReplicates, replicates_of_cells
from simstudy.analysis.result import Result, ResultParts
from simstudy.design import AnyScenario
from simstudy.design.plan import Method, Plan, Rules, base_scenario, method_of
from simstudy.engine.columns import vectors_among
from simstudy.errors import StoreError, StudyError, describe
from simstudy.lazy import pd
from simstudy.places import Place, place_of
from simstudy.store import runs
from simstudy.store.arrow_schema import REP, SCENARIO
from simstudy.store.block_files import provenance_in
from simstudy.store.blocks import Store, damaged_file_error
from simstudy.store.files import REPLICATES, files_at
from simstudy.store.provenance import UNKNOWN, Provenance

ROWS = "replicates.parquet"  # replicates of other software, as `Result.replicates` has them
MAY_BE_ABSENT = ("claims", "failures", "warnings", "cells")  # tables that are then empty


def load(folder: str | os.PathLike[str] | Place) -> Result:
    """Load the results in a folder such as `results/NAME`, or at a URL.

    Parameters
    ----------
    folder
        Folder of one study, or its URL.

    Returns
    -------
    Result
        Read-only, and read when something asks for it. The study's code is not needed, nor looked
        for, so measures are given as objects.

    Raises
    ------
    StoreError
        If there are no results.

    Examples
    --------
    The study is that of the example of `Study`.

    >>> from simstudy import load, publish
    >>> _ = publish(study.run(n_rep=200, out="results"), figures=False, report=False)
    >>> int(load("results/two_sample_tests").row("type_1_error", method="welch")["n_rep"])
    200
    """
    place = place_of(folder)
    manifest = runs.read_manifest(place)
    if manifest is None or "study" not in manifest:
        below = sorted(path.parent.name for path in place.glob(f"*/{runs.MANIFEST}"))
        if below:
            raise StoreError(f"{place} holds several studies; name one: {', '.join(below)}.")
        raise StoreError(
            f"{place} holds no {runs.MANIFEST}, so it is not the folder of a study whose run has "
            "ended: name one, such as results/NAME."
        )
    found = _Folder(place, manifest)
    replicates = cast(Replicates, _OnFirstUse(found))
    return Result(
        ResultParts(replicates, (), folder=place, manifest=manifest, read_table=found.table)
    )


@dataclass(frozen=True)
class _Folder:
    """A folder of results: its tables as they were written, and its replicates."""

    place: Place
    manifest: Mapping[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process the folder is read again."""
        return _Folder, (self.place, self.manifest)

    def table(self, name: str) -> pd.DataFrame:
        """Read a table; an empty one if it is not there and not needed."""
        path = self.place / f"{name}.parquet"
        if not (name not in MAY_BE_ABSENT or path.name in self._files or path.exists()):
            return pd.DataFrame()
        content = self._content(path)
        try:
            return pd.read_parquet(BytesIO(content))
        except Exception as error:  # a file may hold anything
            text = f"{path} is damaged ({describe(error)}): run the study again."
            raise StoreError(text) from None

    def _content(self, path: Place) -> bytes:
        """The bytes of an output, which have to be those that the manifest lists.

        Outputs of another run, as a copy that was interrupted leaves them, are refused.
        """
        found, listed = runs.file_hash(path), self._files.get(path.name)
        if not found and self.manifest.get("published") is False:
            raise StoreError(
                f"{path} is not there: the run stored its blocks and published nothing. Publish "
                "its result, publish(result), or summarise it with study.partial_result(out=...)."
            )
        if not found:
            raise StoreError(
                f"{path} is not there, although {runs.MANIFEST} is: run the study again."
            )
        if listed and found != listed:
            raise StoreError(
                f"{path} is not the file that {runs.MANIFEST} lists: its content differs, so its "
                "numbers may be another run's. Copy the folder again, or run the study again."
            )
        return path.read_bytes()

    @cached_property
    def _files(self) -> dict[str, str]:
        return runs.listed_files(self.manifest, self.place)

    @cached_property
    def replicates(self) -> Replicates:
        """The stored replicates, or those of other software."""
        name, rows = str(self.manifest["study"]), self.table("scenarios").to_dict("records")
        if ROWS in self._files:
            return self._replicates_of_rows(name, rows)
        store = open_store(self.place, [row[SCENARIO] for row in rows], self.manifest)
        plan = stored_plan(name, rows, store.provenance)
        found = self.manifest["replicates_per_scenario"]
        sizes = found.values() if isinstance(found, dict) else [found] * len(plan.keys)
        if len(sizes) != len(plan.keys):
            raise StoreError(
                f"{self.place / runs.MANIFEST} is damaged: replicates_per_scenario has "
                f"{len(sizes):,} entries for {len(plan.keys):,} scenarios. {runs.RUN_AGAIN}"
            )
        return StoredReplicates(plan, store, dict(zip(plan.keys, sizes, strict=True)))

    def _replicates_of_rows(self, name: str, rows: Sequence[Mapping[Any, Any]]) -> Replicates:
        cells = self.table("cells")
        axes = {str(axis): list(cells[axis].unique()) for axis in cells if axis != "cell"}
        provenance = Provenance({"seed": self.manifest["seed"], "block_size": 1, "axes": axes})
        frame = self.table("replicates")
        factors = list(frame.columns[: frame.columns.get_loc(REP)])
        by_scenario = frame.groupby(factors, sort=False, dropna=False) if factors else [((), frame)]
        each = [cell.drop(columns=factors) for _, cell in by_scenario]
        return replicates_of_cells(stored_plan(name, rows, provenance), each, provenance)


class _OnFirstUse:
    """The replicates of a folder, opened when something asks for them."""

    def __init__(self, folder: _Folder) -> None:
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of copies and pickles, before there is a folder
            raise AttributeError(name)
        return getattr(self._folder.replicates, name)


# ---------------------------------------------------------------- the plan
@dataclass(frozen=True)
class StoredPlan(Plan):
    """A plan of stored scenarios.

    Parameters
    ----------
    stored
        Key in the store of each scenario (by its `id`) and method.
    """

    stored: Mapping[tuple[int, str], str] = field(default_factory=dict)

    def key_of(self, scenario: AnyScenario) -> str:
        return self.stored.get((id(base_scenario(scenario)), method_of(scenario)), "")


def stored_plan(name: str, rows: Sequence[Mapping[Any, Any]], provenance: Provenance) -> StoredPlan:
    """The plan of stored scenarios, which are made of their factors.

    Parameters
    ----------
    rows
        Key and factors of each scenario, or of each pair of scenario and method.
    """
    settings = provenance.settings
    factors = [name for name in rows[0] if name != SCENARIO]
    axes = {axis: tuple(labels) for axis, labels in settings["axes"].items()}
    methods: tuple[Method, ...] = ()
    if axis := _methods_axis(rows, factors, provenance.values):
        factors.remove(axis)
        names = dict.fromkeys(row[axis] for row in rows)
        axes = {axis: tuple(names), **axes}
        methods = tuple(Method(each, _not_loaded, axis) for each in names)
    kind = make_dataclass("Stored", [(factor, Any) for factor in factors], frozen=True)
    scenarios, n = [], len(methods) or 1
    stored: dict[tuple[int, str], str] = {}
    for first in range(0, len(rows), n):
        levels = (rows[first][name] for name in factors)
        scenarios.append(kind(*(None if pd.isna(level) else level for level in levels)))
        stored[id(scenarios[-1]), ""] = rows[first][SCENARIO]
        for method, row in zip(methods, rows[first:], strict=False):
            stored[id(scenarios[-1]), method.name] = row[SCENARIO]
    return StoredPlan(
        name=name,
        seed=int(settings["seed"]),
        scenarios=tuple(scenarios),
        axes=axes,
        block_size=int(settings["block_size"]),
        methods=methods,
        rules=Rules(
            common_random_numbers=tuple(settings.get("common", ())),
            vectors=dict.fromkeys(vectors_among(provenance), 0),
        ),
        stored=stored,
    )


def _methods_axis(
    rows: Sequence[Mapping[Any, Any]], factors: Sequence[str], known: Mapping[str, str]
) -> str:
    """The factor that names the method in the stored description of each row; empty if none."""

    def names_methods(factor: str) -> bool:
        return all(
            known.get(row[SCENARIO], "").startswith(f"method {row[factor]} of ") for row in rows
        )

    return next(filter(names_methods, factors), "")


def _not_loaded(**_: Any) -> Any:
    raise StudyError("the code of this method was not loaded.")


# ---------------------------------------------------------------- the store
def open_store(folder: Place, keys: Collection[str], manifest: Mapping[str, Any]) -> Store:
    """Open the stored replicates of some scenarios of a run.

    Raises
    ------
    StoreError
        If there are none.
    """
    place = runs.study_folder(folder) / REPLICATES
    if not place.exists():
        raise StoreError(
            f"{folder} holds no replicates: they lie elsewhere, or were deleted. "
            "Its summary is there; draw the replicates again to read them."
        )
    files = files_at(place)
    found, values, codes = None, dict[str, str](), dict[str, Any]()
    accepted: dict[str, list[str]] = {}
    run = runs.StoredRun(folder, manifest)
    for name, parquet in files.metadata(files.names()):
        owner = provenance_in(parquet)
        if owner.settings.get("study") == UNKNOWN:
            raise damaged_file_error(files, name)
        for key in set(keys) & set(owner.values):
            if not run.uses(owner, key):
                continue
            found = found or Provenance(owner.settings, values, codes)
            mine = owner.values[key], owner.codes[key]
            known = values.setdefault(key, mine[0]), codes.setdefault(key, mine[1])
            if (found.settings, *known) != (owner.settings, *mine):
                accepted.setdefault(key, []).append(owner.origin(key))  # the run compared them
    if found is None:
        raise StoreError(f"{folder} holds no block of the scenarios that it names: run it again.")
    size = int(found.settings["block_size"])
    return Store(files, size, found, read_only=True, accepted=accepted)
