"""A folder of results made a crate: described file by file, and put into one archive."""

from __future__ import annotations

import datetime
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from simstudy.errors import StoreError
from simstudy.output.crate.entities import (
    CONTEXT,
    METADATA,
    PROFILE,
    ROOT,
    Entity,
    entity,
    name_of_file,
    refer,
)
from simstudy.output.crate.parts import checked_names, file_entity
from simstudy.output.crate.people import CITATION, Credits, credits_of
from simstudy.output.crate.run import action_of, began, software_of
from simstudy.output.docstring_sections import headings_of
from simstudy.output.report.command import command_of
from simstudy.remote.paths import Place
from simstudy.store.manifest import MANIFEST
from simstudy.whole_files import read_json, write_bytes, write_json

CODE: Final = "code"  # folder of the study's sources within a crate
DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
NO_TIME: Final = (1980, 1, 1, 0, 0, 0)  # of every file in an archive, so that it is the same again


@dataclass(frozen=True)
class StudyCode:
    """What a project knows of a study beside its folder of results.

    Parameters
    ----------
    root
        Folder of the project, which may have a `CITATION.cff`; None where only results are here.
    about
        The experiment's docstring.
    files
        Its source files and published settings, copied into the crate.
    """

    root: Path | None = None
    about: str = ""
    files: Sequence[Path] = field(default=())


class Crate(NamedTuple):
    """What was written: the description, how many files it names, and the archive, if any."""

    metadata: Place
    n_files: int
    archive: Place | None
    lacks: tuple[str, ...] = ()


def write_crate(folder: Place, code: StudyCode | None = None, *, archive: bool = False) -> Crate:
    """Describe a finished folder of results as RO-Crate 1.1.

    The same results give the same bytes: their date is the day on which they were first described,
    and stays.

    Parameters
    ----------
    folder
        Of one study, such as `results/NAME`. Files in it that no run has written are not named.
    code
        What the project knows; of a folder that was mailed, what lies in it.
    archive
        Whether `NAME.zip` is written beside it, with the description and what it names.

    Raises
    ------
    StoreError
        Where results are not finished, or not as they were written.
    """
    known = code or StudyCode()
    manifest = finished_manifest(folder)
    before = _described(folder)
    copied = _copied_code(folder, known, before)
    names = checked_names(folder, manifest)
    files = [file_entity(folder / name, name, manifest) for name in names]
    sources = [file_entity(folder / name, name, manifest) for name in copied]
    credits = credits_of(known.root or folder / CODE, manifest["study"])
    graph = _graph(folder, manifest, known, files, sources, credits, before)
    write_json(folder / METADATA, {"@context": CONTEXT, "@graph": graph})
    whole = [METADATA, *copied, *names]
    put = _archived(folder, whole) if archive else None
    return Crate(folder / METADATA, len(whole) - 1, put, tuple(_lacks(credits, manifest)))


def _lacks(credits: Credits, manifest: Mapping[str, Any]) -> Iterator[str]:
    """What a repository will ask for, in words."""
    missing = ["authors"] * (not credits.authors) + ["a licence"] * (credits.licence is None)
    if missing:
        yield f"{' and '.join(missing)}, which {CITATION} beside the study would name"
    if manifest.get("blocks_computed") and began(manifest) is None:
        yield "when its blocks were drawn, which runs of earlier versions did not keep"


def finished_manifest(folder: Place) -> Mapping[str, Any]:
    """The manifest of results that are published, with all that was to be drawn.

    Raises
    ------
    StoreError
        Saying what is not finished.
    """
    manifest = read_json(folder / MANIFEST)
    if manifest is None or "study" not in manifest:
        raise StoreError(
            f"{folder} has no {MANIFEST}: it is no study's folder, or its run has not ended. Run "
            "it to the end first."
        )
    failed = [*manifest.get("figures_failed", []), *manifest.get("tables_failed", [])]
    why = (
        "nobody has published its results" if manifest.get("published") is False
        else "a later run has begun and not ended" if manifest.get("made_from") == {}
        else f"{', '.join(failed)} could not be made" if failed
        else ""
    )  # fmt: skip
    if why:
        raise StoreError(f"{folder} is not finished: {why}. Run the study to the end first.")
    return manifest


