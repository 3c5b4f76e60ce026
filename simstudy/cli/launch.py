"""A sweep whose runs are jobs of a Hydra launcher, such as Slurm's."""

import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode

from simstudy.cli.compose import Run
from simstudy.cli.exit_status import DEFECT, complain
from simstudy.cli.project import PACKAGE_CONF, Project
from simstudy.errors import ConfigError, nearest

BASE = (
    f"hydra.searchpath=['file://{PACKAGE_CONF}']",  # after the project's conf/
    "hydra/hydra_logging=disabled",
    "hydra/job_logging=disabled",
    "hydra.output_subdir=null",
    "hydra.run.dir=.",
    "hydra.sweep.subdir=.",
)
"""What Hydra is told of every sweep."""
LOGS = "sweeps"  # below the current folder, which every machine of a cluster has to see


def launch_sweep(runs: Sequence[Run], settings: Sequence[str], project: Project) -> int:
    """Submit each run to a launcher as a job, and wait for all jobs.

    Parameters
    ----------
    settings
        Of Hydra: which launcher, and its settings.

    Returns
    -------
    int
        The highest status of all; a job that ended without one was killed, or never ran.
    """
    folder = Path.cwd() / LOGS / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{len(runs)}-jobs"
    if not any(text.startswith("hydra.sweep.dir=") for text in settings):
        settings = [*settings, f"hydra.sweep.dir='{folder}'"]
    GlobalHydra.instance().clear()
    first = project.conf if project.conf.is_dir() else PACKAGE_CONF
    with initialize_config_dir(str(first), version_base=None):
        composed = _compose(settings, project)
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


def _compose(settings: Sequence[str], project: Project) -> Any:
    """The Hydra configuration of a launcher.

    Raises
    ------
    ConfigError
        For whatever Hydra, OmegaConf, YAML or ANTLR raise.
    """
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    try:
        return hydra.compose_config(None, [*BASE, *settings], RunMode.MULTIRUN, from_shell=False)
    except Exception as error:
        raise ConfigError(_in_one_line(error, settings, project)) from None


def _in_one_line(error: Exception, settings: Sequence[str], project: Project) -> str:
    """A Hydra error in one line."""
    text = str(error)
    first = next(iter(text.splitlines()), type(error).__name__)
    if "'hydra/launcher/submitit_" in text:  # of which ours are made
        return (
            "hydra/launcher=slurm needs submitit's launcher, which is not installed: pip install "
            "'simstudy[slurm]'"
        )
    launcher = re.search("Could not find 'hydra/launcher/(.*?)'", text)
    if launcher:
        near = nearest(launcher[1], project.options("hydra/launcher"))
        return f"hydra/launcher={launcher[1]}: no such launcher; {near}"
    key = re.search("Could not override '(.*?)'", text)
    if key:
        return f"{key[1]} is not a setting of this launcher"
    merged = re.fullmatch(r"Error merging override \+*(.*)", first)
    if merged:
        return f"{merged[1]} cannot be set: {str(error.__cause__).partition(chr(10))[0]}"
    return f"cannot read {' '.join(settings)}: {first}"


def _launch(run: Run, number: int, composed: Any, project: Project) -> int:
    """Submit one job and wait for it; returns its exit status."""
    task = partial(_run_job, run.overrides, project.script)
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks())
    launcher = Plugins.instance().instantiate_launcher(
        hydra_context=context, task_function=task, config=composed
    )
    (done,) = launcher.launch([[]], initial_job_idx=number)
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
