"""Thresholds of a classifier by the bootstrap: resampled in a loop, and of all resamples at once.

Scores of positive cases are N(1, 1), so t* = 1 + Φ⁻¹(0.05) has a sensitivity of 95%; a threshold is
safe where it is at most t*.
"""

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from tests.independent.checks import Answer, mean_of, simulated
from tests.independent.classifier import N_TRIAL, NULL, SENSITIVITY, N, check, rejects_from

CONFIDENCE = 0.8
T_STAR = 1 + float(ndtri(1 - SENSITIVITY))
N_BOOT, N_SET = 1000, 20_000

Array = np.ndarray


def quantile(scores: Array) -> Array:
    """The interpolated 5% quantile of each row: of 50, x(3) + 0.45 (x(4) − x(3))."""
    place = (1 - SENSITIVITY) * (scores.shape[-1] - 1)
    low = math.floor(place)
    ordered = np.partition(scores, [low, low + 1], axis=-1)
    return ordered[..., low] + (place - low) * (ordered[..., low + 1] - ordered[..., low])


OTHERS = np.array([np.delete(np.arange(N), i) for i in range(N)])


def acceleration(scores: Array) -> float:
    """Of the jackknife: Σ d³ / (6 (Σ d²)^(3/2)), d = mean less each value without a score."""
    without = quantile(scores[OTHERS])
    d = without.mean() - without
    return float((d**3).sum() / (6 * (d**2).sum() ** 1.5))


def percentile_of_bca(share_below: float, a: float) -> float:
    """Φ(b + (b + z)/(1 − a (b + z))), z = Φ⁻¹(0.2), of the lower bound."""
    b = ndtri(share_below)
    z = b + ndtri(1 - CONFIDENCE)
    return float(ndtr(b + z / (1 - a * z)))


def tie_shares(below: float, upto: float) -> tuple[float, float, float]:
    """Shares below the estimate with values equal to it out, by half, and in."""
    return below, (below + upto) / 2, upto


def bounds(rng: np.random.Generator) -> list[float]:
    """Of one test set: percentile, basic, normal, and BCa with ties out, by half, and in."""
    scores = 1 + rng.standard_normal(N)
    estimate = float(quantile(scores))
    resampled = quantile(scores[rng.integers(N, size=(N_BOOT, N), dtype=np.int32)])
    low, high = np.quantile(resampled, [1 - CONFIDENCE, CONFIDENCE])
    normal = estimate + ndtri(1 - CONFIDENCE) * resampled.std()
    below, upto = (resampled < estimate).mean(), (resampled <= estimate).mean()
    a = acceleration(scores)
    percentiles = [percentile_of_bca(share, a) for share in tie_shares(below, upto)]
    return [low, 2 * estimate - high, normal, *np.quantile(resampled, percentiles)]


METHODS = ("percentile", "basic", "normal", "bca strict", "bca mid", "bca weak")


@cache
def thresholds() -> Array:
    """Axes: test set, method."""
    rng = np.random.default_rng(4)
    return np.array([bounds(rng) for _ in range(N_SET)])


RIVALS = {
    "percentile": (0.6512, "that of basic"),
    "basic": (0.6739, "that of normal"),
    "normal": (0.6512, "that of basic"),
    "bca strict": (0.8, "the confidence asked for"),
    "bca mid": (0.7704, "with ties left out"),
    "bca weak": (0.6991, "with half of the ties"),
}


@cache
def law_of_two() -> Array:
    """P(the third and fourth of a resample are the i-th and j-th score), axes i and j.

    Third ≤ i and fourth ≤ j: four of 50 draws or more among the first i, or three of them and one
    or more of the other 47 beyond i and up to j.
    """
    upto = np.zeros((N + 1, N + 1))
    for j in range(1, N + 1):
        for i in range(1, N + 1):
            first = min(i, j)
            some = 1 - ((N - j) / (N - first)) ** 47 if first < N else 0.0
            three = stats.binom.pmf(3, N, first / N) * some
            upto[i, j] = stats.binom.sf(3, N, first / N) + three
    return np.diff(np.diff(upto, axis=0), axis=1)


def exact_bounds(rng: np.random.Generator) -> list[float]:
    """BCa of one test set from all resamples at once, ties out, by half, and in."""
    scores = np.sort(1 + rng.standard_normal(N))
    values = (scores[:, None] + 0.45 * (scores[None, :] - scores[:, None])).ravel()
    order = np.argsort(values)
    values, mass = values[order], law_of_two().ravel()[order]
    estimate, cumulative = scores[2] + 0.45 * (scores[3] - scores[2]), np.cumsum(mass)
    shares = tie_shares(mass[values < estimate].sum(), mass[values <= estimate].sum())
    percentiles = [percentile_of_bca(share, acceleration(scores)) for share in shares]
    return [values[np.searchsorted(cumulative, percentile)] for percentile in percentiles]


@cache
def exact_thresholds() -> Array:
    """Axes: test set, BCa by tie convention."""
    rng = np.random.default_rng(9)
    return np.array([exact_bounds(rng) for _ in range(N_SET)])


def given_bca() -> Array:
    """True sensitivities of the BCa thresholds (ties left out)."""
    return ndtr(1 - thresholds()[:, METHODS.index("bca strict")])


def coverage(thresholds_of: Callable[[], Array], place: int) -> Answer:
    """Share of safe bounds over 20,000 test sets."""
    return mean_of((thresholds_of()[:, place] <= T_STAR).astype(float))


def power_of_the_example() -> Answer:
    """Mean of the binomial power given each resampled threshold's true sensitivity."""
    return mean_of(stats.binom.sf(rejects_from(N_TRIAL, NULL) - 1, N_TRIAL, given_bca()))


for n_boot, of, methods in ((N_BOOT, thresholds, METHODS), (0, exact_thresholds, METHODS[3:])):
    resamples = f"{n_boot} resamples" if n_boot else "infinitely many resamples"
    for place, method in enumerate(methods):
        check(
            f"coverage of the {method} bound at 80%, {resamples}",
            simulated("classifier_threshold", n_boot=n_boot, method=method, measure="coverage"),
            partial(coverage, of, place),
            *RIVALS[method],
        )

EXAMPLE = {"n_boot": 1000, "method": "bca strict"}
check(
    "power of the trial of 184 with a BCa threshold",
    simulated("classifier_trial", **EXAMPLE, measure="mean_power_given_threshold"),
    power_of_the_example,
    0.7879,
    "that of the true threshold",
)
check(
    "mean sensitivity of the trial with a BCa threshold",
    simulated("classifier_trial", **EXAMPLE, measure="mean_trial_sensitivity"),
    lambda: mean_of(given_bca()),
    0.9587,
    "with half of the ties",
)
