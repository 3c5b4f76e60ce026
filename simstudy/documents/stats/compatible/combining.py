"""One p-value out of many, in logs from beginning to end, so that none is too small to be one.

Each takes natural logs of p-values, (..., n), and gives that of the combined p-value, (...).
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special, stats

LogP = Float[np.ndarray, "... n"]
PerReplicate = Float[np.ndarray, "..."]
FAR = np.log(1e15)  # from there on 1/x and the tail of Landau's law differ by a few roundings


@reading
def in_log10(log_p: ArrayLike) -> PerReplicate:
    """Convert natural logs to logs to the base 10, which are reported.

    Parameters
    ----------
    log_p
        Natural logs.

    Returns
    -------
    PerReplicate
        Logs to the base 10.
    """
    return np.asarray(np.asarray(log_p, float) / np.log(10))


@reading
def fisher(log_p: LogP) -> PerReplicate:
    """Combine p-values by Fisher's test: -2 Σ log p is χ² with 2 n degrees of freedom.

    With an even number of degrees of freedom its tail is that of a Poisson count: a sum of n terms.

    Parameters
    ----------
    log_p
        Natural logs of p-values, (..., n); combined along the last axis.

    Returns
    -------
    PerReplicate
        Natural logs of the combined p-values.

    References
    ----------
    Fisher (1932), Statistical Methods for Research Workers, 4th ed., section 21.1.
    """
    log_p = _checked(log_p)
    half = -log_p.sum(axis=-1)[..., np.newaxis]
    k = np.arange(log_p.shape[-1])
    with np.errstate(invalid="ignore"):  # infinite: replaced beneath
        terms = special.xlogy(k, half) - special.gammaln(k + 1) - half
    found = np.minimum(special.logsumexp(terms, axis=-1), 0.0)
    below = special.gammainc(log_p.shape[-1], half[..., 0])  # 1 - p, which keeps digits near p = 1
    found = np.where(below < 0.5, np.log1p(-np.minimum(below, 0.5)), found)
    return np.where(np.isposinf(half[..., 0]), -np.inf, found)


@reading
def stouffer(log_p: LogP, *, weights: ArrayLike | None = None) -> PerReplicate:
    """Combine p-values by Stouffer's test: the sum of normal scores over the root of their number.

    Made for one-sided p-values. One p-value of 1 gives 1 whatever the others are, and none is there
    (NaN) where another is 0.

    Parameters
    ----------
    log_p
        Natural logs.
    weights
        Positive, (n,) or broadcasting with the p-values; equal unless given.

    Returns
    -------
    PerReplicate
        Natural logs of the combined p-values.

    References
    ----------
    Stouffer et al. (1949), The American Soldier, vol. 1; weighted: Lipták (1958), Magyar Tud. Akad.
    Mat. Kutató Int. Közl. 3, 171-197.
    """
    log_p = _checked(log_p)
    weight = np.ones(log_p.shape[-1]) if weights is None else np.asarray(weights, float)
    _refuse_weights(weight)
    with np.errstate(invalid="ignore"):  # both infinities: NaN, as said
        total = -(weight * special.ndtri_exp(log_p)).sum(axis=-1)
    return np.asarray(special.log_ndtr(-total / np.sqrt((weight**2).sum(axis=-1))))


@reading
def harmonic_mean(log_p: LogP) -> PerReplicate:
    """Combine p-values by Wilson's test: the harmonic mean, calibrated by Landau's law.

    1/p of a uniform p is in the domain of attraction of the stable law with index 1, so that the
    mean of n of them is of that law, with location log n + 1 - γ + log(π/2) and scale π/2, for
    large n, and nearly so under dependence. The plain harmonic mean is too small to be a p-value by
    that location. Of a few p-values it is an approximation, whose level is not exact.

    Parameters
    ----------
    log_p
        Natural logs of p-values, (..., n); combined along the last axis.

    Returns
    -------
    PerReplicate
        Natural logs of the combined p-values.

    References
    ----------
    Wilson (2019), Proc. Natl. Acad. Sci. 116, 1195-1200, equation 4.
    """
    log_p = _checked(log_p)
    n = log_p.shape[-1]
    if n == 1:
        return np.asarray(log_p[..., 0])  # the law is one of many p-values
    log_inverse = special.logsumexp(-log_p, axis=-1) - np.log(n)
    location = np.log(n) + 1 - np.euler_gamma + np.log(np.pi / 2)
    near = np.exp(np.minimum(log_inverse, FAR))
    tail = stats.landau.logsf(near, loc=location, scale=np.pi / 2)
    return np.asarray(np.where(log_inverse > FAR, -log_inverse, tail))


@reading
def cauchy(log_p: LogP) -> PerReplicate:
    """Combine p-values by Liu and Xie's test: the mean of cot(π p) has a Cauchy tail.

    p-values of 0 and of 1 together give NaN.

    Parameters
    ----------
    log_p
        Natural logs of p-values, (..., n); combined along the last axis.

    Returns
    -------
    PerReplicate
        Natural logs of the combined p-values.

    References
    ----------
    Liu & Xie (2020), J. Am. Stat. Assoc. 115, 393-402.
    """
    log_p = _checked(log_p)
    sign, log_size = _log_cotangent(log_p)
    with np.errstate(invalid="ignore"):
        log_total, sign = special.logsumexp(log_size, axis=-1, b=sign, return_sign=True)
    log_mean = log_total - np.log(log_p.shape[-1])
    # arctan(1/T) is 1/T to the last bit long before 1/T is too small for a double.
    small = np.where(log_mean > 300, -log_mean, np.log(np.arctan2(1.0, np.exp(_up_to(log_mean)))))
    below_half = small - np.log(np.pi)
    return np.asarray(np.where(sign >= 0, below_half, np.log1p(-np.exp(below_half))))


def _log_cotangent(log_p: LogP) -> tuple[LogP, LogP]:
    """Sign and log size of cot(π p): odd about 1/2, so from the nearer of p and 1 - p."""
    log_rest = _log_complement(log_p)
    log_near = np.minimum(log_p, log_rest)
    near = np.exp(log_near)
    with np.errstate(divide="ignore"):
        log_cosine = np.log(
            np.where(near < 0.25, np.cos(np.pi * near), np.sin((0.5 - near) * np.pi))
        )
    log_sine = log_near + np.log(np.pi) + np.log(np.sinc(near))
    return np.where(log_p <= log_rest, 1.0, -1.0), log_cosine - log_sine


@reading
def minimum(log_p: LogP) -> PerReplicate:
    """Combine p-values by Šidák's test: the chance of so small a smallest one of n uniforms.

    Parameters
    ----------
    log_p
        Natural logs of p-values, (..., n); combined along the last axis.

    Returns
    -------
    PerReplicate
        Natural logs of the combined p-values.

    References
    ----------
    Tippett (1931), The Methods of Statistics; Šidák (1967), J. Am. Stat. Assoc. 62, 626-633.
    """
    log_p = _checked(log_p)
    least, n = log_p.min(axis=-1), log_p.shape[-1]
    # p^2 is beyond a double's reach there, and 1 - (1 - p)^n is n p.
    return np.where(least < -700, least + np.log(n), _log_complement(n * _log_complement(least)))


COMBINERS: Mapping[str, Callable[[LogP], PerReplicate]] = {
    "fisher": fisher,
    "stouffer": stouffer,
    "harmonic_mean": harmonic_mean,
    "cauchy": cauchy,
    "minimum": minimum,
}


# ---------------------------------------------------------------- arguments
def _log_complement(log_p: PerReplicate) -> PerReplicate:
    """log(1 - p), by whichever of two ways keeps the digits (Mächler 2012)."""
    with np.errstate(divide="ignore"):
        by_size = np.log1p(-np.exp(np.minimum(log_p, -np.log(2))))
        near_one = np.log(-np.expm1(np.maximum(log_p, -np.log(2))))
    return np.asarray(np.where(log_p < -np.log(2), by_size, near_one))


def _up_to(log_size: PerReplicate) -> PerReplicate:
    return np.asarray(np.minimum(log_size, 300.0))


def _checked(log_p: ArrayLike) -> LogP:
    logs = np.asarray(log_p, float)
    if logs.ndim == 0 or logs.shape[-1] == 0:
        raise DesignError(
            f"log_p has shape {logs.shape}, so there is nothing to combine. Give one log p-value "
            "for each prediction on the last axis, at least 1."
        )
    if (logs > 0).any():
        raise DesignError(
            f"log_p={logs[logs > 0].flat[0]:g} is above 0, the log of a probability of 1: give "
            "np.log(p), and not p itself."
        )
    return logs


def _refuse_weights(weights: Float[np.ndarray, "..."]) -> None:
    if not ((weights > 0) & np.isfinite(weights)).all():
        raise DesignError(
            f"weights have a least value of {np.min(weights):g}: a p-value cannot count less than "
            "nothing, nor infinitely. Give positive, finite ones; leave out what is not to count."
        )
