"""The trial of a classifier: thresholds resampled in a loop, ranks and sample sizes enumerated.

Scores of positive cases are N(1, 1), so t* = 1 + Φ⁻¹(0.05) has a sensitivity of 95%; a threshold is
safe where it is at most t*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache

import numpy as np
from scipy import integrate, stats
from scipy.special import ndtr, ndtri

from tests.independent.checks import Answer, check
from tests.independent.committed import claimed, exact, printed, simulated, table

DOCUMENT = "trial of a classifier"
N, SENSITIVITY, CONFIDENCE = 50, 0.95, 0.8
T_STAR = 1 + float(ndtri(1 - SENSITIVITY))
N_BOOT, N_SET = 1000, 20_000
N_TRIAL, NULL, ALPHA = 184, 0.9, 0.05

Array = np.ndarray


def quantile(scores: Array) -> Array:
    """The interpolated 5% quantile of each row, NumPy's default: for n = 50, x(3) + 0.45 (x(4) − x(3))."""
    place = (1 - SENSITIVITY) * (scores.shape[-1] - 1)
    low = math.floor(place)
    ordered = np.partition(scores, [low, low + 1], axis=-1)
    return ordered[..., low] + (place - low) * (ordered[..., low + 1] - ordered[..., low])


def acceleration(scores: Array) -> float:
    """Of the jackknife: Σ d³ / (6 (Σ d²)^(3/2)), d = mean less each value without a score."""
    without = np.array([quantile(np.delete(scores, i)) for i in range(len(scores))])
    d = without.mean() - without
    return float((d**3).sum() / (6 * (d**2).sum() ** 1.5))


def bca(resampled: Array, share_below: float, a: float) -> float:
    """The lower bound at the percentile Φ(b + (b + z)/(1 − a (b + z))), z = Φ⁻¹(0.2)."""
    b = ndtri(share_below)
    z = b + ndtri(1 - CONFIDENCE)
    return float(np.quantile(resampled, ndtr(b + z / (1 - a * z))))


def bounds(rng: np.random.Generator) -> list[float]:
    """Of one test set: percentile, basic, normal, and BCa with ties out, by half, and in."""
    scores = 1 + rng.standard_normal(N)
    estimate = float(quantile(scores))
    resampled = quantile(scores[rng.integers(N, size=(N_BOOT, N), dtype=np.int32)])
    low, high = np.quantile(resampled, [1 - CONFIDENCE, CONFIDENCE])
    normal = estimate + ndtri(1 - CONFIDENCE) * resampled.std()
    below, upto = (resampled < estimate).mean(), (resampled <= estimate).mean()
    a = acceleration(scores)
    shares = (below, (below + upto) / 2, upto)
    return [low, 2 * estimate - high, normal, *(bca(resampled, share, a) for share in shares)]


METHODS = ("percentile", "basic", "normal", "bca strict", "bca mid", "bca weak")


@cache
def thresholds() -> Array:
    """Axes: test set, method."""
    rng = np.random.default_rng(4)
    return np.array([bounds(rng) for _ in range(N_SET)])


def mean_of(values: Array) -> Answer:
    return Answer(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))


RIVALS = {
    "percentile": (0.6512, "that of basic"),
    "basic": (0.6739, "that of normal"),
    "normal": (0.6512, "that of basic"),
    "bca strict": (0.8, "the confidence asked for"),
    "bca mid": (0.7704, "with ties left out"),
    "bca weak": (0.6991, "with half of the ties"),
}


def enter_coverages() -> None:
    for place, method in enumerate(METHODS):

        def coverage(place: int = place) -> Answer:
            """Share of safe bounds over 20,000 test sets, each resampled 1000 times."""
            return mean_of((thresholds()[:, place] <= T_STAR).astype(float))

        rival, why = RIVALS[method]
        drawn = simulated("classifier_threshold", n_boot=1000, method=method, measure="coverage")
        what = f"coverage of the {method} bound at 80%, 1000 resamples"
        check(DOCUMENT, what, drawn, rival=rival, rival_is=why)(coverage)


enter_coverages()


