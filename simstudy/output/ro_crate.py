"""A folder of results as a research object (RO-Crate 1.1), by ro-crate-py."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from simstudy.atomic_files import read_json, write_bytes, write_json
from simstudy.errors import ConfigError, NotHereError, StoreError, in_one_line
from simstudy.output.manifest import DRAWN
from simstudy.output.protocol import RECORD, TEXT
from simstudy.output.report.command import command_of
from simstudy.output.up_to_date import file_hash
from simstudy.remote.paths import Place
from simstudy.store.block_files import provenance_of_files
from simstudy.store.blocks import files_at
from simstudy.store.files import REPLICATES
from simstudy.store.manifest import MANIFEST, listed_files

METADATA, CITATION = "ro-crate-metadata.json", "CITATION.cff"
CODE = "code"  # folder of the study's sources within a crate
MADE = "%Y-%m-%d %H:%M UTC"  # how a manifest says when results were made
TYPES = {
    ".parquet": "application/vnd.apache.parquet", ".json": "application/json",
    ".csv": "text/csv", ".md": "text/markdown", ".tex": "application/x-tex",
    ".png": "image/png", ".svg": "image/svg+xml", ".pdf": "application/pdf",
    ".html": "text/html", ".py": "text/x-python", ".yaml": "application/yaml",
    ".cff": "application/yaml",
}  # fmt: skip


class Written(NamedTuple):
    """The written description: number of files, archive, missing metadata."""

    metadata: Place
    n_files: int
    archive: Path | None
    missing: tuple[str, ...]


def write_crate(
    folder: Place,
    *,
    root: Path | None = None,
    about: str = "",
    code: Sequence[Path] = (),
    archive: bool = False,
) -> Written:
    """Describe a folder of results as RO-Crate 1.1.

    The same results give the same description, dated by the day on which they were made.

    Parameters
    ----------
    folder
        Of one study, such as `results/NAME`. Files in it that no run has written are not named.
    root
        Folder of the project, whose `CITATION.cff` names authors, licence and documents.
    about
        The experiment's docstring.
    code
        Files of the project that are copied into the crate.
    archive
        Whether `NAME.zip` is written beside the folder, with the description and what it names.

    Raises
    ------
    ConfigError
        Where the citation file cannot be read, or an archive is asked for in a store.
    NotHereError
        Where ro-crate-py is not installed.
    StoreError
        Where results are not finished, or not as they were written.
    """
    manifest = _read_finished_manifest(folder)
    names = _checked_names(folder, manifest)
    citation = _read_citation(root / CITATION) if root else {}
    if archive and not isinstance(folder, Path):
        raise ConfigError(f"zip=true writes its archive beside local results; copy {folder} first")
    crate = _new_crate()
    outputs = [_add_file(crate, folder, name) for name in names]
    sources = []
    for path in code:
        name = f"{CODE}/{path.relative_to(root or path.parent).as_posix()}"
        write_bytes(folder / name, path.read_bytes())
        sources.append(_add_file(crate, folder, name))
    authors = [_add_author(crate, each) for each in citation.get("authors") or ()]
    licence = _add_licence(crate, citation)
    run = _add_run(crate, manifest, outputs, sources)
    _set(run, agent=authors, description=command_of(manifest, root, folder))
    question = manifest.get("question") or f"Simulation study {manifest['study']}"
    _set(
        crate.root_dataset, name=_line(question), description=about.strip() or _line(question),
        datePublished=manifest["made"][:10], author=authors, license=licence, mentions=run,
    )  # fmt: skip
    write_json(folder / METADATA, crate.metadata.generate())
    target = crate.write_zip(folder.parent / f"{folder.name}.zip") if archive else None
    missing = tuple(["authors"] * (not authors) + ["a licence"] * (not licence))
    return Written(folder / METADATA, len(outputs) + len(sources), target, missing)


def _new_crate() -> Any:
    try:
        from rocrate.rocrate import ROCrate
    except ImportError as error:
        raise NotHereError(
            "a research object is written by ro-crate-py, which is not installed: pip install "
            "'simstudy[crate]'"
        ) from error
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms["sha256"] = "https://schema.org/sha256"
    return crate


def _read_finished_manifest(folder: Place) -> Mapping[str, Any]:
    manifest = read_json(folder / MANIFEST)
    if manifest is None or "study" not in manifest:
        raise StoreError(
            f"{folder} has no {MANIFEST}: it is not a study's folder, or its run has not ended. "
            "Run it to the end first."
        )
    failed = [*manifest.get("figures_failed", []), *manifest.get("tables_failed", [])]
    why = (
        "its results are not published" if manifest.get("published") is False
        else "a later run has begun and not ended" if manifest.get("made_from") == {}
        else f"{', '.join(failed)} could not be made" if failed
        else ""
    )  # fmt: skip
    if why:
        raise StoreError(f"{folder} is not finished: {why}. Run the study to the end first.")
    return manifest


# ---------------------------------------------------------------- files
def _checked_names(folder: Place, manifest: Mapping[str, Any]) -> list[str]:
    """The unchanged files of a run: outputs and blocks."""
    listed = listed_files(manifest)
    for name, digest in listed.items():
        if file_hash(folder / name) != digest:
            gone = "is missing" if not (folder / name).exists() else "was changed since"
            raise StoreError(
                f"{folder / name} {gone}, and a research object holds what was found and no more: "
                "run the study again, which writes it anew from the stored blocks."
            )
    protocol = (RECORD, TEXT) if manifest.get("protocol") else ()
    planned = [name for name in protocol if (folder / name).exists()]
    return sorted([*listed, MANIFEST, *planned, *_block_files(folder, manifest)])


def _block_files(folder: Place, manifest: Mapping[str, Any]) -> Iterator[str]:
    """The block files of this study and seed."""
    if not (folder / REPLICATES).exists():
        return
    for name, provenance in provenance_of_files(files_at(folder / REPLICATES)):
        settings = provenance.settings
        if all(settings.get(key) == manifest[key] for key in ("study", "seed")):
            yield f"{REPLICATES}/{name}"


def _add_file(crate: Any, folder: Place, name: str) -> Any:
    path = folder / name
    with path.open("rb") as file:
        digest, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
    kind = TYPES.get(path.suffix)
    added = crate.add_file(path, name)
    return _set(added, name=name, contentSize=str(size), sha256=digest, encodingFormat=kind)


# ---------------------------------------------------------------- the run, and whose it is
def _add_run(
    crate: Any, manifest: Mapping[str, Any], outputs: Sequence[Any], sources: Sequence[Any]
) -> Any:
    """Add the run with its outputs, software and times."""
    versions = {"Python": manifest["python"], **manifest["versions"]}
    own = versions.pop("simstudy", None)
    libraries = [f"{name} {version}" for name, version in versions.items() if name != "python"]
    commits = [f"{s['commit']}{', modified' * s['modified']}" for s in manifest.get("git", ())]
    package = _add(
        crate, "#simstudy", "SoftwareApplication", name="simstudy", softwareVersion=own,
        softwareRequirements=libraries,
    )  # fmt: skip
    study = _add(
        crate, "#study", "SoftwareSourceCode", name=f"code of the study {manifest['study']}",
        programmingLanguage="Python", version="; ".join(commits), hasPart=sources,
    )  # fmt: skip
    first, last = manifest.get(DRAWN) or ("", "")
    made = datetime.strptime(manifest["made"], MADE).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _set(
        crate.add_action([package, study], "#run", result=outputs),
        name=f"run of {manifest['study']}", startTime=first, endTime=max(last, made),
        actionStatus={"@id": "http://schema.org/CompletedActionStatus"},
    )  # fmt: skip


def _read_citation(path: Path) -> Mapping[str, Any]:
    """Read `CITATION.cff`; empty if there is none."""
    import yaml

    if not path.exists():
        return {}
    try:
        return dict(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise ConfigError(
            f"{path} cannot be read as a citation file ({in_one_line(str(error))})"
        ) from error


def _add_author(crate: Any, author: Mapping[str, Any]) -> Any:
    name, kind = _name_of(author), "Organization" if "name" in author else "Person"
    address = author.get("orcid") or author.get("website") or f"#{quote(name)}"
    return _add(crate, address, kind, name=name, affiliation=_line(author.get("affiliation")))


def _name_of(author: Mapping[str, Any]) -> str:
    parts = ("name", "given-names", "name-particle", "family-names")
    return " ".join(_line(author[part]) for part in parts if author.get(part))


def _add_licence(crate: Any, citation: Mapping[str, Any]) -> Any:
    """Add the licence by SPDX name; None if none is stated."""
    given = citation.get("license")
    name = given[0] if given and isinstance(given, list) else given
    address = f"https://spdx.org/licenses/{quote(str(name))}"
    return _add(crate, address, "CreativeWork", name=name) if name else None


# ---------------------------------------------------------------- entities
def _add(crate: Any, address: str, kind: str, **properties: Any) -> Any:
    """Add an entity, or return the existing one with its address."""
    known = crate.get(address)
    return known or _set(crate.add_jsonld({"@id": address, "@type": kind}), **properties)


def _set(entity: Any, **properties: Any) -> Any:
    """Set the properties that have a value."""
    for name, value in properties.items():
        if value not in (None, "", []):
            entity[name] = value
    return entity


def _line(value: object) -> str:
    """A text in one line."""
    return "" if value is None else " ".join(str(value).split())
