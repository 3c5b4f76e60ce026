"""Bayesian linear regression of a block of data sets, with exact leave-one-out predictions.

Given the error scale σ everything is normal, and leaving an observation out is arithmetic on the
inverse covariance of the responses: no refit. Over σ an integral in one dimension is left. The
posterior of σ without observation i has the weight p(y without i | σ) p(σ), which is that of all
observations over p(y_i | the others, σ): so the same nodes serve every observation, each with its
own weights.

Any number of features will do, also as many as observations or more, collinear or constant ones:
the prior decides what the data leave open.
"""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int64
from simstudy.documents.stats.leave_one_out.priors import Prior, check_prior, check_training
from simstudy.documents.stats.leave_one_out.utilities import Pointwise
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError

EPS = float(np.finfo(float).eps)


class Spectrum(NamedTuple):
    """Data and prior in the directions that the design can move the responses in.

    The design has a column of ones and the centred features, each times its prior standard
    deviation: U diag(√squares) right. A direction without any prior variance, as collinear
    features leave, counts as outside: its entries are 0.

    Attributes
    ----------
    left : float array (rep, direction, obs)
        The directions U.
    squares : float array (rep, direction)
        Squared singular values of the design.
    right : float array (rep, direction, column)
        Right singular vectors.
    projected : float array (rep, direction)
        U' (y - m).
    rest : float array (rep, obs)
        Part of y - m outside U.
    rest_leverage : float array (rep, obs)
        Diagonal of I - U U'.
    rest_square : float array (rep,)
        Squared length of `rest`.
    n_rest : int array (rep,)
        Number of directions outside U.
    """

    left: Float[np.ndarray, "rep direction obs"]
    squares: Float[np.ndarray, "rep direction"]
    right: Float[np.ndarray, "rep direction column"]
    projected: Float[np.ndarray, "rep direction"]
    rest: Float[np.ndarray, "rep obs"]
    rest_leverage: Float[np.ndarray, "rep obs"]
    rest_square: Float[np.ndarray, " rep"]
    n_rest: Int64[np.ndarray, " rep"]


class ExactLeaveOneOut(NamedTuple):
    """Leave-one-out and full predictions of a Bayesian linear regression, for each observation.

    Attributes
    ----------
    y
        The response.
    error
        y less the mean of its leave-one-out predictive distribution.
    sd
        Standard deviation of that distribution, which includes the error's.
    log_density
        Log of its density at y: the terms of elpd.
    fitted
        Posterior mean of the linear predictor, given all observations.
    intercept, coefficients, sigma
        Posterior means given all observations; the intercept where features are 0.
    log_evidence
        Log density of all responses.
    n_node
        Nodes that the quadrature took.
    """

    y: Float[np.ndarray, "rep obs"]
    error: Float[np.ndarray, "rep obs"]
    sd: Float[np.ndarray, "rep obs"]
    log_density: Float[np.ndarray, "rep obs"]
    fitted: Float[np.ndarray, "rep obs"]
    intercept: Float[np.ndarray, " rep"]
    coefficients: Float[np.ndarray, "rep feature"]
    sigma: Float[np.ndarray, " rep"]
    log_evidence: Float[np.ndarray, " rep"]
    n_node: Int64[np.ndarray, " rep"]

    @property
    def pointwise(self) -> Pointwise:
        """The part that utilities are made of."""
        return Pointwise(self.y, self.error, self.log_density)


