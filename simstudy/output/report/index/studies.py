"""A study's entry in the index: what it asked, what it cost, what it shows, and its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simstudy.in_short import from_to
from simstudy.output.formatting import counted, time_in_words
from simstudy.output.report.command import command_of
from simstudy.output.report.figures import title_of
from simstudy.output.report.index.again import command_by_name
from simstudy.output.report.index.claims import CLAIMS, ClaimLine, claims_of
from simstudy.output.report.index.folders import CannotBeRead, Folder
from simstudy.output.report.index.pictures import Picture, Pictures
from simstudy.output.report.index.said import Said, short
from simstudy.output.report.index.states import Remark, remarks_of
from simstudy.output.up_to_date import FIGURES, REPORT
from simstudy.store.manifest import listed_files

STATES = {"expected": "finished", "open": "with remarks", "unexpected": "not in order"}
COMMIT = 7  # letters of one that people read


@dataclass(frozen=True)
class Part:
    """Where a study stands among all, as its manifest says."""

    title: str
    group: str = ""
    page: str = ""
    order: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Figure:
    """A figure of a study.

    Parameters
    ----------
    files
        Those of it that are there, below the study's folder, the one to be opened first.
    picture
        It, made small; None where that cannot be, or the page is full.
    trouble
        What is wrong with it.
    """

    name: str
    caption: str
    files: tuple[str, ...]
    picture: Picture | None = None
    trouble: str = ""

    @property
    def title(self) -> str:
        return title_of(self.name)

    @property
    def is_left_out(self) -> bool:
        """Whether it could be shown, and the page is full."""
        return self.picture is None and not self.trouble


@dataclass(frozen=True)
class Cost:
    """Seconds: of the run that drew last, of all runs on one core, and of publishing."""

    drawing: float | None = None
    on_one_core: float | None = None
    publishing: float | None = None

    @property
    def in_words(self) -> list[str]:
        """In a few words each."""
        said = []
        if self.drawing is not None:
            core = f" ({time_in_words(self.on_one_core)} on one core)" if self.on_one_core else ""
            said.append(f"drawn in {time_in_words(self.drawing)}{core}")
        elif self.on_one_core:
            said.append(f"drawn in {time_in_words(self.on_one_core)} on one core")
        if self.publishing is not None:
            said.append(f"published in {time_in_words(self.publishing)}")
        return said


@dataclass(frozen=True)
class Study:
    """A study's entry.

    Parameters
    ----------
    report
        Its page, below the folder of all results; empty where there is none.
    command
        What makes it again; empty where the manifest does not say enough.
    """

    name: str
    question: str
    part: Part | None
    scenarios: int | None
    replicates: int | None
    each: tuple[int, int] | None
    failed: int
    cost: Cost
    made: str
    version: str
    commit: str
    command: str
    has_report: bool
    figures: tuple[Figure, ...]
    claims: tuple[ClaimLine, ...]
    remarks: tuple[Remark, ...]

    @property
    def shown_name(self) -> str:
        return short(self.name)

    @property
    def mark(self) -> str:
        """Of what kind its worst remark is."""
        kinds = {remark.kind for remark in self.remarks}
        return next((kind for kind in ("unexpected", "open") if kind in kinds), "expected")

    @property
    def state(self) -> str:
        """In a word or two, as its worst remark has it."""
        return STATES[self.mark]

    @property
    def facts(self) -> list[str]:
        """Its size, its cost, and what made it, in a few words each."""
        said = [*self._scenarios(), *self._replicates(), *self.cost.in_words]
        version = f"simstudy {self.version}" if self.version else ""
        code = f"{version} at {self.commit}" if version and self.commit else version
        return [text for text in (*said, self.made and f"made {self.made}", code) if text]

    def _scenarios(self) -> Iterator[str]:
        if self.scenarios is not None:
            yield counted(self.scenarios, "scenario")

    def _replicates(self) -> Iterator[str]:
        if self.replicates is None:
            return
        in_all = counted(self.replicates, "replicate")
        if not self.each or self.scenarios == 1:
            yield in_all
            return
        yield f"{in_all}, {from_to(*self.each)} in each scenario"


def read_study(
    folder: Folder,
    manifest: Mapping[str, Any],
    pictures: Pictures,
    *,
    root: Path | None = None,
    is_stale: bool = False,
    needs_report: bool = True,
) -> Study:
    """A study's entry, whatever its files hold.

    Parameters
    ----------
    root
        The project around it, if there is one.
    is_stale
        Whether its sources are known to have changed.
    needs_report
        Whether a missing report is to be said.
    """
    said = Said(manifest)
    claims, trouble = _claims(folder, said)
    figures = tuple(_figures(folder, said, pictures))
    has_report = REPORT in folder.files
    command = _command(said, root, folder) or command_by_name(folder.name, root)
    facts = _facts(said)
    remarks = remarks_of(
        said,
        facts["each"],
        figures=[each.trouble for each in figures if each.trouble],
        claims_file=trouble,
        claims=claims,
        lacks_report=needs_report and not has_report,
        is_stale=is_stale,
    )
    return Study(
        folder.name, said.text("question"), _part(said), command=command, has_report=has_report,
        figures=figures, claims=tuple(claims), remarks=tuple(remarks), **facts,
    )  # fmt: skip


def _claims(folder: Folder, said: Said) -> tuple[list[ClaimLine], str]:
    """Those of its file, and what is wrong with that."""
    if CLAIMS not in folder.files:
        return [], f"{CLAIMS} is missing" * (CLAIMS in listed_files(said.content))
    try:
        return claims_of(folder), ""
    except CannotBeRead as why:
        return [], f"{CLAIMS} {why}"


def _facts(said: Said) -> dict[str, Any]:
    """What is said of its size, its cost and its making."""
    is_timed = bool(said.count("blocks_computed"))
    cost = Cost(
        said.seconds("wall_seconds") if is_timed else None,
        said.seconds("core_seconds"),
        said.seconds("publish_seconds"),
    )
    return {
        "scenarios": said.count("scenarios"),
        "replicates": said.count("replicates"),
        "each": _each(said),
        "failed": said.count("failed_replicates") or 0,
        "cost": cost,
        "made": said.text("made"),
        "version": short(said.mapping("versions").get("simstudy") or ""),
        "commit": _commit(said.content.get("git")),
    }


def _each(said: Said) -> tuple[int, int] | None:
    """The fewest and the most replicates of a scenario."""
    asked = said.content.get("replicates_per_scenario")
    if not isinstance(asked, dict):
        n = said.count("replicates_per_scenario")
        return None if n is None else (n, n)
    sizes = [n for n in asked.values() if isinstance(n, int)]
    return (min(sizes), max(sizes)) if sizes else None


def _commit(git: Any) -> str:
    """The commit of the code, and whether it was changed."""
    first = git[0] if isinstance(git, list) and git and isinstance(git[0], dict) else {}
    commit = first.get("commit")
    if not isinstance(commit, str):
        return ""
    return short(commit[:COMMIT]) + " with changes" * (first.get("modified") is True)


def _part(said: Said) -> Part | None:
    given = Said(said.mapping("part"))
    title = given.text("title")
    if not title:
        return None
    return Part(title, given.text("group"), given.text("page"), _order(given.content.get("order")))


def _order(said: Any) -> tuple[int, int]:
    """Which document of its group, and which study of that; the first, where it is not said."""
    match said:
        case [int() as document, int() as study]:
            return document, study
    return 0, 0


def _command(said: Said, root: Path | None, folder: Folder) -> str:
    """What makes it again; nothing of what was made of a file: its settings are not all of it."""
    if "file" in said.mapping("config"):
        return ""
    try:
        return command_of(said.content, root, folder.path)
    except Exception:  # whatever another's manifest holds
        return ""


def _figures(folder: Folder, said: Said, pictures: Pictures) -> Iterator[Figure]:
    """In the order in which the study names them."""
    captions, listed = said.texts("captions"), listed_files(said.content)
    names = [*captions, *(Path(file).stem for file in listed if _is_figure(file))]
    for name in dict.fromkeys(names):
        yield _figure(folder, name, captions.get(name, ""), listed, pictures)


def _is_figure(file: str) -> bool:
    return file.startswith(f"{FIGURES}/") and file.endswith(".png") and file.count("/") == 1


def _figure(
    folder: Folder, name: str, caption: str, listed: Mapping[str, Any], pictures: Pictures
) -> Figure:
    png = f"{FIGURES}/{name}.png"
    beside = (f"{FIGURES}/{name}.svg", png)
    files = tuple(file for file in beside if file in folder.files)
    try:
        picture, is_listed = pictures.of_figure(folder, png, str(listed.get(png) or ""))
    except CannotBeRead as why:
        return Figure(name, caption, files, trouble=f"{png} {why}")
    trouble = "" if is_listed else f"{png} was changed after it was drawn"
    return Figure(name, caption, files, picture, trouble)
