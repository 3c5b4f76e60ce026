"""Figures and tables of a result: those it has the data for, and why the others are not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simstudy.analysis.result import SUMMARY, Result
from simstudy.errors import FigureError, StudyError, describe
from simstudy.output.parallel_figures import FigureWorkers
from simstudy.output.up_to_date import FIGURES, TABLES
from simstudy.remote.paths import Place
from simstudy.tables.summary import is_short
from simstudy.tables.table import Table

NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
NOT_IN_THE_DATA = (FigureError, StudyError, LookupError)  # what a run has no data for, it says


@dataclass
class Artefacts:
    """What was made.

    Parameters
    ----------
    files
        Those that were written.
    not_made
        By name, why something is not there.
    failed
        Names of those whose own code raised, which another try may make.
    captions
        What figures say of themselves, by name.
    tables
        Those that were written, by name.
    """

    files: list[Place] = field(default_factory=list)
    not_made: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    captions: dict[str, str] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)


def draw_figures(
    result: Result,
    folder: Place,
    columns: Mapping[str, float] = NO_COLUMNS,
    workers: FigureWorkers | None = None,
) -> Artefacts:
    """Every figure that this run has the data for, also as PDFs for a journal's columns.

    Parameters
    ----------
    columns
        Widths in inches, by name, at which figures are drawn as PDFs too.
    workers
        Processes that may draw figures side by side, in a folder of this machine.
    """
    draw, names = _Draw(result, folder, columns), list(result.figures)
    if workers is None or not isinstance(folder, Path):
        return _together(map(draw, names))

    def lost(name: str, why: str) -> Artefacts:
        return Artefacts(not_made={name: why}, failed=[name])

    return _together(workers.map(draw, names, lost))


@dataclass
class _Draw:
    """Draws a figure by its name. Workers get it with the summary, and read replicates anew."""

    result: Result
    folder: Place
    columns: Mapping[str, float]

    def __call__(self, name: str) -> Artefacts:
        return _one(name, self._drawn)

    def __reduce__(self) -> tuple[Any, ...]:
        light = replace(self.result)  # without frames that may be large
        light.summary = self.result.summary
        return _Draw, (light, self.folder, dict(self.columns))

    def _drawn(self, name: str) -> Artefacts:
        from simstudy.figures import save_figure, save_pdfs
        from simstudy.figures.captions import caption_of

        figure, folder = self.result.figure(name), self.folder / FIGURES
        saved = save_figure(figure, folder, name)
        again = partial(self.result.figure, name)
        pdfs = save_pdfs(again, folder, name, columns=self.columns) if self.columns else {}
        return Artefacts([*saved, *pdfs.values()], captions={name: caption_of(figure)})


def write_tables(result: Result, folder: Place) -> Artefacts:
    """Every table that this run has the data for; that of the summary only where it is short."""
    from simstudy.tables import save_table

    def write(name: str) -> Artefacts:
        table, label = result.table(name), f"{result.plan.name}:{name}"
        saved = save_table(table, folder / TABLES, name, label=label)
        return Artefacts([*saved], tables={name: table})

    own = [SUMMARY] if SUMMARY not in result.tables and is_short(result.summary) else []
    return _together(_one(name, write) for name in (*result.tables, *own))


def _one(name: str, make: Callable[[str], Artefacts]) -> Artefacts:
    """What came of it: one must not cost the others, nor the manifest."""
    try:
        return make(name)
    except (Exception, SystemExit) as error:
        is_about_data = type(error) in NOT_IN_THE_DATA
        said = " ".join(str(error).split()) if is_about_data else describe(error)
        return Artefacts(not_made={name: said}, failed=[] if is_about_data else [name])


def _together(parts: Iterable[Artefacts]) -> Artefacts:
    whole = Artefacts()
    for part in parts:
        whole.files += part.files
        whole.not_made |= part.not_made
        whole.failed += part.failed
        whole.captions |= part.captions
        whole.tables |= part.tables
    return whole
