"""The paper's formulas and the standard estimators as they read: one list of p-values, in loops."""

import functools

import numpy as np
from scipy import interpolate, optimize


def lists(n: int, n_rep: int = 40, seed: int = 1) -> np.ndarray:
    """P-values: uniform, small, rounded (so that some are equal), with zeros and ones."""
    p = np.random.default_rng(seed).random((n_rep, n))
    p[1::4] **= 4
    p[2::4] = np.round(p[2::4], 1)
    return p


def nfdr(p):
    n = len(p)
    return [min(p_i * n / sum(p_j <= p_i for p_j in p), 1) for p_i in p]


def ranked(p, order):
    """Places in the order of their ranks."""
    rates = nfdr(p)
    key = {"nfdr": lambda i: (rates[i], p[i], i), "p": lambda i: (p[i], i)}[order]
    return sorted(range(len(p)), key=key)


def cfdr(p, order="nfdr", clipped=False):
    rates, found = nfdr(p), [None] * len(p)
    for i, place in enumerate(ranked(p, order), start=1):
        value = sum(1 / (i - k + 1) for k in range(1, i + 1)) * rates[place]
        found[place] = min(value, 1) if clipped else value
    return found


def rfdr(p, order="nfdr"):
    rates, places, found = nfdr(p), ranked(p, order), [None] * len(p)
    for i, place in enumerate(places, start=1):
        later = round(1.6 * i)
        found[place] = rates[places[later - 1]] if later <= len(p) else 1
    return found


def mean(values):
    return sum(values) / len(values)


def storey(p, lam):
    return sum(value > lam for value in p) / (len(p) * (1 - lam))


LAMBDAS = [k / 20 for k in range(1, 20)]


def spline(heights, penalty):
    return interpolate.make_smoothing_spline(LAMBDAS, heights, lam=penalty)(LAMBDAS)


@functools.cache
def penalty_with_3_df():
    def excess(log_penalty):
        unit = np.eye(len(LAMBDAS))
        return sum(spline(unit[k], np.exp(log_penalty))[k] for k in range(len(unit))) - 3

    return np.exp(optimize.brentq(excess, -15, 5, xtol=1e-13))


def storey_smoother(p):
    """SciPy's smoothing spline with the penalty that leaves 3 degrees of freedom."""
    last = spline([storey(p, lam) for lam in LAMBDAS], penalty_with_3_df())[-1]
    return min(max(last, 0), 1)


def storey_bootstrap(p):
    found, n = [storey(p, lam) for lam in LAMBDAS], len(p)
    errors = []
    for lam, estimate in zip(LAMBDAS, found, strict=True):
        count = sum(value > lam for value in p)
        variance = count / n * (1 - count / n) / n / (1 - lam) ** 2
        errors.append(variance + (estimate - min(found)) ** 2)
    return min(found[errors.index(min(errors))], 1)


def jiang_doerge(p):
    n_bins = 20

    def above(k):
        return sum(value >= k / n_bins for value in p) if k < n_bins else 0

    first = next(k for k in range(n_bins) if above(k) - above(k + 1) <= above(k) / (n_bins - k))
    estimates = [above(k) / len(p) / (1 - k / n_bins) for k in range(max(first - 1, 0), n_bins)]
    return min(mean(estimates), 1)


def pounds_cheng(p):
    return min(2 * mean(p), 1)


def components(p):
    """Densities of the uniform and of 100 triangles at each p-value, a row each."""
    rows = [[1.0] * len(p)]
    for k in range(1, 101):
        end = k / 100
        rows.append([2 * (end - value) / end**2 if value < end else 0.0 for value in p])
    return np.array(rows)
