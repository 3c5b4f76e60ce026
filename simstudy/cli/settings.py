"""The settings of a run on the command line, and their checks."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from simstudy.cli.project import PACKAGE_CONF, read_settings
from simstudy.errors import ConfigError
from simstudy.options import build, format_setting, option

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # seconds
SLURM = "SLURM_ARRAY_TASK_"
ARRAY_INDICES = (f"{SLURM}ID", "PBS_ARRAY_INDEX", "PBS_ARRAYID", "LSB_JOBINDEX", "SGE_TASK_ID")
"""Environment variables with the index of a job in its array: Slurm, PBS, Torque, LSF, SGE."""
SILENT = frozenset({
    "n_jobs", "backend", "block_seconds", "out", "restart", "retry", "redraw", "adopt", "budget",
    "join", "shard", "figures", "pdf", "report", "progress", "claims", "objective",
    "scale", "experiment",
})  # fmt: skip
"""Settings that change no number, so that runs with other values of them share a folder."""


@dataclass
class Settings:
    """The settings of a run, without those of the experiment."""

    n_rep: int | None = option("replicates per scenario (default: the scale's)", at_least=1)
    seed: int = option("seed of the random numbers", default=1, at_least=0)
    precision: dict[str, Any] = field(default_factory=dict)
    max_rep: int = option(
        "largest number of replicates per scenario with precision", default=1_000_000, at_least=1
    )
    stop_by: Literal["sequential", "pilot"] = option(
        "rule that ends a scenario with precision", default="sequential"
    )
    budget: str | None = option("time after which no new block begins: 90s, 30m, 2h, 1.5d")
    n_jobs: int | None = option("number of workers (default and -1: one per core)")
    backend: str = option("where blocks are drawn", default="auto")
    block_seconds: float | None = option("time limit of a block, in seconds", above=0)
    out: str | None = option("folder or URL of the results (default: the scale's)")
    shard: str | None = option("i/N: draw every N-th missing block; auto or auto/N in array jobs")
    join: int | None = option("N: join N shares; draw what is missing if it is little", at_least=1)
    restart: bool = option("delete the stored blocks of these settings first", default=False)
    retry: Literal["failed"] | None = option("draw blocks with recorded failures again")
    redraw: list[str] | None = option(
        "methods to draw again because their code has changed: [a,b], or changed"
    )
    adopt: bool = option("keep blocks of earlier code that draws the same numbers", default=False)
    figures: bool = option("draw the figures", default=True)
    pdf: bool = option("also draw the figures as PDF", default=False)
    report: bool = option("write the HTML report", default=True)
    claims: bool = option("print claims also if the settings are not published", default=False)
    objective: str | None = option(
        "measure whose mean over the summary is the objective of a sweeper"
    )
    progress: bool = option("show progress", default=True)


def check_settings(settings: Settings) -> None:
    """Check settings that depend on each other.

    Raises
    ------
    ConfigError
        If they do not go together.
    """
    if not isinstance(settings.precision, Mapping):
        raise ConfigError(
            f"precision={format_setting(settings.precision)} names no measure: write "
            "precision.MEASURE=0.005"
        )
    for name in ("shard", "restart", "precision"):
        if settings.join and getattr(settings, name):
            raise ConfigError(
                f"join={settings.join} with {name}: the run that joins shares draws no share, "
                f"deletes none of them, and has a fixed n_rep. Leave {name} out."
            )
    if settings.shard and settings.restart:
        raise ConfigError(
            f"restart=true with shard={settings.shard}: every share would delete the blocks of the "
            "others. Begin once with restart=true and without shard; then run the shares."
        )
    read_seconds(settings.budget)


def read_seconds(text: str | None) -> float | None:
    """Parse `90s`, `30m`, `2h` or `1.5d` to seconds; None stays None.

    Raises
    ------
    ConfigError
        If it is no time above 0.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d+\.?\d*)([smhd]?)", text, re.ASCII)
    seconds = float(found[1]) * UNITS[found[2] or "s"] if found else 0.0
    if seconds <= 0:
        raise ConfigError(
            f"budget={text} is not allowed: it must be a time above 0 in s, m, h or d, for "
            "example budget=2h"
        )
    return seconds


