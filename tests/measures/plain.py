"""Performance measures as one would write them down: loops over replicates, one cell at a time.

Estimate and MCSE in closed form; MCSEs of smooth functions by the delta method, worked by hand.
"""

import math
from itertools import pairwise

import numpy as np
from scipy import stats


def mean_of(values):
    return math.fsum(values) / len(values)


def variance_of(values):
    center = mean_of(values)
    return math.fsum((v - center) ** 2 for v in values) / (len(values) - 1)


def error_of_mean(values):
    return mean_of(values), math.sqrt(variance_of(values) / len(values))


def cautious_error(share, n):
    """Of a share, as if one replicate more had gone either way."""
    p = (share * n + 1) / (n + 2)
    return math.sqrt(p * (1 - p) / n)


def share(events):
    p = mean_of([float(e) for e in events])
    return p, math.sqrt(p * (1 - p) / len(events))


def bias(x, truth):
    return error_of_mean([v - truth for v in x])


def relative_bias(x, truth):
    return error_of_mean([(v - truth) / truth for v in x])


def mse(x, truth):
    return error_of_mean([(v - truth) ** 2 for v in x])


def mae(x, truth):
    return error_of_mean([abs(v - truth) for v in x])


def rmse(x, truth):
    value, error = mse(x, truth)
    return math.sqrt(value), error / (2 * math.sqrt(value))


def variance(x):
    n, center = len(x), mean_of(x)
    return variance_of(x), error_of_mean([(v - center) ** 2 * n / (n - 1) for v in x])[1]


def empirical_se(x):
    value, error = variance(x)
    return math.sqrt(value), error / (2 * math.sqrt(value))


def empirical_se_normal(x):
    value = math.sqrt(variance_of(x))
    return value, value / math.sqrt(2 * (len(x) - 1))


def standardised_bias(x, truth):
    n, center, sd = len(x), mean_of(x), math.sqrt(variance_of(x))
    value = (center - truth) / sd
    psi = [(v - center) / sd - value * n / (n - 1) * (v - center) ** 2 / (2 * sd**2) for v in x]
    return value, error_of_mean(psi)[1]


def model_se(se):
    value, error = error_of_mean([s**2 for s in se])
    return math.sqrt(value), error / (2 * math.sqrt(value))


def relative_error_model_se(x, se):
    n, center, model = len(x), mean_of(x), model_se(se)[0]
    ratio, s2 = model / math.sqrt(variance_of(x)), variance_of(x)
    psi = [
        ratio * (s**2 / (2 * model**2) - n / (n - 1) * (v - center) ** 2 / (2 * s2))
        for v, s in zip(x, se, strict=True)
    ]
    return ratio - 1, error_of_mean(psi)[1]


def relative_error_model_se_normal(x, se):
    n, model = len(x), model_se(se)[0]
    ratio = model / math.sqrt(variance_of(x))
    inside = variance_of([s**2 for s in se]) / (4 * n * model**4) + 1 / (2 * (n - 1))
    return ratio - 1, ratio * math.sqrt(inside)


def relative_precision(x, reference):
    n, ratio = len(x), variance_of(reference) / variance_of(x)
    a, b = mean_of(x), mean_of(reference)
    psi = [
        ratio
        * n
        / (n - 1)
        * ((w - b) ** 2 / variance_of(reference) - (v - a) ** 2 / variance_of(x))
        for v, w in zip(x, reference, strict=True)
    ]
    return ratio - 1, error_of_mean(psi)[1]


def relative_precision_normal(x, reference):
    ratio = variance_of(reference) / variance_of(x)
    r = np.corrcoef(x, reference)[0, 1]
    return ratio - 1, 2 * ratio * math.sqrt((1 - r**2) / (len(x) - 1))


def interval_score(lower, upper, truth, level):
    alpha = 1 - level
    scores = []
    for low, high in zip(lower, upper, strict=True):
        below = 2 / alpha * (low - truth) if truth < low else 0.0
        above = 2 / alpha * (truth - high) if truth > high else 0.0
        scores.append(high - low + below + above)
    return error_of_mean(scores)


def conditional_mean(values, condition):
    """Mean in the condition, with an error that knows that the number in it is random."""
    n = len(values)
    inside = [v for v, c in zip(values, condition, strict=True) if c]
    value = mean_of(inside)
    psi = [c * (v - value) * n / len(inside) for v, c in zip(values, condition, strict=True)]
    return value, math.sqrt(math.fsum(p * p for p in psi) / (n - 1) / n)


def bias_eliminated_coverage(x, lower, upper):
    n, center = len(x), mean_of(x)
    half = math.sqrt(mean_of([(v - center) ** 2 for v in x])) * n**-0.2

    def covering(point):
        return [float(low <= point <= high) for low, high in zip(lower, upper, strict=True)]

    here = covering(center)
    p = mean_of(here)
    rise = mean_of(covering(center + half)) - mean_of(covering(center - half))
    psi = [c - p + rise / (2 * half) * (v - center) for c, v in zip(here, x, strict=True)]
    return p, math.sqrt(math.fsum(v * v for v in psi)) / n


def correlation(x, y):
    a, b = mean_of(x), mean_of(y)
    sds = [math.sqrt(mean_of([(v - c) ** 2 for v in values])) for values, c in ((x, a), (y, b))]
    pairs = [((v - a) / sds[0], (w - b) / sds[1]) for v, w in zip(x, y, strict=True)]
    r = mean_of([z * w for z, w in pairs])
    return r, error_of_mean([z * w - r * (z * z + w * w) / 2 for z, w in pairs])[1]


def quantile(x, p):
    """Sparsity from the slope of the quantile function against normal scores."""
    value, psi = _at(x)(p), _influence_of_quantile(x, p)
    return value, error_of_mean(psi)[1]


def _influence_of_quantile(x, p):
    n, z = len(x), stats.norm.ppf(p)
    bandwidth = (
        n ** (-1 / 3)
        * stats.norm.ppf(0.975) ** (2 / 3)
        * (1.5 * stats.norm.pdf(z) ** 2 / (2 * z**2 + 1)) ** (1 / 3)
    )
    ends = max(p - bandwidth, 0.5 / n), min(p + bandwidth, 1 - 0.5 / n)
    (low, high), (left, right) = (tuple(f(e) for e in ends) for f in (_at(x), stats.norm.ppf))
    sparsity = (high - low) / (right - left) / stats.norm.pdf(z)
    value = _at(x)(p)
    below = mean_of([float(v <= value) for v in x])
    return [sparsity * (below - (v <= value)) for v in x]


def _at(x):
    ordered = sorted(x)
    gaps = list(pairwise(ordered))

    def quantile(p):
        place = (len(ordered) - 1) * p
        if place >= len(gaps):
            return ordered[-1]
        low, high = gaps[int(place)]
        return low + (place - int(place)) * (high - low)

    return quantile


def wilson(k, n, level):
    """By solving (p - k/n)^2 = z^2 p (1 - p)/n for p."""
    z2 = stats.norm.ppf((1 + level) / 2) ** 2
    return sorted(np.roots([1 + z2 / n, -(2 * k / n + z2 / n), (k / n) ** 2]).real)
