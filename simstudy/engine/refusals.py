"""What may be asked of a run, refused where it makes no sense."""

import math
import numbers
from collections.abc import Collection, Mapping, Set
from typing import Any

import numpy as np

from simstudy.errors import ConfigError, StudyError, in_one_line, nearest
from simstudy.validation import check_whole, is_whole

KEEPS = ("replicates", "summary")
STOPS_BY = LOOKS, PILOT = "looks", "pilot"  # what ends a scenario: its own error, or a pilot's


def check_keep(keep: str, n_rep: int, block_size: int, group_size: int = 1) -> None:
    """Refuse what cannot be kept, and of moments what is not whole blocks, or no replicate's."""
    if keep not in KEEPS:
        raise ConfigError(f"keep={keep!r}: there is {', '.join(KEEPS)}.")
    if keep == "summary" and group_size > 1:
        raise ConfigError(
            f"keep=summary with group_size={group_size}: moments are of single replicates, whose "
            "errors would be taken for independent; nearest that works: keep=replicates"
        )
    if keep == "summary" and n_rep % block_size:
        whole = -(-n_rep // block_size) * block_size
        raise ConfigError(
            f"n_rep={n_rep} with keep=summary: only whole blocks of {block_size} "
            f"replicates are kept; nearest that works: n_rep={whole}"
        )


def check_whole_groups(group_size: int, n_rep: int) -> None:
    """Refuse a number of replicates that cuts a group of dependent ones."""
    if n_rep % group_size:
        near = max(1, round(n_rep / group_size)) * group_size
        raise ConfigError(
            f"n_rep={n_rep}: the study's replicates come in groups of {group_size}, which are "
            f"drawn and counted whole; nearest that works: n_rep={near}"
        )


def check_block_seconds(seconds: Any) -> None:
    """Refuse a time in which no block could be drawn, and what is no time."""
    if seconds is None:
        return
    is_number = isinstance(seconds, numbers.Real) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < math.inf:
        raise ConfigError(
            f"block_seconds={seconds!r}: drawing a block takes some time, so every block would "
            "fail. Give a number above 0, in seconds, or None for as long as it takes."
        )


def check_shard(
    shard: tuple[int, int] | None,
    precision: Mapping[str, Any],
    weights: Mapping[str, float] | None = None,
) -> None:
    """Refuse what is no share, one of a run whose size is decided as it goes, and no costs."""
    if shard is not None and not _is_share(shard):
        raise ConfigError(
            f"shard={shard!r}: allowed is (i, n), two whole numbers with 1 <= i <= n, for the "
            "i-th of n shares; nearest that works: shard=(1, 2)"
        )
    if weights is not None and not isinstance(weights, Mapping):
        raise ConfigError(
            f"weights={weights!r}: give a dict with what a block costs by scenario key, or leave "
            "it out where all cost the same."
        )
    for key, weight in (weights or {}).items():
        if not (math.isfinite(weight) and weight > 0):
            raise ConfigError(
                f"weights: a block of scenario {key} costs {weight:g}, and shares are cut by what "
                "blocks cost. Give a number above 0, or leave the scenario out."
            )
    if shard and precision:
        raise ConfigError(
            "shard with precision: a shard cannot know when the whole study is precise enough. "
            "Run the shards with a fixed n_rep, then precision=... without shard."
        )


def _is_share(shard: Any) -> bool:
    if not isinstance(shard, tuple | list) or len(shard) != 2 or not all(map(is_whole, shard)):
        return False
    return bool(1 <= shard[0] <= shard[1])


def check_precision(precision: Any) -> None:
    """Refuse an error of which nobody says what it is the error of."""
    if precision is not None and not isinstance(precision, Mapping):
        raise ConfigError(
            f"precision={precision!r}: nobody says of which measure: give a dict, such as "
            "precision={'power': 0.005}"
        )


def check_budget(budget: Any) -> None:
    """Refuse what is no time that a run could take."""
    is_time = isinstance(budget, numbers.Real) and not isinstance(budget, bool)
    if budget is not None and not (is_time and 0 < budget < math.inf):
        raise ConfigError(
            f"budget={budget!r}: a run takes some time, so nothing would be drawn. Give seconds "
            "above 0, or None for as long as it takes."
        )


def check_stop_by(stop_by: Any, precision: Any) -> None:
    """Refuse anything but `looks` and `pilot`, and a pilot where no error is asked for."""
    if stop_by not in STOPS_BY:
        raise ConfigError(
            f"stop_by={stop_by}: allowed is looks, where each scenario runs on until its own error "
            "is small enough, or pilot, which fixes how many replicates there are before the "
            "first; nearest that works: stop_by=pilot"
        )
    if stop_by == PILOT and not precision:
        raise ConfigError(
            "stop_by=pilot without precision: a pilot finds out how many replicates an error "
            "takes, and none is asked for. Give one, as in precision.MEASURE=0.005"
        )


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse a number of workers that is none; None is every core."""
    if n_jobs is not None:
        check_whole("n_jobs", n_jobs, least=1, counts="of workers, or none for every core")


def check_retry(retry: Any) -> None:
    """Refuse anything but `failed` and None."""
    if retry not in (None, "failed"):
        raise ConfigError(
            f"retry={retry}: allowed is failed, which draws blocks with recorded failures again; "
            "nearest that works: retry=failed"
        )


def check_switches(**switches: Any) -> None:
    """Refuse what is neither true nor false: any text is true to Python, `"no"` too."""
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool_):
            raise ConfigError(
                f"{name}={in_one_line(repr(value))} is neither True nor False: say one of them."
            )


def check_max_rep(most: Any) -> None:
    """Refuse anything but a whole number of at least 1."""
    check_whole("max_rep", most, least=1, usual=1_000_000)


def check_progress(progress: Any) -> None:
    """Refuse what cannot be told how far a run is."""
    if progress is not None and not all(
        callable(getattr(progress, told, None)) for told in ("begin", "advance", "note")
    ):
        raise ConfigError(
            f"progress={in_one_line(repr(progress))} cannot be told how far a run is: give an "
            "object with begin, advance and note, or leave it out."
        )


def check_redraw(redraw: Any, methods: Collection[str]) -> tuple[str, ...]:
    """Names of methods, of which none is unknown; a text may name several, with commas."""
    names = redraw.split(",") if isinstance(redraw, str) else redraw
    if not isinstance(names, Collection):
        raise ConfigError(
            f"redraw={in_one_line(repr(redraw))} names no methods: give their names in a list."
        )
    for name in names:
        if name not in methods:
            raise ConfigError(
                f"redraw={name}: the study has no such method to draw anew; "
                + nearest(name, methods)
            )
    return tuple(names)


def check_n_rep(n_rep: Any) -> None:
    """Refuse anything but a whole number of at least 1."""
    check_whole("n_rep", n_rep, least=1, usual=1000)


def check_pilot(n_rep: Any) -> None:
    """Refuse anything but a whole number of at least 2: one replicate has no Monte Carlo error."""
    check_whole("pilot", n_rep, least=2, counts="of replicates in each scenario")


def check_seed(seed: Any) -> None:
    """Refuse anything but a whole number of at least 0."""
    check_whole("seed", seed, least=0, counts="that names a sequence of random numbers", usual=1)


def refuse_unordered(what: str, value: Any) -> None:
    """Refuse a set, of which Python makes another order each time it starts."""
    if isinstance(value, Set):
        raise StudyError(
            f"{what} is a set, which has another order in each run: give a list or a tuple."
        )
