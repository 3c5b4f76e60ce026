"""What a request does: draw and publish, look, forecast, or replay."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from simstudy.cli import stops
from simstudy.cli.crating import crate
from simstudy.cli.endings import FAILED, OUT_OF_TIME, again, interrupted, refuse
from simstudy.cli.outputs import publish_result
from simstudy.cli.preregister import protocol
from simstudy.cli.project import Project
from simstudy.cli.request import Request
from simstudy.cli.settings import PILOT, read_seconds, read_shard
from simstudy.cli.shares import (
    RecordedProgress,
    clear_shares,
    keep_costs,
    read_costs,
    this_share,
)
from simstudy.engine.progress import Progress
from simstudy.errors import DiskFullError, SimstudyError, describe

ENDED = (
    "the study's own code ended the program ({}) after its blocks were drawn, in a measure, a "
    "derived column, a claim or a scenario's exact(), so nothing was published. Raise an exception "
    "there."
)


Publish = Callable[[Request, Any], int]
"""Takes a run and its result; gives the status, as far as that is known."""


def carry_out(
    request: Request, project: Project, typed: Sequence[str], publish: Publish | None = None
) -> int:
    """One study, from blocks to report, or what its settings ask for instead.

    Parameters
    ----------
    typed
        What the user typed, for the command that goes on after an interruption.
    publish
        What becomes of the result of a run; by itself it is published here.
    """
    work = _chosen(request)
    if work is run:
        work = partial(run, publish=publish or publish_result)
    return in_words(partial(work, request), project, typed)


def in_words(work: Callable[[], int], project: Project, typed: Sequence[str]) -> int:
    """The status of some work on a study; what is wrong with that is said."""
    try:
        with stops.raising():
            return work()
    except SystemExit as ending:  # a study's figures and claims are code of a user's own
        return refuse(SimstudyError(ENDED.format(describe(ending))))
    except KeyboardInterrupt as stop:
        return interrupted(stop, again(project, typed))
    except DiskFullError as error:
        return refuse(SimstudyError(f"{error} That is: {again(project, typed)}"))
    except SimstudyError as error:
        return refuse(error)


def is_run(request: Request) -> bool:
    """Whether it is a study to be drawn and published, and nothing else is asked for."""
    return _chosen(request) is run


def _chosen(request: Request) -> Callable[..., int]:
    settings = request.settings
    if settings.replay is not None:
        return replay
    if settings.protocol:
        return protocol
    if settings.crate:
        return crate
    if settings.plan:
        return plan
    if settings.summarize:
        return summarize
    if settings.shard == PILOT:
        return run_pilot
    return run_share if settings.shard else run


def run(request: Request, publish: Publish) -> int:
    """Compute what is missing; publish it, unless it stands there already."""
    from simstudy.engine.progress import Bar

    refuse_replacing_results(request)
    with Bar(request.name, shown=request.settings.progress) as bar:
        result = draw(request, bar)
    if not result.n_left:
        clear_shares(request.folder, request.settings.seed, request.n_rep)
    status = publish(request, result)
    if not result.n_left:
        return status
    print(
        f"budget={request.settings.budget} is spent, and {result.n_left:,} blocks are to go"
        f"{_time_left(result)}. To go on: {again(request.project, request.overrides)}"
    )
    return status or OUT_OF_TIME


def _time_left(result: Any) -> str:
    """How long that will take, as far as what is drawn tells."""
    from simstudy.analysis.frames import seconds_left
    from simstudy.output.formatting import time_in_words

    seconds = seconds_left(result.spent, result.n_left)
    return "" if math.isnan(seconds) else f", about {time_in_words(seconds)} on one core"


def draw(request: Request, progress: Progress, **share: Any) -> Any:
    """What is missing, or a share of it; the result of all that is stored."""
    settings = request.settings
    return request.study.run(
        request.n_drawn,
        settings.seed,
        out=request.out,
        workers=request.workers,
        keep=settings.keep,
        restart=settings.restart,
        retry=settings.retry,
        redraw=settings.redraw or (),
        precision=settings.precision,
        max_rep=settings.max_rep,
        stop_by=settings.stop_by,
        budget=read_seconds(settings.budget),
        progress=_NoticingStops(progress),
        whole_blocks=request.whole_blocks,
        explain=False,  # what is published says more
        **share,
    )


class _NoticingStops:
    """Progress that raises a stop which came where no exception gets through.

    Libraries that are imported while a run goes on may swallow whatever is raised meanwhile.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __getattr__(self, name: str) -> Any:
        return getattr(self._progress, name)

    def advance(self, n_rep: int) -> None:
        """Some more replicates are there."""
        stops.swallowed()
        self._progress.advance(n_rep)


# ---------------------------------------------------------------- shares of a study
def run_share(request: Request) -> int:
    """Compute a share of the blocks, and publish nothing."""
    from simstudy.engine.progress import Bar

    refuse_replacing_results(request)
    shard = read_shard(request.settings.shard) or (1, 1)
    record = this_share(shard, request.settings.seed, request.n_rep)
    with Bar(request.name, shown=request.settings.progress) as bar:
        noted = RecordedProgress(bar, record, request.folder)
        result = draw(request, noted, shard=shard, weights=read_costs(request.folder))
    done = result.outcome
    noted.end(done.n_blocks, done.n_failed)
    print(
        f"shard {shard[0]}/{shard[1]}: {done.n_blocks} blocks computed; "
        "run without shard=... to summarise"
    )
    return FAILED if done.n_failed else 0


def run_pilot(request: Request) -> int:
    """Compute the first blocks of every scenario, and note what they cost."""
    from simstudy.analysis.precision import seconds_of_a_block
    from simstudy.engine.progress import Bar

    refuse_replacing_results(request)
    with Bar(request.name, shown=request.settings.progress) as bar:
        result = draw(request, bar)
    measured = {key: cost for key, cost in seconds_of_a_block(result).items() if cost > 0}
    keep_costs(request.folder, measured)
    print(f"pilot: {result.outcome.n_blocks} blocks computed; {_costs_in_words(request)}")
    return FAILED if result.outcome.n_failed else 0


def _costs_in_words(request: Request) -> str:
    costs = read_costs(request.folder).values()
    if not costs:
        return "none was timed, so shares are cut as if all blocks cost the same"
    return (
        f"a block takes {min(costs):.3g} to {max(costs):.3g} s, and shares are cut by that from "
        "now on"
    )


def refuse_replacing_results(request: Request) -> None:
    """Refuse, before anything is drawn, what could not be published when it is done."""
    from simstudy.output.up_to_date import hash_of_protocol, refuse_replacing

    settings = request.settings
    hash_of_protocol(request.folder)  # what cannot be held against it is not drawn
    if not (settings.restart or settings.replace):
        size = None if settings.precision else request.n_rep
        plan = request.study.plan(settings.seed)
        refuse_replacing(request.folder, request.record, plan, size)


def summarize(request: Request) -> int:
    """Publish what the blocks say that are there by now."""
    settings = request.settings
    look = request.study.look(
        request.n_rep,
        settings.seed,
        out=request.out,
        keep=settings.keep,
        whole_blocks=request.whole_blocks,
    )
    return publish_result(request, look)


def plan(request: Request) -> int:
    """What a precision will cost; without one, what a run would do. Nothing is kept."""
    settings = request.settings
    if settings.precision:
        from simstudy.output.terminal import print_cost

        asked = settings.precision, settings.n_rep, settings.seed
        cost = request.study.forecast(*asked, stop_by=settings.stop_by)
        print_cost(cost)
        n_over = int((cost["needed"] > settings.max_rep).sum())
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
