"""What the experiments of the regression trial share: two stages of a metric, and the verdict.

The first stage estimates a metric and its standard error on a test sample and sets the bound that
is k standard errors worse; the second tests on a prospective sample the null that the true metric
is no better than the bound.
"""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simstudy.dgps.linear import Coefficients, LinearModel
from simstudy.errors import DesignError
from simstudy.options import option
from simstudy.shapes import Float
from simstudy.stats.bootstrap.losses import StudentizedBootstrap, studentized_bootstrap
from simstudy.stats.models.least_squares import LinearFit, fit_least_squares
from simstudy.stats.two_stage.design import TwoStageDesign, solve_design

METHODS = ("studentized", "vanilla")
METRICS = ("mse", "mae")

NOT_FINITE = "the metric is not a finite number"
NO_SPREAD = "the losses are constant, so their bootstrap has no standard error"
WRONG_SIDE = "the studentized quantile is on the wrong side of zero or infinite: nothing to scale"

DRAWS = ("law", "raw")


@dataclass
class LinearConfig:
    """What every study of a least-squares fit says of its data."""

    n_feature: int = option("features", at_least=1)
    coefficient: float = option("size of every coefficient", above=0, at_most=1e6)
    draws: str = option(
        "fits and errors from their exact laws, or from features and responses", one_of=DRAWS
    )
    n_rep: int = option("published replicates in each scenario", at_least=1)


def draw_fit(
    model: LinearModel, rng: np.random.Generator, n_rep: int, n_train: int, draws: str
) -> tuple[Coefficients, LinearFit]:
    """The truth, and the least-squares fit to a training sample.

    `draws` is one of `DRAWS`: `law` takes the fit, and `draw_errors` its errors, from their exact
    distributions; `raw` draws features and responses, and fits and predicts.
    """
    if draws == "law":
        return model.draw_fit(rng, n_rep, n_train)
    train = model.draw(rng, n_rep, n_train)
    return train.coefficients, fit_least_squares(train.features, train.y)


def draw_errors(
    model: LinearModel,
    rng: np.random.Generator,
    coefficients: Coefficients,
    fit: LinearFit,
    n_obs: int,
    draws: str,
) -> Float[np.ndarray, "rep obs"]:
    """Errors of each fit on a new sample; `draws` as in `draw_fit`."""
    if draws == "law":
        return model.draw_errors(rng, coefficients, fit, n_obs)
    new = model.draw(rng, len(coefficients), n_obs, coefficients)
    return np.asarray(new.y - fit.predict(new.features))


class Stage(NamedTuple):
    """A metric on one sample, shape `(rep, 1, metric)`, and by method `(rep, method, metric)`.

    `std_error` is in the metric's units, `reach` in standard errors: minus the studentized
    quantile, and k itself for the vanilla bootstrap.
    """

    estimate: Float[np.ndarray, "rep 1 metric"]
    std_error: Float[np.ndarray, "rep method metric"]
    reach: Float[np.ndarray, "rep method metric"]


def stage_of(boot: StudentizedBootstrap) -> Stage:
    """Both methods' standard errors, from one bootstrap of each replicate, `(rep, metric)`."""
    reach = -boot.quantile * np.copysign(1.0, boot.k)
    std_error = np.stack([boot.adjusted_std_error, boot.std_error], axis=1)
    both = np.stack([reach, np.full_like(reach, abs(boot.k))], axis=1)
    return Stage(boot.mean[:, np.newaxis], std_error, both)


def errors_to_stage(
    error: Float[np.ndarray, "rep obs"],
    rng: np.random.Generator,
    *,
    k: float,
    n_boot: int,
    n_inner: float,
) -> Stage:
    """MSE and MAE of a sample's errors; `n_inner` is infinite for the closed form."""
    losses = np.stack([error**2, np.abs(error)], axis=-1)
    inner = None if np.isinf(n_inner) else int(n_inner)
    return stage_of(studentized_bootstrap(losses, rng, k=k, n_boot=n_boot, n_inner=inner, ddof=0))


def verdict(
    first: Stage, second: Stage, *, k: float, limit: float, sign: Any = 1
) -> dict[str, np.ndarray]:
    """Bound, z and whether it rejects; `error` where a method has no answer.

    Parameters
    ----------
    first, second
        Test and prospective sample.
    k
        Standard errors from the first estimate to the bound.
    limit
        Critical value of z.
    sign
        1 where lower is better, -1 where higher is, for each metric.
    """
    bound = first.estimate + sign * k * first.std_error
    with np.errstate(divide="ignore", invalid="ignore"):
        z = sign * (second.estimate - bound) / second.std_error
    columns = {"bound": bound, "z": z, "reject": z < limit}
    reason = np.maximum(_reason(first), _reason(second))
    if reason.any():
        columns["error"] = REASONS[reason]
    return columns


REASONS = np.array([None, WRONG_SIDE, NO_SPREAD, NOT_FINITE], dtype=object)


def _reason(stage: Stage) -> np.ndarray:
    """Index into `REASONS`, 0 where nothing is wrong."""
    wrong = np.where(np.isfinite(stage.std_error), 0, 1)
    constant = stage.std_error[:, 1:] == 0
    return np.where(~np.isfinite(stage.estimate), 3, np.where(constant, 2, wrong))


def null_columns(
    bound: np.ndarray, risk: np.ndarray, *, suffix: str = "", sign: Any = 1
) -> dict[str, np.ndarray]:
    """Whether the null, that the risk is no better than the bound, is false; and is true."""
    is_false = sign * (bound - risk) > 0
    return {f"null_is_false{suffix}": is_false, f"null_is_true{suffix}": ~is_false}


@functools.lru_cache(maxsize=256)
def trial_design(n_test: int, k: float, alpha: float, power: float) -> TwoStageDesign:
    """Prospective sample size and critical value, solved once for all blocks of a scenario."""
    return solve_design(n1=n_test, k=k, alpha=alpha, power=power)


def refuse_few_observations(n_train: int, n_feature: int) -> None:
    """Least squares with an intercept needs more observations than features."""
    if n_train <= n_feature:
        raise DesignError(
            f"n_train={n_train} observations are too few for {n_feature} features and an "
            "intercept: many coefficients fit equally well, so there is no one model whose risk "
            f"is on trial. Use n_train >= {n_feature + 1}, or fewer features."
        )