@reading
def exact_leave_one_out(
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    prior: Prior,
    *,
    refine: float = 1.0,
) -> ExactLeaveOneOut:
    """Compute the posterior and leave-one-out predictions of every replicate.

    Parameters
    ----------
    features
        One replicate per matrix; no column is needed for the intercept, and none at all is the
        model of a mean.
    y
        Responses, at least two per replicate.
    prior
        `default_prior` or `wide_prior` of the same data, or any other; it stays what it is when an
        observation is left out, and so do the means that features are centred on.
    refine
        Divisor of the quadrature's step: 2 shows how little the answers depend on it.

    Returns
    -------
    ExactLeaveOneOut
        Predictions, and summaries of the posterior.

    Raises
    ------
    DesignError
        If a posterior does not exist: responses that a model with fewer coefficients than
        observations fits without error, with or without one of them, allow σ = 0.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, section 5.4.2.
    Trefethen & Weideman (2014), SIAM Review 56(3), 385-458, on the trapezoidal rule.
    """
    _check_refine(refine)
    spectrum = decompose(features, y, prior)
    from simstudy.documents.stats.leave_one_out import _sigma_kernels as kernels

    n_rep, n_direction = spectrum.squares.shape
    answer, shrinkage = np.empty((n_rep, 3, y.shape[1])), np.empty((n_rep, n_direction))
    summary, n_node = np.empty((n_rep, 2)), np.empty(n_rep, dtype=np.int64)
    kernels.exact(
        spectrum.left, spectrum.squares, spectrum.projected, spectrum.rest,
        spectrum.rest_leverage, spectrum.rest_square, _remaining(spectrum), spectrum.n_rest,
        prior.sigma_rate.astype(float), float(refine), answer, shrinkage, summary, n_node,
    )  # fmt: skip
    _refuse_endless(n_node)
    error, variance, log_density = answer.transpose(1, 0, 2)
    intercept, coefficients = to_coefficients(
        np.sqrt(spectrum.squares) * shrinkage * spectrum.projected, spectrum, features, prior
    )
    shrunk = spectrum.squares * shrinkage * spectrum.projected
    fitted = prior.intercept_mean[:, np.newaxis] + _combine(shrunk, spectrum.left)
    return ExactLeaveOneOut(
        y, error, np.sqrt(variance), log_density, fitted, intercept, coefficients,
        summary[:, 0], summary[:, 1], n_node,
    )  # fmt: skip


@reading
def decompose(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"], prior: Prior
) -> Spectrum:
    """Compute singular vectors of the scaled design, and the responses in their directions.

    Parameters
    ----------
    features : float array (rep, obs, feature)
        One replicate per matrix.
    y : float array (rep, obs)
        Responses, at least two per replicate.
    prior
        One prior per replicate.

    Returns
    -------
    Spectrum
        The decomposition.

    Raises
    ------
    DesignError
        If a posterior does not exist; see `exact_leave_one_out`.
    """
    check_training(features, y)
    check_prior(prior, features.shape[0], features.shape[2])
    centred = y - prior.intercept_mean[:, np.newaxis]
    left, singular, right = np.linalg.svd(_design(features, prior), full_matrices=False)
    there = singular > EPS * max(features.shape[1:]) * singular[:, :1]
    left = np.where(there[:, :, np.newaxis], left.transpose(0, 2, 1), 0.0)
    projected = np.matmul(left, centred[:, :, np.newaxis])[:, :, 0]
    n_rest = features.shape[1] - there.sum(axis=1)
    outside = (n_rest > 0)[:, np.newaxis]  # elsewhere roundings would stand for a residual
    rest = np.where(outside, centred - _combine(projected, left), 0.0)
    leverage = np.where(outside, np.maximum(1 - (left**2).sum(axis=1), 0.0), 0.0)
    spectrum = Spectrum(
        left, np.where(there, singular**2, 0.0), right, projected, rest, leverage,
        (rest**2).sum(axis=1), n_rest,
    )  # fmt: skip
    _refuse_improper(spectrum, y)
    return spectrum


@reading
def leverages(spectrum: Spectrum, sigma: Float[np.ndarray, " rep"]) -> Float[np.ndarray, "rep obs"]:
    """Compute the share of each observation in its own fitted value, given σ.

    Given σ it is also the Pareto k of the importance weights that leave the observation out. The
    linear predictor μ of y_i has the posterior variance h σ², and the weights are
    1 / p(y_i | μ) ∝ exp((y_i - μ)² / 2σ²): their tail P(weight > t) falls off as t^(-1/h).

    It is the diagonal of K (K + σ² I)⁻¹.

    Parameters
    ----------
    spectrum
        Data and prior, from `decompose`.
    sigma : float array (rep,)
        Standard deviation of the errors, in the units of the response.

    Returns
    -------
    float array (rep, obs)
        Shares in [0, 1).
    """
    kept = spectrum.squares / (spectrum.squares + sigma[:, np.newaxis] ** 2)
    return _combine(kept, spectrum.left**2)


