"""The index of a results folder, as HTML and as JSON."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from simstudy.atomic_files import write_bytes, write_json
from simstudy.claims.verdict import NO_DATA, TOO_FEW
from simstudy.design.reprs import from_to
from simstudy.errors import describe, first_few
from simstudy.lazy import pd
from simstudy.output.formatting import counted
from simstudy.output.manifest import EXPLORER, FIGURES, REPORT, figure_name, is_unpublished
from simstudy.output.report.claims import MEANINGS, claim_rows, link, page
from simstudy.output.report.study_page import EXPERIMENTS, title_of
from simstudy.provenance.modules import library_version
from simstudy.remote import Place
from simstudy.store.files import REPLICATES
from simstudy.store.runs import MANIFEST, listed_files, read_manifest
from simstudy.validation import file_name

PAGE, TWIN, CLAIMS = "index.html", "index.json", "claims.parquet"
FORMAT = 1  # version of the JSON; incremented if the meaning of a key changes
STATES = {"fine": "finished", "warned": "with warnings", "wrong": "not in order"}
OTHER_STUDIES = "Other studies"
DOCUMENT_FOLDERS = ("docs/documents", "docs", "")  # folders of a project's pages on documents
Claim = Mapping[Any, Any]  # a row for the page
NOT_MADE = {"figure": "figures_not_drawn", "table": "tables_not_made"}  # keys of a manifest
COMMIT = 7  # letters of a commit that are shown


def write_index(folder: Place) -> Place:
    """Write `index.html` and `index.json`: all studies under `folder`, by document.

    A folder without a study has a line with the reason.

    Returns
    -------
    Place
        Path of the page.

    Raises
    ------
    OSError
        If the folder cannot be read or written.
    """
    files = _files_below(folder)
    any_reports = any(REPORT in names for names in files.values())
    studies, others = [], []
    for name in sorted(files):
        if PAGE in files[name]:  # a nested folder of results
            continue
        why = f"no {MANIFEST}, so no results"
        if REPLICATES in files[name]:
            why = f"unfinished: blocks are there, and no {MANIFEST}"
        try:
            manifest = read_manifest(folder / name)
            if manifest is not None:
                studies.append(_study(folder / name, files[name], manifest, any_reports))
                continue
        except Exception as error:  # a foreign folder must not stop the index
            why = f"cannot be read: {describe(error)}"
        others.append({"folder": name, "why": why})
    groups, version = _groups(studies, folder), library_version("simstudy")
    shown = page(
        PAGE, groups=groups, studies=studies, others=others, any_reports=any_reports,
        verdicts=MEANINGS, version=version, no_data=NO_DATA,
    )  # fmt: skip
    write_bytes(folder / PAGE, shown)
    scoreboard = [
        {
            "document": group.title,
            "page": group.page or None,
            "claims": {v: _count(group.claims, scored=True).get(v, 0) for v in MEANINGS},
            "unscored_claims": _count(group.claims, scored=False),
        }
        for group in groups
    ]
    content = {"format": FORMAT, "simstudy": version, "scoreboard": scoreboard, "others": others}
    write_json(
        folder / TWIN,
        content | {"studies": [study.entry for group in groups for study in group.studies]},
    )
    return folder / PAGE


def _files_below(results: Place) -> dict[str, set[str]]:
    """The names of files and figures, by folder."""
    found: dict[str, set[str]] = {}
    for pattern in ("*/*", f"*/{FIGURES}/*"):
        for path in results.glob(pattern):
            name, _, file = str(path.relative_to(results)).partition("/")
            if not name.startswith("."):
                found.setdefault(name, set()).add(file)
    return found


class Study(NamedTuple):
    """A study: its JSON entry, and further content of the page.

    Parameters
    ----------
    part
        Document and group of the study, from its manifest.
    mark
        CSS class of its worst warning; `fine` if there is none.
    n_wrong
        Number of warnings about failures; these come first.
    alt_texts
        Descriptions of figures, by name.
    """

    entry: Mapping[str, Any]
    part: Mapping[str, Any]
    mark: str
    n_wrong: int
    claims: Sequence[Claim]
    alt_texts: Mapping[str, str]

    @property
    def seconds(self) -> float:
        """The seconds of drawing, if known."""
        known = self.entry["seconds"]
        return known["drawing"] or known["drawing_on_one_core"] or 0.0


def _study(folder: Place, files: set[str], manifest: Mapping[str, Any], any_reports: bool) -> Study:
    """The study in a folder with these files; `any_reports` if there are reports of studies."""
    name, part = folder.name, manifest.get("part") or {}
    claims = _claims(folder, files)
    figures = _figures(folder, files, manifest)
    troubles = [figure["trouble"] for figure in figures if figure["trouble"]]
    wrong = [*_wrong(manifest, claims), *filter(None, [first_few(troubles)])]
    has_report = REPORT in files or not any_reports or is_unpublished(manifest)
    rest = [*_warnings(manifest, claims)] + [f"{REPORT} is not here"] * (not has_report)
    mark = "wrong" if wrong else "warned" if rest else "fine"
    (least, most), drew = _sizes(manifest), manifest.get("blocks_computed")
    entry = {
        "name": name,
        "document": part.get("title"),
        "group": part.get("group"),
        "question": manifest.get("question", ""),
        "answer": manifest.get("answer", []),
        "state": STATES[mark],
        "warnings": wrong + rest,
        "scenarios": manifest["scenarios"],
        "replicates": manifest["replicates"],
        "replicates_per_scenario": {"least": least, "most": most},
        "failed_replicates": manifest.get("failed_replicates", 0),
        "seconds": {
            "drawing": manifest.get("wall_seconds") if drew else None,
            "drawing_on_one_core": manifest.get("core_seconds"),
            "publishing": manifest.get("publish_seconds"),
        },
        "made": manifest.get("made"),
        "version": manifest.get("versions", {}).get("simstudy"),
        "commit": _commit(manifest.get("git")),
        "command": manifest.get("command"),
        "report": _path(name, REPORT) if REPORT in files else None,
        "explorer": _path(name, EXPLORER) if EXPLORER in files else None,
        "figures": figures,
        "claims": _count(claims, scored=True),
        "unscored_claims": _count(claims, scored=False),
    }
    told = {**manifest.get("captions", {}), **manifest.get("alt_texts", {})}
    return Study(entry, part, mark, len(wrong), claims, told)


def _figures(folder: Place, files: set[str], manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures in the study's order."""
    listed = listed_files(manifest, folder)
    paths = [Path(file) for file in listed if Path(file).match(f"{FIGURES}/*.png")]
    drawn = [figure_name(path.stem, manifest) for path in paths]
    entries = []
    for name in dict.fromkeys([*manifest.get("captions", {}), *drawn]):
        svg, png = (f"{FIGURES}/{file_name(name)}.{form}" for form in ("svg", "png"))
        trouble = None if png in files else f"{png} is not here"
        there = [_path(folder.name, file) for file in (svg, png) if file in files]
        entry = {"name": name, "title": title_of(name), "files": there, "trouble": trouble}
        entries.append(entry)
    return entries


