"""Several studies in one command: one after the other, or as jobs of a launcher."""

import math
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode

from simstudy.atomic_files import read_json
from simstudy.cli import signals
from simstudy.cli.commands import carry_out, publish_anew, status_if_current, write_index
from simstudy.cli.exit_status import (
    DEFECT,
    FAILED,
    OUT_OF_TIME,
    REFUSED,
    STOPPED,
    complain,
    is_output_error,
    refuse,
)
from simstudy.cli.hydra_compose import Run, SkippedRun, compose, hydra_of
from simstudy.cli.project import Project
from simstudy.cli.resolved_config import ResolvedConfig
from simstudy.errors import ConfigError
from simstudy.remote.paths import place_of
from simstudy.store.manifest import MANIFEST

STATES = {DEFECT: "not published", REFUSED: "refused", OUT_OF_TIME: "out of time"}
HEADER = ("study", "state", "drawn", "published")
SHORTEST_SHOWN = 10.0  # seconds: less is not worth a word
LOGS = "sweeps"  # below the current folder, which every machine of a cluster has to see


# ---------------------------------------------------------------- in this process
@dataclass(eq=False)
class _Line:
    """A row of the table at the end: the state of one study.

    Parameters
    ----------
    name
        What tells it from the others.
    drawn, published
        Seconds that it took; 0 where it was not done.
    """

    run: Run
    name: str
    status: int | None = None
    is_current: bool = False
    drawn: float = 0.0
    published: float = 0.0

    @property
    def cells(self) -> tuple[str, ...]:
        """Name, state, seconds."""
        seconds = (f"{each:,.1f} s" if each else "–" for each in (self.drawn, self.published))
        return self.name, self._state, *seconds

    @property
    def _state(self) -> str:
        if self.status is None:
            return "not begun"
        done = [word for word in ("drawn", "published") if getattr(self, word)]
        state = (
            "nothing to do" if self.is_current else STATES.get(self.status) or " and ".join(done)
        )
        if self.status == REFUSED and self.drawn:  # only its own code can be at fault
            state = "not published"
        return (state or "not drawn") + ", with failures" * (self.status == FAILED)


def run_sweep(runs: Sequence[Run], typed: Sequence[str]) -> int:
    """Carry out the runs one after the other, and print a table of their states.

    Returns
    -------
    int
        The highest status of all.
    """
    lines = [_Line(run, name) for run, name in zip(runs, _names(runs), strict=True)]
    costs = [_published_seconds(run) for run in runs]
    start = time.perf_counter()
    with signals.raising():
        for place, line in enumerate(lines):
            left = _time_left(costs[:place], costs[place:], time.perf_counter() - start)
            print(
                f"-- study {place + 1} of {len(lines)}{left}: {' '.join(line.run.overrides)}",
                flush=True,
            )
            line.status = _status(line, typed)
            if line.status in STOPPED:
                break
    is_run = all(isinstance(run, SkippedRun) or run.verb == "run" for run in runs)
    statuses = [line.status for line in lines if line.status is not None]
    if len(runs) > 1 and is_run and not STOPPED.difference({OUT_OF_TIME}).intersection(statuses):
        print("\n".join(["", *_table(lines, time.perf_counter() - start)]), flush=True)
        for text in _write_indices(lines):  # which may be refused a place
            print(text)
    return max(statuses)


def _names(runs: Sequence[Run]) -> Iterator[str]:
    """The settings of each run that differ between runs."""
    common = set.intersection(*(set(run.overrides) for run in runs))
    for run in runs:
        own = [text for text in run.overrides if text not in common]
        yield " ".join(text.removeprefix("experiment=") for text in own) or run.name


def _status(line: _Line, typed: Sequence[str]) -> int:
    if isinstance(line.run, SkippedRun):
        return refuse(line.run.refusal)
    try:
        return carry_out(line.run, typed, partial(_publish, line))
    except Exception as error:  # a defect, in a study's code or in ours: it costs one study
        if is_output_error(error):
            raise
        traceback.print_exc()
        return DEFECT


def _publish(line: _Line, config: ResolvedConfig, result: Any) -> int:
    line.drawn = result.outcome.seconds if result.outcome.n_blocks else 0.0
    with signals.raising(False):
        status = status_if_current(config, result)
        if status is not None:
            line.is_current = True
            return status
        start = time.perf_counter()
        try:
            return publish_anew(config, result)
        finally:
            line.published = time.perf_counter() - start


def _write_indices(lines: Sequence[_Line]) -> Iterator[str]:
    """Write the index of each folder that changed; returns their paths."""
    from simstudy.output.formatting import relative_to_cwd

    changed: dict[str, bool] = {}
    for line in lines:
        if isinstance(line.run, ResolvedConfig) and line.run.settings.report:
            out = line.run.out
            changed[out] = changed.get(out, False) or line.published > 0
    for out, is_changed in changed.items():
        index = place_of(out) / "index.html"
        if is_changed or not index.exists():
            write_index(index.parent)
        if index.exists():
            yield f"index: {relative_to_cwd(index)}"


