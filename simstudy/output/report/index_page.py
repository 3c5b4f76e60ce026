"""The index of a results folder, as HTML and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from simstudy.claims.verdict import NO_DATA, TOO_FEW
from simstudy.design.reprs import from_to
from simstudy.errors import describe, first_few
from simstudy.lazy import pd
from simstudy.output.formatting import counted
from simstudy.output.manifest import EXPLORER, FIGURES, REPORT
from simstudy.output.report.pages import MEANINGS, claim_rows, link, page, title_of
from simstudy.places import Place, write_bytes, write_json
from simstudy.provenance.modules import library_version
from simstudy.store.files import REPLICATES
from simstudy.store.runs import MANIFEST, read_manifest
from simstudy.validation import file_name

PAGE, TWIN, CLAIMS = "index.html", "index.json", "claims.parquet"
OTHER_STUDIES = "Other studies"
NOT_MADE = {"figure": "figures_not_drawn", "table": "tables_not_made"}  # keys of a manifest
COMMIT = 7  # letters of a commit that are shown
COPIED = (
    *("question", "answer", "scenarios", "replicates", "failed_replicates", "core_seconds"),
    *("publish_seconds", "made", "command"),
)
"""Entries of a manifest that the index has as they are."""
PAGE_ONLY = ("part", "rows", "alt_texts")  # entries of a study that the JSON lacks

Study = Mapping[str, Any]
"""A study: its entry in the JSON, its `part` of a group, the `rows` of its claims, and the
`alt_texts` of its figures."""


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
                studies.append(_study(folder / name, files[name], manifest))
                continue
        except Exception as error:  # a foreign folder must not stop the index
            why = f"cannot be read: {describe(error)}"
        if not any((folder / name).glob(f"*/{PAGE}")):  # sweeps have pages of their own
            others.append({"folder": name, "why": why})
    groups, version = _groups(studies), library_version("simstudy")
    shown = page(
        PAGE, groups=groups, studies=studies, others=others, verdicts=MEANINGS, version=version,
        no_data=NO_DATA,
    )  # fmt: skip
    write_bytes(folder / PAGE, shown)
    ordered = (study for group in groups for study in group["studies"])
    entries = [{n: v for n, v in study.items() if n not in PAGE_ONLY} for study in ordered]
    write_json(folder / TWIN, {"simstudy": version, "others": others, "studies": entries})
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


def _study(folder: Place, files: set[str], manifest: Mapping[str, Any]) -> Study:
    """The study in a folder with these files."""
    name, part, git = folder.name, manifest.get("part") or {}, manifest.get("git") or [{}]
    claims = folder / CLAIMS
    rows = claim_rows(pd.read_parquet(BytesIO(claims.read_bytes()))) if CLAIMS in files else []
    counts = [Counter(row["verdict"] for row in rows if row["scored"] == s) for s in (True, False)]
    n_rep = manifest["replicates_per_scenario"]
    sizes = list(n_rep.values()) if isinstance(n_rep, dict) else [n_rep]
    figures = _figures(name, files, manifest)
    failures, warnings = _troubles(manifest, rows, sizes)
    gone = manifest.get("captions", {}).keys() - {figure["name"] for figure in figures}
    failures += [f"figures that are not here: {first_few(sorted(gone))}"] * bool(gone)
    commit, is_modified = git[0].get("commit"), git[0].get("modified")
    return {
        "name": name,
        "document": part.get("title"),
        "group": part.get("group"),
        **{entry: manifest.get(entry) for entry in COPIED},
        "wall_seconds": manifest.get("wall_seconds") if manifest.get("blocks_computed") else None,
        "replicates_per_scenario": {"least": min(sizes), "most": max(sizes)},
        "version": manifest.get("versions", {}).get("simstudy"),
        "commit": f"{commit[:COMMIT]}{' with changes' * is_modified}" if commit else None,
        "report": _path(name, REPORT) if REPORT in files else None,
        "explorer": _path(name, EXPLORER) if EXPLORER in files else None,
        "figures": figures,
        "failures": failures,
        "warnings": warnings,
        "claims": counts[0],
        "unscored_claims": counts[1],
        "part": part,
        "rows": rows,
        "alt_texts": {**manifest.get("captions", {}), **manifest.get("alt_texts", {})},
    }


def _figures(study: str, files: set[str], manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures that are there, in the study's order."""
    found = []
    for name in manifest.get("captions", {}):
        forms = (f"{FIGURES}/{file_name(name)}.{ending}" for ending in ("svg", "png"))
        there = [_path(study, file) for file in forms if file in files]
        if there:
            found.append({"name": name, "title": title_of(name), "files": there})
    return found


def _path(study: str, file: str) -> str:
    return link(study, *file.split("/")).removeprefix("./")


def _troubles(
    manifest: Mapping[str, Any], claims: Sequence[Mapping[Any, Any]], sizes: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Failures and unexpected verdicts; too few replicates, missing data, warnings of the run."""
    failures, warnings = [], []
    if n_failed := manifest.get("failed_replicates", 0):
        failures.append(f"{counted(n_failed, 'replicate')} failed")
    asked = manifest["config"].get("n_rep") or 0
    if not manifest["config"].get("precision") and min(sizes) < asked:
        done = from_to(min(sizes), max(sizes))
        warnings.append(f"{done} of {asked:,} replicates in each scenario")
    if manifest.get("published") is False:
        warnings.append("drawn from Python, and not published: no figures, claims or report")
    for what, reasons in NOT_MADE.items():
        for name, reason in manifest.get(reasons, {}).items():
            if name in manifest.get(f"{what}s_failed", []):
                failures.append(f"{what} {name} failed: {reason}")
            else:
                how = reasons.partition("_")[2].replace("_", " ")
                warnings.append(f"{what} {name} {how}: {reason}")
    if unexpected := [claim["claim"] for claim in claims if claim["is_unexpected"]]:
        failures.append(f"{counted(len(unexpected), 'claim')} unexpected: {first_few(unexpected)}")
    if n_open := sum(claim["verdict"] == TOO_FEW for claim in claims):
        warnings.append(f"{counted(n_open, 'claim')} need{'s' * (n_open == 1)} more replicates")
    by_kind: dict[str, list[str]] = {}
    for each in manifest.get("warnings", ()):
        by_kind.setdefault(each["kind"], []).append(each["place"] or each["text"])
    warnings += [f"{kind}: {first_few(texts)}" for kind, texts in by_kind.items()]
    return failures, warnings


def _groups(studies: Sequence[Study]) -> list[dict[str, Any]]:
    """Documents in reading order, followed by studies without a document.

    A document may have studies in several groups of a project; those of the group with most
    published claims come first. Titles with a page of the project are documents.
    """
    n_claims: Counter[str] = Counter()
    for study in studies:
        n_claims[study["group"]] += study["claims"].total()

    def rank(study: Study) -> tuple[Any, ...]:
        part, group = study["part"], study["group"]
        order = part.get("order", [0, 0])
        return not part.get("page"), not part, -n_claims[group], group, order, study["name"]

    groups: dict[str, dict[str, Any]] = {}
    for study in sorted(studies, key=rank):
        title, is_document = study["document"] or OTHER_STUDIES, bool(study["part"].get("page"))
        group = groups.setdefault(title, {"title": title, "studies": [], "rows": []})
        group["is_document"] = is_document
        group["studies"].append(study)
        group["rows"] += study["rows"]
    return list(groups.values())
