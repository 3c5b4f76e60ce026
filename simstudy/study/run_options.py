"""The options of a run, checked against the study."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy.analysis.precision import PILOT, SEQUENTIAL, STOPS_BY, Target, read_targets
from simstudy.engine.progress import Progress
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, in_one_line, nearest
from simstudy.remote.paths import Place
from simstudy.store.study_folder import CHANGED
from simstudy.study.spec import StudySpec
from simstudy.study.validation import check_n_rep, check_whole_groups
from simstudy.validation import check_whole, is_whole

KEEPS = ("replicates", "summary")
Out = str | os.PathLike[str] | Place | None
PILOT_REP = 10_000  # replicates that tell an MCSE to a hundredth of itself


@dataclass(frozen=True)
class RunOptions:
    """The options of `Study.run`, where each is described."""

    n_rep: int
    seed: int = 1
    out: Out = None
    workers: Workers | None = None
    keep: str = "replicates"
    shard: tuple[int, int] | None = None
    weights: Mapping[str, float] | None = None
    restart: bool = False
    retry: str | None = None
    redraw: str | Collection[str] = ()
    adopt: bool = False
    precision: Mapping[str, Any] | None = None
    max_rep: int = 1_000_000
    stop_by: str = SEQUENTIAL
    budget: float | None = None
    progress: Progress | bool | None = None
    whole_blocks: bool = True
    explain: bool = True

    def check_options(self, study: StudySpec) -> None:
        """Check the options, alone and together.

        Raises
        ------
        ConfigError
            In one line, with what can.
        """
        check_switches(
            restart=self.restart,
            adopt=self.adopt,
            whole_blocks=self.whole_blocks,
            explain=self.explain,
        )
        check_progress(self.progress)
        check_budget(self.budget)
        check_n_rep(self.n_rep)
        check_max_rep(self.max_rep)
        check_whole_groups(study.group_size, self.n_rep)
        check_keep(self.keep, self.n_rep, study.block_size, study.group_size)
        check_retry(self.retry)
        check_redraw(self.redraw, study.methods)
        check_precision(self.precision)
        check_stop_by(self.stop_by, self.precision)
        check_shard(self.shard, self.precision or {}, self.weights)
        self.targets(study)

    def targets(self, study: StudySpec) -> Sequence[Target]:
        """The precision targets."""
        return read_targets(self.precision or {}, study.measures)

    def ceiling(self, study: StudySpec) -> int:
        """The maximum number of replicates of a scenario, in whole groups."""
        return self.max_rep - self.max_rep % study.group_size

    def analysed_of(self, study: StudySpec) -> int:
        """How many replicates of a block are analysed one by one; 0 for all."""
        return study.analysed_of(
            self.n_rep, whole_blocks=self.whole_blocks, keep=self.keep, precision=self.precision
        )

    @property
    def is_all(self) -> bool:
        """Whether the run is not a share."""
        return self.shard is None


def pilot_rep(study: StudySpec, n_rep: int) -> int:
    """The replicates of a pilot: at most two blocks or some thousands, in whole groups."""
    enough = max(2 * study.block_size, PILOT_REP)
    return min(n_rep, enough + -enough % study.group_size)


# ---------------------------------------------------------------- one by one
def check_keep(keep: str, n_rep: int, block_size: int, group_size: int = 1) -> None:
    """Check `keep`; moments need whole blocks."""
    if keep not in KEEPS:
        raise ConfigError(f"keep={keep!r}: must be one of {', '.join(KEEPS)}.")
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


def check_shard(
    shard: tuple[int, int] | None,
    precision: Mapping[str, Any],
    weights: Mapping[str, float] | None = None,
) -> None:
    """Check `shard` and its weights; a run with a precision target cannot be split."""
    if shard is not None and not _is_share(shard):
        raise ConfigError(
            f"shard={shard!r}: must be (i, n), two whole numbers with 1 <= i <= n, for the "
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
    """Check `precision`, which must name measures."""
    if precision is not None and not isinstance(precision, Mapping):
        raise ConfigError(
            f"precision={precision!r}: it names no measure: give a dict, such as "
            "precision={'power': 0.005}"
        )


def check_budget(budget: Any) -> None:
    """Check `budget`, in seconds."""
    is_time = isinstance(budget, numbers.Real) and not isinstance(budget, bool)
    if budget is not None and not (is_time and 0 < budget < math.inf):
        raise ConfigError(
            f"budget={budget!r}: a run takes some time, so nothing would be drawn. Give seconds "
            "above 0, or None for as long as it takes."
        )


def check_stop_by(stop_by: Any, precision: Any) -> None:
    """Check `stop_by`: `sequential`, or `pilot` with a precision target."""
    if stop_by not in STOPS_BY:
        raise ConfigError(
            f"stop_by={stop_by}: must be sequential, where each scenario runs on until its own "
            "error is small enough, or pilot, which fixes how many replicates there are before the "
            "first; nearest that works: stop_by=pilot"
        )
    if stop_by == PILOT and not precision:
        raise ConfigError(
            "stop_by=pilot without precision: a pilot finds out how many replicates an error "
            "takes, and none is given. Give one, as in precision.MEASURE=0.005"
        )


def check_retry(retry: Any) -> None:
    """Check `retry`: `failed` or None."""
    if retry not in (None, "failed"):
        raise ConfigError(
            f"retry={retry}: must be failed, which draws blocks with recorded failures again; "
            "nearest that works: retry=failed"
        )


def check_switches(**switches: Any) -> None:
    """Check booleans: texts such as `"no"` would count as true."""
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool_):
            raise ConfigError(
                f"{name}={in_one_line(repr(value))} is neither True nor False: say one of them."
            )


def check_max_rep(most: Any) -> None:
    """Check `max_rep`, a whole number of at least 1."""
    check_whole("max_rep", most, least=1, usual=1_000_000)


def check_progress(progress: Any) -> None:
    """Check the progress object."""
    names = (getattr(progress, name, None) for name in ("begin", "advance", "note"))
    if progress is not None and not isinstance(progress, bool) and not all(map(callable, names)):
        raise ConfigError(
            f"progress={in_one_line(repr(progress))} is neither True, False nor an object with "
            "the methods begin, advance and note: leave it out to see progress in a terminal."
        )


def check_redraw(redraw: Any, methods: Collection[str]) -> tuple[str, ...]:
    """Check `redraw`: names of methods, possibly in one text with commas.

    `changed` stands for all scenarios and methods whose code changed.
    """
    names = redraw.strip("[]").split(",") if isinstance(redraw, str) else redraw
    if not isinstance(names, Collection):
        raise ConfigError(
            f"redraw={in_one_line(repr(redraw))} names no methods: give their names in a list."
        )
    names = [name.strip() if isinstance(name, str) else name for name in names]
    for name in names:
        if name not in (*methods, CHANGED):
            raise ConfigError(
                f"redraw={name}: the study has no such method to draw anew; "
                + nearest(name, methods)
            )
    return tuple(names)
