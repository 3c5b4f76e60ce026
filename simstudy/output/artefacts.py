"""Figures and tables of a result: those it has the data for, and why the others are not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from simstudy.analysis.result import SUMMARY, Result
from simstudy.errors import FigureError, StudyError, describe
from simstudy.output.at_once import each_of
from simstudy.output.origin import FIGURES, TABLES
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
    result: Result, folder: Place, columns: Mapping[str, float] = NO_COLUMNS, *, at_once: int = 1
) -> Artefacts:
    """Every figure that this run has the data for, also as PDFs for a journal's columns.

    Parameters
    ----------
    columns
        Widths in inches, by name, at which figures are drawn as PDFs too.
    at_once
        How many are drawn side by side, in copies of this process where copies are safe.
    """

    def draw(name: str) -> Artefacts:
        return _one(name, partial(_drawn, result, folder, columns))

    def lost(name: str, why: str) -> Artefacts:
        return Artefacts(not_made={name: why}, failed=[name])

    return _together(each_of(list(result.figures), draw, lost, at_once=at_once))


def _drawn(result: Result, folder: Place, columns: Mapping[str, float], name: str) -> Artefacts:
    from simstudy.figures import save_figure, save_pdfs
    from simstudy.figures.captions import caption_of

    figure = result.figure(name)
    saved = save_figure(figure, folder / FIGURES, name)
    again = partial(result.figure, name)
    pdfs = save_pdfs(again, folder / FIGURES, name, columns=columns) if columns else {}
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
