"""Leave-one-out by Pareto-smoothed importance sampling from draws of the full posterior.

The usual approximation, by ArviZ (the optional extra `loo`), to compare its error with the exact
answer: each draw is weighed by 1 / p(y_i | draw), the largest weights are smoothed by a generalised
Pareto tail, and its shape k says how far to trust them (below 0.7, by custom).
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.leave_one_out.posterior import PosteriorDraws
from simstudy.documents.stats.leave_one_out.utilities import Pointwise
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError, SimstudyError
from simstudy.lazy import special

MIN_DRAWS = 25  # a fifth of them is the tail, and ArviZ fits none of 4 or fewer
LOG_2PI = float(np.log(2 * np.pi))


class ImportanceLeaveOneOut(NamedTuple):
    """Leave-one-out predictions from draws, with the Pareto k of each observation's weights.

    Attributes
    ----------
    y : float array (rep, obs)
        Responses.
    error : float array (rep, obs)
        Response less its leave-one-out prediction, in its units.
    log_density : float array (rep, obs)
        Log of the leave-one-out predictive density at the response.
    pareto_k : float array (rep, obs)
        Shape of the weights' tail; above 0.7 the answer is not to be trusted.
    """

    y: Float[np.ndarray, "rep obs"]
    error: Float[np.ndarray, "rep obs"]
    log_density: Float[np.ndarray, "rep obs"]
    pareto_k: Float[np.ndarray, "rep obs"]

    @property
    def pointwise(self) -> Pointwise:
        """The part that utilities are made of."""
        return Pointwise(self.y, self.error, self.log_density)


@reading
def importance_leave_one_out(
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    draws: PosteriorDraws,
) -> ImportanceLeaveOneOut:
    """Compute leave-one-out predictions from draws given all observations.

    Parameters
    ----------
    features, y
        Distribution of the draws.
    draws
        Independent, at least 25 per replicate. One replicate's predictions are held at a time.

    Returns
    -------
    ImportanceLeaveOneOut
        Predictions and Pareto k of each observation.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao & Gabry (2024), Journal of Machine Learning Research 25(72), 1-58.
    Vehtari, Gelman & Gabry (2017), Statistics and Computing 27, 1413-1432.
    """
    _check_draws(draws, len(y))
    parts = [
        _of_replicate(features[at], y[at], PosteriorDraws(*(part[at : at + 1] for part in draws)))
        for at in range(len(y))
    ]
    return ImportanceLeaveOneOut(y, *(np.stack(part) for part in zip(*parts, strict=True)))


def _of_replicate(
    features: Float[np.ndarray, "obs feature"], y: Float[np.ndarray, " obs"], draws: PosteriorDraws
) -> tuple[Float[np.ndarray, " obs"], Float[np.ndarray, " obs"], Float[np.ndarray, " obs"]]:
    predictor = draws.predict(features[np.newaxis])[0].T
    log_likelihood = _log_normal(y[:, np.newaxis] - predictor, draws.sigma)
    log_weights, pareto_k = smoothed_log_weights(-log_likelihood)
    error = y - (np.exp(log_weights) * predictor).sum(axis=1)
    return error, special.logsumexp(log_weights + log_likelihood, axis=1), pareto_k


@reading
def smoothed_log_weights(
    log_ratios: Float[np.ndarray, "*rep draw"],
) -> tuple[Float[np.ndarray, "*rep draw"], Float[np.ndarray, "*rep"]]:
    """Smooth importance weights by ArviZ.

    Parameters
    ----------
    log_ratios
        Logs of raw importance ratios, of independent draws, which lie along the last axis.

    Returns
    -------
    tuple[Float[np.ndarray, '*rep draw'], Float[np.ndarray, '*rep']]
        Log weights that sum to one over the draws, and Pareto k.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao & Gabry (2024), Journal of Machine Learning Research 25(72),
    1-58.
    """
    log_weights, pareto_k = load_arviz().psislw(log_ratios, reff=1.0)
    return np.asarray(log_weights), np.asarray(pareto_k)


def _log_normal(
    error: Float[np.ndarray, "obs draw"], sigma: Float[np.ndarray, "one draw"]
) -> Float[np.ndarray, "obs draw"]:
    return np.asarray(-0.5 * (LOG_2PI + (error / sigma) ** 2) - np.log(sigma))


def load_arviz() -> Any:
    """Import ArviZ, at the first use: it takes seconds.

    Returns
    -------
    module
        ArviZ.

    Raises
    ------
    SimstudyError
        If it is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return _imported()
        except FileNotFoundError:
            return _imported()
        except ImportError as error:
            raise SimstudyError(
                "Pareto-smoothed importance sampling needs ArviZ, which is not installed. Install "
                "the extra, pip install 'simstudy[loo]', or use `exact_leave_one_out`, which needs "
                "neither draws nor ArviZ."
            ) from error


def _imported() -> Any:
    """ArviZ, by an import statement: a fingerprint sees its version whether it is loaded or not.

    On import ArviZ announces its next version once a day, and keeps a file with that day,
    which two processes that import it at once may take from each other.
    """
    import arviz

    return arviz


def _check_draws(draws: PosteriorDraws, n_rep: int) -> None:
    if draws.sigma.shape[0] != n_rep or draws.sigma.shape[1] < MIN_DRAWS:
        raise DesignError(
            f"draws have shape {draws.sigma.shape} for {n_rep} replicates, and a Pareto tail is "
            f"fitted to the largest fifth of each. Give every replicate at least {MIN_DRAWS} draws "
            "(4000 are usual)."
        )
