"""The commands that work on a composed study."""

import contextlib
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from simstudy.atomic_files import write_json
from simstudy.cli import signals
from simstudy.cli.composition import Run
from simstudy.cli.exit_status import (
    FAILED,
    OUT_OF_TIME,
    REFUSED,
    interrupted,
    refuse,
    resume_command,
)
from simstudy.cli.experiment_groups import part_of
from simstudy.cli.settings import read_seconds, read_shard
from simstudy.cli.sweep import Outcome
from simstudy.engine.graceful_stop import OutOfTime, host_signals_deferred
from simstudy.engine.progress import Bar, Progress
from simstudy.errors import (
    ConfigError,
    DiskFullError,
    SchedulerLostError,
    SimstudyError,
    StoreError,
    describe,
)
from simstudy.store.runs import UNFINISHED


@host_signals_deferred()
def carry_out(run: Run, typed: Sequence[str], *, is_sweep: bool = False) -> Outcome:
    """Draw and publish a study; errors are printed.

    Parameters
    ----------
    typed
        The arguments as typed, for the command that continues after an interruption.
    is_sweep
        Whether the run is one of a sweep, which prints one line for each.
    """
    again = resume_command(run.project, "run", typed)
    signals.resume_with(again)
    start = time.perf_counter()
    try:
        with signals.raising():
            if run.settings.shard:
                return Outcome(_draw_shard(run), run=run)
            outcome = _draw_and_publish(run, is_sweep=is_sweep)
            return replace(outcome, seconds=time.perf_counter() - start)
    except SystemExit as ending:  # figures and claims are a user's own code
        error: SimstudyError = SimstudyError(
            f"the study's own code ended the program ({describe(ending)}) in a measure, a derived "
            "column, a claim or a scenario's exact(), so nothing was published. Raise an exception "
            "there."
        )
        return Outcome(refuse(error), str(error), run)
    except KeyboardInterrupt as stop:
        if is_sweep and not isinstance(stop, OutOfTime):
            raise
        return Outcome(interrupted(stop, again), "out of time", run)
    except DiskFullError as error:
        return Outcome(refuse(SimstudyError(f"{error} That is: {again}")), str(error), run)
    except SchedulerLostError as error:
        refuse(error, typed)
        return Outcome(OUT_OF_TIME, str(error), run)
    except SimstudyError as error:
        return Outcome(refuse(error, typed), str(error), run)


def _draw_and_publish(run: Run, *, is_sweep: bool) -> Outcome:
    if run.settings.join:
        from simstudy.cli.status import check_join

        check_join(run)
    result = draw(run)
    status = publish_result(run, result, is_sweep=is_sweep)
    objective = _objective(run, result)
    if not result.details.n_left:
        with contextlib.suppress(FileNotFoundError):  # buckets raise it despite missing_ok
            (run.run_folder / UNFINISHED).unlink(missing_ok=True)
        return Outcome(status, "", run, result, objective=objective)
    print(
        f"budget={run.settings.budget} is spent, and {result.details.n_left:,} blocks are missing"
        f"{_time_left(result)}. To go on: "
        f"{resume_command(run.project, 'run', run.overrides)}"
    )
    return Outcome(status or OUT_OF_TIME, "budget is spent", run, result, objective=objective)


def _objective(run: Run, result: Any) -> float | None:
    """The mean estimate of the measure that `objective=` names."""
    name = run.settings.objective
    if name is None:
        return None
    rows = result.summary[result.summary["measure"] == name]
    if rows.empty:
        known = ", ".join(dict.fromkeys(result.summary["measure"]))
        raise ConfigError(f"objective={name} is no measure of {run.name}; it has {known}")
    return float(rows["estimate"].mean())


def _time_left(result: Any) -> str:
    """The predicted time, from what was drawn so far."""
    from simstudy.analysis.frames import seconds_left
    from simstudy.output.formatting import format_time

    seconds = seconds_left(result.details.spent, result.details.n_left)
    return "" if math.isnan(seconds) else f", about {format_time(seconds)} on one core"


