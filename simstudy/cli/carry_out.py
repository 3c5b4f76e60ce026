"""What a request does: draw and publish, look, forecast, or replay."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from simstudy.cli.endings import FAILED, again, interrupted, refuse
from simstudy.cli.project import Project
from simstudy.cli.request import Request
from simstudy.cli.settings import read_shard
from simstudy.errors import DiskFullError, SimstudyError


def carry_out(request: Request, project: Project, overrides: Sequence[str]) -> int:
    """One study, from blocks to report, or what its settings ask for instead.

    Parameters
    ----------
    overrides
        What the user typed, for the command that goes on after an interruption.
    """
    try:
        return _chosen(request)(request)
    except KeyboardInterrupt as stop:
        return interrupted(stop, again(project, overrides))
    except DiskFullError as error:
        return refuse(SimstudyError(f"{error} That is: {again(project, overrides)}"))
    except SimstudyError as error:
        return refuse(error)


def _chosen(request: Request) -> Callable[[Request], int]:
    settings = request.settings
    if settings.replay:
        return replay
    if settings.plan:
        return plan
    return summarize if settings.summarize else run


def run(request: Request) -> int:
    """Compute what is missing; publish it, unless it stands there already."""
    from simstudy.engine.progress import Bar
    from simstudy.engine.workers import Workers

    settings = request.settings
    workers = Workers(settings.backend, settings.n_jobs, request.backend_options)
    refuse_replacing_results(request)
    with Bar(request.name, shown=settings.progress) as bar:
        result = request.study.run(
            request.n_rep,
            settings.seed,
            out=request.out,
            workers=workers,
            keep=settings.keep,
            shard=read_shard(settings.shard),
            restart=settings.restart,
            retry=settings.retry,
            redraw=settings.redraw or (),
            precision=settings.precision,
            max_rep=settings.max_rep,
            progress=bar,
        )
    return end_of_shard(request, result) if settings.shard else publish_result(request, result)


def refuse_replacing_results(request: Request) -> None:
    """Refuse, before anything is drawn, what could not be published when it is done."""
    from simstudy.output.replacing import refuse_replacing

    settings = request.settings
    if not (settings.restart or settings.replace):
        size = None if settings.precision else request.n_rep
        plan = request.study.plan(settings.seed)
        refuse_replacing(request.folder, request.record, plan, size)


def end_of_shard(request: Request, result: Any) -> int:
    """Say what a share of the blocks came to."""
    index, n_shares = read_shard(request.settings.shard) or (1, 1)
    n_blocks = result.outcome.n_blocks
    print(
        f"shard {index}/{n_shares}: {n_blocks} blocks computed; run without shard=... to summarise"
    )
    return FAILED if result.outcome.n_failed else 0


def summarize(request: Request) -> int:
    """Publish what the blocks say that are there by now."""
    look = request.study.look(request.n_rep, request.settings.seed, out=request.out)
    return publish_result(request, look)


def publish_result(request: Request, result: Any) -> int:
    """Write summary, figures, claims and report, and say what was found."""
    from simstudy.output.folder import publish
    from simstudy.output.origin import is_current
    from simstudy.output.terminal import print_closing
    from simstudy.output.wording import size_in_words

    for name in result.store.damaged:
        print(f"damaged, set aside and computed again: {name}", file=sys.stderr)
    file, settings = request.module.__file__, request.settings
    wanted = {"figures": settings.figures, "report": settings.report}
    if is_current(result, request.record, file, **wanted, sources=request.sources):
        print(f"nothing to do: {result.folder} holds {size_in_words(result)}, and its figures")
        return FAILED if (result.folder / "failures.parquet").exists() else 0
    made = publish(
        result,
        about=request.module.__doc__ or "",
        config=request.record,
        module_file=file,
        sources=request.sources,
        **wanted,
        replace=settings.restart or settings.replace,
    )
    print_closing(result, made, partial(_replay_command, request))
    return FAILED if result.n_failed or made.not_drawn else 0


def _replay_command(request: Request, address: str) -> str:
    """What brings a replicate of this run back: the settings of this run, and its address."""
    return again(request.project, [*request.overrides, f"replay={address}"])


def plan(request: Request) -> int:
    """What a precision will cost; without one, what a run would do. Nothing is kept."""
    settings = request.settings
    if settings.precision:
        from simstudy.output.terminal import print_cost

        cost = request.study.forecast(settings.precision, settings.n_rep, settings.seed)
        print_cost(cost)
        n_over = int((cost["n_rep"] > settings.max_rep).sum())
        if n_over:
            print(
                f"max_rep={settings.max_rep} ends {n_over} of these scenarios before they are so "
                "precise; allow more with max_rep=..."
            )
        return 0
    from simstudy.cli.inventory import plan_in_words, take_inventory

    refuse_replacing_results(request)
    print(plan_in_words(request, take_inventory(request)))
    return 0


def replay(request: Request) -> int:
    """Draw one recorded replicate again, letting its error through."""
    from simstudy.engine.block import Address

    settings = request.settings
    try:
        row = request.study.replay(Address.parse(settings.replay or ""), settings.seed)
    except Exception:
        if settings.debug:
            import pdb

            pdb.post_mortem()
        raise
    for name, value in row.items():
        print(f"{name:24} {value}")
    return 0
