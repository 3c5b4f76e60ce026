"""The test statistic of a two-stage trial, and its law given the state of the null.

A first sample of n1 sets the null hypothesis "the mean is at least mu0", mu0 being k standard
errors above the first mean; a second sample of n2 tests it. In units of standard errors, with
z1 and z2 independent standard normal and r = sqrt(n2/n1), the statistic and the state are

    X = z2 - r*Y,    Y = z1 + k,    the null is false where Y > 0, true where Y < 0.

Without a condition X is normal(-r*k, 1 + r^2). Given the state, with s = +1 where the null is
false and -1 where it is true and w = (x + r*k)/sqrt(1 + r^2), its density is the skew normal

    phi(w)/sqrt(1 + r^2) * Phi(s*(k - r*x)/sqrt(1 + r^2)) / Phi(s*k)

(Arnold, Beaver, Groeneveld & Meeker 1993, Psychometrika 58(3), 471-488). Its distribution function
is a bivariate normal probability over Phi(s*k). Computed as that quotient it loses everything once
Phi(s*k) is small; here it is the mass of a wedge, integrated on the logarithmic scale. The relative
error is below 1e-10 in both tails for |k| up to 100 and n2/n1 from 1e-8 to 1e8, whenever rounding
x itself does not cost more.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simstudy.documents.stats.accuracy.checks import check_probability
from simstudy.documents.stats.reading import MOST, reading
from simstudy.errors import DesignError, in_one_line
from simstudy.lazy import special

LOG_ROOT_TWO_PI = 0.5 * np.log(2 * np.pi)
K_LIMIT = 1e3
RATIO_LIMIT = 1e16
"""Limits of k in size, and of n2/n1 and n1/n2, up to which the tails were checked."""

DEEPEST = -1e10
"""Least log probability whose quantile is found: below it the hazard drowns in rounding."""

FAR_BELOW = -3.0
"""Where the moments of a truncated normal pass to the continued fraction."""


@dataclass(frozen=True, eq=False)
class TwoStageStatistic:
    """Law of the two-stage statistic, with SciPy's method names; everything broadcasts.

    Parameters
    ----------
    k
        Standard errors of the first mean from it up to the null's bound; finite, of either sign.
    n1, n2
        Sizes of the first and the second sample; positive, not necessarily whole: only their ratio
        counts.
    null
        True: given that the null is true. False: given that it is false. None: unconditional.

    Notes
    -----
    Refused: parameters that are not finite or whose shapes do not broadcast, sizes that are not
    positive or are more than 1e16 times each other, |k| above 1000, a `null` that is not one of
    the three. Arguments `x` beyond 1e100 count as infinite.
    """

    k: Any
    n1: Any
    n2: Any
    null: bool | None = False

    def __post_init__(self) -> None:
        parameters = checked_parameters(self.k, self.n1, self.n2)
        for name, value in zip(("k", "n1", "n2"), parameters, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "null", _checked_null(self.null))

    @property
    def r(self) -> Any:
        """Square root of n2/n1: standard errors of the second mean in one of the first."""
        return np.sqrt(self.n2 / self.n1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameters, broadcast together."""
        return np.broadcast_shapes(np.shape(self.k), np.shape(self.n1), np.shape(self.n2))

    @reading
    def cdf(self, x: ArrayLike) -> Any:
        """Compute P(X <= x).

        Parameters
        ----------
        x
            Values of the statistic; broadcast with the parameters.

        Returns
        -------
        float or array
            Probabilities.
        """
        return self._tail(x, upper=False, log=False)

    @reading
    def sf(self, x: ArrayLike) -> Any:
        """Compute P(X > x), accurate where cdf rounds to 1.

        Parameters
        ----------
        x
            Values of the statistic; broadcast with the parameters.

        Returns
        -------
        float or array
            Probabilities.
        """
        return self._tail(x, upper=True, log=False)

    @reading
    def logcdf(self, x: ArrayLike) -> Any:
        """Compute log P(X <= x), accurate where cdf underflows and where it rounds to 1.

        Parameters
        ----------
        x
            Values of the statistic; broadcast with the parameters.

        Returns
        -------
        float or array
            Natural logs.
        """
        return self._tail(x, upper=False, log=True)

    @reading
    def logsf(self, x: ArrayLike) -> Any:
        """Compute log P(X > x), accurate where sf underflows and where it rounds to 1.

        Parameters
        ----------
        x
            Values of the statistic; broadcast with the parameters.

        Returns
        -------
        float or array
            Natural logs.
        """
        return self._tail(x, upper=True, log=True)

    @reading
    def pdf(self, x: ArrayLike) -> Any:
        """Compute the density, per unit of the statistic.

        Parameters
        ----------
        x
            Values of the statistic; broadcast with the parameters.

        Returns
        -------
        float or array
            Densities.
        """
        return np.exp(self.logpdf(x))

    @reading
    def logpdf(self, x: ArrayLike) -> Any:
        """Compute the log density: the formula at the head of this module.

        Parameters
        ----------
        x
            Values of the statistic; broadcast with the parameters.

        Returns
        -------
        float or array
            Natural logs.
        """
        x = np.asarray(x, dtype=float)
        spread = np.hypot(1.0, self.r)
        with np.errstate(over="ignore"):  # minus infinity is right
            normal = -0.5 * self._w(x) ** 2 - LOG_ROOT_TWO_PI - np.log(spread)
        if self.null is None:
            return normal
        state = special.log_ndtr(self._sign * (self.k - self.r * x) / spread)
        return normal + state - special.log_ndtr(self._sign * self.k)

    @reading
    def ppf(self, p: ArrayLike) -> Any:
        """Compute the x with cdf(x) = p.

        Parameters
        ----------
        p
            Probabilities, in [0, 1]; broadcast with the parameters.

        Returns
        -------
        float or array
            Quantiles; infinite at 0 and 1.
        """
        return self._quantile(_log_probability(p), upper=False)

    @reading
    def isf(self, p: ArrayLike) -> Any:
        """Compute the x with sf(x) = p.

        Parameters
        ----------
        p
            Probabilities, in [0, 1]; broadcast with the parameters.

        Returns
        -------
        float or array
            Quantiles; infinite at 0 and 1.
        """
        return self._quantile(_log_probability(p), upper=True)

    def median(self) -> Any:
        """Compute the x that X exceeds with probability one half.

        Returns
        -------
        float or array
            Medians.
        """
        return self.ppf(0.5)

    @reading
    def interval(self, confidence: ArrayLike) -> tuple[Any, Any]:
        """Compute endpoints with equal tails around the median that hold X with some probability.

        Parameters
        ----------
        confidence
            The probability, in [0, 1].

        Returns
        -------
        tuple[Any, Any]
            Lower and upper ends.
        """
        check_probability("confidence", confidence)
        outside = 0.5 * (1 - np.asarray(confidence, dtype=float))
        return self.ppf(outside), self.isf(outside)

    def mean(self) -> Any:
        """Compute the mean: -r times that of Y, which given its sign is a truncated normal.

        Returns
        -------
        float or array
            Means.
        """
        if self.null is None:
            return np.negative(self.r * self.k)
        return -self._sign * self.r * _truncated_moments(self._sign * self.k)[0]

    def var(self) -> Any:
        """Compute the variance: 1 + r^2 times that of Y.

        Returns
        -------
        float or array
            Variances.
        """
        if self.null is None:
            return 1 + np.square(self.r)
        return 1 + np.square(self.r) * _truncated_moments(self._sign * self.k)[1]

    def std(self) -> Any:
        """Compute the square root of the variance, in units of the statistic.

        Returns
        -------
        float or array
            Standard deviations.
        """
        return np.sqrt(self.var())

    @reading
    def rvs(self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator) -> Any:
        """Draw exactly: first z2, then Y by inversion of its upper tail, without rejection.

        Each draw takes one normal and one uniform variate (two normals without a condition).

        Parameters
        ----------
        size
            Shape of the result, to which the parameters broadcast; theirs if None.
        rng
            Generator of the draws.

        Returns
        -------
        float or array
            Draws.
        """
        shape = self._checked_size(size)
        z2 = rng.standard_normal(shape)
        if self.null is None:
            return z2 - self.r * (self.k + rng.standard_normal(shape))
        k = self._sign * self.k
        log_tail = np.log1p(-rng.random(shape)) + special.log_ndtr(k)
        distance = np.maximum(k - special.ndtri_exp(log_tail), 0.0)
        return z2 - self._sign * self.r * distance

    @property
    def _sign(self) -> float:
        return -1.0 if self.null else 1.0

    def _w(self, x: Any) -> Any:
        return (x + self.r * self.k) / np.hypot(1.0, self.r)

    def _tail(self, x: ArrayLike, *, upper: bool, log: bool) -> Any:
        x = np.asarray(x, dtype=float)
        if self.null is None:
            normal = special.log_ndtr if log else special.ndtr
            return normal(-self._w(x) if upper else self._w(x))
        return _conditional_tail(x, not self.null, self.k, self.r, upper=upper, log=log)

    def _quantile(self, log_p: Any, *, upper: bool) -> Any:
        if self.null is None:
            z = special.ndtri_exp(log_p)
            return (-z if upper else z) * np.hypot(1.0, self.r) - self.r * self.k
        return _conditional_quantile(log_p, not self.null, self.k, self.r, upper=upper)

    def _checked_size(self, size: int | tuple[int, ...] | None) -> tuple[int, ...]:
        if size is None:
            return self.shape
        shape = size if isinstance(size, tuple | list) else (size,)
        if not all(map(_is_length, shape)):
            raise DesignError(
                f"size={in_one_line(repr(size))} is no shape, so how many draws are wanted cannot "
                "be told. Give a whole number from 0 on, or a tuple of them."
            )
        shape = tuple(shape)
        if _broadcast(self.shape, shape) != shape:
            raise DesignError(
                f"size={size} does not hold the parameters, whose shape is {self.shape}, so some "
                "of them would get no draw. End size with that shape, or leave it out."
            )
        return shape


