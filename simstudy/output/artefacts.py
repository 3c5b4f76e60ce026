"""Figures and tables of a result: those it has the data for, and why the others are not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from simstudy.analysis.result import SUMMARY, Result
from simstudy.errors import FigureError, StudyError, describe
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
    result: Result, folder: Place, columns: Mapping[str, float] = NO_COLUMNS
) -> Artefacts:
    """Every figure that this run has the data for, also as PDFs for a journal's columns."""
    from simstudy.figures import save_figure, save_pdfs
    from simstudy.figures.said import caption_of

    captions = {}

    def draw(name: str) -> Iterable[Place]:
        figure = result.figure(name)
        saved = save_figure(figure, folder / FIGURES, name)
        captions[name] = caption_of(figure)
        again = partial(result.figure, name)
        pdfs = save_pdfs(again, folder / FIGURES, name, columns=columns) if columns else {}
        return [*saved, *pdfs.values()]

    return replace(_each(result.figures, draw), captions=captions)


def write_tables(result: Result, folder: Place) -> Artefacts:
    """Every table that this run has the data for; that of the summary only where it is short."""
    from simstudy.tables import save_table

    written: dict[str, Table] = {}

    def write(name: str) -> Iterable[Place]:
        table = result.table(name)
        saved = save_table(table, folder / TABLES, name, label=f"{result.plan.name}:{name}")
        written[name] = table
        return saved

    own = [SUMMARY] if SUMMARY not in result.tables and is_short(result.summary) else []
    return replace(_each([*result.tables, *own], write), tables=written)


def _each(names: Iterable[str], make: Callable[[str], Iterable[Place]]) -> Artefacts:
    made = Artefacts()
    for name in names:
        try:
            made.files.extend(make(name))
        except (Exception, SystemExit) as error:  # one must not cost the others, nor the manifest
            is_about_data = type(error) in NOT_IN_THE_DATA
            said = " ".join(str(error).split()) if is_about_data else describe(error)
            made.not_made[name] = said
            made.failed.extend([] if is_about_data else [name])
    return made