def _remaining(spectrum: Spectrum) -> Float[np.ndarray, "rep obs"]:
    """Squared residual without each observation, times its leverage outside U."""
    square = spectrum.rest_square[:, np.newaxis] * spectrum.rest_leverage - spectrum.rest**2
    several = (spectrum.n_rest > 1)[:, np.newaxis]  # one direction leaves exactly nothing
    return np.where(several, np.maximum(square, 0.0), 0.0)


def _design(
    features: Float[np.ndarray, "rep obs feature"], prior: Prior
) -> Float[np.ndarray, "rep obs column"]:
    """A column of ones and the centred features, times their prior standard deviations."""
    centred = features - features.mean(axis=1, keepdims=True)
    ones = np.broadcast_to(prior.intercept_sd[:, np.newaxis, np.newaxis], (*features.shape[:2], 1))
    return np.concatenate([ones, centred * prior.coefficient_sd[:, np.newaxis]], axis=2)


def _combine(
    weights: Float[np.ndarray, "rep direction"], vectors: Float[np.ndarray, "rep direction end"]
) -> Float[np.ndarray, "rep end"]:
    """Sum of vectors, one for each direction."""
    return np.asarray(np.matmul(weights[:, np.newaxis], vectors)[:, 0])


@reading
def to_coefficients(
    standard: Float[np.ndarray, "rep direction"],
    spectrum: Spectrum,
    features: Float[np.ndarray, "rep obs feature"],
    prior: Prior,
) -> tuple[Float[np.ndarray, " rep"], Float[np.ndarray, "rep feature"]]:
    """Convert standardised coefficients by direction to the intercept and the coefficients.

    Parameters
    ----------
    standard : float array (rep, direction)
        Standardised coefficients.
    spectrum
        Data and prior, from `decompose`.
    features : float array (rep, obs, feature)
        One replicate per matrix.
    prior
        One prior per replicate.

    Returns
    -------
    tuple[Float[np.ndarray, ' rep'], Float[np.ndarray, 'rep feature']]
        Intercept where features are 0, and coefficients.
    """
    scaled = _combine(standard, spectrum.right)
    coefficients = scaled[:, 1:] * prior.coefficient_sd
    at_means = prior.intercept_mean + scaled[:, 0] * prior.intercept_sd
    return at_means - (features.mean(axis=1) * coefficients).sum(axis=1), coefficients


# ---------------------------------------------------------------- what is refused
def _check_refine(refine: float) -> None:
    if not 0 < refine < np.inf:
        raise DesignError(
            f"refine={refine:g} divides the quadrature's step, which must stay a step. Use 1, or 2 "
            "to see how little the answers depend on it."
        )


def _refuse_improper(spectrum: Spectrum, y: Float[np.ndarray, "rep obs"]) -> None:
    """Raise an error where σ = 0 is possible: there the density of y grows without bound.

    It grows as σ to the power of rank less observations, which has an integral only where the
    two are equal: data without an error then have a proper posterior, as the prior alone has.
    """
    unit = EPS * y.shape[1] * np.abs(y).max(axis=1)
    exact = (np.sqrt(spectrum.rest_square) <= unit) & (spectrum.n_rest > 0)
    exact |= _is_exact_without_one(spectrum)
    if exact.any():
        raise DesignError(
            f"replicate {int(np.argmax(exact))} is fitted without any error by fewer coefficients "
            "than it has observations, with all of them or with one left out, so the posterior of "
            "the error's scale piles up at 0 and does not exist. Leave the replicate out, or give "
            "it responses that vary."
        )


def _is_exact_without_one(spectrum: Spectrum) -> Bool[np.ndarray, " rep"]:
    """Whether, of several directions outside U, one observation has all that is left there."""
    several = (spectrum.n_rest > 1)[:, np.newaxis]
    whole = spectrum.rest_square[:, np.newaxis] * spectrum.rest_leverage
    rounding = EPS * spectrum.rest.shape[1] * spectrum.rest_square[:, np.newaxis]
    own = (whole - spectrum.rest**2 <= rounding) & (whole > rounding)
    return np.asarray((own & several).any(axis=1))


def _refuse_endless(n_node: Int64[np.ndarray, " rep"]) -> None:
    if (n_node == 0).any():
        raise DesignError(
            f"the posterior of the error's scale in replicate {int(np.argmin(n_node))} has no end "
            "that the quadrature could find. Look at the data: a response and prior scales that "
            "differ by many powers of ten do this."
        )
