"""What is asked of a run, read and checked against the study that it is asked of."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simstudy.analysis.precision import Target, read_targets
from simstudy.engine.progress import Progress
from simstudy.engine.refusals import (
    LOOKS,
    check_budget,
    check_keep,
    check_max_rep,
    check_n_rep,
    check_precision,
    check_progress,
    check_redraw,
    check_retry,
    check_shard,
    check_stop_by,
    check_switches,
    check_whole_groups,
)
from simstudy.engine.workers import Workers, refuse_no_workers
from simstudy.remote.paths import Place
from simstudy.study.declared import Declared

Out = str | os.PathLike[str] | Place | None


@dataclass(frozen=True)
class Asked:
    """The settings of `Study.run`, which says what each is."""

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
    precision: Mapping[str, Any] | None = None
    max_rep: int = 1_000_000
    stop_by: str = LOOKS
    budget: float | None = None
    progress: Progress | None = None
    whole_blocks: bool = True
    explain: bool = True

    def refuse_what_makes_no_sense(self, study: Declared) -> None:
        """Refuse settings that cannot be, by themselves or together.

        Raises
        ------
        ConfigError
            In one line, with what can.
        """
        check_switches(restart=self.restart, whole_blocks=self.whole_blocks, explain=self.explain)
        check_progress(self.progress)
        check_budget(self.budget)
        check_n_rep(self.n_rep)
        check_max_rep(self.max_rep)
        check_whole_groups(study.group_size, self.n_rep)
        check_keep(self.keep, self.n_rep, study.block_size, study.group_size)
        check_retry(self.retry)
        check_redraw(self.redraw, study.methods)
        refuse_no_workers(self.workers)
        check_precision(self.precision)
        check_stop_by(self.stop_by, self.precision)
        check_shard(self.shard, self.precision or {}, self.weights)
        self.targets(study)

    def targets(self, study: Declared) -> Sequence[Target]:
        """The precisions that end it."""
        return read_targets(self.precision or {}, study.measures)

    def ceiling(self, study: Declared) -> int:
        """The most replicates of a scenario, in whole groups."""
        return self.max_rep - self.max_rep % study.group_size

    def analysed_of(self, study: Declared) -> int:
        """How many replicates of a block are analysed one by one; 0 for all."""
        return study.analysed_of(
            self.n_rep, whole_blocks=self.whole_blocks, keep=self.keep, precision=self.precision
        )

    @property
    def is_all(self) -> bool:
        """Whether it is no share of a run."""
        return self.shard is None
