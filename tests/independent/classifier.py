"""The trial of a classifier: order statistics integrated, ranks and sample sizes enumerated."""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import partial

from scipy import integrate, stats
from scipy.special import ndtr, ndtri

from tests.independent.checks import (
    Answer,
    checks_of,
    claimed,
    exact,
    intended,
    printed,
    simulated,
    table,
)

DOCUMENT = "Preparing a binary classifier for a statistical trial"
check = checks_of(DOCUMENT)
N, SENSITIVITY = 50, 0.95
N_TRIAL, NULL, ALPHA = 184, 0.9, 0.05


def empirical() -> Answer:
    """Given the fourth score at v (standardised), the third is the largest of three below it:
    1 − ∫ P(0.55 x(3) + 0.45 v > t*) dF(v), F that of the fourth of 50."""
    z = float(ndtri(1 - SENSITIVITY))

    def too_high(u: float) -> float:  # u = Φ(v) has the density of a beta(4, 47)
        v = float(ndtri(u))
        share = min(float(ndtr((z - 0.45 * v) / 0.55)) / u, 1.0)
        return (1 - share**3) * float(stats.beta.pdf(u, 4, 47))

    return Answer(
        1 - integrate.quad(too_high, 1 - SENSITIVITY, 1, epsabs=1e-12, points=[0.1, 0.3])[0]
    )


def umbrella(rank: int, n: int) -> Fraction:
    """v(rank), the chance that the score of this rank is above t*: fewer lie below it."""
    miss = Fraction(1, 20)
    return sum(
        (math.comb(n, m) * miss**m * (1 - miss) ** (n - m) for m in range(rank)), Fraction(0)
    )


def safe_rank(n: int) -> int:
    """The largest rank with v at most 1/5; 0 where there is none."""
    return max((rank for rank in range(n + 1) if umbrella(rank, n) <= Fraction(1, 5)), default=0)


def first_safe_n() -> Answer:
    """n = 1, 2, 3, ... until v(1) ≤ 1/5."""
    n = 1
    while safe_rank(n) < 1:
        n += 1
    return Answer(n, bound=0.0)


def n_star(k: float, b: float, beta: float) -> float:
    """n* with k(1 − k) in the root."""
    null = k - b
    root = math.sqrt(k * (1 - k)) * ndtri(beta) - math.sqrt(null * (1 - null)) * ndtri(1 - ALPHA)
    return float((root / b) ** 2)


def rejects_from(n: int, null: float) -> int:
    """The least count that the score test rejects: n = 0, 1, ..., tried one after the other."""
    root = math.sqrt(null * (1 - null) / n)
    return next(x for x in range(n + 1) if 1 - ndtr((x / n - null) / root) < ALPHA)


def share_rejected(n: int, null: float, k: float) -> float:
    """P(binomial ≥ the least count), summed term by term."""
    return sum(float(stats.binom.pmf(x, n, k)) for x in range(rejects_from(n, null), n + 1))


def never_lost() -> Answer:
    """One more than the last n of 100 to 600 whose exact power is below 80%."""
    below = [n for n in range(100, 601) if share_rejected(n, NULL, SENSITIVITY) < 0.8]
    return Answer(below[-1] + 1, bound=0.0)


def designs() -> Iterable[tuple[float, float, float]]:
    return (
        (k, b, beta)
        for k in (0.85, 0.9, 0.95)
        for b in (0.01, 0.03, 0.05)
        for beta in (0.1, 0.15, 0.2)
    )


def factor_in_n() -> Answer:
    """The largest of nine ratios of n*, each unrounded."""
    return Answer(max(n_star(k, 0.01, beta) / n_star(k, 0.05, beta) for k, _, beta in designs()))


def off_target() -> Answer:
    """Exact power of each rounded n* less 1 − β."""
    powers = (
        abs(share_rejected(math.ceil(n_star(k, b, beta)), round(k - b, 12), k) - (1 - beta))
        for k, b, beta in designs()
    )
    return Answer(max(powers))


SIZES, RANKS, COVERAGE = "classifier_sample_size", "umbrella_rank", "classifier_threshold"
EMPIRICAL = {"n_boot": 0, "method": "empirical", "measure": "coverage"}
for row in [  # a number, where it is committed, what finds it here, a rival and what that is
    ("safe empirical quantiles, n = 50, by the package's theory",
     exact(COVERAGE, **EMPIRICAL), empirical, 1 - 0.66, "one minus the published share"),
    ("safe empirical quantiles, n = 50, simulated",
     simulated(COVERAGE, **EMPIRICAL), empirical, 0.5, "if it were median-unbiased"),
]:  # fmt: skip
    check(*row)

for rank in (1, 2, 3, 4):
    what = f"umbrella at n = 50: violation of rank {rank}"
    violation = partial(Answer, float(umbrella(rank, N)))
    falls = table(RANKS, "ranks", "exact", rank=rank, probability="sensitivity falls short")
    next_rank = float(umbrella(rank + 1, N)), "the next"
    check(f"{what}, by theory", falls, violation, *next_rank)
    check(f"{what}, simulated", claimed(RANKS, f"violation, rank {rank}"), violation, *next_rank)

PRINTED_VIOLATION = 1 - sum(math.comb(N, 1) * 0.05**m * 0.95 ** (N - m) for m in range(1, N + 1))
N_STAR = math.ceil(n_star(0.95, 0.05, 0.2))
N_STAR_AS_PRINTED = math.ceil((math.sqrt(0.09) * ndtri(0.95) / 0.05) ** 2)
for row in [  # a number, where it is committed, what finds it here, a rival and what that is
    ("umbrella's rank at n = 200",
     claimed(RANKS, "rank at n = 200"), partial(Answer, safe_rank(200), bound=0.0), 8, "the next"),
    ("least n at which any score is a safe threshold",
     printed(RANKS, "never below 1", r"from n = (\d+) rank 1 is safe"),
     first_safe_n, 1, "the document's code"),
    ("v(1) at n = 50 as the formula prints it",
     claimed(RANKS, "formula of v(r)"), partial(Answer, PRINTED_VIOLATION), 0.0769, "with C(n, l)"),
    ("sample size for 95% against 90% with power 80%",
     claimed(SIZES, "sample size"), partial(Answer, N_STAR, bound=0.0), 98, "with k(k − k)"),
    ("sample size by the formula as printed, where the first term vanishes",
     claimed(SIZES, "formula of n*"),
     partial(Answer, N_STAR_AS_PRINTED, bound=0.0), 184, "with k(1 − k)"),
    ("power at n = 184, simulated",
     intended(SIZES, "sample size"), partial(Answer, share_rejected(N_TRIAL, NULL, SENSITIVITY)),
     0.8, "that of the normal approximation"),
    ("size at n = 184, simulated",
     claimed(SIZES, "size at n = 184"), partial(Answer, share_rejected(N_TRIAL, NULL, NULL)),
     0.05, "the size asked for"),
    ("n from which a power of 80% is never lost again",
     printed(SIZES, "sample size", r"never lost from n = (\d+)"),
     never_lost, 184, "the document's"),
    ("largest factor in n between margins of 1% and 5%",
     claimed(SIZES, "a factor of 30"), factor_in_n, 30, "as published"),
    ("largest distance of the power from its target, 27 designs",
     printed(SIZES, "within 2 points", r"exactly ([\d.]+), at k"),
     off_target, 0.02, "within 2 points"),
]:  # fmt: skip
    check(*row)
