"""What is stored of a study, and what a run would still draw; nothing is drawn to find out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from simstudy.cli.found import Found, find_blocks
from simstudy.cli.gaps import gaps_in_words
from simstudy.cli.project import Project
from simstudy.cli.request import Request
from simstudy.cli.settings import read_shard
from simstudy.errors import NotHereError, SimstudyError
from simstudy.remote.paths import Place

HEADER = f"{'experiment':28} {'blocks':>15} {'failed':>7} {'missing':>8}  published"


@dataclass(frozen=True)
class Inventory:
    """Blocks of a study, or of its shard, by what has become of them.

    Parameters
    ----------
    whole
        All blocks of the study.
    found
        Those of them that were asked for.
    to_draw
        How many a run would draw now.
    seconds_per_block
        What a block took the run that last drew any, with its workers; None if that is not known.
    """

    whole: Found
    found: Found
    to_draw: int
    seconds_per_block: float | None

    @property
    def wanted(self) -> int:
        """Blocks in all."""
        return len(self.found.every)

    @property
    def stored(self) -> int:
        """Those of them that are there."""
        return self.wanted - len(self.found.missing)

    @property
    def failed(self) -> int:
        """Those of the stored ones in which any replicate failed."""
        return len(self.found.failed)


def take_inventory(request: Request) -> Inventory:
    """Look at a study's folder as a run would, and draw nothing.

    Raises
    ------
    StoreError
        Where a run would refuse the folder.
    """
    whole, shard = find_blocks(request), read_shard(request.settings.shard)
    found = whole.in_shard(shard) if shard else whole
    again = len(found.failed) if request.settings.retry else 0
    return Inventory(whole, found, len(found.missing) + again, _pace(request.folder))


def _manifest(folder: Place) -> dict[str, Any]:
    from simstudy.atomic_files import read_json
    from simstudy.store.manifest import MANIFEST

    return read_json(folder / MANIFEST) or {}


def _pace(folder: Place) -> float | None:
    manifest = _manifest(folder)
    seconds, n_blocks = (_number(manifest, what) for what in ("wall_seconds", "blocks_computed"))
    return seconds / n_blocks if seconds and n_blocks else None


def _number(manifest: Mapping[str, Any], what: str) -> float:
    """A number that a manifest says; 0 where it says none, or something else."""
    said = manifest.get(what)
    return said if isinstance(said, int | float) else 0


# ---------------------------------------------------------------- a plan
def plan_in_words(request: Request, found: Inventory) -> str:
    """What a run would do, line by line."""
    study, size = request.study, request.study.block_size
    shard = f" (shard {request.settings.shard})" if request.settings.shard else ""
    return "\n".join(
        (
            f"{study.name}: {len(study.scenarios):,} scenarios, {request.n_drawn:,} replicates in "
            f"each, drawn in blocks of {size:,}",
            f"blocks   {found.wanted:,}{shard}: {found.stored:,} stored ({found.failed:,} with "
            f"failures), {found.wanted - found.stored:,} missing",
            f"to draw  {found.to_draw:,} blocks, {found.to_draw * size:,} replicates",
            f"time     {_time_in_words(found)}",
            f"results  {request.folder}: {_outputs(request)}",
        )
    )


def _time_in_words(found: Inventory) -> str:
    if not found.to_draw:
        return "none: every block is stored"
    if found.seconds_per_block is None:
        return "not known: no run has drawn blocks into this folder yet"
    return f"about {found.to_draw * found.seconds_per_block:,.1f} s, at the pace of the last run"


def _outputs(request: Request) -> str:
    """What a run with these settings writes there."""
    study, settings = request.study, request.settings
    tables = f"{len(study.tables)} tables" if study.tables else ""
    figures = f"{len(study.figures)} figures" if settings.figures and study.figures else ""
    said = [f"summary of {len(study.measures)} measures", f"{len(study.claims)} claims", tables]
    return ", ".join(filter(None, [*said, figures, "report" if settings.report else ""]))


# ---------------------------------------------------------------- status
class StatusLine(NamedTuple):
    """An experiment's line in the table of all, and what there is to say of it alone."""

    text: str
    any_failed: bool = False
    is_refused: bool = False
    details: str = ""


def status_lines(project: Project, overrides: Sequence[str]) -> list[StatusLine]:
    """What is there of an experiment, or of each in a sweep.

    Raises
    ------
    SimstudyError
        Where a run of it would be refused.
    """
    from simstudy.cli.compose import read_requests

    return [_status_line(request) for request in read_requests(overrides, project)]


def refused_line(name: str, error: SimstudyError) -> StatusLine:
    """What is wrong with one of all experiments: it must not hide the others.

    That its data or a library are not on this machine is nothing wrong.
    """
    text = f"{name:28} {' '.join(str(error).split())}"
    return StatusLine(text, is_refused=not isinstance(error, NotHereError))


def _status_line(request: Request) -> StatusLine:
    found = take_inventory(request)
    counts = f"{found.stored:,} of {found.wanted:,}"
    missing, published = found.wanted - found.stored, _published(request.folder)
    text = f"{request.name:28} {counts:>15} {found.failed:7,} {missing:8,}  {published}"
    failed = found.failed or _number(_manifest(request.folder), "failed_replicates")
    return StatusLine(text, any_failed=bool(failed), details=gaps_in_words(request, found.whole))


def _published(folder: Place) -> str:
    """What outputs the folder holds, as its manifest says."""
    manifest = _manifest(folder)
    if not manifest:
        return "nothing"
    counts = ("replicates", "failed_replicates", "scenarios")
    n_rep, n_failed, n_scenarios = (_number(manifest, what) for what in counts)
    failed = f", {n_failed:,} of them failed" if n_failed else ""
    return f"{n_rep:,} replicates in {n_scenarios:,} scenarios{failed}"
