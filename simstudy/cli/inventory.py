"""What is stored of a study, and what a run would still draw; nothing is drawn to find out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from simstudy.cli.project import Project
from simstudy.cli.request import Request
from simstudy.cli.settings import read_shard
from simstudy.errors import NotHereError, SimstudyError

HEADER = f"{'experiment':28} {'blocks':>15} {'failed':>7} {'missing':>8}  published"


@dataclass(frozen=True)
class Inventory:
    """Blocks of a study, by what has become of them.

    Parameters
    ----------
    wanted
        Blocks of the whole study, or of its shard.
    stored
        Those of them that are there, and drawn by the code and settings of this study.
    failed
        Those of the stored ones in which any replicate failed.
    to_draw
        Blocks that a run would draw now.
    seconds_per_block
        What a block took the run that last drew any, with its workers; None if that is not known.
    """

    wanted: int
    stored: int
    failed: int
    to_draw: int
    seconds_per_block: float | None


def take_inventory(request: Request) -> Inventory:
    """Look at a study's folder as a run would, and draw nothing.

    Raises
    ------
    StoreError
        Where a run would refuse the folder.
    """
    from simstudy.engine.jobs import Job, failed_jobs, in_shard, missing_jobs
    from simstudy.engine.ownership import ownership_of
    from simstudy.engine.refusals import check_redraw
    from simstudy.store.home import Home

    settings, study = request.settings, request.study
    plan, kept = study.plan(settings.seed).drawn, study.kept(settings.keep)
    owner = ownership_of(plan, kept.measures, study.worst).owner
    redraw = check_redraw(settings.redraw or (), study.methods)
    home = Home.open(plan, _existing_out(request), owner, kept, redraw=redraw)
    blocks = dict.fromkeys(plan.keys, plan.n_blocks(request.n_rep))
    every = [Job(plan.keys[key], block, key) for key, n in blocks.items() for block in range(n)]
    shard = read_shard(settings.shard) or (1, 1)
    jobs = (every, missing_jobs(plan, blocks, home.store), failed_jobs(plan, blocks, home.store))
    wanted, missing, failed = (len(in_shard(plan, some, shard)) for some in jobs)
    again = failed if settings.retry else 0
    return Inventory(wanted, wanted - missing, failed, missing + again, _pace(request.folder))


def _existing_out(request: Request) -> str | None:
    """The folder that a run would look into; None, for an empty one, where it would make one."""
    kept = request.study.kept(request.settings.keep)
    is_there = (request.folder / kept.folder).is_dir()
    return request.out if is_there and not request.settings.restart else None


def _manifest(folder: Path) -> dict[str, Any]:
    from simstudy.store.manifest import MANIFEST
    from simstudy.whole_files import read_json

    return read_json(folder / MANIFEST) or {}


def _pace(folder: Path) -> float | None:
    manifest = _manifest(folder)
    seconds, n_blocks = manifest.get("wall_seconds"), manifest.get("blocks_computed")
    return seconds / n_blocks if seconds and n_blocks else None


# ---------------------------------------------------------------- a plan
def plan_in_words(request: Request, found: Inventory) -> str:
    """What a run would do, line by line."""
    study, size = request.study, request.study.block_size
    shard = f" (shard {request.settings.shard})" if request.settings.shard else ""
    return "\n".join(
        (
            f"{study.name}: {len(study.scenarios):,} scenarios, {request.n_rep:,} replicates in "
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
    figures = f"{len(study.figures)} figures" if settings.figures and study.figures else ""
    said = [f"summary of {len(study.measures)} measures", f"{len(study.claims)} claims", figures]
    return ", ".join(filter(None, [*said, "report" if settings.report else ""]))


# ---------------------------------------------------------------- status
class StatusLine(NamedTuple):
    """An experiment's line in the table of all."""

    text: str
    any_failed: bool = False
    is_refused: bool = False


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
    failed = found.failed or _manifest(request.folder).get("failed_replicates", 0)
    return StatusLine(text, any_failed=bool(failed))


def _published(folder: Path) -> str:
    """What outputs the folder holds, as its manifest says."""
    manifest = _manifest(folder)
    if not manifest:
        return "nothing"
    n_rep, n_failed = manifest.get("replicates", 0), manifest.get("failed_replicates", 0)
    failed = f", {n_failed:,} of them failed" if n_failed else ""
    return f"{n_rep:,} replicates in {manifest.get('scenarios', 0):,} scenarios{failed}"