def read_shard(text: str | None) -> tuple[int, int] | None:
    """Parse `3/100` to (3, 100); `auto` and `auto/100` ask the scheduler of an array job.

    Raises
    ------
    ConfigError
        If it is not two integers with 1 <= i <= N, or this is no job of an array.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(auto|\d{1,9})(?:/([1-9]\d{0,8}))?", text, re.ASCII)
    index, total = found.groups() if found else ("", None)
    if index == "auto":
        return share_of_array(os.environ, int(total) if total else None)
    if total and 1 <= int(index) <= int(total):
        return int(index), int(total)
    raise ConfigError(
        f"shard={text} is not allowed: it must be i/N with integers 1 <= i <= N, or auto/N in a "
        f"job of an array, for example shard={total or 1}/{total or 100}"
    )


def share_of_array(environment: Mapping[str, str], n_shares: int | None = None) -> tuple[int, int]:
    """The share of this array job, and the number of shares.

    Parameters
    ----------
    environment
        Environment variables.
    n_shares
        Number of shares; indices then count from 1. Default: the number of jobs in a Slurm array
        without gaps.

    Raises
    ------
    ConfigError
        If this is no job of an array, or its place in it is not known.
    """
    here = {name: text for name in ARRAY_INDICES if (text := environment.get(name, "")).isdecimal()}
    if here.get("LSB_JOBINDEX") == "0":  # LSF's value outside arrays
        del here["LSB_JOBINDEX"]
    if not here:
        raise ConfigError(
            f"shard=auto outside of an array job: none of {', '.join(ARRAY_INDICES)} is set. "
            "Give the share as shard=i/N."
        )
    name, index = next(iter(here.items()))
    indices = range(1, n_shares + 1) if n_shares else range(0)
    if not n_shares and name == f"{SLURM}ID":
        first, last, count = (environment.get(f"{SLURM}{each}") for each in ("MIN", "MAX", "COUNT"))
        array = range(int(first or 0), int(last or 0) + 1)
        indices = array if str(len(array)) == count else indices
    if not indices:
        raise ConfigError(
            f"shard=auto: {name} does not say how many shares there are. For an array from 1 to N "
            "write shard=auto/N."
        )
    if int(index) not in indices:
        raise ConfigError(
            f"shard=auto: {name}={index} is outside of {indices[0]} to {indices[-1]}, the shares "
            "of this study. Give the share as shard=i/N, with i from 1."
        )
    return indices.index(int(index)) + 1, len(indices)


# ---------------------------------------------------------------- scales and backends
PUBLISHED = "paper"  # the scale of the published results


@dataclass
class Scale:
    """A scale, from `conf/scale/NAME.yaml`: replicates and folder."""

    name: str | None = option("name of the scale")
    times: float | None = option("factor of the published replicates", above=0, at_most=1e9)
    n_rep: int | None = option("replicates per scenario", at_least=1)
    out: str | None = option("folder of the results")

    def replicates(self, published: int, group_size: int = 1) -> int:
        """Replicates per scenario, in whole groups: `n_rep`, or `times` the published if fewer."""
        by_factor = max(1, round(self.times * published)) if self.times else None
        n_rep = min(filter(None, (by_factor, self.n_rep)), default=published)
        return n_rep + -n_rep % group_size


def read_scale(values: Any, name: str) -> Scale:
    """Read a scale; its default folder has its name.

    Raises
    ------
    ConfigError
        With the key and the value.
    """
    out = "results" if name == PUBLISHED else f"results/{name}"
    return build(Scale, {"out": out} | _stated(values, "scale"), prefix="scale.")


def read_backend(values: Any, name: str) -> tuple[str, dict[str, Any]]:
    """Read a backend's name and options.

    Raises
    ------
    ConfigError
        If there is no such backend.
    """
    from simstudy.engine.workers import check_backend

    package = read_settings(PACKAGE_CONF / "backend" / f"{name}.yaml")
    options = _merged(package, _stated(values, "backend"))
    backend = options.pop("name", None)
    if not isinstance(backend, str):
        raise ConfigError(
            f"conf/backend/{name}.yaml has no name: write name: and the kind of backend, or "
            "module:Class"
        )
    check_backend(backend)
    return backend, options


def _merged(base: Any, over: Any) -> Any:
    """The nested settings of one file with those of another on top."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return base | {key: _merged(base.get(key), value) for key, value in over.items()}


def _stated(values: Any, group: str) -> dict[str, Any]:
    """The keys that a file sets to a value."""
    if values is None or isinstance(values, Mapping):
        return {key: value for key, value in (values or {}).items() if value is not None}
    raise ConfigError(
        f"{group}={format_setting(values)} is no group of settings: choose a file of "
        f"conf/{group}/ with {group}=NAME"
    )


# ---------------------------------------------------------------- commands on files
def parse_words(arguments: Sequence[str]) -> dict[str, str]:
    """Values by name from NAME=VALUE words.

    Raises
    ------
    ConfigError
        For a setting without a value, or given twice.
    """
    values = dict[str, str]()
    for text in arguments:
        name, _, value = text.lstrip("+").partition("=")
        if name in values:
            raise ConfigError(f"{name} is given twice: {name}={values[name]} and {text}")
        if not value:
            raise ConfigError(f"{text} has no value: leave {name} out, or write {name}=VALUE")
        values[name] = value
    return values
