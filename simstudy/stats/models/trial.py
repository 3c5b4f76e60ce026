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
from simstudy.stats.arguments import check_count
from simstudy.stats.bootstrap.losses import StudentizedBootstrap, studentized_bootstrap
from simstudy.stats.models.metrics import Block, Metric, metric_bootstrap
from simstudy.stats.reading import reading
from simstudy.stats.two_stage.design import TwoStageDesign, solve_design

METHODS = ("studentized", "vanilla")

NOT_FINITE = "the metric is not a finite number"
NO_SPREAD = "the losses are constant, so their bootstrap has no standard error"
WRONG_SIDE = "the studentized quantile is on the wrong side of zero or infinite: nothing to scale"
REASONS = np.array([None, WRONG_SIDE, NO_SPREAD, NOT_FINITE], dtype=object)  # the last outweighs


class Stage(NamedTuple):
    """A metric on one sample, shape `(rep, 1, metric)`, and by method `(rep, method, metric)`.

    `std_error` is in the metric's units, `reach` in standard errors: minus the studentized
    quantile, and k itself for the vanilla bootstrap.
    """

    estimate: Float[np.ndarray, "rep 1 metric"]
    std_error: Float[np.ndarray, "rep method metric"]
    reach: Float[np.ndarray, "rep method metric"]


@reading
def stage_of(boot: StudentizedBootstrap) -> Stage:
    """Both methods' standard errors, from one bootstrap of each replicate, `(rep, metric)`."""
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
    """The stage of one metric, from responses and predictions, one replicate per row.

    Where more is better, losses are minus the metric: so is k.
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
    """MSE and MAE of a sample's errors; `n_inner` is infinite for the closed form."""
    losses = np.stack([error**2, np.abs(error)], axis=-1)
    if n_inner != np.inf:
        check_count("n_inner", n_inner, least=2, meaning="an inner standard error")
    inner = None if np.isinf(n_inner) else int(n_inner)
    return stage_of(studentized_bootstrap(losses, rng, k=k, n_boot=n_boot, n_inner=inner, ddof=0))


def joined(stages: list[Stage]) -> Stage:
    """Stages of several metrics on the same sample, side by side along the axis of metrics."""
    return Stage(*(np.concatenate(part, axis=-1) for part in zip(*stages, strict=True)))


@reading
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
    """Whether the null, that the risk is no better than the bound, is false; and is true."""
    is_false = sign * (bound - risk) > 0
    return {f"null_is_false{suffix}": is_false, f"null_is_true{suffix}": ~is_false}


@reading
@functools.lru_cache(maxsize=256)
def trial_design(n_test: int, k: float, alpha: float, power: float) -> TwoStageDesign:
    """Prospective sample size and critical value, solved once for all blocks of a scenario."""
    return solve_design(n1=n_test, k=k, alpha=alpha, power=power)
