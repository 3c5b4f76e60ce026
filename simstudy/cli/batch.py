"""A Slurm script that runs a study as an array of shares and then merges them."""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from simstudy.cli.composition import Run, compose_run, refuse_own_memory
from simstudy.cli.exit_status import resume_command
from simstudy.cli.project import Project
from simstudy.cli.settings import parse_words
from simstudy.cli.status import format_ranges, take_inventory
from simstudy.errors import ConfigError
from simstudy.options import build, option

SCRIPT = Path(__file__).parent / "slurm.sh"


@dataclass
class BatchJob:
    """The settings of a Slurm job."""

    shares: int | None = option("jobs of the array, each with its share of the blocks", at_least=1)
    time: str = option("longest run of a job, as 30 (minutes) or 1-12:00:00", default="1:00:00")
    memory: str = option("memory of a job, as 4G", default="4G")
    cpus: int = option("cores of a job, and so its workers", default=1, at_least=1)
    partition: str | None = option("Slurm's partition")
    account: str | None = option("account that is charged")
    warning: int = option(
        "seconds before the end of its time in which a job finishes its blocks", default=120,
        at_least=1,
    )  # fmt: skip
    missing: bool = option("submit only the shares that have gaps now", default=False)


def batch_script(project: Project, arguments: Sequence[str]) -> str:
    """Make the text of a Slurm script.

    Parameters
    ----------
    arguments
        The arguments as typed: settings of `BatchJob` and of the run.

    Raises
    ------
    ConfigError
        If the settings of the job or of the run are not allowed.
    """
    known = {each.name for each in fields(BatchJob)}
    ours = [text for text in arguments if _name(text) in known]
    rest = [text for text in arguments if text not in ours]
    job = build(BatchJob, parse_words(ours))
    if job.shares is None:
        raise ConfigError(
            "batch needs the number of jobs among which the blocks are shared out: shares=N, each "
            "of some minutes at least"
        )
    words = [text if "=" in text else f"experiment={text}" for text in rest]
    config = compose_run(project, [*words, f"join={job.shares}"])  # mistakes show before it is run
    refuse_own_memory(config.out, "batch")
    made_by = f"{project.command('batch')} {shlex.join(arguments)}"
    values = {
        "name": config.name,
        "made_by": " ".join(made_by.splitlines()),  # one line: it stands in a comment
        "folder": shlex.quote(str(Path.cwd())),
        "command": shlex.join([*_command(project), *rest]),
        "shares": str(job.shares),
        "asked": shlex.join(_sbatch_options(job)),
        "warning": str(job.warning),
        "array": _missing_shares(config, job.shares) if job.missing else f"1-{job.shares}",
    }
    text = SCRIPT.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], text)


def _missing_shares(config: Run, n_shares: int) -> str:
    """The indices of incomplete shares, as sbatch takes them."""
    gaps = take_inventory(config).by_share(n_shares)
    if not gaps:
        raise ConfigError(
            f"missing=true: all {n_shares:,} shares have drawn their blocks. To join them: "
            f"{resume_command(config.project, 'run', config.overrides[:-1])}"
        )
    return format_ranges(gaps)


def _name(text: str) -> str:
    return text.lstrip("+").partition("=")[0]


def _command(project: Project) -> list[str]:
    """The command that a job runs, with its environment and folder."""
    if project.script is not None:
        return [sys.executable, str(project.root / "run.py")]
    return [sys.executable, "-m", "simstudy", "run"]


def _sbatch_options(job: BatchJob) -> list[str]:
    options = {"partition": job.partition, "account": job.account}
    return [
        f"--time={job.time}",
        f"--mem={job.memory}",
        f"--cpus-per-task={job.cpus}",
        *(f"--{name}={value}" for name, value in options.items() if value is not None),
    ]
