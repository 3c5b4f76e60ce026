"""Rules for the replicates of a study: dependence between them, and failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rules:
    """Rules for replicates; the defaults suit independent replicates of plain columns.

    Parameters
    ----------
    max_failed
        Largest proportion of failed replicates per scenario (with methods: per scenario and
        method), from 0 to 1. The run stops if it is exceeded; until then failures are recorded.
        None records any number of failures, but stops if all replicates of a first block fail
        with the same error, which is most likely a mistake in the study. 1 records those as well,
        for example for a method that cannot work in some scenarios.
    may_be_missing
        Float columns in which NaN is a result and not a failure.
    on_failure
        `record` keeps a failed replicate as a row with its error and leaves it out of the measures;
        `abort` stops the run; `impute_worst` records it and counts it as `worst`.
    worst
        Worst value of each column, for `impute_worst`: the one that counts most against a method.
    block_seconds
        Time limit for drawing a block, in seconds; a block that takes longer has failed. It changes
        no number. `Study.run` can set another limit.
    common
        Factors whose values share random numbers (common random numbers).
    group_size
        Number of consecutive replicates that may depend on each other, as antithetic or stratified
        draws do; groups are independent. Monte Carlo errors are then computed from groups, and
        numbers of replicates must be multiples of the group size.
    across_replicates
        Methods that combine the replicates of a block on purpose, as an empirical Bayes estimate
        does. For every other block method without random numbers, a few rows of the first block
        are analysed again on their own, and a difference is reported.
    vectors
        Lengths of columns with one more axis, such as a p-value for each test point, by name: a
        number, or the name of a field or property of the scenario. Measures cannot read vectors,
        only columns derived from them.
    keep_vectors
        Whether vectors are stored; if not, only the columns derived from them are.
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
