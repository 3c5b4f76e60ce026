"""Predictive p-values: lists of 168, their rates counted in loops, and order statistics integrated.

Trained networks are not here: to train them anew takes hours on one core. Least squares, which the
study of the diabetes data has beside its networks, is.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise

import numpy as np
from scipy import integrate, stats
from scipy.special import log_ndtr, logsumexp

from tests.independent.checks import (
    Answer,
    Compute,
    Lookup,
    checks_of,
    exact,
    mean_of,
    printed,
    shifted,
    simulated,
)

DOCUMENT = "Testing prediction algorithms as null hypotheses"
check = checks_of(DOCUMENT)
N, N_LIST = 168, 4000

Array = np.ndarray


def later_rank(i: int) -> int:
    """[1.6 i], rounded to the nearest whole number in fractions; 1.6 i is never halfway."""
    return math.floor(Fraction(8, 5) * i + Fraction(1, 2))


def nfdr(p: Array) -> Array:
    """min(n p / #{p_j ≤ p}, 1) of each p-value, the number counted one by one, in rising order."""
    counts = (p[None, :] <= p[:, None]).sum(axis=1)
    return np.sort(np.minimum(len(p) * p / counts, 1))


def harmonic(i: int) -> float:
    return sum(1 / (i - k + 1) for k in range(1, i + 1))


HARMONIC = np.array([harmonic(i) for i in range(1, N + 1)])
LATER = [later_rank(i) for i in range(1, N + 1)]


def measures(p: Array) -> list[float]:
    """Mean CFDR as printed, clipped at 1, and mean RFDR, all in the order of the NFDR."""
    rates = nfdr(p)
    cfdr = HARMONIC * rates
    rfdr = [rates[later - 1] if later <= N else 1.0 for later in LATER]
    return [cfdr.mean(), np.minimum(cfdr, 1).mean(), float(np.mean(rfdr))]


MEASURES = ("cfdr", "cfdr_clipped", "rfdr")


@cache
def lists(spread: float) -> Array:
    """The measures of 4000 lists of two-sided normal p-values of scores with this spread."""
    rng = np.random.default_rng(5)
    scores = spread * rng.standard_normal((N_LIST, N))
    return np.array([measures(2 * stats.norm.sf(np.abs(row))) for row in scores])


def of_lists(spread: float, estimator: str, lookup: Callable[..., Lookup] = simulated) -> Lookup:
    """The committed mean of an estimator: its bias, and the share that is true."""
    share = 1.0 if spread == 1 else 0.0
    factors = {"n_prediction": N, "null_share": share, "shift": 0.0, "spread": spread}
    named = {**factors, "correlation": 0.0, "estimator": estimator, "measure": "bias"}
    return shifted(lookup("proportion_compatible", **named), share)


def order_statistic(i: int, function: Callable[[float], float], kink: float) -> float:
    """E f(p_(i)) of 168 uniform p-values: p_(i) is beta(i, 169 − i). f has a kink."""
    law = stats.beta(i, N + 1 - i)
    log_constant = math.log(i * math.comb(N, i))  # 168! / ((i − 1)! (168 − i)!)

    def integrand(p: float) -> float:
        log_density = log_constant + (i - 1) * math.log(p) + (N - i) * math.log1p(-p)
        return function(p) * math.exp(log_density)

    low, high = float(law.ppf(1e-13)), float(law.isf(1e-13))
    ends = [low, *([kink] if low < kink < high else []), high]
    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-11, limit=200)[0] for a, b in pairwise(ends)
    )


def rate(i: int, factor: float = 1.0, cap: float = math.inf) -> float:
    """E min(factor · min(n p_(i) / i, 1), cap)."""

    def function(p: float) -> float:
        return min(factor * min(N * p / i, 1.0), cap)

    return order_statistic(i, function, i / N * min(cap / factor, 1.0))


def log10_fisher(log_p: Array) -> float:
    """Fisher's combined p: the tail of a gamma(n) at x = −Σ log p, e^−x Σ x^k / k!, in logs."""
    x = -float(log_p.sum())
    terms = [k * math.log(x) - math.lgamma(k + 1) for k in range(len(log_p))]
    return (float(logsumexp(terms)) - x) / math.log(10)


def fisher() -> Answer:
    """4000 lists, each p-value in logs and the gamma tail summed."""
    scores = 2 * np.random.default_rng(6).standard_normal((N_LIST, N))
    return mean_of(np.array([log10_fisher(math.log(2) + log_ndtr(-np.abs(z))) for z in scores]))


N_SPLIT, N_TRAIN, N_BOOT_MODEL = 400, 295, 50


def predictions(x: Array, y: Array, new: Array) -> Array:
    beta = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]
    return np.column_stack([np.ones(len(new)), new]) @ beta


