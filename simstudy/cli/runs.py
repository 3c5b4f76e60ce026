"""A run of the command line: draws what is missing, publishes, and prints the result."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from simstudy.cli import ending
from simstudy.cli.project import part_of
from simstudy.cli.settings import Run
from simstudy.engine.graceful_stop import host_signals_deferred
from simstudy.engine.progress import Bar
from simstudy.errors import ConfigError, nearest
from simstudy.places import Place
from simstudy.study.run_options import RunOptions

PASSED_ON = ("figures", "report", "pdf", "n_jobs")  # settings that are options of `publish`
MAX_MEASURES = 2  # measures in the table of a sweep


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
        from simstudy.cli.status import check_join

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
    print(
        f"budget={run.settings.budget} is spent, and {result.details.n_left:,} blocks are missing"
        f". To go on: {run.project.resume_command('run', run.overrides)}"
    )
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
    from simstudy.tables import in_words

    known = result.summary.dropna(subset=["measure", "estimate"])
    names = known["measure"].unique()[:MAX_MEASURES]
    return {name: in_words(known[known["measure"] == name]) for name in names}


def draw(run: Run) -> Any:
    """Draw what is missing, or a share of it; returns the result of all stored blocks."""
    from simstudy.study.run import run as run_study

    settings = run.settings
    given = {each.name: getattr(settings, each.name) for each in fields(RunOptions) if each.init}
    with Bar(run.name, visible=settings.progress) as progress:
        given |= {"n_rep": run.n_rep, "out": run.out, "progress": progress}
        return run_study(run.study, RunOptions.read(run.study, given))


def _draw_shard(run: Run) -> int:
    """Draw a share of the blocks, and publish nothing."""
    done, share = draw(run).outcome, run.settings.share or ()
    print(
        f"shard {'/'.join(map(str, share))}: {done.n_blocks} blocks computed; "
        "run without shard=... to summarise"
    )
    return ending.FAILED if done.n_failed else 0


# ---------------------------------------------------------------- publishing
def publish_run(run: Run, result: Any, *, is_sweep: bool = False, in_full: bool = False) -> int:
    """Publish the result of a run, and print it; returns the exit status.

    Parameters
    ----------
    in_full
        Whether the result is printed even if its outputs were up to date.
    """
    settings = run.settings
    for name in result.details.store.damaged:
        print(f"damaged, set aside and computed again: {name}", file=sys.stderr)
    with ending.raising(False):
        return publish_and_print(
            result,
            run.run_folder,
            name=" ".join(run.overrides) if is_sweep else "",
            replay=lambda at: run.project.resume_command("replay", [at, *run.overrides]),
            claims=run.is_published,
            in_full=in_full,
            progress=settings.progress,
            about=run.module.__doc__ or "",
            config=run.record,
            module_file=run.module.__file__,
            sources=run.sources,
            **{name: getattr(settings, name) for name in PASSED_ON},
            command=run.project.resume_command("run", run.overrides),
            part=part_of(run.name, run.project),
        )


def publish_and_print(
    result: Any,
    folder: Place,
    *,
    name: str = "",
    replay: Callable[[str], str] | None = None,
    claims: bool = True,
    in_full: bool = False,
    progress: bool = True,
    **options: Any,
) -> int:
    """Publish a result unless its outputs are up to date, and print it.

    Parameters
    ----------
    name
        Name of the run in a sweep, which prints one line.
    replay, claims
        Arguments of `print_closing`.
    progress
        Whether the steps are shown in a terminal.
    options
        Further arguments of `simstudy.publish`.

    Returns
    -------
    int
        The exit status: of failures among the replicates, or of figures that raised an error.
    """
    from simstudy.output.folder import publish
    from simstudy.output.formatting import format_size, relative_to_cwd
    from simstudy.output.manifest import REPORT
    from simstudy.output.terminal import print_closing

    with Bar(name or str(result.plan.name), visible=progress) as bar:
        published = publish(result, folder, only_if_changed=True, step=bar.step, **options)
    where = relative_to_cwd(folder)
    if not published.is_new:
        print(f"nothing to do: {where} holds {format_size(result)}, and its figures")
    elif name:
        print(f"{name}: {len(published.files)} files in {where}")
    if not name and (published.is_new or in_full):
        print_closing(result, published, replay, claims=claims)
    elif not name:
        reports = [path for path in published.files if path.name == REPORT]
        lines = [*published.answer, *(f"report: {relative_to_cwd(page)}" for page in reports)]
        print("\n".join(lines))
    return ending.FAILED if result.n_failed or published.failed else 0
