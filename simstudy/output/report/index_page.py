"""The index of a results folder: a page of all studies, and the same as JSON for programs."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from simstudy.atomic_files import write_bytes, write_json
from simstudy.claims import TOO_FEW
from simstudy.design.reprs import from_to
from simstudy.errors import describe, first_few
from simstudy.identity.fingerprint import library_version
from simstudy.lazy import pd
from simstudy.output.formatting import counted
from simstudy.output.report.claims import KINDS, ClaimRow, claim_rows
from simstudy.output.report.command import command_by_name, command_of, project_around
from simstudy.output.report.figures import Thumbnail, thumbnail, thumbnails_in, title_of
from simstudy.output.report.pages import link, page
from simstudy.output.up_to_date import FIGURES, REPORT, is_unpublished
from simstudy.remote.paths import Place, name_below
from simstudy.store.home import FOLDERS
from simstudy.store.manifest import MANIFEST, listed_files

PAGE, TWIN, CLAIMS = "index.html", "index.json", "claims.parquet"
FORMAT = 1  # of the JSON: grows where a key changes its meaning
STATES = {"expected": "finished", "open": "with remarks", "unexpected": "not in order"}
OTHERS = "Other studies"
DOCUMENT_FOLDERS = ("docs/documents", "docs", "")  # of a project, for its pages on documents
NOT_MADE = {"figure": "figures_not_drawn", "table": "tables_not_made"}  # in a manifest
COMMIT = 7  # letters of one that people read


def write_index(
    folder: Place,
    newest: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    *,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> Place:
    """Write `index.html` and `index.json`: all studies under `folder`, by document.

    A folder that shows no study has a line that says why.

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
    files = {name: set[str]() for name in newest} | _files_below(folder)
    any_reports = any(REPORT in names for names in files.values())
    reader = _Reader(
        folder, project_around(folder), thumbnails_in(folder / PAGE), sources, any_reports
    )
    entries = [
        reader.read(name, files[name], newest.get(name))
        for name in sorted(files)
        if PAGE not in files[name]  # a folder of results with an index of its own
    ]
    studies = [entry for entry in entries if isinstance(entry, Study)]
    others = [entry for entry in entries if isinstance(entry, Other)]
    documents = _documents(studies, folder, reader.root)
    total, version = _document("all", "", studies), library_version("simstudy")
    shown = page(
        PAGE, documents=documents, total=total, others=others, any_reports=any_reports,
        kinds=KINDS, version=version,
    )  # fmt: skip
    write_bytes(folder / PAGE, shown)
    write_json(folder / TWIN, _as_json(documents, others, version))
    return folder / PAGE


def _files_below(results: Place) -> dict[str, set[str]]:
    """By folder, the names of what lies in it, and of its figures."""
    found: dict[str, set[str]] = {}
    for pattern in ("*/*", f"*/{FIGURES}/*"):
        for path in results.glob(pattern):
            name, _, file = name_below(results, path).partition("/")
            if not name.startswith("."):
                found.setdefault(name, set()).add(file)
    return found


# ---------------------------------------------------------------- one folder
class Other(NamedTuple):
    """A folder that shows no study: why, and what to type, if anything is to be done."""

    name: str
    why: str
    run: str = ""


class Study(NamedTuple):
    """A study: its entry in the JSON, and what the page shows beside that.

    Parameters
    ----------
    part
        Of which document it is, as its manifest says.
    mark
        The kind of its worst remark; `expected` where there is none.
    n_wrong
        How many of its remarks, the first ones, say that something went wrong.
    thumbnails, captions
        Of its figures, by name.
    """

    entry: Mapping[str, Any]
    part: Mapping[str, Any]
    mark: str
    n_wrong: int
    claims: list[ClaimRow]
    thumbnails: dict[str, Thumbnail | None]
    captions: Mapping[str, str]

    @property
    def seconds(self) -> float:
        """What drawing took, as far as that is known."""
        known = self.entry["seconds"]
        return known["drawing"] or known["drawing_on_one_core"] or 0.0


