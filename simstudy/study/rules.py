"""Rules for the replicates of a study: how they depend on each other, and when they have failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rules:
    """Rules for replicates; the defaults suit independent replicates of plain columns.

    Parameters
    ----------
    max_failed
        Largest proportion of a scenario's replicates that may fail (with methods: of each
        method's), from 0 to 1; beyond it the run stops. Failures up to there are recorded. None
        records any number of them, but takes an error that all replicates of a first block share
        for a mistake of the study, and stops. 1 records those as well, as for a method that cannot
        work in some of the scenarios.
    may_be_missing
        Float columns where NaN is a result and not a failure.
    on_failure
        `record` keeps a failed replicate as a row with its error and leaves it out of the measures;
        `abort` stops the run; `impute_worst` records it and counts it as `worst`.
    worst
        With `impute_worst`: by column, the value that counts most against a method.
    block_seconds
        Time limit for drawing a block, in seconds; a block that takes longer has failed. No number
        depends on it, and `Study.run` can set another.
    common
        Factors whose values share random numbers.
    group_size
        Number of consecutive replicates that may depend on each other, as antithetic or stratified
        draws do; groups are independent. Monte Carlo errors are then those of groups, and numbers
        of replicates are whole groups.
    across_replicates
        Methods that are right to look across the replicates of a block, as an empirical Bayes
        estimate does. For every other block method without random numbers, a few rows of the first
        block are analysed again on their own, and a difference is reported.
    vectors
        Columns with a last axis of their own, such as a p-value for each test point, by name: its
        length, or the name of the scenario's field or property that has it. Measures read columns
        derived from them.
    keep_vectors
        Whether vectors are stored, or only what is derived from them.
    """

    max_failed: float | None = None
    may_be_missing: tuple[str, ...] = ()
    on_failure: str = "record"
    worst: Mapping[str, float] = field(default_factory=dict)
    block_seconds: float | None = None
    common: tuple[str, ...] = ()
    group_size: int = 1
    across_replicates: tuple[str, ...] = ()
    vectors: Mapping[str, int | str] = field(default_factory=dict)
    keep_vectors: bool = True
