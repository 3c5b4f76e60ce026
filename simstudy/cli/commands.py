"""The commands on one study: run, plan, summarize, replay and others."""

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from simstudy.cli import signals
from simstudy.cli.exit_status import FAILED, OUT_OF_TIME, interrupted, refuse, resume_command
from simstudy.cli.experiment_groups import part_of
from simstudy.cli.resolved_config import ResolvedConfig
from simstudy.cli.settings import PILOT, read_seconds, read_shard
from simstudy.cli.shares import (
    RecordedProgress,
    ShareRecord,
    clear_shares,
    write_costs,
)
from simstudy.engine.graceful_stop import host_signals_deferred
from simstudy.engine.progress import Progress
from simstudy.errors import (
    DiskFullError,
    SchedulerLostError,
    SimstudyError,
    StoreError,
    describe,
)

Publish = Callable[[ResolvedConfig, Any], int]
"""Takes a run and its result; returns the exit status."""


@host_signals_deferred()
def carry_out(config: ResolvedConfig, typed: Sequence[str], publish: Publish | None = None) -> int:
    """Carry out a command on one study; errors are printed.

    Parameters
    ----------
    typed
        What the user typed, for the command that goes on after an interruption.
    publish
        What becomes of the result of a run; by itself it is published here.
    """
    again = resume_command(config.project, config.verb, typed)
    signals.resume_with(again)
    if config.differences:
        print(
            f"a try of other settings ({config.differences}) goes to {config.out}; replace=true "
            "publishes it in place of the experiment's own",
            file=sys.stderr,
        )
    try:
        with signals.raising():
            if config.verb == "run" and not config.settings.shard:
                return run(config, publish or publish_result)
            return COMMANDS[config.verb](config)
    except SystemExit as ending:  # a study's figures and claims are code of a user's own
        text = (
            f"the study's own code ended the program ({describe(ending)}) after its blocks were "
            "drawn, in a measure, a derived column, a claim or a scenario's exact(), so nothing "
            "was published. Raise an exception there."
        )
        return refuse(SimstudyError(text))
    except KeyboardInterrupt as stop:
        return interrupted(stop, again)
    except DiskFullError as error:
        return refuse(SimstudyError(f"{error} That is: {again}"))
    except SchedulerLostError as error:
        refuse(error, typed)
        return OUT_OF_TIME
    except SimstudyError as error:
        return refuse(error, typed)


# ---------------------------------------------------------------- run
def run(config: ResolvedConfig, publish: Publish) -> int:
    """Draw what is missing and publish it, unless it is up to date."""
    from simstudy.engine.progress import Bar

    check_replaceable(config)
    if config.settings.join:
        from simstudy.cli.status import check_join

        check_join(config)
    with Bar(config.name, visible=config.settings.progress) as bar:
        result = draw(config, bar)
    if not result.details.n_left:
        clear_shares(config.folder, config.settings.seed, config.n_rep)
    status = publish(config, result)
    if not result.details.n_left:
        return status
    print(
        f"budget={config.settings.budget} is spent, and {result.details.n_left:,} blocks are to go"
        f"{_time_left(result)}. To go on: "
        f"{resume_command(config.project, 'run', config.overrides)}"
    )
    return status or OUT_OF_TIME


def _time_left(result: Any) -> str:
    """The predicted time, from what was drawn so far."""
    from simstudy.analysis.frames import seconds_left
    from simstudy.output.formatting import format_time

    seconds = seconds_left(result.details.spent, result.details.n_left)
    return "" if math.isnan(seconds) else f", about {format_time(seconds)} on one core"


def draw(config: ResolvedConfig, progress: Progress, **share: Any) -> Any:
    """Draw what is missing, or a share of it; returns the result of all stored blocks."""
    settings = config.settings
    return config.study.run(
        config.n_drawn,
        settings.seed,
        out=config.out,
        backend=settings.backend,
        n_jobs=settings.n_jobs,
        backend_options=dict(config.backend_options),
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
        explain=False,  # what is published says more
        **share,
    )


def run_share(config: ResolvedConfig) -> int:
    """Draw a share, or a pilot, and publish nothing."""
    from simstudy.analysis.precision import seconds_of_a_block
    from simstudy.engine.progress import Bar

    check_replaceable(config)
    shard = read_shard(config.settings.shard)
    with Bar(config.name, visible=config.settings.progress) as bar:
        if shard is None:
            result = draw(config, bar)
            write_costs(config.folder, seconds_of_a_block(result))
            print(f"{PILOT}: {result.outcome.n_blocks} blocks computed, and shares are cut by time")
            return FAILED if result.outcome.n_failed else 0
        record = ShareRecord.of_this_process(shard, config.settings.seed, config.n_rep)
        recorded = RecordedProgress(bar, record, config.folder)
        result = draw(config, recorded, shard=shard)
    done = result.outcome
    recorded.end()
    print(
        f"shard {shard[0]}/{shard[1]}: {done.n_blocks} blocks computed; "
        "run without shard=... to summarise"
    )
    return FAILED if done.n_failed else 0


def check_replaceable(config: ResolvedConfig) -> None:
    """Refuse, before drawing, a run whose result could not be published."""
    from simstudy.output.up_to_date import hash_of_protocol, refuse_replacing

    settings = config.settings
    hash_of_protocol(config.folder)  # what cannot be held against it is not drawn
    if not (settings.restart or settings.replace):
        size = None if settings.precision else config.n_rep
        plan = config.study.plan(settings.seed)
        refuse_replacing(config.folder, config.record, plan, size)