@check(
    DOCUMENT,
    "safe empirical quantiles, n = 50, simulated",
    simulated("classifier_threshold", n_boot=0, method="empirical", measure="coverage"),
    rival=0.5,
    rival_is="if it were median-unbiased",
)
@check(
    DOCUMENT,
    "safe empirical quantiles, n = 50, by the package's theory",
    exact("classifier_threshold", n_boot=0, method="empirical", measure="coverage"),
    rival=1 - 0.66,
    rival_is="one minus the published share",
)
def empirical() -> Answer:
    """Given the fourth score at v (standardised), the third is the largest of three below it:
    1 − ∫ P(0.55 x(3) + 0.45 v > t*) dF(v), F that of the fourth of 50."""
    z = float(ndtri(1 - SENSITIVITY))

    def too_high(u: float) -> float:  # u = Φ(v) has the density of a beta(4, 47)
        v = float(ndtri(u))
        share = min(float(ndtr((z - 0.45 * v) / 0.55)) / u, 1.0)
        return (1 - share**3) * float(stats.beta.pdf(u, 4, 47))

    return Answer(1 - integrate.quad(too_high, 1 - SENSITIVITY, 1, epsabs=1e-12, points=[0.1, 0.3])[0])


def umbrella(rank: int, n: int) -> Fraction:
    """v(rank), the chance that the score of this rank is above t*: fewer than `rank` lie below it."""
    miss = Fraction(1, 20)
    return sum((math.comb(n, m) * miss**m * (1 - miss) ** (n - m) for m in range(rank)), Fraction(0))


def safe_rank(n: int) -> int:
    """The largest rank with v at most 1/5; 0 where there is none."""
    return max((rank for rank in range(n + 1) if umbrella(rank, n) <= Fraction(1, 5)), default=0)


def enter_violations() -> None:
    for rank in (1, 2, 3, 4):

        def violation(rank: int = rank) -> Answer:
            """Σ over l < r of C(50, l) 0.05^l 0.95^(50 − l), in exact fractions."""
            return Answer(float(umbrella(rank, N)))

        falls = table(
            "umbrella_rank", "ranks", "exact", rank=rank, probability="sensitivity falls short"
        )
        drawn = claimed("umbrella_rank", f"violation, rank {rank}")
        rival = float(umbrella(rank + 1, N))
        what = f"umbrella at n = 50: violation of rank {rank}"
        check(DOCUMENT, f"{what}, by theory", falls, rival=rival, rival_is="the next")(violation)
        check(DOCUMENT, f"{what}, simulated", drawn, rival=rival, rival_is="the next")(violation)


enter_violations()


@check(
    DOCUMENT,
    "umbrella's rank at n = 200",
    claimed("umbrella_rank", "rank at n = 200"),
    rival=8,
    rival_is="the next",
)
def rank_at_200() -> Answer:
    """The largest r with v(r) ≤ 1/5, in exact fractions."""
    return Answer(safe_rank(200), bound=0.0)


@check(
    DOCUMENT,
    "least n at which any score is a safe threshold",
    printed("umbrella_rank", "never below 1", r"from n = (\d+) rank 1 is safe"),
    rival=1,
    rival_is="the document's code",
)
def first_safe_n() -> Answer:
    """n = 1, 2, 3, ... until v(1) ≤ 1/5."""
    n = 1
    while safe_rank(n) < 1:
        n += 1
    return Answer(n, bound=0.0)


@check(
    DOCUMENT,
    "v(1) at n = 50 as the formula prints it",
    claimed("umbrella_rank", "formula of v(r)"),
    rival=0.0769,
    rival_is="with C(n, l)",
)
def printed_violation() -> Answer:
    """1 − Σ over l ≥ 1 of C(50, 1) 0.05^l 0.95^(50 − l)."""
    return Answer(1 - sum(math.comb(N, 1) * 0.05**m * 0.95 ** (N - m) for m in range(1, N + 1)))


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


@check(
    DOCUMENT,
    "sample size for 95% against 90% with power 80%",
    claimed("classifier_sample_size", "sample size"),
    rival=98,
    rival_is="with k(k − k)",
)
def sample_size() -> Answer:
    """The formula with k(1 − k), rounded up."""
    return Answer(math.ceil(n_star(0.95, 0.05, 0.2)), bound=0.0)