@reading
def conditional_p_value(
    s2: ArrayLike, null_is_false: Any, k: ArrayLike, n1: ArrayLike, n2: ArrayLike
) -> Any:
    """Compute the distribution function of each statistic under the state of its null.

    Parameters
    ----------
    s2
        Observed statistics.
    null_is_false
        The state that held for each of them; booleans, refused otherwise.
    k, n1, n2
        See `TwoStageStatistic`; all five broadcast.

    Returns
    -------
    float or array
        Probabilities that are uniform where the model holds.

    Raises
    ------
    DesignError
        If `null_is_false` is not boolean, or a parameter is not allowed.
    """
    state = np.asarray(null_is_false)
    if state.dtype != bool:
        raise DesignError(
            f"null_is_false has dtype {state.dtype}, which does not say which of two states held. "
            "Give booleans: mu0 > mean, elementwise."
        )
    checked = TwoStageStatistic(k, n1, n2)
    x = np.asarray(s2, dtype=float)
    return _conditional_tail(x, state, checked.k, checked.r, upper=False, log=False)


def _kernels() -> ModuleType:
    """The compiled functions, imported on first use: numba takes longer to load than a plan."""
    from simstudy.documents.stats.two_stage import _kernels as compiled

    return compiled


def _conditional_tail(x: Any, false: Any, k: Any, r: Any, *, upper: bool, log: bool) -> Any:
    """Tail given the state; where the null is true, the other tail of -X with -k in place of k."""
    x, false, k, r = np.broadcast_arrays(x, false, k, r)
    sign = np.where(false, 1.0, -1.0).ravel()
    out = np.empty(x.size)
    _kernels().tails(sign * x.ravel(), sign * k.ravel(), r.flatten(), (sign < 0) ^ upper, log, out)
    return out.reshape(x.shape)[()]


