"""What the command line sets, beyond the experiment's own factors."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simstudy.cli.array_jobs import share_of_array
from simstudy.engine.workers import BACKENDS
from simstudy.errors import ConfigError
from simstudy.options import option


@dataclass
class Settings:
    """Every key of a command that is not an experiment's own."""

    n_rep: int | None = option("replicates in each scenario", at_least=1)
    seed: int = option("names the sequence of random numbers", default=1, at_least=0)
    n_jobs: int | None = option("workers", at_least=1)
    backend: str = option(
        f"where blocks are computed: {', '.join(BACKENDS)}, or module:Class", default="auto"
    )
    out: str | None = option("folder of the results")
    keep: str = option("what is stored", default="replicates", one_of=("replicates", "summary"))
    shard: str | None = option(
        "i/N: the i-th of N shares of the blocks; auto, or auto/N: that of an array's job"
    )
    restart: bool = option("delete this study's stored blocks first", default=False)
    replace: bool = option("publish over the results of other settings", default=False)
    retry: str | None = option("draw blocks with recorded failures again", one_of=("failed",))
    redraw: str | None = option("methods whose code has changed, to be drawn anew")
    precision: dict[str, Any] = field(default_factory=dict)
    max_rep: int = option(
        "most replicates in a scenario, where precision decides", default=1_000_000, at_least=1
    )
    plan: bool = option("only say what a run would do, or a precision cost", default=False)
    summarize: bool = option("only summarise the blocks that are there", default=False)
    replay: str | None = option("address of one replicate to draw again")
    debug: bool = option("open the debugger where a replay raises", default=False)
    figures: bool = option("draw the figures", default=True)
    report: bool = option("write the HTML report", default=True)
    progress: bool = option("show how far the run is", default=True)


def refuse_contradictions(settings: Settings) -> None:
    """Refuse settings that are each fine, and make no sense together, or no sense at all.

    Raises
    ------
    ConfigError
        Where they do not go together.
    """
    if not isinstance(settings.precision, Mapping):
        raise ConfigError(
            f"precision={settings.precision}: name the measure whose Monte Carlo error that is, as "
            f"in precision.MEASURE={settings.precision}"
        )
    if settings.out == "":
        raise ConfigError("out= is empty, and names the folder of the results; write out=results")
    if read_shard(settings.shard) and settings.restart:
        raise ConfigError(
            f"restart=true with shard={settings.shard}: every share would delete the blocks of the "
            "others. Delete the study's folder first, or begin once with restart=true and without "
            "shard; then run the shares without restart."
        )


def read_shard(text: str | None) -> tuple[int, int] | None:
    """`3/100` as (3, 100); `auto`, or `auto/100`, as the scheduler of an array job says.

    Raises
    ------
    ConfigError
        Where it is not two whole numbers with 1 <= i <= N.
    """
    if text is None:
        return None
    index, slash, total = text.partition("/")
    if index == "auto" and (total.isdecimal() and int(total) > 0 if slash else True):
        return share_of_array(os.environ, int(total) if slash else None)
    if index.isdecimal() and total.isdecimal() and 1 <= int(index) <= int(total):
        return int(index), int(total)
    raise ConfigError(
        f"shard={text}: allowed is i/N with whole numbers 1 <= i <= N, or auto in a job of an "
        f"array; nearest that works: shard={_nearest_shard(index, total or index)}"
    )


def _nearest_shard(index: str, total: str) -> str:
    if not (index.isdecimal() and total.isdecimal()):
        return "1/1"
    n_shards = max(int(total), 1)
    return f"{min(max(int(index), 1), n_shards)}/{n_shards}"
