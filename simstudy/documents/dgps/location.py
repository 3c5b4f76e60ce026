"""Independent draws around a mean: the data of a trial that asks how large a mean is."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.dgps.normals import standard_normal_means, standard_normals
from simstudy.errors import DesignError
from simstudy.lazy import special

CHUNK = 1 << 15  # values drawn at a time: they stay in the cache while their mean is taken


class SampleMoments(NamedTuple):
    """Moments of each replicate's sample.

    Attributes
    ----------
    mean : float array (rep,)
        Sample mean, in the units of the data.
    variance : float array (rep,)
        Sample variance, divisor n - 1, in their squares.
    """

    mean: Float[np.ndarray, " rep"]
    variance: Float[np.ndarray, " rep"]


class LocationDgp(Protocol):
    """Protocol of the data of a trial of a mean."""

    @property
    def mean(self) -> float:
        """The estimand."""
        ...

    @property
    def variance(self) -> float:
        """Variance of one observation."""
        ...

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        """Draw raw observations.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        float array (rep, obs)
            Observations, one replicate per row.
        """
        ...


def sample_means(
    dgp: LocationDgp, rng: np.random.Generator, n_rep: int, n_obs: int
) -> Float[np.ndarray, " rep"]:
    """Compute the mean of each replicate's sample from raw draws, a cacheful at a time.

    A DGP may have `raw_means`, which adds the same draws up as it makes them.

    Parameters
    ----------
    dgp
        The process that draws.
    rng
        Generator of the draws.
    n_rep
        Replicates.
    n_obs
        Observations of each replicate.

    Returns
    -------
    float array (rep,)
        Sample means.
    """
    if hasattr(dgp, "raw_means"):
        return np.asarray(dgp.raw_means(rng, n_rep, n_obs))
    parts = [dgp.draw(rng, rows, n_obs).mean(axis=1) for rows in _chunks(n_rep, n_obs)]
    return np.concatenate(parts)


def sample_moments(
    dgp: LocationDgp, rng: np.random.Generator, n_rep: int, n_obs: int
) -> SampleMoments:
    """Compute mean and variance of each replicate's sample from raw draws.

    Parameters
    ----------
    dgp
        The process that draws.
    rng
        Generator of the draws.
    n_rep
        Replicates.
    n_obs
        Observations of each replicate.

    Returns
    -------
    SampleMoments
        Sample means and variances.

    Raises
    ------
    DesignError
        For fewer than two observations, which have no variance.
    """
    _refuse_single(n_obs)
    parts = [_moments(dgp.draw(rng, rows, n_obs)) for rows in _chunks(n_rep, n_obs)]
    mean, variance = (np.concatenate(column) for column in zip(*parts, strict=True))
    return SampleMoments(mean, variance)


def _chunks(n_rep: int, n_obs: int) -> list[int]:
    rows = max(1, CHUNK // n_obs)
    full, rest = divmod(n_rep, rows)
    return [rows] * full + [rest] * bool(rest)


def _moments(x: Float[np.ndarray, "rep obs"]) -> SampleMoments:
    mean = x.mean(axis=1)
    x -= mean[:, None]
    return SampleMoments(mean, np.einsum("ij,ij->i", x, x) / (x.shape[1] - 1))


def _refuse_single(n_obs: int) -> None:
    if n_obs < 2:
        raise DesignError(
            f"n_obs={n_obs}: a single observation has no sample variance. Use at least 2, or take "
            "the variance as known."
        )


@dataclass(frozen=True)
class Gaussian:
    """Normal draws.

    Parameters
    ----------
    mean
        Mean, in the units of the data.
    variance
        Variance, in their square, above 0.

    Raises
    ------
    DesignError
        If the variance is not positive and finite.
    """

    mean: float = 3.0
    variance: float = 2.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.variance) and self.variance > 0):
            raise DesignError(
                f"Gaussian(mean={self.mean:g}, variance={self.variance:g}) is no distribution: "
                "use a finite mean and a variance above 0."
            )

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        x = standard_normals(rng, n_rep, n_obs)
        x *= np.sqrt(self.variance)
        x += self.mean
        return x

    def raw_means(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, " rep"]:
        """Compute means of what `draw` draws, added up as the draws are made and never stored.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        float array (rep,)
            Sample means.
        """
        means = standard_normal_means(rng, n_rep, n_obs)
        means *= np.sqrt(self.variance)
        means += self.mean
        return means

    def draw_means(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, " rep"]:
        """Draw sample means from their own law: normal, with variance over n.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        float array (rep,)
            Sample means.
        """
        means = np.asarray(standard_normals(rng, 1, n_rep)[0])
        means *= np.sqrt(self.variance / n_obs)
        means += self.mean
        return means

    def draw_moments(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> SampleMoments:
        """Draw sample means and variances from their laws: normal and, independent, chi-square.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        SampleMoments
            Sample means and variances.
        """
        _refuse_single(n_obs)
        mean = self.draw_means(rng, n_rep, n_obs)
        return SampleMoments(mean, self.variance * rng.chisquare(n_obs - 1, n_rep) / (n_obs - 1))


@dataclass(frozen=True)
class StudentT:
    """Student-t draws around zero: symmetric, with heavy tails.

    Parameters
    ----------
    df
        Degrees of freedom, above 2, so that there is a variance.

    Raises
    ------
    DesignError
        If `df` is not above 2.
    """

    df: float = 5.0

    def __post_init__(self) -> None:
        if not self.df > 2:
            raise DesignError(
                f"StudentT(df={self.df:g}) has no variance, so a standardised mean of it has no "
                "unit. Use df > 2."
            )

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return self.df / (self.df - 2)

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return rng.standard_t(self.df, size=(n_rep, n_obs))


@dataclass(frozen=True)
class Lognormal:
    """Exponentials of N(0, sigma^2): skewed to the right, the more so the larger sigma.

    Parameters
    ----------
    sigma
        Standard deviation of the log, above 0.
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        _refuse_unless_positive("Lognormal", "sigma", self.sigma)

    @property
    def mean(self) -> float:
        return float(np.exp(self.sigma**2 / 2))

    @property
    def variance(self) -> float:
        return float(special.expm1(self.sigma**2) * np.exp(self.sigma**2))

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return np.exp(self.sigma * standard_normals(rng, n_rep, n_obs))