def _published_seconds(run: Run) -> float:
    """The seconds of the published results of a study; NaN without any."""
    if isinstance(run, SkippedRun):
        return 0.0
    manifest = read_json(run.project.root / "results" / run.name / MANIFEST) or {}
    return sum(float(manifest.get(part, math.nan)) for part in ("wall_seconds", "publish_seconds"))


def _time_left(done: Sequence[float], ahead: Sequence[float], elapsed: float) -> str:
    """The predicted remaining time; empty if unknown."""
    from simstudy.output.formatting import format_time

    left = elapsed * sum(ahead) / (sum(done) or math.nan)
    return f", about {format_time(left)} left" if left >= SHORTEST_SHOWN else ""


def _table(lines: Sequence[_Line], seconds: float) -> list[str]:
    """The rows of the table, and the total time."""
    rows = [HEADER, *(line.cells for line in lines)]
    names, states = (max(len(row[at]) for row in rows) for at in (0, 1))
    shown = [f"{a:{names}}  {b:{states}}  {c:>9}  {d:>9}" for a, b, c, d in rows]
    return [*shown, f"{'in all':{names}}  {seconds:,.1f} s by the clock"]


def check_folders_differ(runs: Sequence[Run]) -> None:
    """Refuse a sweep in which two runs write to one folder."""
    first: dict[str, ResolvedConfig] = {}
    for run in runs:
        if isinstance(run, SkippedRun) or run.settings.replace or run.settings.restart:
            continue
        before = first.setdefault(str(run.folder), run)
        if (before.settings.seed, before.record) != (run.settings.seed, run.record):
            raise ConfigError(
                f"{' '.join(before.overrides)} and {' '.join(run.overrides)} would both stand in "
                f"{run.folder}, which holds the results of one of them. Give each run a folder of "
                "its own, with what differs in its name, as in 'out=results/${seed}'."
            )


# ---------------------------------------------------------------- elsewhere
def launches_jobs(arguments: Sequence[str]) -> bool:
    """Whether a sweep uses a Hydra launcher, such as Slurm's."""
    return any(text.startswith("hydra/launcher=") for text in arguments)


def launch_sweep(runs: Sequence[Run], arguments: Sequence[str], project: Project) -> int:
    """Submit each run to a launcher as a job, and wait for all jobs.

    Returns
    -------
    int
        The highest status of all; a job that ended without one was killed, or never ran.
    """
    own = [text for text in arguments if text.startswith("hydra")]
    folder = Path.cwd() / LOGS / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{len(runs)}-jobs"
    if not any(text.startswith("hydra.sweep.dir=") for text in own):
        own.append(f"hydra.sweep.dir='{folder}'")
    first = next(run for run in runs if isinstance(run, ResolvedConfig))
    with hydra_of(project):
        composed = compose([f"experiment={first.name}", *own], project, RunMode.MULTIRUN)
        _check_launcher(composed.hydra.launcher)
        try:
            folder = Path(str(composed.hydra.sweep.dir))
            folder.mkdir(parents=True, exist_ok=True)
        except Exception as error:
            raise ConfigError(f"hydra.sweep.dir cannot be used for logs: {error}") from None
        complain(f"{len(runs)} jobs are handed on; what they print: {folder}")
        with ThreadPoolExecutor(len(runs)) as waiting:
            jobs = [
                waiting.submit(_launch, run, number, composed, project)
                for number, run in enumerate(runs)
            ]
            return max(_job_status(job, run, folder) for job, run in zip(jobs, runs, strict=True))


def _launch(run: Run, number: int, composed: Any, project: Project) -> int:
    """Submit one job and wait for it; returns its exit status."""
    task = partial(_run_job, run.overrides, project.script)
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks())
    launcher = Plugins.instance().instantiate_launcher(
        hydra_context=context, task_function=task, config=composed
    )
    named = [f"experiment={run.name}"]  # without one nothing can be composed
    (done,) = launcher.launch([named], initial_job_idx=number)
    return int(done.return_value)


def _run_job(overrides: Sequence[str], script: str | None, _composed: Any) -> int:
    """Run a command in its job."""
    from simstudy.cli import main

    return main(["run", *overrides], script=script)


def _job_status(job: Any, run: Run, folder: Path) -> int:
    try:
        return int(job.result())
    except Exception as error:
        complain(
            f"the job of {' '.join(run.overrides)} ended without a status "
            f"({type(error).__name__}); its log lies in {folder}. What was finished is kept: to "
            "go on, give the command again."
        )
        return DEFECT


def _check_launcher(launcher: Any) -> None:
    """Refuse a launcher whose jobs could not run."""
    minutes, delay = launcher.get("timeout_min"), launcher.get("signal_delay_s")
    if minutes and delay and minutes * 60 < 2 * delay:
        raise ConfigError(
            f"hydra.launcher.timeout_min={minutes} with signal_delay_s={delay}: a job would be "
            f"requeued {delay} s before the end of its {minutes * 60} s, before it has done much; "
            f"nearest that works: hydra.launcher.signal_delay_s={minutes * 30}"
        )
