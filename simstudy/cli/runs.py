"""Runs of the command line: what they have stored, what they draw, publish and print."""

import os
import shlex
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from simstudy.cli import ending
from simstudy.cli.project import part_of
from simstudy.cli.settings import Run
from simstudy.design.plan import Plan
from simstudy.engine import tasks
from simstudy.engine.graceful_stop import host_signals_deferred
from simstudy.engine.progress import Bar
from simstudy.engine.provenance import compute_provenance
from simstudy.errors import ConfigError, IncompleteError, nearest
from simstudy.store.files import REPLICATES
from simstudy.store.runs import StudyFolder, list_runs
from simstudy.study import stored_blocks

PASSED_ON = ("figures", "report", "pdf", "n_jobs")  # settings that are options of `publish`
MAX_MEASURES = 2  # measures in the table of a sweep
MAX_SCENARIOS = 10  # scenarios listed in a forecast


@dataclass(frozen=True)
class Outcome:
    """How a run ended: what a callback of Hydra gets as `job_return.return_value`.

    Parameters
    ----------
    status
        Exit status, as `docs/command_line.md` lists them; 0 if all is well.
    reason
        Message of the error that ended it; empty without one.
    folder
        Folder of its outputs, which `simstudy.load` opens; None if there are none.
    seconds
        Time from start to end, in seconds.
    objective
        Mean estimate of the measure that `objective=` names. A callback then gets this number.
    warnings
        Warnings about the run's numbers.
    estimates
        The first measures over all scenarios, with their errors, as text.
    """

    status: int
    reason: str = ""
    folder: str | None = None
    seconds: float = 0.0
    objective: float | None = None
    warnings: tuple[str, ...] = ()
    estimates: dict[str, str] = field(default_factory=dict)


@host_signals_deferred()
def carry_out(run: Run, *, is_sweep: bool = False) -> Outcome:
    """Draw and publish a study, or draw a share of it.

    Parameters
    ----------
    is_sweep
        Whether the run is one of a sweep, which prints one line for each.
    """
    start = time.perf_counter()
    with ending.raising():
        if run.settings.shard:
            return Outcome(_draw_shard(run))
        outcome = _draw_and_publish(run, is_sweep=is_sweep)
    return replace(outcome, seconds=time.perf_counter() - start)


def _draw_and_publish(run: Run, *, is_sweep: bool) -> Outcome:
    if run.settings.join:
        check_join(run)
    from simstudy.analysis.result import warnings_of_measures

    result = draw(run)
    status = publish_run(run, result, is_sweep=is_sweep)
    outcome = Outcome(
        status,
        folder=str(run.run_folder),
        objective=_objective(run, result),
        warnings=(*warnings_of_measures(result), *result.outcome.warnings),
        estimates=_first_estimates(result) if is_sweep else {},
    )
    if not result.details.n_left:
        return outcome
    left = f"{result.details.n_left:,} blocks are missing"
    go_on = run.project.resume_command("run", run.overrides)
    print(f"budget={run.settings.budget} is spent, and {left}. To go on: {go_on}")
    return replace(outcome, status=status or ending.OUT_OF_TIME, reason="budget is spent")


def _objective(run: Run, result: Any) -> float | None:
    """The mean estimate of the measure that `objective=` names."""
    name = run.settings.objective
    if name is None:
        return None
    found = result.summary.groupby("measure")["estimate"].mean()
    if name not in found:
        raise ConfigError(f"objective={name} is no measure; {nearest(name, found.index)}")
    return float(found[name])


def _first_estimates(result: Any) -> dict[str, str]:
    """The first measures over all scenarios, with their errors, as text."""
    from simstudy.output.findings import are_independent
    from simstudy.tables import in_words

    known = result.summary.dropna(subset=["measure", "estimate"])
    rows = dict(iter(known.groupby("measure", sort=False)))
    names = [*rows][:MAX_MEASURES]
    return {n: in_words(rows[n], independent=are_independent(result, rows[n])) for n in names}


def draw(run: Run) -> Any:
    """Draw what is missing, or a share of it; returns the result of all stored blocks."""
    from simstudy.study.run import run as run_study

    with Bar(run.name, visible=run.settings.progress) as progress:
        options: Any = {"progress": progress}  # on the command line it is true or false
        return run_study(run.study, replace(run.settings, **options))


def _draw_shard(run: Run) -> int:
    """Draw a share of the blocks, and publish nothing."""
    done, share = draw(run).outcome, run.settings.share or ()
    which = "/".join(map(str, share))
    print(f"shard {which}: {done.n_blocks} blocks computed; run without shard=... to summarise")
    return ending.FAILED if done.n_failed else 0


