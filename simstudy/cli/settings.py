"""What the command line sets, beyond the experiment's own factors."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simstudy.cli.array_jobs import share_of_array
from simstudy.engine.refusals import LOOKS, STOPS_BY, check_stop_by
from simstudy.engine.workers import BACKENDS
from simstudy.errors import ConfigError
from simstudy.figures.page import COLUMNS, check_columns
from simstudy.option_types import shown
from simstudy.options import option

PILOT = "pilot"  # of the shares: the first blocks of every scenario


@dataclass
class Settings:
    """Every key of a command that is not an experiment's own."""

    n_rep: int | None = option("replicates in each scenario", at_least=1)
    seed: int = option("names the sequence of random numbers", default=1, at_least=0)
    n_jobs: int | None = option("workers", at_least=1)
    backend: str = option(
        f"where blocks are computed: {', '.join(BACKENDS)}, or module:Class", default="auto"
    )
    block_seconds: float | None = option("how long drawing a block may take", above=0)
    out: str | None = option("folder of the results")
    keep: str = option("what is stored", default="replicates", one_of=("replicates", "summary"))
    shard: str | None = option(
        "i/N: the i-th of N shares of the blocks; auto, or auto/N: that of an array's job; pilot: "
        "the first blocks of each scenario, by whose time shares are then cut"
    )
    restart: bool = option("delete this study's stored blocks first", default=False)
    replace: bool = option("publish over the results of other settings", default=False)
    retry: str | None = option("draw blocks with recorded failures again", one_of=("failed",))
    redraw: str | None = option("methods whose code has changed, to be drawn anew")
    precision: dict[str, Any] = field(default_factory=dict)
    max_rep: int = option(
        "most replicates in a scenario, where precision decides", default=1_000_000, at_least=1
    )
    budget: str | None = option("time after which no more is begun: 90s, 30m, 2h, 1.5d")
    stop_by: str = option(
        "what ends a scenario, where precision decides: looks at its own error, or a pilot, which "
        "biases nothing",
        default=LOOKS,
        one_of=STOPS_BY,
    )
    plan: bool = option("only say what a run would do, or a precision cost", default=False)
    protocol: bool = option("only write the study as a preregistration", default=False)
    pilot: int | None = option(
        "replicates of each scenario in the pilot of a protocol, which are none of the study's",
        at_least=2,
    )
    crate: bool = option("only describe the finished results as a research object", default=False)
    zip: bool = option("put a research object's files into one archive, too", default=False)
    summarize: bool = option("only summarise the blocks that are there", default=False)
    replay: str | None = option("address of one replicate to draw again")
    debug: bool = option("open the debugger where a replay raises", default=False)
    group: str = option(
        "experiments that a sweep over experiment=glob(*) means: all, or conf/group/NAME.yaml",
        default="all",
    )
    figures: bool = option("draw the figures", default=True)
    pdf: bool = option(
        "draw them also as PDFs for a journal, one for each of column_widths",
        default=False,
    )
    column_widths: dict[str, Any] = field(default_factory=lambda: dict(COLUMNS))
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
            f"precision={shown(settings.precision)}: name the measure whose Monte Carlo error that "
            "is, as in precision.MEASURE=0.005"
        )
    if settings.pdf and not settings.figures:
        raise ConfigError(
            "pdf=true with figures=false: the PDFs are of the figures. Leave figures=false out."
        )
    if settings.zip and not settings.crate:
        raise ConfigError(
            "zip=true: an archive is of a research object, as in simstudy crate experiment=NAME "
            "zip=true"
        )
    _refuse_no_columns(settings.column_widths)
    _refuse_folder(settings.out)
    check_stop_by(settings.stop_by, settings.precision)
    read_seconds(settings.budget)
    if settings.shard == PILOT and settings.precision:
        raise ConfigError(
            "shard=pilot with precision: a pilot draws two blocks of each scenario, however "
            "precise they are. Run it without precision, then the shares with a fixed n_rep."
        )
    _refuse_beside_protocol(settings)
    if read_shard(settings.shard) and settings.restart:
        raise ConfigError(
            f"restart=true with shard={settings.shard}: every share would delete the blocks of the "
            "others. Delete the study's folder first, or begin once with restart=true and without "
            "shard; then run the shares without restart."
        )


def _refuse_no_columns(widths: Any) -> None:
    """Refuse widths of figures that are none."""
    if not isinstance(widths, Mapping):
        raise ConfigError(
            f"column_widths={shown(widths)}: give each width a name, in inches, as in "
            "column_widths.single=3.5"
        )
    check_columns(widths, ConfigError)


def _refuse_beside_protocol(settings: Settings) -> None:
    """Refuse what belongs to a protocol without one, and what one cannot plan."""
    if settings.pilot is not None and not settings.protocol:
        raise ConfigError(
            f"pilot={settings.pilot}: a pilot belongs to a protocol, as in simstudy protocol "
            f"experiment=NAME pilot={settings.pilot}; of a run, stop_by=pilot has one."
        )
    if settings.protocol and settings.stop_by != LOOKS:
        raise ConfigError(
            f"stop_by={settings.stop_by}: a protocol plans one number of replicates for all "
            "scenarios. Leave stop_by out; pilot=200 finds what theory does not know."
        )


def _refuse_folder(out: str | None) -> None:
    """Refuse a name that would make a folder nobody means."""
    if out is None:
        return
    if not out.strip():
        raise ConfigError("out= is empty, and names the folder of the results; write out=results")
    if out.startswith("~"):
        full = os.path.expanduser(out)  # as it was, where nobody knows of a home
        such_as = full if full != out else "/home/me/results"
        raise ConfigError(
            f"out={out}: no shell has put the folder of the user in the place of ~; write the "
            f"folder in full, out={shown(such_as)}"
        )


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_seconds(text: str | None) -> float | None:
    """`90s`, `30m`, `2h` or `1.5d` in seconds, which a number without a unit is; None stays None.

    Raises
    ------
    ConfigError
        Where it is no time above 0.
    """
    if text is None:
        return None
    number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "s")
    try:
        seconds = float(number) * UNITS[unit]
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ConfigError(
            f"budget={text}: allowed is a time above 0 in seconds, or with s, m, h or d for a "
            "unit; nearest that works: budget=2h"
        )
    return seconds


def refuse_low_ceiling(settings: Settings, n_rep: int) -> None:
    """Refuse a most that is less than a run begins with, where a precision decides.

    Raises
    ------
    ConfigError
        Saying both, and which to change.
    """
    if settings.precision and settings.max_rep < n_rep:
        raise ConfigError(
            f"max_rep={settings.max_rep} is less than the {n_rep:,} replicates that every scenario "
            f"begins with: raise it, or begin with fewer, n_rep={settings.max_rep}"
        )


def read_shard(text: str | None) -> tuple[int, int] | None:
    """`3/100` as (3, 100); `auto`, or `auto/100`, as the scheduler of an array job says.

    None where all blocks are meant, or, by `pilot`, the first of all.

    Raises
    ------
    ConfigError
        Where it is not two whole numbers with 1 <= i <= N.
    """
    if text in (None, PILOT):
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