def scores_of_a_split(rng: np.random.Generator, x: Array, y: Array) -> Array:
    """Errors of least squares on test rows, in standard deviations of 50 bootstrap predictions."""
    order = rng.permutation(len(y))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    drawn = [train[rng.integers(N_TRAIN, size=N_TRAIN)] for _ in range(N_BOOT_MODEL)]
    spread = np.std([predictions(x[i], y[i], x[test]) for i in drawn], axis=0, ddof=1)
    return (y[test] - predictions(x[train], y[train], x[test])) / spread


@cache
def splits() -> Array:
    """Scores of the test rows of random splits of the diabetes data that scikit-learn ships."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    rng = np.random.default_rng(7)
    return np.array([scores_of_a_split(rng, data.data, data.target) for _ in range(N_SPLIT)])


def mean_rate(*, clipped: bool = False) -> Answer:
    """Mean of E H_i min(n p_(i)/i, 1), each by quadrature over a beta density; clipped at 1."""
    cap = 1.0 if clipped else math.inf
    return Answer(sum(rate(i, HARMONIC[i - 1], cap) for i in range(1, N + 1)) / N)


def mean_later_rate() -> Answer:
    """The mean rate at rank [1.6 i], or 1 beyond 168."""
    return Answer(sum(rate(later) if later <= N else 1.0 for later in LATER) / N)


def storey() -> Answer:
    """E min(#{p > 1/2} / 84, 1), the number binomial, summed term by term."""
    return Answer(sum(min(x / 84, 1.0) * math.comb(N, x) / 2**N for x in range(N + 1)))


def log10_p_of_least_squares() -> Answer:
    """400 random splits, each fit and its 50 bootstrap fits by least squares."""
    return mean_of(np.array([log10_fisher(math.log(2) + log_ndtr(-np.abs(z))) for z in splits()]))


def by_lists(spread: float, measure: str) -> tuple[Lookup, Compute]:
    """The committed mean, and that over 4000 lists, every rate counted by its definition."""
    place = MEASURES.index(measure)
    return of_lists(spread, measure), lambda: mean_of(lists(spread)[:, place])


STUDY, DIABETES = "proportion_compatible", "predictive_pvalue_diabetes"
LEAST_SQUARES = {"method": "least_squares", "epochs": "100", "distribution": "centered",
                 "n_boot_models": str(N_BOOT_MODEL)}  # fmt: skip
BY_P = "of a perfect model in the order of p, by the package's theory"
BY_NFDR = "in the order of the NFDR"
HALF = "distributions half as wide as they should be"
for row in [  # a number, where it is committed, what finds it here, a rival and what that is
    ("mean CFDR as printed of a perfect model",
     *by_lists(1.0, "cfdr"), 4.5546, "in the order of p"),
    ("mean CFDR clipped at 1 of a perfect model",
     *by_lists(1.0, "cfdr_clipped"), 0.99607, "in the order of p"),
    ("mean RFDR of a perfect model",
     *by_lists(1.0, "rfdr"), 1.0, "of a perfect model, as meant"),
    (f"mean CFDR clipped at 1 of {HALF}",
     *by_lists(2.0, "cfdr_clipped"), 0.0, "of no compatible prediction, as meant"),
    (f"mean RFDR of {HALF}",
     *by_lists(2.0, "rfdr"), 0.375, "its floor"),
    (f"mean CFDR {BY_P}",
     of_lists(1.0, "cfdr_by_p", exact), mean_rate, 4.572, BY_NFDR),
    (f"mean CFDR clipped at 1 {BY_P}",
     of_lists(1.0, "cfdr_by_p_clipped", exact), partial(mean_rate, clipped=True), 0.9953, BY_NFDR),
    (f"mean RFDR {BY_P}",
     of_lists(1.0, "rfdr_by_p", exact), mean_later_rate, 0.9713, BY_NFDR),
    ("mean of Storey's estimate of a perfect model, by the package's theory",
     of_lists(1.0, "storey", exact), storey, 1.0, "not held at 1"),
    ("ranks of 168 without a later one: the floor of the mean RFDR",
     printed(STUDY, "floor of RFDR", r"(\d+) of 168 ranks"),
     partial(Answer, sum(later > N for later in LATER), bound=0.0),
     62, "with 1/(1 − 1/e) for 1.6"),
    (f"mean log10 of Fisher's combined p, {HALF}",
     simulated(STUDY, spread=2.0, estimator="rfdr", measure="mean_log10_p"),
     fisher, -0.434, "of a perfect model"),
    ("log10 p of least squares on the diabetes data, without residual noise",
     simulated(DIABETES, **LEAST_SQUARES, measure="mean_log10_p"),
     log10_p_of_least_squares, -94, "that of the networks"),
    ("what 90% intervals of least squares hold on the diabetes data, without residual noise",
     simulated(DIABETES, **LEAST_SQUARES, measure="mean_coverage"),
     lambda: mean_of((np.abs(splits()) <= stats.norm.ppf(0.95)).mean(axis=1)),
     0.9, "what was asked for"),
]:  # fmt: skip
    check(*row)