@dataclass(frozen=True)
class Gamma:
    """Gamma draws with scale 1; shape 1 is the exponential law of waiting times.

    Parameters
    ----------
    shape
        Shape, above 0; the mean is the same number.
    """

    shape: float = 1.0

    def __post_init__(self) -> None:
        _refuse_unless_positive("Gamma", "shape", self.shape)

    @property
    def mean(self) -> float:
        return self.shape

    @property
    def variance(self) -> float:
        return self.shape

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return rng.standard_gamma(self.shape, size=(n_rep, n_obs))

    def draw_means(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, " rep"]:
        """Draw sample means from their own law: a sum of gammas is a gamma.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        float array (rep,)
            Sample means.
        """
        return rng.standard_gamma(self.shape * n_obs, size=n_rep) / n_obs


@dataclass(frozen=True)
class ContaminatedNormal:
    """Standard normal draws of which a share has `scale` times the standard deviation.

    Tukey's model of occasional gross errors.

    Parameters
    ----------
    share
        Share of gross errors, in [0, 1].
    scale
        Their standard deviation, above 0.

    Raises
    ------
    DesignError
        If the share or the scale is out of range.
    """

    share: float = 0.1
    scale: float = 5.0

    def __post_init__(self) -> None:
        _refuse_unless_positive("ContaminatedNormal", "scale", self.scale)
        if not 0 <= self.share <= 1:
            raise DesignError(
                f"ContaminatedNormal(share={self.share:g}): a share lies between 0 and 1. "
                "Write 0.1 for 10%."
            )

    @property
    def mean(self) -> float:
        return 0.0

    @property
    def variance(self) -> float:
        return 1 - self.share + self.share * self.scale**2

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        x = standard_normals(rng, n_rep, n_obs)
        x[rng.random((n_rep, n_obs)) < self.share] *= self.scale
        return x


@dataclass(frozen=True)
class Bernoulli:
    """Right or wrong, 1 or 0: the scores of a classifier, with the mean its accuracy.

    Parameters
    ----------
    p
        Probability of 1, in (0, 1).

    Raises
    ------
    DesignError
        If `p` is not in (0, 1).
    """

    p: float = 0.9

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise DesignError(
                f"Bernoulli(p={self.p:g}) is constant, so its mean has no sampling error. "
                "Use p strictly between 0 and 1."
            )

    @property
    def mean(self) -> float:
        return self.p

    @property
    def variance(self) -> float:
        return self.p * (1 - self.p)

    def draw(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        return (rng.random((n_rep, n_obs)) < self.p).astype(float)

    def draw_means(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, " rep"]:
        """Draw sample means from their own law: binomial over n.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        float array (rep,)
            Sample means.
        """
        return rng.binomial(n_obs, self.p, size=n_rep) / n_obs

    def draw_moments(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> SampleMoments:
        """Draw sample means and variances: for zeros and ones the second follows from the first.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        SampleMoments
            Sample means and variances.
        """
        _refuse_single(n_obs)
        mean = self.draw_means(rng, n_rep, n_obs)
        return SampleMoments(mean, mean * (1 - mean) * n_obs / (n_obs - 1))


def _refuse_unless_positive(name: str, parameter: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise DesignError(
            f"{name}({parameter}={value:g}) is no distribution: use a finite {parameter} above 0."
        )
