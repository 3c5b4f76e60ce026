"""Checks and counts during a run: failure limits, unrepeatable numbers, seconds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from simstudy.design.plan import Plan, base_scenario
from simstudy.engine.block import Address
from simstudy.engine.independence import ALL_ALIKE, NO_STREAMS, ROWS_DIFFER, Spread
from simstudy.engine.progress import Progress
from simstudy.engine.provenance import RunProvenance
from simstudy.engine.second_draw import Findings
from simstudy.engine.tasks import TaskResult
from simstudy.errors import StudyError, first_few
from simstudy.store.runs import BlockTimings

MAX_WARNINGS = 1000  # warnings to keep: those on further scenarios are mostly the same
ALIKE, UNREPEATABLE = "alike", "unrepeatable"
NOT_INDEPENDENT, UNREAD, NOT_CHECKED = "not independent", "unread", "not checked"
MESSAGES = {
    NO_STREAMS: (
        "uses none of its random streams, but its replicates differ: replace other generators, "
        'such as default_rng(0), by streams("data"). If there are no random numbers, set the '
        "class attribute deterministic = True"
    ),
    ALL_ALIKE: (
        "has the same data and the same numbers in all replicates of a block: look for a generator "
        "with a fixed seed, such as default_rng(0), in place of streams or rng. If there are no "
        "random numbers, set the class attribute deterministic = True"
    ),
    ROWS_DIFFER: (
        "gives rows other values when they are analysed alone: replicates of a block must be "
        "independent, or Monte Carlo errors are wrong. Look for a mean or a sort without axis=1, "
        "centring across replicates, and generators other than streams. If a method combines "
        "replicates on purpose, name it in Rules(across_replicates=...)"
    ),
}


@dataclass
class RunMonitor:
    """Checks the results of tasks as they arrive.

    Parameters
    ----------
    plan
        Plan of the work units.
    wanted
        Requested replicates, by key of the work unit.
    n_failed
        Failed replicates by key, including those of earlier runs.
    n_drawn
        Replicates drawn by this run, by key.
    warnings
        Warnings about random numbers, by kind and key.
    """

    plan: Plan
    progress: Progress
    wanted: Mapping[str, int] = field(default_factory=dict)
    n_failed: dict[str, int] = field(default_factory=dict)
    n_drawn: dict[str, int] = field(default_factory=dict)
    warnings: dict[tuple[str, str], str] = field(default_factory=dict)

    def check(self, result: TaskResult) -> None:
        """Check a finished task.

        Raises
        ------
        StudyError
            If more replicates failed than the study allows.
        """
        for key, kind in result.warnings:
            self.warn(kind, key, f"{self.plan.keys.get(key)!r} {MESSAGES[kind]}")
        for (key, _), n in zip(result.done, result.failed_each, strict=True):
            self.n_failed[key] = self.n_failed.get(key, 0) + n
            self.n_drawn[key] = self.n_drawn.get(key, 0) + self.plan.block_size
        self.raise_if_too_many_failed({key for key, _ in result.done}, result.first_failure)

    # ---------------------------------------------------------------- randomness
    def note_code(self, code: RunProvenance) -> None:
        """Warn of equal methods and unread factors in the study's code, once."""
        if code.alike:
            self._warn_of_all(
                ALIKE,
                f"methods {first_few(code.alike)} have the same code and the same values. A "
                "function made in a loop reads the loop's variable when it is called, so all see "
                "its last value: bind it when the function is made, as in lambda x, k=k: k * x",
            )
        if code.unread:
            self._warn_of_all(
                UNREAD,
                f"no code of the study reads the factor {first_few(code.unread)}: its levels "
                "differ only by random numbers",
            )

    def note_spreads(self, spreads: Sequence[Spread]) -> None:
        """Warn of columns whose block means contradict independent replicates."""
        for key, column, ratio in spreads:
            self.warn(
                NOT_INDEPENDENT,
                key,
                f"{self.plan.keys[key]!r}: block means of {column} vary {ratio:.3g} times as much "
                "as those of independent replicates, so every Monte Carlo error is wrong. Look "
                "for random numbers that all replicates of a block share (a size without n_rep), "
                "or that are the same in each block, and for a mean over replicates that is "
                "subtracted. If replicates depend on each other on purpose, say in groups of how "
                "many: Rules(group_size=...)",
            )

    def note_second_draw(self, findings: Findings) -> list[str]:
        """Warn of what another process found and did not check; say what it could see."""
        self.note_spreads(findings.spreads)
        if findings.unchecked:
            unchecked = "; ".join(findings.unchecked)
            text = f"not checked: {unchecked}. study.check() takes the time for it"
            self._warn_of_all(NOT_CHECKED, text)
        for key, names in findings.other.items():
            self.warn(
                UNREPEATABLE,
                key,
                f"{self.plan.keys[key]!r}: another process draws other values of "
                f"{', '.join(names)} from the same seed, so these numbers are not reproducible. "
                "Look for generators other than streams, the order of a set, the clock, or values "
                "that are kept from one block to the next. Call libraries that use global "
                "generators within seeded_globals(rng). A column that is expected to differ, such "
                "as seconds, is named in Rules(unrepeatable=...)",
            )
        unseen = first_few(list(findings.unseen))
        parts = [
            "a pilot of 20 blocks would have found a random number that replicates share if "
            f"it varies {findings.least:.2g} times as much as a replicate"
        ] * bool(findings.least)
        parts += [f"not tested (constant, rare or missing values): {unseen}"] * bool(unseen)
        return [f"independence of replicates: {'; '.join(parts)}"] if parts else []

    def _warn_of_all(self, kind: str, text: str) -> None:
        """Record a warning about the whole study, at its first unit."""
        self.warn(kind, next(iter(self.plan.keys), ""), text)

    def warn(self, kind: str, key: str, text: str) -> None:
        """Record a warning, to be stored with the blocks, and show the first of each kind."""
        if all(known != kind for known, _ in self.warnings):
            self.progress.note(f"warning: {text}")
        elif len(self.warnings) >= MAX_WARNINGS:
            return
        self.warnings.setdefault((kind, key), text)

    # ---------------------------------------------------------------- failures
    def raise_if_too_many_failed(
        self, keys: Collection[str] | None = None, example: tuple[Address, str] | None = None
    ) -> None:
        """Raise if more replicates failed than the study allows, including stored ones.

        Parameters
        ----------
        keys
            Keys of the work units to check; None for all with failures.
        example
            Address and error of one failure, for the message.

        Raises
        ------
        StudyError
            If the limit is exceeded.
        """
        share, size = self.plan.rules.max_failed, self.plan.block_size
        if share is None:
            return
        for key in self.n_failed if keys is None else keys:
            wanted = self.plan.n_blocks(self.wanted.get(key, size)) * size
            n_failed, of = self.n_failed[key], max(wanted, self.n_drawn.get(key, 0))
            if n_failed > share * of:
                such_as = f", one of them ({example[0]}) with {example[1]}" if example else ""
                raise StudyError(
                    f"{self.plan.keys[key]!r}: {n_failed:,} of {of:,} replicates failed, more than "
                    f"max_failed={share:g} of them{such_as}. Finished blocks are kept. Correct the "
                    "code and run again, draw the failures again (retry=failed), or set a larger "
                    "max_failed."
                )