def _conditional_quantile(log_p: Any, false: bool, k: Any, r: Any, *, upper: bool) -> Any:
    log_p, k, r = np.broadcast_arrays(log_p, k, r)
    sign = 1.0 if false else -1.0
    out = np.empty(log_p.size)
    flipped = np.full(log_p.size, upper == false)
    _kernels().quantiles(log_p.flatten(), sign * k.ravel(), r.flatten(), flipped, out)
    return (sign * out.reshape(log_p.shape))[()]


def _truncated_moments(k: Any) -> tuple[Any, Any]:
    """Mean and variance of a normal(k, 1) variate given that it is positive.

    With the hazard h = phi(k)/Phi(k) they are k + h and 1 - h*(k + h) (Johnson, Kotz &
    Balakrishnan 1994, section 13.10.1), which cancel for k far below 0. There Laplace's continued
    fraction for z = -k, h = z + 1/(z + 2/(z + 3/(z + ...))), gives both without cancellation.
    """
    near = np.maximum(k, FAR_BELOW)
    hazard = np.exp(-0.5 * near**2 - LOG_ROOT_TWO_PI) / special.ndtr(near)
    far_mean, far_variance = _moments_far_below(np.maximum(np.negative(k), -FAR_BELOW))
    is_near = np.greater(k, FAR_BELOW)
    mean = np.where(is_near, near + hazard, far_mean)
    return mean[()], np.where(is_near, 1 - hazard * mean, far_variance)[()]