# ---------------------------------------------------------------- publishing
def publish_run(run: Run, result: Any, *, is_sweep: bool = False, in_full: bool = False) -> int:
    """Publish the result of a run unless its outputs are up to date, and print it.

    Parameters
    ----------
    in_full
        Whether the result is printed even if its outputs were up to date.

    Returns
    -------
    int
        The exit status: of failures among the replicates, or of figures that raised an error.
    """
    from simstudy.output.folder import publish
    from simstudy.output.formatting import format_size, relative_to_cwd
    from simstudy.output.terminal import lines_of_report, print_closing

    settings, project = run.settings, run.project
    for damaged in result.details.store.damaged:
        print(f"damaged, set aside and computed again: {damaged}", file=sys.stderr)
    name = " ".join(run.overrides) if is_sweep else ""  # a run of a sweep prints one line
    shown = name or str(result.plan.name)
    with ending.raising(False), Bar(shown, visible=settings.progress) as bar:
        published = publish(
            result,
            run.run_folder,
            only_if_changed=True,
            step=bar.step,
            about=run.module.__doc__ or "",
            config=run.record,
            module_file=run.module.__file__,
            sources=run.sources,
            **{option: getattr(settings, option) for option in PASSED_ON},
            command=project.resume_command("run", run.overrides),
            part=part_of(run.name, project),
        )
    where = relative_to_cwd(run.run_folder)
    if not published.is_new:
        print(f"nothing to do: {where} holds {format_size(result)}, and its figures")
    elif is_sweep:
        print(f"{name}: {len(published.files)} files in {where}")
    if not is_sweep and (published.is_new or in_full):
        print_closing(
            result,
            published,
            lambda address: project.resume_command("replay", [address, *run.overrides]),
            claims=run.is_published,
        )
    elif not is_sweep:
        print("\n".join([*published.manifest["answer"], *lines_of_report(published)]))
    return ending.FAILED if result.n_failed or published.failed else 0


# ---------------------------------------------------------------- what is stored and missing
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
    out = run.settings.out if (run.folder / REPLICATES).is_dir() else None
    folder = StudyFolder.open(plan, out, provenance.of_blocks)
    store, pending = stored_blocks.uncompared_versions(plan, folder)
    other = stored_blocks.other_code(plan, store, data=True)
    code = stored_blocks.describe_other_code(other, folder) if other else ""
    wanted = dict.fromkeys(plan.keys, plan.n_blocks(run.settings.size))
    every, missing = tasks.all_blocks(plan, wanted), tasks.missing_blocks(plan, wanted, store)
    failed = tasks.blocks_with_failures(plan, wanted, store)
    every, missing, failed = (
        tasks.blocks_of_shard(plan, each, run.settings.share) for each in (every, missing, failed)
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


def format_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as ranges: 1-3,7."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return ",".join("-".join(map(str, sorted({run[0], run[-1]}))) for run in runs)


def print_blocks(run: Run) -> int:
    """Print how many blocks are stored, missing and to be drawn; returns the exit status."""
    study, settings, stored = run.study, run.settings, take_inventory(run)
    n, n_missing, n_failed = len(stored.every), len(stored.missing), len(stored.failed)
    n_drawn = n if settings.redraw else n_missing + n_failed * bool(settings.retry)
    lines = [
        f"{study.name}: {len(study.scenarios):,} scenarios, {settings.size:,} replicates in each, "
        f"drawn in blocks of {study.block_size:,}",
        f"blocks   {n:,}: {n - n_missing:,} stored ({n_failed:,} with failures), "
        f"{n_missing:,} missing",
        stored.changed,
        f"to draw  {'at most ' * bool(settings.redraw)}{n_drawn:,} blocks",
        f"results  {run.run_folder}",
    ]
    print("\n".join(filter(None, lines)))
    return ending.FAILED if stored.failed else 0


def print_runs(run: Run) -> None:
    """Print the published runs of a study."""
    for each in list_runs(run.folder):
        name = "published settings" if each.folder == run.folder else each.folder.name
        n_rep, n_failed = (each.manifest.get(n, 0) for n in ("replicates", "failed_replicates"))
        failed = f", {n_failed:,} of them failed" * bool(n_failed)
        print(f"  {name:40} {n_rep:,} replicates{failed}")


def print_cost(run: Run) -> None:
    """Print what the precision of a run costs: in total, and in the dearest scenarios."""
    settings = run.settings
    with warnings.catch_warnings(record=True) as warned:
        cost = run.study.forecast(settings.precision, run.differences.get("n_rep"), settings.seed)
    for each in warned:
        print(f"warning: {each.message}", file=sys.stderr)
    sums = cost[["n_rep", "seconds", "bytes"]].sum()
    print(
        f"the precision takes {sums['n_rep']:,.0f} replicates in {len(cost):,} scenarios: "
        f"{sums['seconds']:,.1f} s on one core, {sums['bytes'] / 1e6:,.1f} MB. The most:"
    )
    dearest = cost.nlargest(MAX_SCENARIOS, "n_rep")
    print(dearest.to_string(index=False, float_format="{:,.1f}".format))
    if n_over := int((cost["needed"] > settings.max_rep).sum()):
        print(f"max_rep={settings.max_rep} ends {n_over} of these scenarios before")