# ---------------------------------------------------------------- statistics of a run
@dataclass
class RunStats:
    """Counts of a run: blocks, failures, seconds.

    Attributes
    ----------
    seconds_per_block
        Shortest time for a block, by key, since the first block may include compilation. With
        methods, a method's key has the time of the method alone, and the scenario's key that of
        drawing the data.
    warnings
        Warnings for readers of the numbers, for example about random numbers that do not come from
        `streams`.
    notes
        Comparisons and redraws of stored blocks of other code, each in one line.
    spent
        Total time of the blocks that this run drew, by key.
    """

    n_blocks: int = 0
    n_failed: int = 0
    seconds: float = 0.0
    seconds_per_block: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    spent: dict[str, BlockTimings] = field(default_factory=dict)

    def count(self, plan: Plan, result: TaskResult) -> None:
        """Count a finished task."""
        self.n_blocks += len(result.done)
        self.n_failed += result.n_failed
        for (key, _), timing in zip(result.done, result.timings, strict=True):
            self.spent[key] = self.spent.get(key, BlockTimings()).plus(timing)
            self._keep_least(key, timing.own)
            if timing.data:
                self._keep_least(plan.key_of(base_scenario(plan.keys[key])), timing.data)

    def _keep_least(self, key: str, seconds: float) -> None:
        self.seconds_per_block[key] = min(seconds, self.seconds_per_block.get(key, seconds))
