"""The blocks of a study: stored, missing and to be drawn."""

import os
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from simstudy.cli.ending import FAILED
from simstudy.cli.settings import Run
from simstudy.design.plan import Plan
from simstudy.engine import tasks
from simstudy.engine.provenance import compute_provenance
from simstudy.errors import IncompleteError
from simstudy.store.files import REPLICATES
from simstudy.store.runs import StudyFolder, list_runs
from simstudy.study import stored_blocks


class Inventory(NamedTuple):
    """The blocks of a study or shard: stored, failed, missing.

    Attributes
    ----------
    plan
        The units of work: scenarios, or pairs of scenario and method.
    every
        All blocks of the settings.
    missing
        Blocks that are not stored, or were drawn by other code or settings.
    failed
        Stored blocks with a failed replicate.
    changed
        Line on the changes since stored blocks were drawn; empty if there are none.
    """

    plan: Plan
    every: tasks.BlockSet
    missing: tasks.BlockSet
    failed: tasks.BlockSet
    changed: str = ""

    @property
    def n_stored(self) -> int:
        """The number of stored blocks."""
        return len(self.every) - len(self.missing)

    def of_shard(self, shard: tuple[int, int] | None) -> "Inventory":
        """The inventory of one shard."""
        if shard is None:
            return self
        every, missing, failed = (
            tasks.blocks_of_shard(self.plan, blocks, shard)
            for blocks in (self.every, self.missing, self.failed)
        )
        return Inventory(self.plan, every, missing, failed, self.changed)

    def gaps(self, n_shards: int) -> tuple[list[int], float]:
        """The shards with missing blocks, and how many whole shards of work are missing."""
        wanted = tasks.n_blocks_by_shard(self.plan, self.every, n_shards)
        missing = tasks.n_blocks_by_shard(self.plan, self.missing, n_shards)
        return sorted(missing), sum(n / wanted[index] for index, n in missing.items())


def take_inventory(run: Run) -> Inventory:
    """Read a study's folder as a run would, without drawing missing blocks.

    Blocks of other versions that no run has compared count as stored, and `changed` says so.

    Raises
    ------
    StoreError
        If the folder is of another study.
    """
    plan = run.study.plan(run.settings.seed).work_units
    provenance = compute_provenance(plan)
    out = run.out if (run.folder / REPLICATES).is_dir() else None
    folder = StudyFolder.open(plan, out, provenance.of_blocks)
    store, pending = stored_blocks.uncompared_versions(plan, folder)
    other = stored_blocks.other_code(plan, store, data=True)
    code = stored_blocks.describe_other_code(other, folder) if other else ""
    wanted = dict.fromkeys(plan.keys, plan.n_blocks(run.n_rep))
    return Inventory(
        plan,
        tasks.all_blocks(plan, wanted),
        tasks.missing_blocks(plan, wanted, store),
        tasks.blocks_with_failures(plan, wanted, store),
        "; ".join(filter(None, [pending, code])),
    )


def check_join(run: Run) -> None:
    """Draw nothing here if the missing blocks are more work than one shard.

    Raises
    ------
    IncompleteError
        With what changed, and the shards to submit again.
    """
    n_shards = run.settings.join or 1
    stored = take_inventory(run)
    gaps, n_missing = stored.gaps(n_shards)
    if round(n_missing, 9) > 1:
        changed = f"; {stored.changed}" if stored.changed else ""
        raise IncompleteError(
            f"join={n_shards}: {len(stored.missing):,} of {len(stored.every):,} blocks are missing,"
            f" in {len(gaps):,} of {n_shards:,} shards{changed}. That is more than one shard draws,"
            " so none is drawn here (without join=, all are). To draw them in an array: "
            f"{_array_command(gaps)}"
        )


def _array_command(shards: Iterable[int]) -> str:
    """The command that submits some shards to Slurm, by the script that `batch` wrote."""
    script = os.environ.get("SIMSTUDY_SCRIPT", "SCRIPT")  # set by the script of an array
    return f"bash {shlex.quote(script)} {format_ranges(shards)}"


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers as ranges: 1-3,7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def format_plan(run: Run) -> str:
    """The plan of a run: blocks, time, results."""
    study, settings = run.study, run.settings
    stored = take_inventory(run).of_shard(settings.share)
    n_drawn = len(stored.missing) + (len(stored.failed) if settings.retry else 0)
    n_drawn = len(stored.every) if settings.redraw else n_drawn
    runs = [each.manifest for each in list_runs(run.folder)]
    paces = [m["wall_seconds"] / m["blocks_computed"] for m in runs if m.get("blocks_computed")]
    time = f"about {n_drawn * paces[0]:,.1f} s, at the pace of the last run" if paces else "unknown"
    lines = [
        f"{study.name}: {len(study.scenarios):,} scenarios, {run.n_rep:,} replicates in each, "
        f"drawn in blocks of {study.block_size:,}",
        _format_blocks(stored),
        stored.changed,
        f"to draw  {'at most ' * bool(settings.redraw)}{n_drawn:,} blocks",
        f"time     {time}",
        f"results  {run.run_folder}",
    ]
    return "\n".join(filter(None, lines))


def _format_blocks(stored: Inventory) -> str:
    return (
        f"blocks   {len(stored.every):,}: {stored.n_stored:,} stored "
        f"({len(stored.failed):,} with failures), {len(stored.missing):,} missing"
    )


def format_status(run: Run) -> tuple[str, int]:
    """A study's blocks and its runs; and the exit status."""
    stored = take_inventory(run)
    lines = [_format_blocks(stored), stored.changed]
    for each in list_runs(run.folder):
        n_rep, n_failed = (each.manifest.get(n, 0) for n in ("replicates", "failed_replicates"))
        failed = f", {n_failed:,} of them failed" * bool(n_failed)
        lines.append(f"  {each.name or 'published settings':40} {n_rep:,} replicates{failed}")
    return "\n".join(filter(None, lines)), FAILED if stored.failed else 0
