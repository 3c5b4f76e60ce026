"""The index in JSON, for programs: the studies, their states, and the scoreboard of claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from simstudy.output.report.index.documents import Document
from simstudy.output.report.index.others import Other
from simstudy.output.report.index.studies import Figure, Study
from simstudy.output.report.pages import link
from simstudy.output.up_to_date import REPORT

FORMAT = 1  # grows where a key changes its meaning


def twin(documents: Sequence[Document], others: Iterable[Other], version: str) -> dict[str, Any]:
    """The index as an object; paths are from the folder of the results, as links have them."""
    return {
        "format": FORMAT,
        "simstudy": version,
        "studies": [
            _study(study, document) for document in documents for study in document.studies
        ],
        "scoreboard": [_row(document) for document in documents],
        "others": [{"folder": each.name, "why": each.why, "run": each.run} for each in others],
    }


def _study(study: Study, document: Document) -> dict[str, Any]:
    each, cost = study.each or (None, None), study.cost
    return {
        "name": study.name,
        "document": document.title if study.part else None,
        "group": study.part.group if study.part else None,
        "question": study.question,
        "state": study.state,
        "remarks": [remark.text for remark in study.remarks],
        "scenarios": study.scenarios,
        "replicates": study.replicates,
        "replicates_per_scenario": {"least": each[0], "most": each[1]},
        "failed_replicates": study.failed,
        "seconds": {
            "drawing": cost.drawing,
            "drawing_on_one_core": cost.on_one_core,
            "publishing": cost.publishing,
        },
        "made": study.made or None,
        "version": study.version or None,
        "commit": study.commit or None,
        "command": study.command or None,
        "report": _path(study, REPORT) if study.has_report else None,
        "figures": [_figure(study, figure) for figure in study.figures],
        "claims": dict(Counter(claim.kind for claim in study.claims if not claim.is_ours)),
        "claims_of_ours": dict(Counter(claim.kind for claim in study.claims if claim.is_ours)),
    }


def _figure(study: Study, figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "title": figure.title,
        "files": [_path(study, file) for file in figure.files],
        "trouble": figure.trouble or None,
    }


def _row(document: Document) -> dict[str, Any]:
    return {
        "document": document.title,
        "page": document.page or None,
        "claims": document.counts,
        "claims_of_ours": dict(Counter(claim.kind for claim in document.ours)),
    }


def _path(study: Study, file: str) -> str:
    return link(study.name, *file.split("/")).removeprefix("./")
