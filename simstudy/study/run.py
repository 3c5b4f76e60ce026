"""A run: what is missing is drawn, until there is as much of it as was asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from simstudy.analysis.precision import (
    Target,
    grown_until_precise,
    seed_of_pilot,
    sizes_by_pilot,
    without_spread,
)
from simstudy.analysis.preflight import refuse_what_cannot_be_taken
from simstudy.analysis.result import Result
from simstudy.data.parts import data_parts
from simstudy.design.plan import Plan
from simstudy.engine.drawing import Drawing
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import ownership_of
from simstudy.engine.progress import Silent
from simstudy.engine.refusals import PILOT, check_redraw
from simstudy.engine.warning import OutOfTime, time_budget
from simstudy.engine.workers import Workers
from simstudy.remote.paths import place_of
from simstudy.store.blocks import Store
from simstudy.store.compaction import compact
from simstudy.store.disk import trouble_in_words
from simstudy.store.home import Home
from simstudy.store.layout import Keep
from simstudy.store.moments import KeepMoments
from simstudy.study.asked import Asked
from simstudy.study.declared import Declared
from simstudy.study.pilot import pilot_rep
from simstudy.study.results import blocks_of_each, result_of

Sizes = Mapping[str, int]  # replicates by scenario key


def run(study: Declared, asked: Asked) -> Result:
    """Draw what is missing of what is asked for, and give the result.

    Raises
    ------
    ConfigError, StoreError
        Where a setting makes no sense, or the folder cannot be used.
    OutOfTime
        Where the budget is spent before every scenario has a block.
    """
    asked.refuse_what_makes_no_sense(study)
    under_way = _Run.begun(study, asked)
    with trouble_in_words(under_way.home.store.files), time_budget(asked.budget) as is_spent:
        sizes = under_way.draw(is_spent)
        if asked.is_all:
            compact(under_way.home.store, n_threads=under_way.work.workers.count)
    under_way.work.close()
    return under_way.result(sizes)


def warn_of(result: Result, asked: Asked, *, stacklevel: int) -> None:
    """Warn of what was noticed in a run whose progress nobody watches, or is told by others."""
    if asked.progress is not None:
        return
    texts = list(result.outcome.noticed)
    if asked.is_all and asked.explain:  # a pilot's remarks are those of the run
        texts += result.remarks
    for text in texts:
        warnings.warn(text, stacklevel=stacklevel + 1)


@dataclass
class _Run:
    """A run that has its folder.

    Parameters
    ----------
    n_left
        Blocks that were not drawn when the budget was spent.
    """

    study: Declared
    asked: Asked
    plan: Plan
    work: Drawing
    targets: Sequence[Target]
    pilot: Result | None = field(default=None, init=False)
    n_left: int = field(default=0, init=False)

    @classmethod
    def begun(cls, study: Declared, asked: Asked) -> _Run:
        """Its folder is claimed, and nothing is drawn."""
        n_analysed = asked.analysed_of(study)
        plan = study.plan(asked.seed, asked.keep, n_analysed)
        _check_data(plan)
        kept = study.kept(asked.keep)
        ownership = ownership_of(plan, kept.measures, study.worst)
        home = Home.open(
            plan.drawn,
            asked.out,
            ownership.owner,
            kept,
            restart=asked.restart,
            redraw=check_redraw(asked.redraw, study.methods),
            at_once=asked.is_all,
        )
        workers = (asked.workers or Workers()).limited(study.block_seconds)
        work = Drawing(plan.drawn, home, kept, ownership, workers, asked.progress or Silent())
        work.say_unfollowed()
        work.weights = asked.weights
        work.check = partial(_check_early, study, plan, home, kept)
        return cls(study, asked, plan, work, asked.targets(study))

    @property
    def home(self) -> Home:
        """Where its blocks lie."""
        return self.work.home

    def draw(self, is_spent: Callable[[], bool]) -> Sizes:
        """Replicates of each scenario, when all are there, or the time is up."""
        sizes = self._asked_for()
        try:
            if self.asked.retry:
                self.work.redraw_failures(self.plan.drawn_sizes(sizes))
            self.work.draw(self.plan.drawn_sizes(sizes), self.asked.shard)
            return grown_until_precise(
                sizes,
                () if self.pilot else self.targets,
                self._result,
                lambda larger: self.work.draw(self.plan.drawn_sizes(larger)),
                ceiling=self.asked.ceiling(self.study),
            )
        except OutOfTime as stop:
            there = blocks_of_each(self.plan, self.home.store)
            if not self.asked.is_all or not is_spent() or not min(there.values()):
                raise
            self.n_left = stop.n_left
            return self._balanced(there)

    def _asked_for(self) -> Sizes:
        """Replicates of each scenario: as many as were said, or as a pilot finds."""
        asked = self.asked
        if asked.stop_by != PILOT:
            return dict.fromkeys(self.plan.keys, int(asked.n_rep))
        self.pilot = self._pilot_run()
        found = sizes_by_pilot(
            self.pilot, self.targets, least=int(asked.n_rep), ceiling=asked.ceiling(self.study)
        )
        return dict(zip(self.plan.keys, found, strict=True))

    def _pilot_run(self) -> Result:
        """Replicates that tell how large errors are, and are none of the run's own."""
        asked, study = self.asked, self.study
        size = pilot_rep(study, asked.n_rep)
        of_pilot = Asked(
            size + -size % study.block_size,
            seed_of_pilot(asked.seed),
            out=None if asked.out is None else place_of(asked.out) / study.name / PILOT,
            workers=self.work.workers,
            keep=asked.keep,
            progress=asked.progress,
            explain=False,
        )
        pilot = run(study, of_pilot)
        warn_of(pilot, of_pilot, stacklevel=6)  # whoever called Study.run
        return pilot

    def _balanced(self, there: Sizes) -> Sizes:
        """Of so many blocks, replicates: of each scenario as many, unless precision decides."""
        n_each = there if self.targets else dict.fromkeys(there, min(there.values()))
        return {key: n * self.study.block_size for key, n in n_each.items()}

    def _result(self, sizes: Sizes) -> Result:
        work = self.work
        return result_of(self.study, self.plan, work.home, work.outcome, work.keep, sizes)

    def result(self, sizes: Sizes) -> Result:
        """What was found, and what is to be said of how."""
        n_pilot = max(self.pilot.n_rep.values()) if self.pilot else 0
        found = replace(
            self._result(sizes), targets=self.targets, n_pilot=n_pilot, n_left=self.n_left
        )
        if self.targets and self.asked.is_all:
            self.work.outcome.noticed.extend(without_spread(self.pilot or found, self.targets))
        return found


def _check_data(plan: Plan) -> None:
    """Refuse data that changed since the study was made: its scenarios are named by them."""
    owners = (*plan.scenarios, *plan.methods)
    for part in {id(part): part for own in owners for part in data_parts(own)}.values():
        part.check(anew=True)


def _check_early(study: Declared, plan: Plan, home: Home, keep: Keep, store: Store) -> bool:
    """Take the measures of a first block, where a store has one; moments are made of them."""
    there = (key for key, each in plan.drawn_keys.items() if all(map(store.n_blocks, each)))
    key = next(there, None)
    if key is None or isinstance(keep, KeepMoments):
        return key is not None
    first = plan.only([plan.keys[key]])
    size = plan.n_analysed or plan.block_size
    with closing(store):
        refuse_what_cannot_be_taken(
            result_of(study, first, replace(home, store=store), Outcome(), keep, {key: size})
        )
    return True