def _moments_far_below(z: Any) -> tuple[Any, Any]:
    """The continued fraction, from its sixtieth term up: exact to the last bits from z = 3."""
    third = z
    for order in range(60, 2, -1):
        third = z + order / third
    second = z + 2 / third
    return 1 / second, (2 / third - 1 / second) / second


@reading
def checked_parameters(k: ArrayLike, n1: ArrayLike, n2: ArrayLike) -> tuple[Any, Any, Any]:
    """Return the three parameters as floats.

    Parameters
    ----------
    k
        Standard errors from the first estimate to the bound.
    n1, n2
        Observations of the two stages, > 0.

    Returns
    -------
    tuple[Any, Any, Any]
        The three.

    Raises
    ------
    DesignError
        If one is not finite, a size is not positive, or shapes do not broadcast.
    """
    checked = (_finite("k", k), _positive("n1", n1), _positive("n2", n2))
    shapes = [np.shape(value) for value in checked]
    if _broadcast(*shapes) is None:
        raise DesignError(
            f"k, n1 and n2 have shapes {', '.join(map(str, shapes))}, which do not broadcast, so "
            "it is not clear which belong together. Add axes: k[:, np.newaxis] for a table."
        )
    _refuse_extremes(*checked)
    return checked


def _refuse_extremes(k: Any, n1: Any, n2: Any) -> None:
    far = np.abs(k) > K_LIMIT
    if np.any(far):
        raise DesignError(
            f"k={np.atleast_1d(k)[np.atleast_1d(far)][0]:g} puts the bound more than "
            f"{K_LIMIT:g} standard errors away, where rounding swamps the tails. Give k in "
            f"standard errors of the first mean, between -{K_LIMIT:g} and {K_LIMIT:g}."
        )
    log_ratio = np.abs(np.log(n2) - np.log(n1))
    if np.any(log_ratio > np.log(RATIO_LIMIT)):
        raise DesignError(
            f"one sample is e^{np.max(log_ratio):.3g} times as large as the other, where rounding "
            f"swamps the statistic. Give n1 and n2 within a factor of {RATIO_LIMIT:g}."
        )


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _finite(name: str, value: ArrayLike) -> Any:
    values = np.asarray(value, dtype=float)
    bad = ~np.isfinite(values)
    if bad.any():
        raise DesignError(
            f"{name}={values[bad].flat[0]:g} is not finite, so the statistic has no distribution. "
            f"Give a finite {name}."
        )
    return values[()]


def _positive(name: str, value: ArrayLike) -> Any:
    values = np.asarray(_finite(name, value))
    bad = values <= 0
    if bad.any():
        raise DesignError(
            f"{name}={values[bad].flat[0]:g} is not a sample size: the standard error of that "
            f"stage's mean would not exist. Give {name} > 0."
        )
    return values[()]


def _is_length(size: object) -> bool:
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    return whole and 0 <= size < MOST  # type: ignore[operator]


def _checked_null(null: object) -> bool | None:
    if null is None or isinstance(null, bool | np.bool_):
        return None if null is None else bool(null)
    raise DesignError(
        f"null={null!r} does not say whether the null is true. Use True, False, or None for the "
        "unconditional law; conditional_p_value takes an array of states."
    )


def _log_probability(p: ArrayLike) -> Any:
    values = np.asarray(p, dtype=float)
    bad = (values < 0) | (values > 1)
    if bad.any():
        raise DesignError(
            f"p={values[bad].flat[0]:g} is not a probability, so it has no quantile. "
            "Give p in [0, 1]."
        )
    with np.errstate(divide="ignore"):
        return np.log(values)