def _described(folder: Place) -> Mapping[str, Entity]:
    """The entities of the description that lies there already, by their names."""
    graph = (read_json(folder / METADATA) or {}).get("@graph", [])
    return {each["@id"]: each for each in graph if isinstance(each, dict) and "@id" in each}


def _copied_code(folder: Place, known: StudyCode, before: Mapping[str, Entity]) -> list[str]:
    """The study's sources, copied below the folder; names of the copies.

    Without a project they are those that came with the folder, as they were described.
    """
    if known.root is None:
        named = (unquote(name) for name in before if name.startswith(f"{CODE}/"))
        return sorted(name for name in named if _is_as_described(folder, name, before))
    copies = {f"{CODE}/{path.relative_to(known.root).as_posix()}": path for path in known.files}
    for name, path in copies.items():
        write_bytes(folder / name, path.read_bytes())
    return sorted(copies)


def _is_as_described(folder: Place, name: str, before: Mapping[str, Entity]) -> bool:
    path = folder / name
    there = ".." not in Path(name).parts and path.exists()
    digest = before[name_of_file(name)].get("sha256")
    return there and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def _graph(
    folder: Place,
    manifest: Mapping[str, Any],
    known: StudyCode,
    files: Sequence[Entity],
    sources: Sequence[Entity],
    credits: Credits,
    before: Mapping[str, Entity],
) -> list[Entity]:
    command = command_of(manifest, known.root, folder)
    software = software_of(manifest, sources)
    run = action_of(manifest, command, credits.authors, files)
    licences = [credits.licence] if credits.licence else []
    about, says = {"@id": ROOT}, _says(manifest, known, before)
    described = entity(
        METADATA, "CreativeWork", conformsTo={"@id": PROFILE}, about=about,
    )  # fmt: skip
    root = entity(
        ROOT, "Dataset", name=_title(manifest, known.about), description=says,
        datePublished=_day(before), author=refer(credits.authors),
        license={"@id": licences[0]["@id"]} if licences else None,
        isBasedOn=refer(credits.documents), citation=refer(credits.documents),
        hasPart=refer([*files, *sources]),
        mentions=refer([run[0], software[-1]]),
    )  # fmt: skip
    entities = [described, root, *files, *sources, *run, *software]
    return [*entities, *credits.authors, *licences, *credits.documents]


def _title(manifest: Mapping[str, Any], about: str) -> str:
    question = headings_of(about).question if about.strip() else manifest.get("question", "")
    return " ".join(question.split()) or f"Simulation study {manifest['study']}"


def _says(manifest: Mapping[str, Any], known: StudyCode, before: Mapping[str, Entity]) -> str:
    """The study after ADEMP, as its docstring has it; else as it was described before."""
    if not known.about.strip():
        short = f"Results of the simulation study {manifest['study']}."
        return str(before.get(ROOT, {}).get("description", short))
    said = headings_of(known.about)
    parts = [*said.paragraphs, *(f"{name}: {text}" for name, text in said.parts)]
    return "\n\n".join(" ".join(part.split()) for part in parts)


def _day(before: Mapping[str, Entity]) -> str:
    """The day of the description that lies there already, else today's."""
    known = str(before.get(ROOT, {}).get("datePublished", ""))
    return known if DAY.fullmatch(known) else datetime.datetime.now(datetime.UTC).date().isoformat()


def _archived(folder: Place, names: Sequence[str]) -> Place:
    """An archive beside the folder with these files below its name, the same bytes each time."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names):
            entry = zipfile.ZipInfo(f"{folder.name}/{name}", NO_TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, (folder / name).read_bytes())
    target = folder.parent / f"{folder.name}.zip"
    write_bytes(target, content.getvalue())
    return target