class _RecordingBar(Bar):
    """Progress of a run that writes, with its first block, which blocks it is going to use.

    The record keeps `clean` from removing the blocks of a run that was interrupted.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(run.name, visible=run.settings.progress)
        n_rep = run.settings.max_rep if run.settings.precision else run.n_rep
        self.path = run.run_folder / UNFINISHED
        self.record: dict[str, Any] | None = {
            "study": run.study.name,
            "seed": run.settings.seed,
            "replicates_per_scenario": n_rep,
        }

    def advance(self, n_rep: int) -> None:
        """Count replicates."""
        if self.record:
            write_json(self.path, self.record)
            self.record = None
        super().advance(n_rep)


def draw(run: Run, **share: Any) -> Any:
    """Draw what is missing, or a share of it; returns the result of all stored blocks."""
    with _RecordingBar(run) as bar:
        return _draw(run, bar, **share)


def _draw(run: Run, progress: Progress, **share: Any) -> Any:
    settings = run.settings
    return run.study.run(
        run.n_rep,
        settings.seed,
        out=run.out,
        backend=settings.backend,
        n_jobs=settings.n_jobs,
        backend_options=dict(run.backend_options),
        block_seconds=settings.block_seconds,
        restart=settings.restart,
        retry=settings.retry,
        redraw=settings.redraw or (),
        adopt=settings.adopt,
        precision=settings.precision,
        max_rep=settings.max_rep,
        stop_by=settings.stop_by,
        budget=read_seconds(settings.budget),
        progress=progress,
        explain=False,  # `publish` writes more files
        **share,
    )


def _draw_shard(run: Run) -> int:
    """Draw a share of the blocks, and publish nothing."""
    shard = read_shard(run.settings.shard)
    assert shard is not None
    result = draw(run, shard=shard)
    done = result.outcome
    print(
        f"shard {shard[0]}/{shard[1]}: {done.n_blocks} blocks computed; "
        "run without shard=... to summarise"
    )
    return FAILED if done.n_failed else 0


# ---------------------------------------------------------------- publishing
def publish_result(run: Run, result: Any, *, is_sweep: bool = False) -> int:
    """Publish the outputs unless they are up to date, and print the result."""
    from simstudy.output.folder import publish, read_published
    from simstudy.output.formatting import format_size, relative_to_cwd
    from simstudy.output.terminal import print_closing
    from simstudy.output.up_to_date import is_current

    for name in result.details.store.damaged:
        print(f"damaged, set aside and computed again: {name}", file=sys.stderr)
    settings, folder = run.settings, run.run_folder
    outputs: dict[str, Any] = {
        "figures": settings.figures,
        "report": settings.report,
        "pdf": settings.pdf,
    }
    where = relative_to_cwd(folder)
    with signals.raising(False):
        file = run.module.__file__
        if is_current(result, run.record, file, folder=folder, **outputs, sources=run.sources):
            failed = FAILED if (folder / "failures.parquet").exists() else 0
            print(f"nothing to do: {where} holds {format_size(result)}, and its figures")
            if not is_sweep:
                shows_claims = run.is_published or settings.claims
                print_closing(result, read_published(result, folder), claims=shows_claims)
            return failed
        published = publish(
            result,
            folder=folder,
            about=run.module.__doc__ or "",
            config=run.record,
            module_file=file,
            sources=run.sources,
            **outputs,
            n_jobs=run.workers.count,
            command=resume_command(run.project, "run", run.overrides),
            part=part_of(run.name, run.project),
        )
        if is_sweep:
            print(f"{' '.join(run.overrides)}: {len(published.files)} files in {where}")
        else:
            shows_claims = run.is_published or settings.claims
            print_closing(result, published, partial(_replay_command, run), claims=shows_claims)
    return FAILED if result.n_failed or published.failed else 0


def _replay_command(run: Run, address: str) -> str:
    """The command that replays a replicate of this run."""
    return resume_command(run.project, "replay", [address, *run.overrides])


# ---------------------------------------------------------------- other commands
def plan(run: Run) -> int:
    """Print the cost of a precision, or what a run would do; nothing is stored."""
    from simstudy.cli.status import format_plan

    settings = run.settings
    if not settings.precision:
        try:
            print(format_plan(run))
        except StoreError as error:  # a plan also shows why a run would be refused
            print(f"refused  {error}")
            return REFUSED
        return 0
    from simstudy.output.terminal import print_cost

    cost = run.study.forecast(
        settings.precision, settings.n_rep, settings.seed, stop_by=settings.stop_by
    )
    print_cost(cost)
    n_over = int((cost["needed"] > settings.max_rep).sum())
    if n_over:
        print(
            f"max_rep={settings.max_rep} ends {n_over} of these scenarios before they are so "
            "precise; allow more with max_rep=..."
        )
    return 0


def merge(run: Run, folder: str) -> int:
    """Copy blocks that the same code drew elsewhere."""
    n_new = run.study.merge(folder, run.n_rep, run.settings.seed, out=run.out)
    print(
        f"merged: {n_new:,} new blocks from {folder}. To draw the rest and publish: "
        f"{resume_command(run.project, 'run', run.overrides)}"
    )
    return 0


def summarize(run: Run) -> int:
    """Publish the blocks stored so far."""
    with warnings.catch_warnings(action="ignore"):  # they are printed at the end
        result = run.study.partial_result(run.n_rep, run.settings.seed, out=run.out)
    return publish_result(run, result)


def replay(run: Run, address: str) -> int:
    """Draw one replicate again and raise its error."""
    from simstudy.engine.block import Address

    try:
        row = run.study.replay(Address.parse(address), run.settings.seed)
    except Exception:
        if run.settings.debug:
            import pdb

            pdb.post_mortem()
        raise
    for name, value in row.items():
        print(f"{name:24} {value}")
    return 0


def protocol(run: Run) -> int:
    """Write the preregistration of a study; no data are drawn."""
    from simstudy.output.formatting import relative_to_cwd
    from simstudy.output.protocol import TEXT

    made = run.study.protocol(
        run.n_rep,
        run.settings.seed,
        precision=run.settings.precision,
        out=run.out,
        run="" if run.is_published else run.run_folder.name,
        about=run.module.__doc__ or "",
        command=resume_command(run.project, "run", run.overrides),
        source=run.module.__file__,
    )
    print(f"{made!r}: {relative_to_cwd(run.run_folder / TEXT)}")
    return 0


def clean(run: Run, confirm: Callable[[str], bool]) -> int:
    """Delete the blocks that no run of a study uses.

    Parameters
    ----------
    confirm
        Asks the user; called with what would be deleted.
    """
    from simstudy.store.runs import clean as remove_unused

    found = remove_unused(run.folder, dry_run=True)
    if not found.n_blocks:
        print(f"nothing to delete: a run uses every block in {run.folder}")
        return 0
    text = f"{found.n_blocks:,} blocks ({found.n_bytes / 1e6:,.1f} MB) in {run.folder}"
    if confirm(text):
        remove_unused(run.folder)
        print(f"deleted: {text}")
    return 0


def status(run: Run) -> int:
    """Print what is done, failed and missing."""
    from simstudy.cli.status import status_of_one

    lines, ended = status_of_one(run)
    print("\n".join(lines))
    return ended
