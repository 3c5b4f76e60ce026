"""The two-stage trial of a fitted model: two stages of a metric, and the verdict.

The first stage estimates a metric and its standard error on a test sample and sets the bound that
is k standard errors worse; the second tests on a prospective sample the null that the true metric
is no better than the bound. Each stage has two standard errors: the bootstrap's own ("vanilla"),
and that adjusted by the studentized quantile.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_count
from simstudy.documents.stats.bootstrap.losses import StudentizedBootstrap, studentized_bootstrap
from simstudy.documents.stats.models.metrics import Block, Metric, metric_bootstrap
from simstudy.documents.stats.reading import reading
from simstudy.documents.stats.two_stage import TwoStageDesign, solve_design

METHODS = ("studentized", "vanilla")

NOT_FINITE = "the metric is not a finite number"
NO_SPREAD = "the losses are constant, so their bootstrap has no standard error"
WRONG_SIDE = "the studentized quantile is on the wrong side of zero or infinite: nothing to scale"
REASONS = np.array([None, WRONG_SIDE, NO_SPREAD, NOT_FINITE], dtype=object)  # the last outweighs


class Stage(NamedTuple):
    """A metric on one sample, with standard errors by method.

    Attributes
    ----------
    estimate : float array (rep, 1, metric)
        The metric.
    std_error : float array (rep, method, metric)
        Its standard error, in the metric's units.
    reach : float array (rep, method, metric)
        Distance of the bound in standard errors: minus the studentized quantile, and k itself
        for the vanilla bootstrap.
    """

    estimate: Float[np.ndarray, "rep 1 metric"]
    std_error: Float[np.ndarray, "rep method metric"]
    reach: Float[np.ndarray, "rep method metric"]


@reading
def stage_of(boot: StudentizedBootstrap) -> Stage:
    """Combine both methods' standard errors, from one bootstrap of each replicate.

    Parameters
    ----------
    boot
        Bootstrap of each replicate and metric.

    Returns
    -------
    Stage
        The stage.
    """
    reach = -boot.quantile * np.copysign(1.0, boot.k)
    std_error = np.stack([boot.adjusted_std_error, boot.std_error], axis=1)
    both = np.stack([reach, np.full_like(reach, abs(boot.k))], axis=1)
    return Stage(boot.mean[:, np.newaxis], std_error, both)


@reading
def stage_of_metric(
    metric: Metric,
    y: Block,
    prediction: Block,
    rng: np.random.Generator,
    *,
    k: float,
    n_boot: int,
) -> Stage:
    """Compute the stage of one metric.

    If more is better, losses are minus the metric: so is k.

    Parameters
    ----------
    metric
        A function of means.
    y, prediction
        Response and prediction, one replicate per row.
    rng
        Generator of the resamples.
    k
        Standard errors from the estimate to the bound.
    n_boot
        Resamples.

    Returns
    -------
    Stage
        The stage.
    """
    toward_worse = k if metric.lower_is_better else -k
    boot = metric_bootstrap(metric, y, prediction, rng, k=toward_worse, n_boot=n_boot, ddof=0)
    columns = {name: getattr(boot, name)[:, np.newaxis] for name in boot._fields if name != "k"}
    return stage_of(boot._replace(**columns))


@reading
def stage_of_errors(
    error: Float[np.ndarray, "rep obs"],
    rng: np.random.Generator,
    *,
    k: float,
    n_boot: int,
    n_inner: float,
) -> Stage:
    """Compute the stage of MSE and MAE from a sample's errors.

    Parameters
    ----------
    error : float array (rep, obs)
        Response less prediction.
    rng
        Generator of the resamples.
    k
        Standard errors from the estimate to the bound.
    n_boot
        Resamples.
    n_inner
        Inner resamples, at least 2; infinite for the closed form.

    Returns
    -------
    Stage
        The stage.
    """
    losses = np.stack([error**2, np.abs(error)], axis=-1)
    if n_inner != np.inf:
        check_count("n_inner", n_inner, least=2, meaning="an inner standard error")
    inner = None if np.isinf(n_inner) else int(n_inner)
    return stage_of(studentized_bootstrap(losses, rng, k=k, n_boot=n_boot, n_inner=inner, ddof=0))


def joined(stages: list[Stage]) -> Stage:
    """Join stages of several metrics on the same sample, along the axis of metrics.

    Parameters
    ----------
    stages
        One for each metric.

    Returns
    -------
    Stage
        The stage of all metrics.
    """
    return Stage(*(np.concatenate(part, axis=-1) for part in zip(*stages, strict=True)))


@reading
def verdict(
    first: Stage, second: Stage, *, k: float, limit: float, sign: Any = 1
) -> dict[str, np.ndarray]:
    """Test a prospective sample against the bound from the test sample.

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

    Returns
    -------
    dict
        `bound`, `z` and `reject`, and `error` where a method has no answer.
    """
    bound = first.estimate + sign * k * first.std_error
    with np.errstate(divide="ignore", invalid="ignore"):
        z = sign * (second.estimate - bound) / second.std_error
    columns = {"bound": bound, "z": z, "reject": z < limit}
    reason = np.maximum(_reason(first), _reason(second))
    if reason.any():
        columns["error"] = REASONS[reason]
    return columns


def _reason(stage: Stage) -> np.ndarray:
    """Index into `REASONS`, 0 where nothing is wrong."""
    wrong = np.where(np.isfinite(stage.std_error), 0, 1)
    constant = stage.std_error[:, 1:] == 0
    return np.where(~np.isfinite(stage.estimate), 3, np.where(constant, 2, wrong))


@reading
def null_columns(
    bound: Float[np.ndarray, "..."],
    risk: Float[np.ndarray, "..."],
    *,
    suffix: str = "",
    sign: Any = 1,
) -> dict[str, np.ndarray]:
    """Compute whether the null, that the risk is no better than the bound, is false, and is true.

    Parameters
    ----------
    bound : float array (...)
        Bounds.
    risk : float array (...)
        True risks, in the same units.
    suffix
        Added to the names of the columns.
    sign
        1 where lower is better, -1 where higher is.

    Returns
    -------
    dict
        Columns `null_is_false` and `null_is_true`, with the suffix.
    """
    is_false = sign * (bound - risk) > 0
    return {f"null_is_false{suffix}": is_false, f"null_is_true{suffix}": ~is_false}


@reading
@functools.lru_cache(maxsize=256)
def trial_design(n_test: int, k: float, alpha: float, power: float) -> TwoStageDesign:
    """Solve for the prospective sample size and critical value, once for all blocks of a scenario.

    Parameters
    ----------
    n_test
        Test sample.
    k
        Standard errors from the test sample's estimate to the bound.
    alpha
        Level of the test, in (0, 1).
    power
        Power that is required, in (0, 1).

    Returns
    -------
    TwoStageDesign
        The design.
    """
    return solve_design(n1=n_test, k=k, alpha=alpha, power=power)
