"""Studies and claims by the document that they are about, in the order in which one reads them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simstudy.claims import IN_PRINT_ONLY, NO_DATA
from simstudy.claims.verdict import UNCHECKABLE
from simstudy.output.report.index.claims import KINDS, ClaimLine
from simstudy.output.report.index.studies import Study
from simstudy.output.wording import counted, time_in_words
from simstudy.remote.paths import Place

OTHERS = "Other studies"
PAGES = ("docs/documents", "docs", "")  # folders of a project in which a page may lie
NOT_TOLD = (IN_PRINT_ONLY, UNCHECKABLE)  # by verdicts alone
MOST_LISTED = 500  # claims of one kind and document


@dataclass(frozen=True)
class Document:
    """A document with its studies.

    Parameters
    ----------
    page
        Path of what the project writes about it, from the folder of the results; empty where
        there is none.
    """

    title: str
    page: str
    studies: tuple[Study, ...]

    @property
    def claims(self) -> list[ClaimLine]:
        """What the document states, and whether it is so."""
        return [claim for claim in self._all if not claim.is_ours]

    @property
    def ours(self) -> list[ClaimLine]:
        """What no document states, or another claim has counted."""
        return [claim for claim in self._all if claim.is_ours]

    @property
    def _all(self) -> list[ClaimLine]:
        return [claim for study in self.studies for claim in study.claims]

    @property
    def n_as_expected(self) -> int:
        """Of the further claims, those that are as was expected."""
        return sum(claim.foreseen == "expected" for claim in self.ours)

    def of_kind(self, kind: str) -> list[ClaimLine]:
        """The document's claims of one kind."""
        return [claim for claim in self.claims if claim.kind == kind]

    @property
    def counts(self) -> dict[str, int | None]:
        """How many claims are of each kind; None of those that its tables do not tell apart."""
        return counts_of(self.claims)

    @property
    def facts(self) -> list[str]:
        """The size of its studies, and what they cost."""
        return facts_of(self.studies)

    @property
    def n_counted(self) -> int:
        """Claims that are of one of the kinds."""
        return sum(filter(None, self.counts.values()))


def counts_of(claims: Sequence[ClaimLine]) -> dict[str, int | None]:
    """How many claims are of each kind; None of those that no table tells apart."""
    found = Counter(claim.kind for claim in claims)
    is_told = any(claim.is_told for claim in claims)
    shown = {kind for kind in KINDS if kind not in NOT_TOLD or is_told or found[kind]}
    return {kind: found[kind] if kind in shown else None for kind in KINDS}


def facts_of(studies: Iterable[Study]) -> list[str]:
    """Of several studies, their size and what they cost."""
    several = list(studies)
    n_figures = sum(len(study.figures) for study in several)
    replicates = sum(study.replicates or 0 for study in several)
    drawing = sum(study.cost.drawing or study.cost.on_one_core or 0 for study in several)
    publishing = sum(study.cost.publishing or 0 for study in several)
    said = [counted(len(several), "study", "studies"), counted(n_figures, "figure")]
    said += [counted(replicates, "replicate")]
    said += [f"drawn in {time_in_words(drawing)}"] * (drawing > 0)
    return said + [f"published in {time_in_words(publishing)}"] * (publishing > 0)


def n_without_data(claims: Iterable[ClaimLine]) -> int:
    """Claims that their runs leave out."""
    return sum(claim.kind == NO_DATA for claim in claims)


def by_document(studies: Iterable[Study], results: Place, root: Path | None) -> list[Document]:
    """Documents in order, those studies last that say of none.

    A document may have studies in several groups of a project: they stand together, those first
    whose group has most published claims.
    """
    found: dict[str, list[Study]] = {}
    for study in studies:
        found.setdefault(study.part.title if study.part else OTHERS, []).append(study)
    ranks = _ranks(study for several in found.values() for study in several)
    made = []
    for title in sorted(found, key=lambda title: _place(found[title], ranks)):
        ordered = sorted(found[title], key=lambda study: _place_of_one(study, ranks))
        pages = (study.part.page for study in ordered if study.part and study.part.page)
        page = next(filter(None, (_page(page, results, root) for page in pages)), "")
        made.append(Document(title, page, tuple(ordered)))
    return made


def _ranks(studies: Iterable[Study]) -> Mapping[str, int]:
    """By group its rank: the more published claims the earlier, then by name."""
    found: Counter[str] = Counter()
    for study in studies:
        if study.part:
            found[study.part.group] += sum(not claim.is_ours for claim in study.claims)
    ordered = sorted(found, key=lambda group: (-found[group], group))
    return {group: at for at, group in enumerate(ordered)}


def _place(studies: Iterable[Study], ranks: Mapping[str, int]) -> tuple[int, int, str]:
    """Where a document stands: by its first study."""
    first = min(studies, key=lambda study: _place_of_one(study, ranks))
    if first.part is None:
        return len(ranks), 0, ""
    return ranks[first.part.group], first.part.order[0], first.part.title


def _place_of_one(study: Study, ranks: Mapping[str, int]) -> tuple[int, int, str]:
    if study.part is None:
        return len(ranks), 0, study.name
    return ranks[study.part.group], study.part.order[1], study.name


def _page(page: str, results: Place, root: Path | None) -> str:
    """A document's page as a path from the results, if it is there and below the project."""
    if root is None or not isinstance(results, Path):
        return ""
    names = (page, f"{page}.md")
    for path in (root / folder / name for folder in PAGES for name in names):
        if path.is_file() and path.resolve().is_relative_to(root.resolve()):
            return Path(os.path.relpath(path.resolve(), results.resolve())).as_posix()
    return ""