@check(
    DOCUMENT,
    "sample size by the formula as printed, where the first term vanishes",
    claimed("classifier_sample_size", "formula of n*"),
    rival=184,
    rival_is="with k(1 − k)",
)
def sample_size_as_printed() -> Answer:
    """(√(0.9 · 0.1) Φ⁻¹(0.95) / 0.05)², rounded up."""
    return Answer(math.ceil((math.sqrt(0.09) * ndtri(0.95) / 0.05) ** 2), bound=0.0)


@check(
    DOCUMENT,
    "power at n = 184, simulated",
    claimed("classifier_sample_size", "power at n = 184"),
    rival=0.8,
    rival_is="that of the normal approximation",
)
def power_at_184() -> Answer:
    """Binomial probabilities of the counts that the test rejects."""
    return Answer(share_rejected(N_TRIAL, NULL, SENSITIVITY))


@check(
    DOCUMENT,
    "size at n = 184, simulated",
    claimed("classifier_sample_size", "size at n = 184"),
    rival=0.05,
    rival_is="the size asked for",
)
def size_at_184() -> Answer:
    """The same where the sensitivity is 90%."""
    return Answer(share_rejected(N_TRIAL, NULL, NULL))


@check(
    DOCUMENT,
    "n from which a power of 80% is never lost again",
    printed("classifier_sample_size", "power at n = 184", r"never lost from n = (\d+)"),
    rival=184,
    rival_is="the document's",
)
def never_lost() -> Answer:
    """One more than the last n of 100 to 600 whose exact power is below 80%."""
    below = [n for n in range(100, 601) if share_rejected(n, NULL, SENSITIVITY) < 0.8]
    return Answer(below[-1] + 1, bound=0.0)


def designs() -> Iterable[tuple[float, float, float]]:
    return ((k, b, beta) for k in (0.85, 0.9, 0.95) for b in (0.01, 0.03, 0.05) for beta in (0.1, 0.15, 0.2))


@check(
    DOCUMENT,
    "largest factor in n between margins of 1% and 5%",
    claimed("classifier_sample_size", "a factor of 30"),
    rival=30,
    rival_is="as published",
)
def factor_in_n() -> Answer:
    """The largest of nine ratios of n*, each unrounded."""
    return Answer(max(n_star(k, 0.01, beta) / n_star(k, 0.05, beta) for k, _, beta in designs()))


@check(
    DOCUMENT,
    "largest distance of the power from its target, 27 designs",
    printed("classifier_sample_size", "within 2 points", r"exactly ([\d.]+), at k"),
    rival=0.02,
    rival_is="within 2 points",
)
def off_target() -> Answer:
    """Exact power of each rounded n* less 1 − β."""
    powers = (
        abs(share_rejected(math.ceil(n_star(k, b, beta)), round(k - b, 12), k) - (1 - beta))
        for k, b, beta in designs()
    )
    return Answer(max(powers))


def given_bca() -> Array:
    """True sensitivities of the BCa thresholds (ties left out)."""
    return ndtr(1 - thresholds()[:, METHODS.index("bca strict")])


@check(
    DOCUMENT,
    "power of the trial of 184 with a BCa threshold",
    simulated(
        "classifier_trial", n_boot=1000, method="bca strict", measure="mean_power_given_threshold"
    ),
    rival=0.7879,
    rival_is="that of the true threshold",
)
def power_of_the_example() -> Answer:
    """Mean of the binomial power given each resampled threshold's true sensitivity."""
    return mean_of(stats.binom.sf(rejects_from(N_TRIAL, NULL) - 1, N_TRIAL, given_bca()))


@check(
    DOCUMENT,
    "mean sensitivity of the trial with a BCa threshold",
    simulated("classifier_trial", n_boot=1000, method="bca strict", measure="mean_trial_sensitivity"),
    rival=0.9587,
    rival_is="with half of the ties",
)
def sensitivity_of_the_example() -> Answer:
    """Mean of 1 − Φ(threshold − 1)."""
    return mean_of(given_bca())
