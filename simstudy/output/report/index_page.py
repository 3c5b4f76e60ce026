"""The index of a results folder: the page that is opened first, and its twin for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simstudy.errors import describe
from simstudy.identity.fingerprint import library_version
from simstudy.output.report.index.again import project_around
from simstudy.output.report.index.claims import KINDS, ClaimLine
from simstudy.output.report.index.documents import (
    MOST_LISTED,
    Document,
    by_document,
    counts_of,
    facts_of,
    n_without_data,
)
from simstudy.output.report.index.folders import INDEX, CannotBeRead, Folder, folders_below
from simstudy.output.report.index.others import Other, ordered, other
from simstudy.output.report.index.pictures import Pictures
from simstudy.output.report.index.said import read_manifest, short
from simstudy.output.report.index.studies import Study, read_study
from simstudy.output.report.index.twin import twin
from simstudy.output.report.pages import page
from simstudy.output.up_to_date import REPORT
from simstudy.remote.paths import Place
from simstudy.store.manifest import MANIFEST
from simstudy.whole_files import write_bytes, write_json

TWIN = "index.json"
Manifests = Mapping[str, Mapping[str, Any]]


def write_index(
    folder: Place,
    newest: Manifests = MappingProxyType({}),
    *,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> Place:
    """Write `index.html` and `index.json`: all studies under `folder`, by document.

    Whatever its files hold, a study costs the others nothing.

    Parameters
    ----------
    newest
        Manifests that are not written yet, by the study's name.
    sources
        By the study's name, the digest of its sources as they are now, where that is known:
        another one in its manifest is said.

    Returns
    -------
    Place
        The page.

    Raises
    ------
    OSError
        Where the folder cannot be read or written.
    """
    index = _read(folder, newest, sources)
    version = library_version("simstudy")
    write_bytes(folder / INDEX, page(INDEX, index=index, kinds=KINDS, version=version))
    write_json(folder / TWIN, twin(index.documents, index.others, version))
    return folder / INDEX


@dataclass(frozen=True)
class Index:
    """All that the page shows."""

    documents: list[Document]
    others: list[Other]
    most_listed: int = MOST_LISTED

    @property
    def studies(self) -> list[Study]:
        return [study for document in self.documents for study in document.studies]

    @property
    def any_reports(self) -> bool:
        return any(study.has_report for study in self.studies)

    @property
    def claims(self) -> list[ClaimLine]:
        return [claim for document in self.documents for claim in document.claims]

    @property
    def ours(self) -> list[ClaimLine]:
        return [claim for document in self.documents for claim in document.ours]

    @property
    def n_as_expected(self) -> int:
        return sum(document.n_as_expected for document in self.documents)

    @property
    def scored(self) -> list[Document]:
        """Documents with anything to count."""
        return [document for document in self.documents if document.claims or document.ours]

    @cached_property
    def counts(self) -> dict[str, int | None]:
        return counts_of(self.claims)

    @property
    def n_counted(self) -> int:
        return sum(filter(None, self.counts.values()))

    @property
    def n_without_data(self) -> int:
        return n_without_data(self.claims)

    @property
    def is_told(self) -> bool:
        """Whether every table of published claims tells all kinds apart."""
        return all(claim.is_told for claim in self.claims)

    @property
    def n_left_out(self) -> int:
        """Figures for whose pictures the page has no room."""
        return sum(figure.is_left_out for study in self.studies for figure in study.figures)

    @property
    def facts(self) -> list[str]:
        """The size and the cost of it all, in a few words each."""
        return facts_of(self.studies)


def _read(folder: Place, newest: Manifests, sources: Mapping[str, str]) -> Index:
    """Everything below a folder."""
    folders = {each.name: each for each in folders_below(folder)}
    folders |= {name: Folder(folder / name) for name in newest if name not in folders}
    reading = _Reading(
        newest,
        sources,
        project_around(folder),
        Pictures.of_page(folder / INDEX),
        any(REPORT in each.files for each in folders.values()),
    )
    entries = [reading.entry(each) for each in folders.values()]
    studies = (entry for entry in entries if isinstance(entry, Study))
    others = (entry for entry in entries if isinstance(entry, Other))
    return Index(by_document(studies, folder, reading.root), ordered(others))


@dataclass(frozen=True)
class _Reading:
    """What is known before folders are read."""

    newest: Manifests
    sources: Mapping[str, str]
    root: Path | None
    pictures: Pictures
    any_reports: bool

    def entry(self, folder: Folder) -> Study | Other:
        """What a folder shows, or why it shows no study."""
        try:
            manifest = self.newest.get(folder.name) or _manifest(folder)
            return self._study(folder, manifest) if manifest else other(folder, "", self.root)
        except CannotBeRead as why:
            return other(folder, str(why), self.root)
        except Exception as error:  # whatever its files hold, it costs no other its line
            return Other(folder.name, f"cannot be shown: {short(describe(error))}")

    def _study(self, folder: Folder, manifest: Mapping[str, Any]) -> Study:
        digest = _digest(manifest)
        return read_study(
            folder,
            manifest,
            self.pictures,
            root=self.root,
            is_stale=bool(digest) and self.sources.get(folder.name, digest) != digest,
            needs_report=self.any_reports,
        )


def _manifest(folder: Folder) -> Mapping[str, Any] | None:
    """What a folder's manifest says; None where there is none."""
    return read_manifest(folder) if MANIFEST in folder.files else None


def _digest(manifest: Mapping[str, Any]) -> Any:
    """Of the sources that a study was made with; empty where that is not said."""
    made_from = manifest.get("made_from")
    return made_from.get("sources", "") if isinstance(made_from, dict) else ""
