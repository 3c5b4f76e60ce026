"""The options of a run: the arguments of `Study.run`, checked against the study."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from simstudy.analysis.estimates import Target, read_targets
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, nearest
from simstudy.options import check, option
from simstudy.study.spec import StudySpec

MAX_BLOCKS, MAX_SHARDS = 10**9, 10**6
PILOT_REP = 10_000  # replicates that estimate an MCSE to within about 1%
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # seconds
ARRAY_INDICES = ("SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "LSB_JOBINDEX", "SGE_TASK_ID")
"""Environment variables with the index of a job in its array: Slurm, PBS, LSF, SGE."""


@dataclass
class RunOptions(Workers):
    """The arguments of `Study.run`, and the settings of a run on the command line.

    The types are those of the command line; Python takes more, as the parameters say.

    Parameters
    ----------
    n_rep
        Replicates per scenario: the first `n_rep` of an endless sequence. Default: the study's
        `n_rep`.
    seed
        Seed of the sequence of random numbers.
    n_jobs
        Number of workers. Default, and -1: one per core of this process or batch job; -2 for one
        less, as in joblib. It changes no number.
    out
        Parent of the study's folder, as a path or a URL such as `s3://bucket/folder`. The run
        stores its blocks and a manifest there; `publish(result)` writes the rest. Default: a
        temporary folder, deleted with the result.
    progress
        Whether progress is shown. Default: only in a terminal or a notebook. An object with
        `begin`, `advance` and `note` is called instead.
    precision
        Monte Carlo standard errors to reach, by measure: `{"power": 0.005}`, or `"2%"` of the
        estimate. After `n_rep` replicates each scenario continues until it has reached them, up to
        `max_rep` replicates; the replicates are still the first of the same sequence. A scenario
        stops when its error happens to be small, which has a small bias: rates of rare outcomes
        come out low by about one hit.
    max_rep
        Largest number of replicates of a scenario with `precision`.
    budget
        Time after which no more blocks are begun, in seconds or as text: `90s`, `30m`, `2h`,
        `1.5d`. The result then has the same number of replicates for every scenario (with
        `precision`, all that each has), and `details.n_left` is the number of missing blocks. A
        second run continues.
    redraw
        Methods whose stored blocks are drawn again although nothing changed; True for all. The
        new rows replace the old ones.
    adopt
        Whether to keep stored blocks of other code, if code was only rewritten, moved or renamed.
        Some of these blocks are drawn again: 2% at random, and those with failures. If they agree,
        all blocks of the method count as the new code's; otherwise they are drawn again. Blocks
        that were not compared may still differ.
    retry
        Blocks to draw again: `failed` for those with recorded failures, whose new rows replace the
        old ones. Blocks whose worker process died are always drawn again.
    shard
        Part of the blocks, as `(i, n)` or `"i/n"`: every n-th one, beginning with the i-th.
        `"auto/n"` takes i from the environment of an array job. Default: all blocks.
    backend
        Kind of workers: `auto` (this process for less than about a second of work, otherwise
        loky), `loky` (processes), `threads`, `inline` (this process, for a debugger), `dask` (a
        cluster), or your own backend as `module:Class`.
    backend_options
        Further arguments of the backend, by name.
    block_seconds
        Time limit for drawing a block, in seconds; a block that takes longer has failed. Default:
        the limit in the study's rules.
    """

    n_rep: int | None = option("replicates per scenario (default: the scale's)", at_least=1)
    seed: int = option("seed of the random numbers", default=1, at_least=0)
    out: str | None = option("folder or URL of the results (default: the scale's)")
    progress: Any = None
    precision: dict[str, Any] | None = None
    max_rep: int = option(
        "largest number of replicates per scenario with precision", default=1_000_000, at_least=1
    )
    budget: str | None = option("time after which no new block begins: 90s, 30m, 2h, 1.5d")
    redraw: list[str | bool] | None = option(
        "methods to draw again although nothing changed: [a,b], or true for all"
    )
    adopt: bool = option("keep blocks of earlier code that draws the same numbers", default=False)
    retry: Literal["failed"] | None = option("draw blocks with recorded failures again")
    shard: str | None = option("i/N: draw every N-th missing block; auto/N in array jobs")
    block_seconds: float | None = option("time limit of a block, in seconds", above=0)

    @classmethod
    def read(cls, study: StudySpec, arguments: Mapping[str, Any]) -> RunOptions:
        """Make the options of a run from arguments; `n_rep=None` is the study's own number.

        Parameters
        ----------
        study
            The study that is run.
        arguments
            Options by name.

        Returns
        -------
        RunOptions
            The options, checked.

        Raises
        ------
        ConfigError
            For an unknown name, or a value that is not allowed.
        """
        known = [each.name for each in fields(cls)]
        for name in arguments:
            if name not in known:
                raise ConfigError(f"{name}: a run has no such option; {nearest(name, known)}")
        options = cls(**{**arguments, "out": None})
        if options.n_rep is None:
            options.n_rep = study.n_rep
        if isinstance(options.shard, tuple | list):
            options.shard = "/".join(map(str, options.shard))
        check(options)
        options.out = arguments.get("out")
        options.check_options(study)
        return options

    @property
    def size(self) -> int:
        """The largest number of replicates of a scenario."""
        assert self.n_rep is not None  # `read` has put the study's number
        return self.n_rep

    @property
    def share(self) -> tuple[int, int] | None:
        """The shard `(i, n)` of the blocks; None for all of them."""
        return read_shard(self.shard)

    def check_options(self, study: StudySpec) -> None:
        """Check what the types of the options do not say, and how they go together.

        Parameters
        ----------
        study
            The study that is run.

        Raises
        ------
        ConfigError
            For the first option that is not allowed, with an allowed value.
        """
        check_by_name(precision=self.precision, backend_options=self.backend_options)
        read_seconds(self.budget)
        check_n_blocks(self.size, study.block_size)
        check_redraw(self.redraw or (), study.methods)
        if self.share and self.precision:
            raise ConfigError(
                "shard with precision: a shard cannot show when the whole study is "
                "precise enough. Run the shards with a fixed n_rep, then precision=... without "
                "shard."
            )
        self.targets(study)

    def targets(self, study: StudySpec) -> Sequence[Target]:
        """List the errors that the run is to reach.

        Parameters
        ----------
        study
            The study that is run.

        Returns
        -------
        Sequence
            A target for each measure in `precision`.
        """
        return read_targets(self.precision or {}, study.measures)

    @property
    def is_all(self) -> bool:
        """Whether the run is not a shard."""
        return self.shard is None


# ---------------------------------------------------------------- one by one
def check_n_blocks(n_rep: int, block_size: int) -> None:
    """Refuse more blocks than a run can keep track of."""
    if n_rep > MAX_BLOCKS * block_size:
        raise ConfigError(
            f"n_rep={n_rep} is more than {MAX_BLOCKS:,} blocks of {block_size} replicates, the "
            f"most that a run can have. Use fewer, for example n_rep={1000 * block_size}"
        )


def check_by_name(**given: Any) -> None:
    """Refuse anything but mappings and None."""
    for name, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise ConfigError(
                f"{name}={value!r} has no names: give a dict, such as precision={{'power': 0.005}}."
            )


def check_redraw(redraw: Sequence[str | bool], methods: Collection[str]) -> None:
    """Check `redraw`: names of methods, or True for all."""
    for name in redraw:
        if name is not True and name not in methods:
            raise ConfigError(
                f"redraw={name}: the study has no such method (redraw=true draws all again); "
                f"{nearest(str(name), methods)}"
            )


# ---------------------------------------------------------------- times and shards
def read_seconds(budget: Any) -> float | None:
    """Read a time in seconds, or as `90s`, `30m`, `2h` or `1.5d`; None stays None.

    Raises
    ------
    ConfigError
        If it is no time above 0.
    """
    if budget is None:
        return None
    text = "" if isinstance(budget, bool) else str(budget)
    match = re.fullmatch(r"(\d+\.?\d*(?:e[+-]?\d+)?)([smhd]?)", text, re.ASCII)
    seconds = float(match[1]) * UNITS[match[2] or "s"] if match else 0.0
    if not 0 < seconds < math.inf:
        raise ConfigError(
            f"budget={budget} is not allowed: it must be a time above 0 in s, m, h or d, for "
            "example budget=2h"
        )
    return seconds


def read_shard(shard: str | None) -> tuple[int, int] | None:
    """Read `3/100` as (3, 100); `auto/100` takes the index of this job in its array.

    Raises
    ------
    ConfigError
        If it is not two integers with 1 <= i <= N, or this is no job of an array from 1 to N.
    """
    if not shard:
        return None
    index, _, total = shard.partition("/")
    if index == "auto":
        here = (os.environ.get(name, "") for name in ARRAY_INDICES)
        index = next((text for text in here if text.isdecimal() and text != "0"), "none")
    if index.isdecimal() and total.isdecimal() and 1 <= int(index) <= int(total) <= MAX_SHARDS:
        return int(index), int(total)
    example = "1/100"
    if total.isdecimal():
        example = f"{total if index.isdecimal() and int(index) > 1 else 1}/{total}"
    raise ConfigError(
        f"shard={shard} is not allowed: must be i/N with integers 1 <= i <= N <= {MAX_SHARDS:,}, "
        f"for example shard={example}; or auto/N in a job of an array from 1 to N, which has one "
        f"of {', '.join(ARRAY_INDICES)} (here the index is {index})"
    )