def _claims(folder: Place, files: set[str]) -> Sequence[Claim]:
    """The claims in a study's file."""
    if CLAIMS not in files:
        return []
    content = BytesIO((folder / CLAIMS).read_bytes())
    return claim_rows(pd.read_parquet(content), folder.name)


def _count(claims: Sequence[Claim], *, scored: bool) -> dict[str, int]:
    """The number of scored claims or of extra checks with each verdict."""
    return dict(Counter(claim["verdict"] for claim in claims if claim["scored"] == scored))


def _wrong(manifest: Mapping[str, Any], claims: Sequence[Claim]) -> Iterator[str]:
    """Failures and unexpected verdicts."""
    n_failed = manifest.get("failed_replicates", 0)
    if n_failed:
        yield f"{counted(n_failed, 'replicate')} failed"
    for what, reasons in NOT_MADE.items():
        for name in manifest.get(f"{what}s_failed", []):
            yield f"{what} {name} failed: {manifest[reasons][name]}"
    unexpected = [claim["claim"] for claim in claims if claim["is_unexpected"]]
    if unexpected:
        yield f"{counted(len(unexpected), 'claim')} unexpected: {first_few(unexpected)}"


def _warnings(manifest: Mapping[str, Any], claims: Sequence[Claim]) -> Iterator[str]:
    """Too few replicates, missing data, warnings of the run."""
    config, (least, most) = manifest["config"], _sizes(manifest)
    if not config.get("precision") and least < (config.get("n_rep") or 0):
        yield f"{from_to(least, most)} of {config['n_rep']:,} replicates in each scenario"
    if is_unpublished(manifest):
        yield "drawn from Python, and not published: no figures, claims or report"
    for what, reasons in NOT_MADE.items():
        for name, reason in manifest.get(reasons, {}).items():
            if name not in manifest.get(f"{what}s_failed", []):
                yield f"{what} {name} {reasons.split('_', 1)[1].replace('_', ' ')}: {reason}"
    n_open = sum(claim["verdict"] == TOO_FEW for claim in claims)
    if n_open:
        yield f"{counted(n_open, 'claim')} need{'s' * (n_open == 1)} more replicates"
    by_kind: dict[str, list[str]] = {}
    for each in manifest.get("warnings", ()):
        by_kind.setdefault(each["kind"], []).append(each["place"] or each["text"])
    yield from (f"{kind}: {first_few(texts)}" for kind, texts in by_kind.items())