@dataclass(frozen=True)
class _Reader:
    """What is known before the folders below `results` are read."""

    results: Place
    root: Path | None
    thumbnails: Mapping[str, Thumbnail]
    sources: Mapping[str, str]
    any_reports: bool

    def read(self, name: str, files: set[str], newest: Mapping[str, Any] | None) -> Study | Other:
        """What a folder shows; of one without a readable manifest, the reason."""
        run = command_by_name(name, self.root)
        try:
            if newest or MANIFEST in files:
                content = newest or json.loads((self.results / name / MANIFEST).read_bytes())
                return self._study(name, files, content)
        except Exception as error:  # a folder of another program costs no study its line
            return Other(name, f"cannot be read: {describe(error)}", run)
        if files & {*FOLDERS.values()}:
            return Other(name, f"unfinished: blocks are there, and no {MANIFEST}", run)
        return Other(name, f"no {MANIFEST}, so no results", run)

    def _study(self, name: str, files: set[str], manifest: Mapping[str, Any]) -> Study:
        folder, config, part = self.results / name, manifest["config"], manifest.get("part") or {}
        claims = _claims(folder, files)
        figures, small = self._figures(folder, files, manifest)
        troubles = [figure["trouble"] for figure in figures if figure["trouble"]]
        wrong = [*_wrong(manifest, claims), *filter(None, [first_few(troubles)])]
        sources = manifest.get("made_from", {}).get("sources")
        is_stale = bool(sources) and self.sources.get(name, sources) != sources
        has_report = REPORT in files or not self.any_reports or is_unpublished(manifest)
        rest = [*_noteworthy(manifest, claims)]
        rest += ["its sources have changed since it was made"] * is_stale
        rest += [f"{REPORT} is not here"] * (not has_report)
        mark = "unexpected" if wrong else "open" if rest else "expected"
        least, most = _sizes(manifest)
        entry = {
            "name": name,
            "document": part.get("title"),
            "group": part.get("group"),
            "question": manifest.get("question", ""),
            "state": STATES[mark],
            "remarks": wrong + rest,
            "scenarios": manifest["scenarios"],
            "replicates": manifest["replicates"],
            "replicates_per_scenario": {"least": least, "most": most},
            "failed_replicates": manifest.get("failed_replicates", 0),
            "seconds": _seconds(manifest),
            "made": manifest.get("made"),
            "version": manifest.get("versions", {}).get("simstudy"),
            "commit": _commit(manifest.get("git")),
            "command": None if "file" in config else command_of(manifest, self.root, folder),
            "report": _path(name, REPORT) if REPORT in files else None,
            "figures": figures,
            "claims": dict(Counter(claim.kind for claim in claims if not claim.is_ours)),
            "claims_of_ours": dict(Counter(claim.kind for claim in claims if claim.is_ours)),
        }
        captions = dict.fromkeys(small, "") | manifest.get("captions", {})
        return Study(entry, part, mark, len(wrong), claims, small, captions)

    def _figures(
        self, folder: Place, files: set[str], manifest: Mapping[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Thumbnail | None]]:
        """Entries of the figures, in the study's order, and their thumbnails by name."""
        listed = listed_files(manifest)
        drawn = [Path(file).stem for file in listed if Path(file).match(f"{FIGURES}/*.png")]
        entries, thumbnails = [], {}
        for name in dict.fromkeys([*manifest.get("captions", {}), *drawn]):
            svg, png = (f"{FIGURES}/{name}.{form}" for form in ("svg", "png"))
            thumbnails[name] = thumbnail(folder / png, listed.get(png, ""), self.thumbnails)
            trouble = None if thumbnails[name] else f"{png} cannot be read"
            there = [_path(folder.name, file) for file in (svg, png) if file in files]
            entry = {"name": name, "title": title_of(name), "files": there, "trouble": trouble}
            entries.append(entry)
        return entries, thumbnails


def _claims(folder: Place, files: set[str]) -> list[ClaimRow]:
    """Those of its file, if there is one."""
    if CLAIMS not in files:
        return []
    content = BytesIO((folder / CLAIMS).read_bytes())
    return claim_rows(pd.read_parquet(content), folder.name)


def _wrong(manifest: Mapping[str, Any], claims: Sequence[ClaimRow]) -> Iterator[str]:
    """What failed, and what nobody expected."""
    n_failed = manifest.get("failed_replicates", 0)
    if n_failed:
        yield f"{counted(n_failed, 'replicate')} failed"
    for what, reasons in NOT_MADE.items():
        for name in manifest.get(f"{what}s_failed", []):
            yield f"{what} {name} failed: {manifest[reasons][name]}"
    unexpected = [claim.name for claim in claims if claim.standing.kind == "unexpected"]
    if unexpected:
        yield f"{counted(len(unexpected), 'claim')} unexpected: {first_few(unexpected)}"


