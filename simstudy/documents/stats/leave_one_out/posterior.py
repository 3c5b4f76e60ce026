"""Independent draws from the posterior of a Bayesian linear regression: no Markov chain.

σ comes from its marginal by the inverse of its distribution function, coefficients given σ are
normal. The distribution function is a cubic between nodes, from density and slope there; its error
is of fourth order in the distance of nodes, below 1e-8.
"""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.accuracy.checks import check_probability
from simstudy.documents.stats.leave_one_out.priors import Prior, check_prior, check_training
from simstudy.documents.stats.leave_one_out.regression import Spectrum, decompose
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError

N_NODE = 2049
NEWTON_STEPS = 8  # from a linear start inside one cell: quadratic convergence needs 4


class PosteriorDraws(NamedTuple):
    """Joint draws from a posterior.

    Attributes
    ----------
    intercept : float array (rep, draw)
        The prediction where features are 0, in the units of the response.
    coefficients : float array (rep, draw, feature)
        In units of the response per unit of their feature.
    sigma : float array (rep, draw)
        Standard deviation of the errors, in the units of the response.
    """

    intercept: Float[np.ndarray, "rep draw"]
    coefficients: Float[np.ndarray, "rep draw feature"]
    sigma: Float[np.ndarray, "rep draw"]

    def predict(
        self, features: Float[np.ndarray, "rep obs feature"]
    ) -> Float[np.ndarray, "rep draw obs"]:
        """Compute the linear predictor of every draw, in the units of the response.

        Parameters
        ----------
        features : float array (rep, obs, feature)
            Features, one replicate per matrix.

        Returns
        -------
        float array (rep, draw, obs)
            Predictions.
        """
        slopes = np.matmul(self.coefficients, features.transpose(0, 2, 1))
        return np.asarray(self.intercept[:, :, np.newaxis] + slopes)


@reading
def posterior_draws(
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    prior: Prior,
    rng: np.random.Generator,
    *,
    n_draw: int = 4000,
) -> PosteriorDraws:
    """Draw intercept, coefficients and σ independently, given all observations.

    Parameters
    ----------
    features, y, prior
        See `exact_leave_one_out`.
    rng
        Gives a uniform for each σ, then a normal for each coefficient.
    n_draw
        At least 1.

    Returns
    -------
    PosteriorDraws
        The draws.

    Raises
    ------
    DesignError
        If `n_draw` is below 1, or the data or the prior have no posterior.
    """
    check_training(features, y)
    check_prior(prior, features.shape[0], features.shape[2])
    if n_draw < 1:
        raise DesignError(f"n_draw={n_draw} draws say nothing of a posterior. Use at least 1.")
    spectrum = decompose(features, y, prior)
    uniform = rng.random((len(y), n_draw))
    normal = rng.standard_normal((len(y), n_draw, features.shape[2] + 1))
    sigma = sigma_quantiles(spectrum, prior, uniform)
    scaled = _standardised(spectrum, sigma, normal)
    coefficients = scaled[:, :, 1:] * prior.coefficient_sd[:, np.newaxis]
    at_means = prior.intercept_mean[:, np.newaxis] + scaled[:, :, 0] * prior.intercept_sd[:, None]
    centre = np.matmul(coefficients, features.mean(axis=1)[:, :, np.newaxis])[:, :, 0]
    return PosteriorDraws(at_means - centre, coefficients, sigma)


def _standardised(
    spectrum: Spectrum,
    sigma: Float[np.ndarray, "rep draw"],
    normal: Float[np.ndarray, "rep draw column"],
) -> Float[np.ndarray, "rep draw column"]:
    """Coefficients over their prior standard deviations; the prior's where data say nothing."""
    singular, square = np.sqrt(spectrum.squares)[:, np.newaxis], sigma[:, :, np.newaxis] ** 2
    both = singular**2 + square
    mean = singular * spectrum.projected[:, np.newaxis] / both
    along = np.matmul(normal, spectrum.right.transpose(0, 2, 1))
    moved = mean - (1 - np.sqrt(square / both)) * along
    return np.asarray(normal + np.matmul(moved, spectrum.right))


@reading
def sigma_quantiles(
    spectrum: Spectrum, prior: Prior, probability: Float[np.ndarray, "rep draw"]
) -> Float[np.ndarray, "rep draw"]:
    """Compute quantiles of the posterior of σ, in the units of the response.

    Parameters
    ----------
    spectrum
        Data and prior, from `decompose`.
    prior
        The prior.
    probability : float array (rep, draw)
        Probabilities in [0, 1].

    Returns
    -------
    float array (rep, draw)
        Quantiles.

    Raises
    ------
    DesignError
        If a probability is outside [0, 1], or the numbers of replicates differ.
    """
    check_probability("probability", probability)
    if len(probability) != len(spectrum.squares) or not len(probability):
        raise DesignError(
            f"probability is of {len(probability)} replicates and the spectrum of "
            f"{len(spectrum.squares)}, so there is no posterior for each. Give as many, at least 1."
        )
    from simstudy.documents.stats.leave_one_out import _sigma_kernels as kernels

    nodes = np.empty((len(probability), N_NODE))
    log_density = np.empty_like(nodes)
    kernels.marginal(
        spectrum.squares, spectrum.projected, spectrum.rest_square, spectrum.n_rest,
        spectrum.rest.shape[1], prior.sigma_rate.astype(float), nodes, log_density,
    )  # fmt: skip
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    rows = zip(nodes, density, probability, strict=True)
    return np.asarray(np.exp(np.stack([_inverse(*row) for row in rows])))


def _inverse(
    nodes: Float[np.ndarray, " node"],
    density: Float[np.ndarray, " node"],
    probability: Float[np.ndarray, " draw"],
) -> Float[np.ndarray, " draw"]:
    """Inverse of the distribution function at the given values."""
    step = nodes[1] - nodes[0]
    slope = np.gradient(density, step, edge_order=2)
    mass = step / 2 * (density[1:] + density[:-1]) - step**2 / 12 * np.diff(slope)
    mass = np.maximum(mass, 0.0)  # far out the correction may exceed what it corrects
    distribution = np.concatenate([[0.0], np.cumsum(mass)])
    target = probability * distribution[-1]
    cell = np.clip(np.searchsorted(distribution, target, side="right") - 1, 0, len(mass) - 1)
    share = _place_in_cell(
        target - distribution[cell], mass[cell], step * density[cell], step * density[cell + 1]
    )
    return np.asarray(nodes[cell] + step * share)


def _place_in_cell(
    target: Float[np.ndarray, " draw"],
    mass: Float[np.ndarray, " draw"],
    first: Float[np.ndarray, " draw"],
    last: Float[np.ndarray, " draw"],
) -> Float[np.ndarray, " draw"]:
    """Solve the cubic that has the cell's mass, and its density at both ends, by Newton's steps."""
    square, cube = 3 * mass - 2 * first - last, first + last - 2 * mass
    x = np.divide(target, mass, out=np.full_like(mass, 0.5), where=mass > 0)
    for _ in range(NEWTON_STEPS):
        value = x * (first + x * (square + x * cube)) - target
        slope = first + x * (2 * square + 3 * x * cube)
        x = np.clip(x - np.divide(value, slope, out=np.zeros_like(x), where=slope > 0), 0, 1)
    return np.asarray(x)
