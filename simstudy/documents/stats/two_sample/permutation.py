"""Permutation tests of two means, studentized or not, and the intervals that they invert to."""

import numpy as np

from simstudy.array_types import Int, UInt64
from simstudy.documents.stats.arguments import check_count, check_word
from simstudy.documents.stats.bootstrap.losses import replicate_seeds
from simstudy.documents.stats.reading import reading
from simstudy.documents.stats.two_sample.samples import (
    Comparison,
    First,
    Moments,
    Second,
    centred,
    check_drawn,
    checked,
    fewest_as_extreme,
    moments,
)


@reading
def permutation(
    x: First,
    y: Second,
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    n_perm: int = 999,
    studentized: bool = True,
) -> Comparison:
    """Test equal means by permutations, and find the interval of the shifts that are not rejected.

    Every statistic has the standard error of its partition (Welch's, not pooled). With
    `studentized=False` it is the plain difference of means. Both are exact where the distributions
    are the same, up to the shift that is tested. Where only the means are, the plain difference
    has in the permuted samples the variance of the pooled one, with the sizes exchanged:
    σ1²/n2 + σ2²/n1 in large samples instead of σ1²/n1 + σ2²/n2, so its level is wrong for any n
    unless sizes or variances are equal. The studentized statistic is standard normal in both.

    Parameters
    ----------
    x, y
        One replicate per row, in the same units; at least two observations each.
    rng
        Gives two words per replicate, whatever the sizes (`replicate_seeds`).
    alpha
        Level of the two-sided test, in (0, 1); the interval's nominal coverage is 1 - alpha.
    n_perm
        Random partitions of each replicate, at least 1; all shifts are tested on the same ones.
    studentized
        True for the statistic of each partition over its own standard error, False for the
        plain difference of means.

    Returns
    -------
    Comparison
        `p` is (1 + #) / (1 + n_perm). The limits are good to a millionth of a standard error, and
        infinite beyond 1024 of them: where too few partitions are drawn, or can be, to reject at
        alpha. NaN, but for the estimate, where both samples are constant.

    References
    ----------
    Janssen (1997), Stat. Probab. Lett. 36, 9-21; Chung & Romano (2013), Ann. Statist. 41, 484-507;
    Romano (1990), J. Am. Stat. Assoc. 85, 686-692: the plain difference; Phipson & Smyth (2010),
    Stat. Appl. Genet. Mol. Biol. 9(1), 39: the p-value.
    """
    x, y = checked(x, y, alpha)
    check_drawn("n_perm", n_perm, least=1)
    found, n_needed = moments(x, y), fewest_as_extreme(n_perm, alpha)
    seeds = replicate_seeds(rng, len(x))[:, 0].copy()
    n_extreme, lower, upper = _tested(x, y, found, seeds, n_perm, n_needed, studentized).T
    estimate, unit = found.difference, found.std_error
    p = (1 + n_extreme) / (1 + n_perm)
    return Comparison(estimate, estimate + lower * unit, estimate + upper * unit, p)


def _tested(
    x: First,
    y: Second,
    found: Moments,
    seeds: UInt64[np.ndarray, " rep"],
    n_perm: int,
    n_needed: int,
    studentized: bool,
) -> np.ndarray:
    """Extreme partitions, and the limits in standard errors from the estimate."""
    from simstudy.documents.stats.two_sample import _permutation_kernels as kernels

    unit = found.std_error
    values = np.concatenate([centred(x), centred(y)], axis=1) / unit[:, np.newaxis]
    answer, room = np.empty((len(x), 3)), np.empty((4, n_perm))
    statistic, n_first = found.difference / unit, x.shape[1]
    kernels.permutation_tests(
        values, n_first, statistic, seeds, studentized, n_needed, room, answer
    )
    return answer


@reading
def partitions(seed: int, n1: int, n2: int, n_perm: int) -> Int[np.ndarray, "perm n_least"]:
    """Return the smaller group's places in each partition one stream draws: slow, for tests.

    Places below n1 are the first sample's.

    Parameters
    ----------
    seed
        One word of `replicate_seeds`.
    n1, n2
        Observations of the two samples.
    n_perm
        Partitions.

    Returns
    -------
    int array (perm, n_least)
        Places, a row for each partition.
    """
    from simstudy.documents.stats.two_sample._permutation_kernels import shuffle_on

    check_word("seed", seed)
    check_count("n1", n1, least=1, meaning="a partition")
    check_count("n2", n2, least=1, meaning="a partition")
    check_count("n_perm", n_perm, least=0, meaning="a number of partitions")
    order, state = np.arange(n1 + n2), np.uint64(seed)
    drawn = np.empty((n_perm, min(n1, n2)), np.int64)
    for row in drawn:
        state = np.uint64(shuffle_on(state, order, len(row)))
        row[:] = order[: len(row)]
    return drawn
