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

MAX_SCENARIOS = 10  # scenarios listed in a forecast


class Inventory(NamedTuple):
    """The blocks of a study: stored, failed, missing.

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
    folder = StudyFolder.open(plan, out, provenance.of_blocks, at_once=False)
    store, pending = stored_blocks.uncompared_versions(plan, folder)
    other = stored_blocks.other_code(plan, store, data=True)
    code = stored_blocks.describe_other_code(other, folder) if other else ""
    wanted = dict.fromkeys(plan.keys, plan.n_blocks(run.n_rep))
    every, missing = tasks.all_blocks(plan, wanted), tasks.missing_blocks(plan, wanted, store)
    failed = tasks.blocks_with_failures(plan, wanted, store)
    if shard := run.settings.share:
        every, missing, failed = (
            tasks.blocks_of_shard(plan, blocks, shard) for blocks in (every, missing, failed)
        )
    return Inventory(plan, every, missing, failed, "; ".join(filter(None, [pending, code])))


def check_join(run: Run) -> None:
    """Draw nothing here if the missing blocks are more work than one shard.

    Raises
    ------
    IncompleteError
        With what changed, and the shards to submit again.
    """
    n_shards, stored = run.settings.join or 1, take_inventory(run)
    wanted = tasks.n_blocks_by_shard(stored.plan, stored.every, n_shards)
    missing = tasks.n_blocks_by_shard(stored.plan, stored.missing, n_shards)
    n_missing = sum(n / wanted[index] for index, n in missing.items())  # whole shards of work
    if round(n_missing, 9) > 1:
        changed = f"; {stored.changed}" if stored.changed else ""
        script = os.environ.get("SIMSTUDY_SCRIPT", "SCRIPT")  # set by the script of an array
        raise IncompleteError(
            f"join={n_shards}: {len(stored.missing):,} of {len(stored.every):,} blocks are missing,"
            f" in {len(missing):,} of {n_shards:,} shards{changed}. That is more than one shard "
            "draws, so none is drawn here (without join=, all are). To draw them in an array: "
            f"bash {shlex.quote(script)} {format_ranges(sorted(missing))}"
        )


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers as ranges: 1-3,7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def print_blocks(run: Run) -> int:
    """Print how many blocks are stored, missing and to be drawn; returns the exit status."""
    study, settings, stored = run.study, run.settings, take_inventory(run)
    n, n_missing, n_failed = len(stored.every), len(stored.missing), len(stored.failed)
    n_drawn = n if settings.redraw else n_missing + n_failed * bool(settings.retry)
    lines = [
        f"{study.name}: {len(study.scenarios):,} scenarios, {run.n_rep:,} replicates in each, "
        f"drawn in blocks of {study.block_size:,}",
        f"blocks   {n:,}: {n - n_missing:,} stored ({n_failed:,} with failures), "
        f"{n_missing:,} missing",
        stored.changed,
        f"to draw  {'at most ' * bool(settings.redraw)}{n_drawn:,} blocks",
        f"results  {run.run_folder}",
    ]
    print("\n".join(filter(None, lines)))
    return FAILED if stored.failed else 0


def print_runs(run: Run) -> None:
    """Print the published runs of a study."""
    for each in list_runs(run.folder):
        n_rep, n_failed = (each.manifest.get(n, 0) for n in ("replicates", "failed_replicates"))
        failed = f", {n_failed:,} of them failed" * bool(n_failed)
        print(f"  {each.name or 'published settings':40} {n_rep:,} replicates{failed}")


def print_cost(run: Run) -> None:
    """Print what the precision of a run costs: in total, and in the dearest scenarios."""
    settings = run.settings
    cost = run.study.forecast(settings.precision, settings.n_rep, settings.seed)
    sums = cost[["n_rep", "seconds", "bytes"]].sum()
    print(
        f"the precision takes {sums['n_rep']:,.0f} replicates in {len(cost):,} scenarios: "
        f"{sums['seconds']:,.1f} s on one core, {sums['bytes'] / 1e6:,.1f} MB. The most:"
    )
    dearest = cost.nlargest(MAX_SCENARIOS, "n_rep")
    print(dearest.to_string(index=False, float_format="{:,.1f}".format))
    if n_over := int((cost["needed"] > settings.max_rep).sum()):
        print(f"max_rep={settings.max_rep} ends {n_over} of these scenarios before")
