"""Checks during a run: failure limits, unrepeatable numbers, slow blocks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from simstudy.design.plan import Plan
from simstudy.engine.block import Address
from simstudy.engine.columns import BlockConstants
from simstudy.engine.independence import Spread
from simstudy.engine.progress import Progress
from simstudy.engine.rng_checks import NO_STREAMS, ROWS_DIFFER, SHARED
from simstudy.engine.tasks import TaskResult
from simstudy.errors import StudyError, first_few

SLOW_SECONDS = 5.0  # of a block: longer than one waits for a sign of life
SUITABLE_SECONDS = 1.0  # what a block may take: little is lost with it
REMARKS_KEPT = 1000  # scenarios of which something is known: the others most often have it too
OTHER_GENERATORS, READS_FILES, UNREPEATABLE = "generators", "files", "unrepeatable"
NOT_INDEPENDENT, UNREAD = "not independent", "unread"
MESSAGES = {
    NO_STREAMS: (
        "asked for none of its random streams, yet its replicates differ: where their random "
        'numbers come from a generator of their own, such as default_rng(0), take streams("data") '
        "instead; where there are none, say so with a class attribute, deterministic = True"
    ),
    SHARED: (
        "draws an array that all replicates of a block share: they are not independent, and every "
        "Monte Carlo error is too small. Draw one for each replicate: size=(n_rep, ...)"
    ),
    ROWS_DIFFER: (
        "gives rows other values when they are analysed alone: replicates of a block must not "
        "know of each other, or their spread is wrong. Look for a mean or a sort without axis=1, "
        "centring across replicates, and generators with no seed of the study's; a method that "
        "is right to look across replicates is named in across_replicates of the Study"
    ),
}


@dataclass
class RunMonitor:
    """Checks the results of tasks as they arrive.

    Parameters
    ----------
    plan
        As it is drawn.
    generators, readers
        Where the study's code uses generators of its own, and where it reads files.
    unread
        Factors with several levels that no code reads.
    wanted
        Replicates wanted of what is drawn, by key.
    n_failed
        Replicates that have failed, by key, those of earlier runs included.
    n_drawn
        Replicates drawn by this run, by key.
    warnings
        By kind, what is said of the run.
    remarks
        By kind and key, what was found of random numbers.
    """

    plan: Plan
    progress: Progress
    generators: Sequence[str] = ()
    readers: Sequence[str] = ()
    unread: Sequence[str] = ()
    wanted: Mapping[str, int] = field(default_factory=dict)
    n_failed: dict[str, int] = field(default_factory=dict)
    n_drawn: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    remarks: dict[tuple[str, str], str] = field(default_factory=dict)
    _constants: BlockConstants = field(default_factory=BlockConstants, repr=False)
    _n_results: int = 0

    def check(self, result: TaskResult) -> None:
        """Check a finished task.

        Raises
        ------
        StudyError
            If more has failed than the study allows, or what is one value for all of a block
            is another in another.
        """
        self._n_results += 1
        self._constants.check_further(result.constants)
        for key, kind in result.noticed:
            self.remark(kind, key, f"{self.plan.keys.get(key)!r} {MESSAGES[kind]}")
        if self._n_results > 1:  # the first may have compiled
            self._warn_if_slow(max(result.draw_seconds, default=0.0))
        self._count_failures(result)

    # ---------------------------------------------------------------- randomness
    def note_code(self) -> None:
        """Warn of generators and files in the study's code, once."""
        key = next(iter(self.plan.keys), "")
        if self.generators:
            self.remark(
                OTHER_GENERATORS,
                key,
                f"generators other than streams in the study's code: {first_few(self.generators)}. "
                'No seed of the study reaches them: take streams("data") or rng '
                "instead, or seed them from it",
            )
        if self.readers:
            self.remark(
                READS_FILES,
                key,
                f"functions of the study that read files: {first_few(self.readers)}. A change of "
                "such a file goes unnoticed: read data as a part of the scenario, such as "
                "Data.file('prices.csv')",
            )

        if self.unread:
            self.remark(
                UNREAD,
                key,
                f"no code of the study reads the factor {first_few(self.unread)}: its numbers are "
                "the same for all levels, up to random numbers",
            )

    def note_spreads(self, spreads: Sequence[Spread]) -> None:
        """Warn of columns whose block means independent replicates would not give."""
        for key, column, ratio in spreads:
            self.remark(
                NOT_INDEPENDENT,
                key,
                f"{self.plan.keys[key]!r}: block means of {column} vary {ratio:.3g} times as much "
                "as those of independent replicates, so every Monte Carlo error is wrong. Look "
                "for random numbers that all replicates of a block share (a size without n_rep), "
                "or that begin anew in each block",
            )

    def note_unrepeatable(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Warn of columns that another process draws otherwise, by key."""
        for key, names in columns.items():
            self.remark(
                UNREPEATABLE,
                key,
                f"{self.plan.keys[key]!r}: another process draws other values of "
                f"{', '.join(names)} from the same seed (first block), so these numbers will not "
                "be found again. Look for generators other than streams, the order of a set, the "
                "clock; a library without a seed of its own runs within seeded_globals(rng)",
            )

    def remark(self, kind: str, key: str, text: str) -> None:
        """Record a remark with the stored blocks, for later readers, and warn once of its kind."""
        if len(self.remarks) < REMARKS_KEPT:
            self.remarks.setdefault((kind, key), text)
        self._warn(kind, text)

    def _warn(self, kind: str, text: str) -> None:
        """Warn once per kind, for the first scenario."""
        if kind not in self.warnings:
            self.warnings[kind] = text
            self.progress.note(f"warning: {text}")

    # ---------------------------------------------------------------- cost
    def _warn_if_slow(self, seconds: float) -> None:
        size = self.plan.block_size
        if seconds > SLOW_SECONDS and size > 1 and "slow" not in self.warnings:
            suitable = max(1, round(size * SUITABLE_SECONDS / seconds))
            self._warn(
                "slow",
                f"a block of {size:,} replicates takes {seconds:.0f} s, and a run that is stopped "
                f"loses the blocks under way: block_size={suitable} of the Study would make that "
                "about a second (its random numbers are then others, and drawn anew)",
            )

    # ---------------------------------------------------------------- failures
    def _count_failures(self, result: TaskResult) -> None:
        for (key, _), n in zip(result.done, result.failed_each, strict=True):
            self.n_failed[key] = self.n_failed.get(key, 0) + n
            self.n_drawn[key] = self.n_drawn.get(key, 0) + self.plan.block_size
        self.raise_if_too_many_failed({key for key, _ in result.done}, result.first_failure)

    def raise_if_too_many_failed(
        self, keys: Collection[str] | None = None, example: tuple[Address, str] | None = None
    ) -> None:
        """Raise if more has failed than the study allows, if only in what was stored before.

        Parameters
        ----------
        keys
            Of what is looked at; None for all that is known.

        Raises
        ------
        StudyError
            If the limit is exceeded.
        """
        share, size = self.plan.max_failed, self.plan.block_size
        if share is None:
            return
        for key in self.n_failed if keys is None else keys:
            wanted = self.plan.n_blocks(self.wanted.get(key, size)) * size
            n_failed, of = self.n_failed[key], max(wanted, self.n_drawn.get(key, 0))
            if n_failed > share * of:
                such_as = f", one of them ({example[0]}) with {example[1]}" if example else ""
                raise StudyError(
                    f"{self.plan.keys[key]!r}: {n_failed:,} of {of:,} replicates failed, more than "
                    f"max_failed={share:g} of them{such_as}. What is finished is kept. Mend what "
                    "fails and run again, draw these anew (retry=failed), or let the Study have a "
                    "larger max_failed."
                )
