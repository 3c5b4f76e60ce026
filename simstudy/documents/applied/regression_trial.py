"""The two-stage trial of a regression model: bound its error, plan the trial, judge it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from simstudy.documents.applied.answers import Answer, check_plan, curves, number
from simstudy.documents.applied.settings import RegressionPlanSettings, RegressionTestSettings
from simstudy.documents.applied.tables import Table, Values, check_same_length
from simstudy.documents.stats import two_stage
from simstudy.documents.stats.models import _pooled as pooled
from simstudy.documents.stats.models.trial import REASONS, refuse_few_resamples, verdict
from simstudy.errors import DesignError
from simstudy.lazy import ggplot, p9, pd, special
from simstudy.options import build

METRIC_TITLES = {"mae": "MAE", "mse": "MSE", "rmse": "RMSE", "mape": "MAPE", "r2": "R²"}
ERROR_METRICS = ("mae", "mse", "rmse")  # metrics that need no more than the errors
MIN_CASES = 5  # cases or groups; with fewer the bootstrap has too few different resamples
ROW_LIMIT = 20_000  # rows that are resampled one by one; more are merged into random groups
K, ALPHA, POWER = 1.5, 0.05, 0.8  # the document's values, unless the others determine them


class _OfMetric:
    """Direction and title of an answer's metric."""

    metric: str

    @property
    def better(self) -> str:
        """On which side of the bound the metric is better."""
        return "below" if _sign(self.metric) > 0 else "above"

    @property
    def title(self) -> str:
        """The metric in the titles of figures."""
        return METRIC_TITLES.get(self.metric, self.metric.replace("_", " "))


@dataclass(frozen=True, repr=False)
class RegressionPlan(_OfMetric, Answer):
    """Plan of a two-stage trial: the bound that a first sample sets, and the second sample.

    Parameters
    ----------
    metric
        Name of the metric; the bound, estimate and standard errors are in its units.
    n1, n2
        Cases (groups, if `is_clustered`) of the first and the second sample.
    estimate, std_error
        The metric on the first sample, and its standard error by the studentized bootstrap.
    vanilla_std_error
        The bootstrap standard error without that adjustment.
    bound
        The null hypothesis is that the true metric is no better than this.
    k
        Standard errors from the estimate to the bound.
    alpha, power
        Probability of rejecting given that the null is true, and given that it is false.
    critical_value
        The test rejects if its statistic is below this.
    boundary_rejection
        Probability of rejecting a null that is just true.
    boundary_n2
        Second sample with which a test of level alpha at the boundary has the power; None if no
        size has it.
    solved
        The one of n2, k, power and alpha that was computed.
    n_boot, seed
        Resamples, and the seed of their random numbers.
    is_clustered
        Whether groups of cases were resampled.
    kurtosis
        Kurtosis of the errors; 3 for normal errors.
    simulated
        Rates of the simulated plan, by name, each with its Monte Carlo standard error.
    """

    method: ClassVar[str] = "regression-trial plan"

    metric: str
    n1: int
    n2: int
    estimate: float
    std_error: float
    vanilla_std_error: float
    bound: float
    k: float
    alpha: float
    power: float
    critical_value: float
    boundary_rejection: float
    boundary_n2: int | None
    solved: str
    n_boot: int
    seed: int
    is_clustered: bool
    kurtosis: float
    simulated: tuple[tuple[str, float, float], ...] = ()

    @property
    def null_is_true(self) -> float:
        """Probability that the bound is better than the truth."""
        return float(special.ndtr(-self.k))

    @property
    def vanilla_bound(self) -> float:
        """The bound by the bootstrap standard error alone."""
        return self.estimate + _sign(self.metric) * self.k * self.vanilla_std_error

    def figure(self) -> ggplot:
        """Draw the power against the size of the second sample.

        Returns
        -------
        ggplot
            The figure; None where there is none.
        """
        sizes = np.unique(np.geomspace(max(self.n2 / 20, 1), 4 * self.n2, 120).astype(int))
        given = self.alpha, self.k, self.n1, sizes
        frame = pd.concat([
            pd.DataFrame({"n2": sizes, "power": values, "test": name})
            for name, values in (
                (f"level {self.alpha:.3g} on average", two_stage.power(*given)),
                (f"level {self.alpha:.3g} at the boundary", two_stage.boundary_power(*given)),
            )
        ])  # fmt: skip
        unit = "groups" if self.is_clustered else "cases"
        figure = curves(
            frame, "n2", "power", "test", dashed=self.power,
            title=f"Power to show that the {self.title} is {self.better} {number(self.bound)}",
            x=f"{unit} of the second sample (dotted: the plan)", y="power (dashed: the plan)",
        )  # fmt: skip
        figure += p9.geom_vline(xintercept=self.n2, linetype="dotted")
        return figure + p9.scale_y_continuous(limits=(0, 1))