def _sizes(manifest: Mapping[str, Any]) -> tuple[int, int]:
    """The smallest and the largest number of replicates."""
    per_scenario = manifest["replicates_per_scenario"]
    sizes = per_scenario.values() if isinstance(per_scenario, dict) else [per_scenario]
    return min(sizes), max(sizes)


def _commit(git: Sequence[Mapping[str, Any]] | None) -> str | None:
    """The commit of the code, and whether it was modified."""
    if not git or not git[0]["commit"]:
        return None
    return f"{git[0]['commit'][:COMMIT]}{' with changes' * git[0]['modified']}"


def _path(study: str, file: str) -> str:
    return link(study, *file.split("/")).removeprefix("./")


@dataclass(frozen=True)
class Group:
    """Studies under one heading.

    Parameters
    ----------
    page
        Path of the project's page about it, relative to the folder of the results; empty if there
        is none.
    is_document
        Whether the studies check a document. Claims of other studies are counted separately.
    """

    title: str
    page: str
    is_document: bool
    studies: Sequence[Study]

    @property
    def claims(self) -> list[Claim]:
        """Scored claims, followed by extra checks."""
        every = (claim for study in self.studies for claim in study.claims)
        return sorted(every, key=lambda claim: not claim["scored"])


def _groups(studies: Sequence[Study], results: Place) -> list[Group]:
    """Documents in reading order, followed by studies without a document.

    A document may have studies in several groups of a project; those of the group with most
    published claims come first. Titles with a page of the project are documents.
    """
    n_claims: Counter[str] = Counter()
    for study in studies:
        n_claims[study.part.get("group", "")] += sum(claim["scored"] for claim in study.claims)

    def rank(study: Study) -> tuple[Any, ...]:
        part = study.part
        group = part.get("group", "")
        order = part.get("order", [0, 0])
        return not part.get("page"), not part, -n_claims[group], group, order, study.entry["name"]

    by_title: dict[str, list[Study]] = {}
    for study in sorted(studies, key=rank):
        by_title.setdefault(study.part.get("title", OTHER_STUDIES), []).append(study)
    groups = []
    for title, several in by_title.items():
        name = several[0].part.get("page")
        groups.append(Group(title, _page_on(name, results), bool(name), several))
    return groups


def _page_on(name: str | None, results: Place) -> str:
    """A project's page on a document, as a path relative to the results; empty if there is none."""
    if not (name and isinstance(results, Path)):
        return ""
    above = (root for root in results.absolute().parents if (root / EXPERIMENTS).is_dir())
    paths = (root / folder / f"{name}.md" for root in above for folder in DOCUMENT_FOLDERS)
    found = next(filter(Path.is_file, paths), None)
    return Path(os.path.relpath(found, results.absolute())).as_posix() if found else ""
