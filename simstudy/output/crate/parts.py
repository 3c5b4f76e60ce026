"""The files of a crate: what the manifest speaks for, and blocks that say whose they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simstudy.errors import StoreError
from simstudy.output.crate.entities import Entity, entity, name_of_file
from simstudy.output.protocol.made import RECORD, TEXT
from simstudy.output.report.figures import title_of
from simstudy.output.up_to_date import FIGURES, REPORT, TABLES, file_hash
from simstudy.remote.paths import Place
from simstudy.store.files import files_at
from simstudy.store.header import owner_in
from simstudy.store.home import FOLDERS
from simstudy.store.manifest import MANIFEST, listed_files

ENCODINGS: Final = {
    ".parquet": "application/vnd.apache.parquet", ".json": "application/json",
    ".csv": "text/csv", ".md": "text/markdown", ".tex": "application/x-tex",
    ".png": "image/png", ".svg": "image/svg+xml", ".pdf": "application/pdf",
    ".html": "text/html", ".py": "text/x-python", ".yaml": "application/yaml",
    ".cff": "application/yaml",
}  # fmt: skip
SAYS: Final = {
    "summary.parquet": "each measure of each scenario and cell, with its Monte Carlo error",
    "claims.parquet": "what is claimed, what was found, and the verdict",
    "scenarios.parquet": "the scenarios by their keys, with their factors",
    "cells.parquet": "the cells of the axes",
    "failures.parquet": "replicates that failed, each with its error and its address",
    "warnings.parquet": "texts of warnings, with the numbers of replicates",
    "summary_all_methods.parquet": "the summary of replicates in which no method failed",
    MANIFEST: "what the results were made from, and hashes of the files",
    REPORT: "all of it on one page",
    TEXT: "the study as it was planned before it was drawn",
}


def checked_names(folder: Place, manifest: Mapping[str, Any]) -> list[str]:
    """The files of a run below its folder, each as it was written.

    Raises
    ------
    StoreError
        Where one is missing or has changed since.
    """
    listed = listed_files(manifest)
    for name, digest in listed.items():
        if file_hash(folder / name) != digest:
            gone = "is missing" if not (folder / name).exists() else "was changed since"
            raise StoreError(
                f"{folder / name} {gone}, and a crate says what was found and no more: run the "
                "study again, which writes it anew from the stored blocks."
            )
    protocol = (RECORD, TEXT) if manifest.get("protocol") else ()
    planned = [name for name in protocol if (folder / name).exists()]
    return sorted([*listed, MANIFEST, *planned, *_block_files(folder, manifest)])


def _block_files(folder: Place, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Files of blocks of this study and seed; whatever else lies beside them is not ours."""
    for kind in FOLDERS.values():
        if not (folder / kind).exists():
            continue
        files = files_at(folder / kind)
        for name in files.names():
            settings = owner_in(files, name).settings
            if (settings.get("study"), settings.get("seed")) == (
                manifest["study"], manifest["seed"],
            ):  # fmt: skip
                yield f"{kind}/{name}"


def file_entity(path: Place, name: str, manifest: Mapping[str, Any]) -> Entity:
    """A file with its size in bytes, its SHA-256, its type, and what it shows."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
    return entity(
        name_of_file(name), "File", name=_title(name), description=_said(name, manifest),
        contentSize=str(size), sha256=digest, encodingFormat=ENCODINGS.get(path.suffix),
    )  # fmt: skip


def _title(name: str) -> str:
    """What a reader calls it."""
    kind, _, rest = name.partition("/")
    stem, _, ending = rest.rpartition("/")[-1].rpartition(".")
    column = rest.rpartition("/")[0]
    form = f"{ending.upper()}, {column}" if column else ending.upper()
    if kind == FIGURES:
        return f"{title_of(stem)}, {form}"
    return f"Table {stem}, {form}" if kind == TABLES else name


def _said(name: str, manifest: Mapping[str, Any]) -> str:
    kind, _, rest = name.partition("/")
    if kind in FOLDERS.values():
        return "stored replicates" if kind == "replicates" else "sums over stored replicates"
    if kind == FIGURES:
        stem = rest.rpartition("/")[-1].rpartition(".")[0]
        return str(manifest.get("captions", {}).get(stem, ""))
    return SAYS.get(name, "")