@dataclass(frozen=True, repr=False)
class RegressionVerdict(_OfMetric, Answer):
    """Result of the second stage.

    Parameters
    ----------
    rejects
        Whether the null is rejected: the metric is shown to be better than the bound.
    statistic, p_value
        (metric - bound) / standard error, and the probability of one as small given the plan and
        that the null is true.
    boundary_p_value
        The same probability if the true metric equals the bound.
    critical_value, alpha
        The test rejects below this statistic, at this level.
    metric, estimate, std_error, bound
        Values of the plan, of the second sample.
    n2, planned_n2
        Cases of the second sample, and as planned.
    power
        Probability of rejecting given that the null is false, with n2 cases.
    is_clustered
        Whether n2 counts groups.
    """

    method: ClassVar[str] = "regression-trial test"

    rejects: bool
    statistic: float
    p_value: float
    boundary_p_value: float
    critical_value: float
    alpha: float
    metric: str
    estimate: float
    std_error: float
    bound: float
    n2: int
    planned_n2: int
    power: float
    is_clustered: bool

    def figure(self) -> ggplot:
        """Draw the bound, and the estimate with its 90% interval.

        Returns
        -------
        ggplot
            The figure; None where there is none.
        """
        reach = float(special.ndtri(0.95)) * self.std_error
        ends = {"metric": [self.estimate - reach, self.estimate + reach], "y": "", "sample": "new"}
        title = f"{self.title} of the second sample with its 90% interval; dashed: the bound"
        frame = pd.DataFrame(ends)
        figure = curves(frame, "metric", "y", "sample", title=title, x=self.title, y="")
        figure += p9.geom_vline(xintercept=self.bound, linetype="dashed")
        return figure + p9.geom_point(p9.aes(x=self.estimate, y="y"), size=3, show_legend=False)


def _sign(metric: str) -> int:
    """1 where lower values of the metric are better, else -1."""
    return 1 if pooled.METRICS[metric].lower_is_better else -1


# ---------------------------------------------------------------- functions
def plan_regression_trial(
    y: Any,
    prediction: Any,
    *,
    cluster: Any = None,
    metric: str = "mae",
    k: float | None = None,
    n2: int | None = None,
    power: float | None = None,
    alpha: float | None = None,
    n_boot: int = 2000,
    seed: int = 1,
    simulate: bool = False,
    n_rep: int = 1000,
) -> RegressionPlan:
    """Plan the trial that confirms a regression model's error.

    Parameters
    ----------
    y, prediction
        Responses and predictions of a test set that the model was not fitted to: arrays, series or
        lists, one value for each case.
    cluster
        Group of each case, if cases of a group depend on each other: groups are resampled, and n1
        and n2 count groups.
    metric
        "mae", "mse", "rmse", "mape", "r2", "correlation" or "calibration_slope".
    k, n2, power, alpha
        The one that the others determine is computed. Of what is not given, alpha is 0.05, k is
        1.5 and the power 0.8, in this order, until three are known.
    n_boot, seed
        Resamples of the studentized bootstrap, and the seed of their random numbers.
    simulate
        Whether to simulate the plan: trials drawn from these cases with replacement.
    n_rep
        Trials to simulate.

    Returns
    -------
    RegressionPlan
        Printed, it reads as a short report.

    Raises
    ------
    ConfigError
        For a setting outside its range.
    DesignError
        For values that are no numbers, too few cases, or what no trial can reach.
    """
    settings = build(RegressionPlanSettings, {
        "metric": metric, "k": k, "n2": n2, "power": power, "alpha": alpha, "n_boot": n_boot,
        "seed": seed, "simulate": simulate, "n_rep": n_rep,
    })  # fmt: skip
    columns = {"y": y, "prediction": prediction, "cluster": cluster}
    return plan_table(Table(columns, settings))