# ---------------------------------------------------------------- publishing
def publish_result(config: ResolvedConfig, result: Any) -> int:
    """Publish the outputs, unless they are up to date, and print the result."""
    with signals.raising(False):
        status = status_if_current(config, result)
        return publish_anew(config, result) if status is None else status


def status_if_current(config: ResolvedConfig, result: Any) -> int | None:
    """The exit status of published results that are up to date; None otherwise."""
    from simstudy.output.formatting import format_size, relative_to_cwd
    from simstudy.output.up_to_date import is_current
    from simstudy.store.manifest import say_part

    for name in result.details.store.damaged:
        print(f"damaged, set aside and computed again: {name}", file=sys.stderr)
    file = config.module.__file__
    if not is_current(result, config.record, file, **_outputs(config), sources=config.sources):
        return None
    if say_part(result.folder, part_of(config.name, config.project)) and config.settings.report:
        write_index(result.folder.parent)
    where = relative_to_cwd(result.folder)
    print(f"nothing to do: {where} holds {format_size(result)}, and its figures")
    return FAILED if (result.folder / "failures.parquet").exists() else 0


def write_index(folder: Any) -> None:
    """Write the index of a results folder."""
    from simstudy.output.report import write_index
    from simstudy.store.io_errors import translate_io_errors

    with translate_io_errors(folder):
        write_index(folder)


def publish_anew(config: ResolvedConfig, result: Any) -> int:
    """Write all outputs and print the result."""
    from simstudy.output.folder import publish
    from simstudy.output.terminal import print_closing  # where there is something to print

    settings = config.settings
    published = publish(
        result,
        about=config.module.__doc__ or "",
        config=config.record,
        module_file=config.module.__file__,
        sources=config.sources,
        **_outputs(config),
        replace=settings.restart or settings.replace,
        n_jobs=config.workers.count,
        command=resume_command(config.project, "run", config.overrides),
        part=part_of(config.name, config.project),
    )
    print_closing(result, published, partial(_replay_command, config))
    return FAILED if result.n_failed or published.failed else 0


def _outputs(config: ResolvedConfig) -> dict[str, Any]:
    """The outputs to write: figures, also as PDFs, and the report."""
    settings = config.settings
    return {"figures": settings.figures, "report": settings.report, "pdf": settings.pdf}


def _replay_command(config: ResolvedConfig, address: str) -> str:
    """The command that replays a replicate of this run."""
    return resume_command(config.project, "replay", [address, *config.overrides])


# ---------------------------------------------------------------- other commands
def plan(config: ResolvedConfig) -> int:
    """Print the cost of a precision, or what a run would do; nothing is stored."""
    from simstudy.cli.status import format_plan

    settings = config.settings
    if not settings.precision:
        try:
            print(format_plan(config))
            check_replaceable(config)
        except StoreError as error:  # a plan says why a run would be refused
            print(f"refused  {error}")
        return 0
    from simstudy.output.terminal import print_cost

    cost = config.study.forecast(
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


def merge(config: ResolvedConfig) -> int:
    """Copy blocks that the same code drew elsewhere."""
    settings = config.settings
    n_new = config.study.merge(
        config.operand,
        config.n_rep,
        settings.seed,
        out=config.out,
    )
    print(
        f"merged: {n_new:,} new blocks from {config.operand}. To draw the rest and publish: "
        f"{resume_command(config.project, 'run', config.overrides)}"
    )
    return 0


def summarize(config: ResolvedConfig) -> int:
    """Publish the blocks stored so far."""
    settings = config.settings
    result = config.study.partial_result(
        config.n_rep,
        settings.seed,
        out=config.out,
    )
    return publish_result(config, result)


def replay(config: ResolvedConfig) -> int:
    """Draw one replicate again and raise its error."""
    from simstudy.engine.block import Address

    settings = config.settings
    try:
        row = config.study.replay(Address.parse(config.operand), settings.seed)
    except Exception:
        if settings.debug:
            import pdb

            pdb.post_mortem()
        raise
    for name, value in row.items():
        print(f"{name:24} {value}")
    return 0


def protocol(config: ResolvedConfig) -> int:
    """Write the preregistration of a study; no data are drawn."""
    from simstudy.output.formatting import relative_to_cwd
    from simstudy.output.protocol import TEXT

    settings = config.settings
    n_rep = settings.n_rep or config.n_rep
    made = config.study.protocol(
        n_rep,
        settings.seed,
        precision=settings.precision,
        out=config.out,
        about=config.module.__doc__ or "",
        command=resume_command(config.project, "run", config.overrides),
        source=config.module.__file__,
    )
    print(f"{made!r}: {relative_to_cwd(config.folder / TEXT)}")
    return 0


def status(config: ResolvedConfig) -> int:
    """Print what is done, failed and missing."""
    from simstudy.cli.status import status_of_one

    lines, ended = status_of_one(config)
    print("\n".join(lines))
    return ended


COMMANDS: dict[str, Callable[[ResolvedConfig], int]] = {
    "run": run_share,
    "plan": plan,
    "status": status,
    "summarize": summarize,
    "replay": replay,
    "merge": merge,
    "protocol": protocol,
}