def _noteworthy(manifest: Mapping[str, Any], claims: Sequence[ClaimRow]) -> Iterator[str]:
    """What the run was too small for, has no data for, did not decide, or warned of."""
    config, (least, most) = manifest["config"], _sizes(manifest)
    if not config.get("precision") and least < (config.get("n_rep") or 0):
        yield f"{from_to(least, most)} of {config['n_rep']:,} replicates in each scenario"
    if is_unpublished(manifest):
        yield "drawn from Python, and not published: no figures, claims or report"
    for what, reasons in NOT_MADE.items():
        for name, reason in manifest.get(reasons, {}).items():
            if name not in manifest.get(f"{what}s_failed", []):
                yield f"{what} {name} {reasons.split('_', 1)[1].replace('_', ' ')}: {reason}"
    n_open = sum(claim.kind == TOO_FEW for claim in claims)
    if n_open:
        yield f"{counted(n_open, 'claim')} need{'s' * (n_open == 1)} more replicates"
    if manifest.get("warnings"):
        yield counted(manifest["warnings"], "warning")
    if manifest.get("noticed"):
        what = "its rows" if "file" in config else "randomness"
        yield f"{what} to be looked at: {first_few(manifest['noticed'])}"


def _sizes(manifest: Mapping[str, Any]) -> tuple[int, int]:
    """The fewest and the most replicates of a scenario."""
    said = manifest["replicates_per_scenario"]
    sizes = said.values() if isinstance(said, dict) else [said]
    return min(sizes), max(sizes)


def _seconds(manifest: Mapping[str, Any]) -> dict[str, float | None]:
    """Of the run that drew last, of all runs on one core, and of publishing."""
    drew = manifest.get("blocks_computed")
    return {
        "drawing": manifest.get("wall_seconds") if drew else None,
        "drawing_on_one_core": manifest.get("core_seconds"),
        "publishing": manifest.get("publish_seconds"),
    }


def _commit(git: Sequence[Mapping[str, Any]] | None) -> str | None:
    """The commit of the code, and whether it was changed."""
    if not git:
        return None
    commit, is_modified = git[0]["commit"], git[0]["modified"]
    return f"{commit[:COMMIT]}{' with changes' * is_modified}"


def _path(study: str, file: str) -> str:
    return link(study, *file.split("/")).removeprefix("./")


# ---------------------------------------------------------------- documents
class Document(NamedTuple):
    """A document with its studies.

    Parameters
    ----------
    page
        Path of what the project writes about it, from the folder of the results; empty where
        there is none.
    claims
        What the document states.
    ours
        What no document states, or another claim has counted.
    counts
        How many of the document's claims are of each kind.
    """

    title: str
    page: str
    studies: Sequence[Study]
    claims: list[ClaimRow]
    ours: list[ClaimRow]
    counts: dict[str, int]


def _document(title: str, page: str, studies: Sequence[Study]) -> Document:
    every = [claim for study in studies for claim in study.claims]
    claims, ours = ([c for c in every if c.is_ours is is_ours] for is_ours in (False, True))
    found = Counter(claim.kind for claim in claims)
    return Document(title, page, studies, claims, ours, {kind: found[kind] for kind in KINDS})


def _documents(studies: Sequence[Study], results: Place, root: Path | None) -> list[Document]:
    """Documents in the order in which one reads them, those studies last that are of none.

    A document may have studies in several groups of a project: they stand together, those first
    whose group has most published claims.
    """
    n_claims: Counter[str] = Counter()
    for study in studies:
        n_claims[study.part.get("group", "")] += sum(not claim.is_ours for claim in study.claims)

    def rank(study: Study) -> tuple[Any, ...]:
        part = study.part
        group = part.get("group", "")
        return not part, -n_claims[group], group, part.get("order", [0, 0]), study.entry["name"]

    by_title: dict[str, list[Study]] = {}
    for study in sorted(studies, key=rank):
        by_title.setdefault(study.part.get("title", OTHERS), []).append(study)
    return [
        _document(title, _page_on(several[0].part.get("page"), results, root), several)
        for title, several in by_title.items()
    ]


def _page_on(name: str | None, results: Place, root: Path | None) -> str:
    """A project's page on a document, as a path from the results; empty where there is none."""
    if not (name and root and isinstance(results, Path)):
        return ""
    paths = (root / folder / f"{name}.md" for folder in DOCUMENT_FOLDERS)
    found = next(filter(Path.is_file, paths), None)
    return Path(os.path.relpath(found, results.absolute())).as_posix() if found else ""


# ---------------------------------------------------------------- for programs
def _as_json(
    documents: Sequence[Document], others: Sequence[Other], version: str
) -> dict[str, Any]:
    """The index as an object; paths are from the folder of the results, as links have them."""
    scoreboard = [
        {
            "document": document.title,
            "page": document.page or None,
            "claims": document.counts,
            "claims_of_ours": dict(Counter(claim.kind for claim in document.ours)),
        }
        for document in documents
    ]
    return {
        "format": FORMAT,
        "simstudy": version,
        "studies": [study.entry for document in documents for study in document.studies],
        "scoreboard": scoreboard,
        "others": [{"folder": each.name, "why": each.why, "run": each.run} for each in others],
    }