def judge_regression_trial(
    plan: RegressionPlan, y: Any, prediction: Any, *, cluster: Any = None
) -> RegressionVerdict:
    """Test the second sample of a planned trial.

    Parameters
    ----------
    plan
        From `plan_regression_trial`, or read by `RegressionPlan.read`.
    y, prediction
        Responses and predictions of the new cases.
    cluster
        Group of each case; needed exactly if the plan was made with groups.

    Returns
    -------
    RegressionVerdict
        Printed, it reads as a short report.

    Raises
    ------
    SimstudyError
        For values that are no numbers, or the cases that the plan was made from.
    """
    columns = {"y": y, "prediction": prediction, "cluster": cluster}
    return judge_table(plan, Table(columns, RegressionTestSettings()))


# ---------------------------------------------------------------- cases
class _Cases:
    """Responses, predictions and groups of a table, with their source."""

    def __init__(self, table: Table) -> None:
        self.y, self.prediction = _columns(table)
        n_rows = check_same_length(y=self.y, prediction=self.prediction)
        self.codes = table.codes(n_rows)
        self.n = n_rows if self.codes is None else int(self.codes.max()) + 1
        self.source = table.source_or(self.y, self.prediction)
        if self.n < MIN_CASES:
            raise DesignError(
                f"{self.n} {'cases' if self.codes is None else 'groups'} are too few for a "
                f"bootstrap. Give at least {MIN_CASES}; 100 and more are usual."
            )


def _columns(table: Table) -> tuple[Values, Values]:
    """Responses and predictions, or errors and zeros."""
    settings: RegressionTestSettings = table.settings
    error, metric = settings.error, getattr(settings, "metric", None)  # a plan has the metric
    if error is None and "error" in table.columns and settings.y not in table.columns:
        error = "error"
    if error is None:
        return table.numbers("y"), table.numbers("prediction")
    errors = table.numbers("error", error)
    if metric not in (None, *ERROR_METRICS):
        raise DesignError(
            f"metric={metric} needs responses and predictions, and {table.name} was read for its "
            f"errors. Name y= and prediction=, or use {', '.join(ERROR_METRICS)}."
        )
    return errors, np.zeros_like(errors)


def _measure(
    cases: _Cases, name: str, k: float, n_boot: int, seed: int
) -> tuple[float, float, float, pooled.Pool]:
    """The metric, both standard errors, and the pool of rows that was resampled."""
    rng, has_sizes = np.random.default_rng(seed), cases.codes is not None
    pool = pooled.pool_of(pooled.METRICS[name], cases.y, cases.prediction, cases.codes)
    if len(pool) > ROW_LIMIT:
        pool, has_sizes = pooled.merge_rows(pool, rng, has_sizes=has_sizes), True
    metric = pooled.pooled_metric(pooled.METRICS[name], pool, has_sizes=has_sizes)
    stage = pooled.stage_of_rows(metric, np.arange(len(pool))[np.newaxis], rng, k=k, n_boot=n_boot)
    reasons = verdict(stage, stage, k=k, limit=0.0).get("error")
    if reasons is not None and (reason := reasons[0, 0, 0]) is not None:
        advice = "Look at the columns: responses and predictions have to vary, and to differ."
        if reason == REASONS[1]:
            advice = "Use a larger k, or more cases."
        raise DesignError(
            f"{name} of these {cases.n:,} cases has no studentized bound at k={k:g}: {reason}. "
            f"{advice}"
        )
    std_error, vanilla = map(float, stage.std_error[0, :, 0])
    return float(stage.estimate[0, 0, 0]), std_error, vanilla, pool


