"""The options of a run, checked against the study."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simstudy.analysis.precision import PILOT, SEQUENTIAL, STOPS_BY, Target, read_targets
from simstudy.design.plan import Plan
from simstudy.engine.progress import Progress
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, nearest
from simstudy.remote.paths import Place
from simstudy.store.study_folder import CHANGED
from simstudy.study.spec import StudySpec
from simstudy.study.validation import check_n_rep, check_whole_groups
from simstudy.validation import check_one_of, check_whole, is_whole

Out = str | os.PathLike[str] | Place | None
PILOT_REP = 10_000  # replicates that tell an MCSE to a hundredth of itself


@dataclass(frozen=True)
class RunOptions:
    """The options of `Study.run`, where each is described."""

    n_rep: int
    seed: int = 1
    out: Out = None
    workers: Workers | None = None
    shard: tuple[int, int] | None = None
    restart: bool = False
    retry: str | None = None
    redraw: str | Collection[str] = ()
    adopt: bool = False
    precision: Mapping[str, Any] | None = None
    max_rep: int = 1_000_000
    stop_by: str = SEQUENTIAL
    budget: float | None = None
    progress: Progress | bool | None = None
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
            explain=self.explain,
        )
        check_budget(self.budget)
        check_n_rep(self.n_rep)
        check_whole("max_rep", self.max_rep, least=1, usual=1_000_000)
        check_whole_groups(study.group_size, self.n_rep)
        check_one_of("retry", self.retry, (None, "failed"))
        check_redraw(self.redraw, study.methods)
        check_by_name(precision=self.precision)
        check_stop_by(self.stop_by, self.precision)
        check_shard(self.shard, self.precision)
        self.targets(study)

    def targets(self, study: StudySpec) -> Sequence[Target]:
        """The precision targets."""
        return read_targets(self.precision or {}, study.measures)

    def ceiling(self, study: StudySpec) -> int:
        """The maximum number of replicates of a scenario, in whole groups."""
        return self.max_rep - self.max_rep % study.group_size

    def planned(self, study: StudySpec) -> Plan:
        """The plan of the study."""
        return study.plan(self.seed)

    @property
    def most_rep(self) -> int:
        """The largest number of replicates per scenario that the run may draw."""
        return max(self.n_rep, self.max_rep) if self.precision else self.n_rep

    @property
    def is_all(self) -> bool:
        """Whether the run is not a share."""
        return self.shard is None


def pilot_rep(study: StudySpec, n_rep: int) -> int:
    """The replicates of a pilot: at most two blocks or some thousands, in whole groups."""
    enough = max(2 * study.block_size, PILOT_REP)
    return min(n_rep, enough + -enough % study.group_size)


# ---------------------------------------------------------------- one by one
def check_shard(shard: Any, precision: Any) -> None:
    """Check `shard`; a run with a precision target cannot be split."""
    if shard is not None and not _is_share(shard):
        raise ConfigError(
            f"shard={shard!r}: must be (i, n), two whole numbers with 1 <= i <= n, for the "
            "i-th of n shares; nearest that works: shard=(1, 2)"
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


def check_by_name(**given: Any) -> None:
    """Refuse numbers without the names of what they belong to; None passes."""
    for name, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise ConfigError(
                f"{name}={value!r}: give a dict, such as precision={{'power': 0.005}}."
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
    check_one_of("stop_by", stop_by, STOPS_BY)
    if stop_by == PILOT and not precision:
        raise ConfigError(
            "stop_by=pilot without precision: a pilot finds out how many replicates an error "
            "takes, and none is given. Give one, as in precision.MEASURE=0.005"
        )


def check_switches(**switches: Any) -> None:
    """Check booleans: texts such as `"no"` would count as true."""
    for name, value in switches.items():
        check_one_of(name, value, (True, False))


def check_redraw(redraw: Any, methods: Collection[str]) -> tuple[str, ...]:
    """Check `redraw`: names of methods, possibly in one text with commas.

    `changed` stands for all scenarios and methods whose code changed.
    """
    names = redraw.strip("[]").split(",") if isinstance(redraw, str) else redraw
    names = [str(name).strip() for name in names]
    for name in names:
        if name not in (*methods, CHANGED):
            raise ConfigError(
                f"redraw={name}: the study has no such method to draw anew; "
                + nearest(name, methods)
            )
    return tuple(names)
