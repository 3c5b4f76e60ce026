"""Opens a folder of results without the code of its study."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from functools import cached_property
from io import BytesIO
from typing import Any

from simstudy.analysis.replicates import StoredReplicates, replicates_of_cells
from simstudy.analysis.result import Details, Result
from simstudy.design import AnyScenario
from simstudy.design.plan import Method, Plan, base_scenario, method_of
from simstudy.engine.columns import vectors_among
from simstudy.errors import FigureError, StoreError, StudyError, describe, in_one_line
from simstudy.lazy import pd
from simstudy.remote import Place, place_of
from simstudy.store.arrow_schema import REP, SCENARIO
from simstudy.store.block_files import provenance_of_files
from simstudy.store.blocks import Store, damaged_file_error
from simstudy.store.files import REPLICATES, files_at
from simstudy.store.provenance import UNKNOWN, Provenance
from simstudy.store.runs import (
    MANIFEST,
    StoredRun,
    file_hash,
    listed_files,
    read_manifest,
    study_folder,
)

ROWS = "replicates.parquet"  # replicates of other software, as `Result.replicates` has them
MAY_BE_ABSENT = ("claims", "failures", "warnings", "cells")  # tables that are then empty


def load(folder: str | os.PathLike[str] | Place) -> LoadedResult:
    """Load the results in a folder such as `results/NAME`, or at a URL.

    Parameters
    ----------
    folder
        Folder of one study, or its URL.

    Returns
    -------
    LoadedResult
        Read-only, and read when something asks for it. The study's code is not needed, nor looked
        for.

    Raises
    ------
    StoreError
        If there are no results.

    Examples
    --------
    The study is that of the example of `Study`.

    >>> from simstudy import load
    >>> _ = study.run(n_rep=200, out="results")
    >>> int(load("results/two_sample_tests").row("type_1_error", method="welch")["n_rep"])
    200
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
    return LoadedResult(place, manifest)


class LoadedResult(Result):
    """A result from a folder: frames as they were written, replicates as they are stored.

    Measures are given as objects, since the study's own are not known.

    Parameters
    ----------
    folder
        The folder of one study.
    manifest
        Its manifest.
    """

    def __init__(self, folder: Place, manifest: Mapping[str, Any]) -> None:
        self._folder, self.manifest = folder, manifest
        self._value_labels, self._labels, self._tables = {}, {}, {}
        self._frames = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process the folder is read again."""
        return LoadedResult, (self.folder, self.manifest)

    @property
    def folder(self) -> Place:
        """The folder that was loaded."""
        return self._folder

    def _short_repr(self) -> str:
        n_scenarios, n_rep = (self.manifest[what] for what in ("scenarios", "replicates"))
        failed = f" ({self.n_failed:,} failed)" if self.n_failed else ""
        text = f"{n_scenarios:,} scenarios, {n_rep:,} replicates{failed}"
        return f"<{self._name}: {text}, in {self.folder}>"

    @property
    def _name(self) -> str:
        return str(self.manifest["study"])

    def figure(self, name: str) -> Any:
        """Refuse: figures need the study's code.

        Raises
        ------
        FigureError
            Always, with what draws them.
        """
        raise FigureError(
            f"a loaded result cannot draw figure {name!r}, which needs the study's code: "
            f"study.partial_result(out={str(self.folder.parent)!r}) can."
        )

    # ---------------------------------------------------------------- frames
    @property
    def scenarios(self) -> pd.DataFrame:
        """The scenarios: keys in the store, and factors."""
        return self._frame("scenarios").copy()

    @property
    def n_failed(self) -> int:
        return int(self.manifest.get("failed_replicates") or 0)

    def _make_frame(self, name: str) -> pd.DataFrame:
        """A frame of the folder; an empty one if it is not there and not needed."""
        if name == "factors":
            return super()._make_frame(name)
        path = self.folder / f"{name}.parquet"
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
        found, listed = file_hash(path), self._files.get(path.name)
        if not found:
            raise StoreError(f"{path} is not there, although {MANIFEST} is: run the study again.")
        if listed and found != listed:
            raise StoreError(
                f"{path} is not the file that {MANIFEST} lists: its content differs, so its "
                "numbers may be another run's. Copy the folder again, or run the study again."
            )
        return path.read_bytes()

    @cached_property
    def _files(self) -> dict[str, str]:
        return listed_files(self.manifest, self.folder)

    # ---------------------------------------------------------------- replicates
    @cached_property
    def details(self) -> Details:  # type: ignore[override]
        """The stored replicates; there are no declarations."""
        rows = self._frame("scenarios").to_dict("records")
        if ROWS in self._files:
            return self._given(rows)
        store = open_store(self.folder, [row[SCENARIO] for row in rows], self.manifest)
        plan = stored_plan(self._name, rows, store.provenance)
        found = self.manifest["replicates_per_scenario"]
        sizes = found.values() if isinstance(found, dict) else [found] * len(plan.keys)
        replicates = StoredReplicates(plan, store, dict(zip(plan.keys, sizes, strict=True)))
        return Details(replicates, declared=(), folder=self.folder)

    def _given(self, rows: Sequence[Mapping[Any, Any]]) -> Details:
        """The replicates of other software."""
        settings = {"seed": self.manifest["seed"], "block_size": 1, "axes": self._axes}
        plan = stored_plan(self._name, rows, Provenance(settings))
        frame = self._make_frame("replicates")
        factors = list(frame.columns[: frame.columns.get_loc(REP)])
        cells = frame.groupby(factors, sort=False, dropna=False) if factors else [((), frame)]
        each = [cell.drop(columns=factors) for _, cell in cells]
        replicates = replicates_of_cells(plan, each, Provenance(settings))
        return Details(replicates, declared=(), folder=self.folder)

    @property
    def _axes(self) -> dict[str, list[str]]:
        """The labels of each axis of columns."""
        cells = self._make_frame("cells")
        return {str(name): list(cells[name].unique()) for name in cells if name != "cell"}


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
        common=tuple(settings.get("common", ())),
        methods=methods,
        vectors=dict.fromkeys(vectors_among(provenance), 0),
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
    accepted: dict[str, list[str]] = {}
    run = StoredRun("", folder, manifest)
    for name, owner in provenance_of_files(files):
        if owner.settings.get("study") == UNKNOWN:
            raise damaged_file_error(files, name)
        for key in set(keys) & set(owner.values):
            if not run.uses(owner, key):
                continue
            found = found or Provenance(owner.settings, values, codes)
            known = (
                values.setdefault(key, owner.values[key]),
                codes.setdefault(key, owner.codes[key]),
            )
            if (found.settings, *known) == (owner.settings, owner.values[key], owner.codes[key]):
                continue
            if run.blocks is not None:  # the run compared other code or versions
                accepted.setdefault(key, []).append(owner.origin(key))
            else:
                what = in_one_line(", ".join(found.differences(owner, key)[:1]))
                raise StoreError(
                    f"{folder} holds blocks of several runs under one name ({what}): read them "
                    "with the study's own partial_result(out=...), which knows its own."
                )
    if found is None:
        raise StoreError(f"{folder} holds no block of the scenarios that it names: run it again.")
    size = int(found.settings["block_size"])
    return Store(files, size, found, read_only=True, accepted=accepted)