# ---------------------------------------------------------------- plan and test
def plan_table(table: Table) -> RegressionPlan:
    """Plan a trial with the columns of a table."""
    settings: RegressionPlanSettings = table.settings
    cases, name = _Cases(table), settings.metric
    design, solved = _solve(cases.n, settings)
    refuse_few_resamples(design.k, settings.n_boot)
    about = name, design.k, settings.n_boot, settings.seed
    estimate, std_error, vanilla, pool = _measure(cases, *about)
    error = cases.y - cases.prediction
    centred = error - error.mean()
    plan = RegressionPlan(
        metric=name, n1=cases.n, n2=design.n2, estimate=estimate, std_error=std_error,
        vanilla_std_error=vanilla, bound=estimate + _sign(name) * design.k * std_error, k=design.k,
        alpha=design.alpha, power=design.achieved_power, critical_value=design.critical_value,
        boundary_rejection=float(special.ndtr(design.critical_value)),
        boundary_n2=_boundary_n2(design), solved=solved, n_boot=settings.n_boot,
        seed=settings.seed, is_clustered=cases.codes is not None,
        kurtosis=float((centred**4).mean() / max((centred**2).mean() ** 2, 1e-300)),
        source=cases.source, settings=vars(settings), notes=tuple(_notes(cases, error)),
    )  # fmt: skip
    if not settings.simulate:
        return plan
    from simstudy.documents.scenarios.planned_trials import regression_rates

    n_row = len(pool)
    rates = regression_rates(
        pool, n_rep=settings.n_rep, seed=settings.seed, metric=name, n_boot=plan.n_boot,
        n2=max(2, round(plan.n2 * n_row / cases.n)), k=plan.k, critical_value=plan.critical_value,
        has_sizes=plan.is_clustered or n_row != cases.n,
    )  # fmt: skip
    return replace(plan, simulated=rates)


def _notes(cases: _Cases, error: Values) -> Iterator[str]:
    if cases.n < 50:
        yield f"{cases.n} cases are few: the studies of this trial have 50 to 200"
    if (error == 0).mean() > 0.5:
        yield "more than half of the errors are 0: was the model fitted to these cases?"


def _solve(n1: int, settings: RegressionPlanSettings) -> tuple[two_stage.TwoStageDesign, str]:
    """Solve for the one that is left, after defaults for alpha, k and power."""
    given: dict[str, Any] = {n: getattr(settings, n) for n in ("n2", "k", "alpha", "power")}
    for name, default in (("alpha", ALPHA), ("k", K), ("power", POWER)):
        if given[name] is None and [*given.values()].count(None) > 1:
            given[name] = default
    solved = "".join(name for name, value in given.items() if value is None)
    if not solved:
        raise DesignError(
            "none of n2, k, alpha and power is missing, but three of the four determine the "
            "fourth. Leave out exactly the one that is wanted."
        )
    if given["k"] is not None:
        refuse_few_resamples(given["k"], settings.n_boot)
    return two_stage.solve_design(n1=n1, **given), solved


def _boundary_n2(design: two_stage.TwoStageDesign) -> int | None:
    try:
        return int(two_stage.boundary_n2(design.power, design.alpha, design.k, design.n1))
    except DesignError:  # any size has the power, or none has
        return None


def judge_table(plan: RegressionPlan, table: Table) -> RegressionVerdict:
    """Test a plan with the columns of a table."""
    cases, sign = _Cases(table), _sign(plan.metric)
    limit = float(two_stage.critical_value(plan.alpha, plan.k, plan.n1, plan.n2))
    bound = plan.estimate + sign * plan.k * plan.std_error
    computed = {"critical_value": limit, "bound": bound}
    check_plan(plan, cases.source, computed, is_clustered=cases.codes is not None)
    estimate, std_error, *_ = _measure(cases, plan.metric, plan.k, plan.n_boot, plan.seed)
    z = sign * (estimate - plan.bound) / std_error
    design = two_stage.solve_design(n1=plan.n1, n2=cases.n, k=plan.k, alpha=plan.alpha)
    return RegressionVerdict(
        rejects=bool(z < design.critical_value), statistic=z,
        p_value=float(two_stage.cdf(z, False, plan.k, plan.n1, cases.n)),
        boundary_p_value=float(special.ndtr(z)), critical_value=design.critical_value,
        alpha=plan.alpha, metric=plan.metric, estimate=estimate, std_error=std_error,
        bound=plan.bound, n2=cases.n, planned_n2=plan.n2,
        power=design.achieved_power, is_clustered=plan.is_clustered, source=cases.source,
        settings={"plan": plan.to_dict()},
    )  # fmt: skip
