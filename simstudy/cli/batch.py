"""A script that runs a study on Slurm: an array of shares, and a job that joins them."""

import re
import shlex
import sys
import typing
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from simstudy.cli.overrides import is_flag, readable
from simstudy.cli.project import Project
from simstudy.cli.request import refuse_own_memory
from simstudy.cli.stops import OF_A_SCRIPT
from simstudy.errors import ConfigError
from simstudy.options import build, option

SCRIPT = Path(__file__).parent / "slurm.sh"
SAID_BY_THE_SCRIPT = ("shard", "plan", "summarize", "replay", "restart", "precision", "debug")
BELOW_60 = r"[0-5]?\d"
TIME = rf"(\d+|\d+:{BELOW_60}|\d+:{BELOW_60}:{BELOW_60})"  # minutes; or the last are seconds
TIME_WITH_DAYS = rf"\d+-([01]?\d|2[0-3])(:{BELOW_60}){{0,2}}"  # hours, minutes, seconds
MEMORY = r"0*[1-9]\d*[KMGT]?"  # 0 asks Slurm for all that a machine has
PATTERNS = (("time", f"{TIME}|{TIME_WITH_DAYS}", "1:00:00"), ("memory", MEMORY, "4G"))


@dataclass
class BatchJob:
    """What a script asks of Slurm."""

    shares: int | None = option("jobs of the array, each with its share of the blocks", at_least=1)
    time: str = option("longest run of a job, as 30 (minutes) or 1-12:00:00", default="1:00:00")
    memory: str = option("of a job, as 4G", default="4G")
    cpus: int = option("of a job, hence its workers", default=1, at_least=1)
    partition: str | None = option("Slurm's partition")
    account: str | None = option("whose hours these are")
    warning: int = option(
        "seconds before the end of its time in which a job finishes its blocks", default=120,
        at_least=1,
    )  # fmt: skip
    pilot: bool = option("cut shares by what blocks cost, which a job finds first", default=False)


def batch_script(project: Project, arguments: Sequence[str]) -> str:
    """The text of the script.

    Parameters
    ----------
    arguments
        What the user typed after the verb: settings of `BatchJob`, and those of the run.

    Raises
    ------
    ConfigError
        Where Slurm, or the run, could not be asked for that.
    """
    _refuse_lines(arguments)
    ours = [text for text in arguments if _name(text) in _hints()]
    rest = [text for text in arguments if text not in ours]
    job = _checked(build(BatchJob, dict(map(_value, ours))))
    _refuse_in_script(rest)
    name = _experiment(project, readable(rest, project))
    values = {
        "name": name,
        "made_by": shlex.join([*project.program.split(), "batch", *arguments]),
        "folder": shlex.quote(str(Path.cwd())),
        "command": shlex.join([*_command(project), *rest]),
        "shares": str(job.shares),
        "asked": shlex.join(_asked(job)),
        "warning": str(job.warning),
        "pilot": "yes" if job.pilot else "",
    }
    text = SCRIPT.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], text)


def _hints() -> dict[str, Any]:
    return typing.get_type_hints(BatchJob)


def _name(text: str) -> str:
    return text.lstrip("+").partition("=")[0]


def _value(text: str) -> tuple[str, Any]:
    """A setting as its type has it; what is of another type stays text, and is then refused."""
    name, _, value = text.partition("=")
    kinds = typing.get_args(_hints()[name]) or (_hints()[name],)
    if bool in kinds:
        return name, {"true": True, "false": False}.get(value.lower(), value)
    return name, int(value) if int in kinds and value.isdecimal() else value


def _checked(job: BatchJob) -> BatchJob:
    if job.shares is None:
        raise ConfigError(
            "batch needs the number of jobs among which the blocks are shared out: shares=N, each "
            "of some minutes at least"
        )
    for name, pattern, example in PATTERNS:
        if not re.fullmatch(pattern, getattr(job, name), re.ASCII):
            raise ConfigError(
                f"{name}={getattr(job, name)}: Slurm would not read it; write it as {example}"
            )
    if _seconds(job.time) < 2 * job.warning:
        raise ConfigError(
            f"time={job.time} with warning={job.warning}: a job would be warned {job.warning} s "
            "before it has to end, before it has done much; give it more time, or warning=SECONDS"
        )
    for field in fields(job):
        if field.name in ("partition", "account") and getattr(job, field.name) == "":
            raise ConfigError(f"{field.name}= is empty: leave it out, or say {field.name}=NAME")
    return job


def _seconds(time: str) -> int:
    """Slurm's time limits: a single number is minutes, or after days hours."""
    days, dash, clock = time.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    if dash:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
        return ((int(days) * 24 + hours) * 60 + minutes) * 60 + seconds
    if len(parts) == 3:
        return (parts[0] * 60 + parts[1]) * 60 + parts[2]
    return parts[0] * 60 + (parts[1] if len(parts) == 2 else 0)


def _refuse_in_script(rest: Sequence[str]) -> None:
    for text in rest:
        if _name(text).partition(".")[0] in SAID_BY_THE_SCRIPT or is_flag(text):
            raise ConfigError(
                f"{text.lstrip('+')} in a script of shares: each of its jobs draws its share of "
                "one study, and the last one joins them. Leave it out."
            )


def _experiment(project: Project, rest: Sequence[str]) -> str:
    """The name of the experiment; a mistake is found here, and not in each job."""
    from simstudy.cli.compose import read_requests

    (request,) = read_requests(rest, project)
    refuse_own_memory(request.out, "batch")
    if request.settings.backend == "dask":
        raise ConfigError(
            f"{_said(rest, 'backend')} in a script of shares: each of its jobs would ask for a "
            "cluster of its own. Leave it out; cpus=N gives each job N workers."
        )
    return request.name


def _said(rest: Sequence[str], name: str) -> str:
    """The setting as the user wrote it."""
    return next((text for text in rest if _name(text) == name), name)


def _refuse_lines(arguments: Sequence[str]) -> None:
    """Refuse what would end the script's comment, and begin a command."""
    for text in arguments:
        if len(text.splitlines()) > 1 or text != text.strip("\r\n"):
            raise ConfigError(
                f"{_name(text)} has a line break in its value, which a script cannot hold in one "
                "line. Give it without."
            )


def _command(project: Project) -> list[str]:
    """What runs a study in a job, which finds neither an environment nor a folder by itself."""
    if project.program == OF_A_SCRIPT:
        return [sys.executable, str(project.root / "run.py")]
    return [sys.executable, "-m", "simstudy", "run"]


def _asked(job: BatchJob) -> list[str]:
    said = {"partition": job.partition, "account": job.account}
    return [
        f"--time={job.time}",
        f"--mem={job.memory}",
        f"--cpus-per-task={job.cpus}",
        *(f"--{name}={value}" for name, value in said.items() if value is not None),
    ]
