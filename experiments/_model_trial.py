"""The two-stage trial of any model, by any metric that is a smooth function of means.

One scenario fits several models to the same data and tries each of them by several metrics and
with test samples of several sizes: the axes of its columns are model, n_test, method and metric.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments._regression import METHODS, Stage, null_columns, stage_of, trial_design, verdict
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced
from simstudy.design import Columns, grid
from simstudy.dgps.linear import LinearModel, Regression
from simstudy.engine.failures import by_method
from simstudy.errors import ConfigError, DesignError
from simstudy.figures import measure_curves
from simstudy.identity.names import identity
from simstudy.identity.streams import Streams
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.lazy.scipy import special
from simstudy.measures import rejection_rate
from simstudy.options import option
from simstudy.shapes import Float
from simstudy.stats.bootstrap.losses import StudentizedBootstrap, check_knobs
from simstudy.stats.models.least_squares import Predictions, fit_each
from simstudy.stats.models.metrics import (
    CORRELATION,
    MAE,
    MAPE,
    MSE,
    R2,
    RMSE,
    Metric,
    metric_bootstrap,
    tweedie_deviance,
)
from simstudy.store.layout import has_text
from simstudy.study import Study

METRICS = {one.name: one for one in (MSE, MAE, RMSE, R2, CORRELATION, MAPE, tweedie_deviance(1.5))}
MODELS = (
    "least_squares", "ridge", "random_forest", "gradient_boosting", "log_least_squares",
    "log_gradient_boosting",
)  # fmt: skip
AXES = ("model", "n_test", "method", "metric")


@dataclass
class TrialConfig:
    """What every study of models sweeps, beside its data, models and metrics."""

    n_test: list[int] = option("observations that the bound comes from", at_least=10)
    k: float = option("standard errors from the test metric to the bound", above=0, at_most=30)
    alpha: float = option("size of the test given a true null", above=0, below=1)
    power: float = option("power that the prospective sample is to give", above=0, below=1)
    n_train: int = option("observations that the models learn from", at_least=10)
    n_boot: int = option("bootstrap resamples", at_least=2)
    n_truth: int = option("fresh observations behind each true metric", at_least=1000)
    n_rep: int = option("replicates for each kind of data", at_least=1)


def need_scikit_learn() -> None:
    """Refuse, in one line, where scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise ConfigError(
            "this experiment fits models of scikit-learn, which is not installed, so there would "
            "be no predictions to try. Install it: pip install 'simstudy[models]'"
        ) from None


def estimator(name: str) -> Any:
    """A fresh estimator: small, so that a thousand fits take minutes and not hours."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import LinearRegression, Ridge

    boosting = {"n_estimators": 20, "max_depth": 2, "learning_rate": 0.3, "subsample": 0.5}
    plain = {
        "least_squares": lambda: LinearRegression(),
        "ridge": lambda: Ridge(alpha=10.0),
        "random_forest": lambda: RandomForestRegressor(10, min_samples_leaf=3, max_features=1 / 3),
        "gradient_boosting": lambda: GradientBoostingRegressor(**boosting),
    }
    if not name.startswith("log_"):
        return plain[name]()
    fitted = plain[name.removeprefix("log_")]()
    return TransformedTargetRegressor(fitted, func=np.log, inverse_func=np.exp)


@dataclass(frozen=True)
class Prices:
    """Positive responses: the exponential of a linear signal in noise, with median 1.

    Attributes
    ----------
    spread
        Standard deviation of the log of the response, from 0 (excluded): 1 is as skewed as prices.
    signal
        Share of the log's variance that the features explain, in (0, 1).
    n_feature
        Number of features, each standard normal.
    """

    spread: float
    signal: float = 2 / 3
    n_feature: int = 20

    def __post_init__(self) -> None:
        if not (0 < self.spread < np.inf and 0 < self.signal < 1):
            raise DesignError(
                f"Prices(spread={self.spread:g}, signal={self.signal:g}) has no prices to predict: "
                "every metric needs both signal and noise. Use a finite spread above 0 and a "
                "signal between 0 and 1, both excluded."
            )

    def draw(
        self,
        rng: np.random.Generator,
        n_rep: int,
        n_obs: int,
        coefficients: Float[np.ndarray, "rep feature"] | None = None,
    ) -> Regression:
        """Features and prices."""
        drawn = self._log_scale.draw(rng, n_rep, n_obs, coefficients)
        return drawn._replace(y=np.exp(drawn.y))

    @property
    def _log_scale(self) -> LinearModel:
        variance = self.spread**2
        coefficient = float(np.sqrt(variance * self.signal / self.n_feature))
        return LinearModel(self.n_feature, coefficient, variance * (1 - self.signal))


@dataclass(frozen=True)
class ModelTrial:
    """One data set, several models on trial.

    Parameters
    ----------
    dgp
        What the observations are.
    models, metrics
        Names of `estimator` and of `METRICS`.
    sizes
        Sizes of the test sample; each is the beginning of the largest, and so are the prospective
        samples.
    k, alpha, power
        Of the trial.
    n_train
        Observations that the models learn from.
    n_boot
        Bootstrap resamples of each sample.
    n_truth
        Fresh observations that a model's true metric comes from. Their own error is √(n_test /
        n_truth) of the standard error on trial, and lowers the share of false nulls by about
        φ(k) k n_test / 2 n_truth: 0.19 points for 200 of 10000.
    """

    dgp: LinearModel | Prices
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    sizes: tuple[int, ...]
    k: float = 1.5
    alpha: float = 0.05
    power: float = 0.8
    n_train: int = 150
    n_boot: int = 500
    n_truth: int = 10000

    def __post_init__(self) -> None:
        check_knobs(k=self.k, n_boot=self.n_boot, ddof=0)
        _ = self._prospective
        if self.n_truth < 10 * max(self.sizes):
            raise DesignError(
                f"n_truth={self.n_truth} fresh observations know the true metric hardly better "
                f"than a test sample of {max(self.sizes)} does, so the bound would be compared "
                f"with noise. Use n_truth >= {10 * max(self.sizes)}."
            )

    @property
    def _prospective(self) -> tuple[int, ...]:
        return tuple(self._design(n).n2 for n in self.sizes)

    def _design(self, n_test: int) -> Any:
        return trial_design(n_test, self.k, self.alpha, self.power)

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        rng = streams("data")
        train = self.dgp.draw(rng, n_rep, self.n_train)
        n_new = max(self.sizes) + max(self._prospective) + self.n_truth
        new = self.dgp.draw(rng, n_rep, n_new, train.coefficients)
        tried = {
            name: functools.partial(self._try, name, streams, train, new) for name in self.models
        }
        return by_method(tried, n_rep)

    def _try(
        self, name: str, streams: Streams, train: Regression, new: Regression
    ) -> Mapping[str, np.ndarray]:
        """Columns `(rep, n_test, method, metric)` of one model."""
        rng = streams(f"model {name}")
        fitted = fit_each(estimator(name), train.features, train.y, new.features, rng)
        truth = self._true_metrics(new.y[:, -self.n_truth :], fitted)
        sizes = [self._of_size(n, f"{name} {n}", streams, new.y, fitted, truth) for n in self.sizes]
        names = dict.fromkeys(key for columns in sizes for key in columns)
        stacked = {key: _stack([one.get(key) for one in sizes]) for key in names}
        return stacked | _with_reasons(stacked.get("error"), fitted)

    def _true_metrics(
        self, y: Float[np.ndarray, "rep truth"], fitted: Predictions
    ) -> Float[np.ndarray, "rep 1 metric"]:
        prediction = fitted.prediction[:, -self.n_truth :]
        with np.errstate(all="ignore"):
            values = [one.value(one.moments(y, prediction).mean(axis=1)) for one in self._metrics]
        return np.stack(values, axis=-1)[:, np.newaxis]

    @property
    def _metrics(self) -> list[Metric]:
        return [METRICS[name] for name in self.metrics]

    def _of_size(
        self,
        n_test: int,
        purpose: str,
        streams: Streams,
        y: Float[np.ndarray, "rep new"],
        fitted: Predictions,
        truth: Float[np.ndarray, "rep 1 metric"],
    ) -> dict[str, np.ndarray]:
        """Columns `(rep, method, metric)` of one model with one size of the test sample."""
        design, start = self._design(n_test), max(self.sizes)
        parts = slice(0, n_test), slice(start, start + design.n2)
        first, second = (
            self._stage(y[:, part], fitted.prediction[:, part], streams, purpose) for part in parts
        )
        sign = np.array([1 if one.lower_is_better else -1 for one in self._metrics])
        columns = verdict(first, second, k=self.k, limit=design.critical_value, sign=sign)
        del columns["z"]
        columns |= null_columns(columns.pop("bound"), truth, sign=sign)
        return columns | _without_truth(columns, truth)

    def _stage(self, y: Any, prediction: Any, streams: Streams, purpose: str) -> Stage:
        """Where more is better, losses are minus the metric: so is k."""
        stages = []
        for metric in self._metrics:
            k = self.k if metric.lower_is_better else -self.k
            rng = streams(f"bootstrap {purpose} {metric.name}")
            boot = metric_bootstrap(metric, y, prediction, rng, k=k, n_boot=self.n_boot, ddof=0)
            stages.append(stage_of(_as_column(boot)))
        joined = (np.concatenate(part, axis=-1) for part in zip(*stages, strict=True))
        return Stage(*joined)


NO_TRUTH = "the true metric is not a finite number: nothing to compare the bound with"


def _without_truth(
    columns: Mapping[str, np.ndarray], truth: Float[np.ndarray, "rep 1 metric"]
) -> dict[str, np.ndarray]:
    """The errors, where a comparison with a truth that is none would have gone unnoticed."""
    missing = np.broadcast_to(~np.isfinite(truth), columns["reject"].shape)
    if not missing.any():
        return {}
    error = columns.get("error", np.full(missing.shape, None))
    return {"error": np.where(missing & ~has_text(error), NO_TRUTH, error)}


def _as_column(boot: StudentizedBootstrap) -> StudentizedBootstrap:
    """One value per replicate as a block of one metric."""
    parts = {name: getattr(boot, name)[:, np.newaxis] for name in boot._fields if name != "k"}
    return boot._replace(**parts)


def _stack(columns: list[np.ndarray | None]) -> np.ndarray:
    """Sizes along axis 1; a size without errors has None throughout."""
    shape = next(one.shape for one in columns if one is not None)
    return np.stack([np.full(shape, None) if one is None else one for one in columns], axis=1)


def _with_reasons(error: np.ndarray | None, fitted: Predictions) -> dict[str, np.ndarray]:
    """What failed in the fit, instead of what followed from it."""
    if error is None:
        return {}
    for failure in fitted.failures:
        error[failure.replicate] = failure.error
    return {"error": error}


# ---------------------------------------------------------------- study
MEASURES = (
    rejection_rate("reject", given="null_is_false", name="power"),
    rejection_rate("reject", given="null_is_true", name="type_1_error"),
    rejection_rate("null_is_false", name="null_is_false"),
)


def axes(models: list[str], n_test: list[int], metrics: list[str]) -> dict[str, tuple[str, ...]]:
    """The axes of the columns; sizes are names there."""
    return {
        "model": tuple(models),
        "n_test": tuple(map(str, n_test)),
        "method": METHODS,
        "metric": tuple(metrics),
    }


def design_levels(one: ModelTrial) -> dict[str, float]:
    """What the measures are for normal means with a known variance."""
    return {
        "null_is_false": float(special.ndtr(one.k)),
        "power": one.power,
        "type_1_error": one.alpha,
    }


def keeps_the_design(
    result: Result, measures: tuple[str, ...], *, within: float, dgps: tuple[Any, ...]
) -> Reproduced:
    """Whether studentized shares at the largest test size are near the design, chance aside.

    Parameters
    ----------
    measures
        Measures to look at.
    within
        Largest distance that counts as near.
    dgps
        Whose cells to look at.
    """
    names = [identity(one).removesuffix("()") for one in dgps]
    rows = result.summary[result.summary["dgp"].isin(names)]
    rows = rows[(rows["method"] == "studentized") & rows["measure"].isin(measures)]
    rows = rows[rows["n_test"] == max(rows["n_test"], key=int, default="")]
    if rows.empty:
        raise LookupError(f"data from {', '.join(names)}")
    distance = rows["estimate"] - rows["measure"].map(design_levels(result.plan.scenarios[0]))
    beyond = distance.abs() - 3 * rows["mcse"].fillna(0)
    worst: Any = rows.iloc[int(distance.abs().to_numpy().argmax())]
    said = (
        f"furthest of {len(rows)} cells at n_test={worst['n_test']}: {worst['measure']} "
        f"{worst['estimate']:.3f} ± {2 * worst['mcse']:.3f} ({worst['model']}, {worst['metric']}); "
        f"median distance {distance.median():+.3f}"
    )
    return Reproduced(float((beyond < within).all()), detail=said)


def model_study(
    name: str,
    config: TrialConfig,
    *,
    dgps: Sequence[tuple[str, Any]],
    models: list[str],
    metrics: list[str],
    claims: Sequence[Claim],
) -> Study:
    """The trial of these models by these metrics, on each kind of data.

    Parameters
    ----------
    dgps
        Data-generating processes, each after the words that figures have for it.
    """
    need_scikit_learn()
    labels = {identity(dgp).removesuffix("()"): words for words, dgp in dgps}
    return Study(
        name=name,
        scenarios=grid(
            ModelTrial, dgp=[dgp for _, dgp in dgps], models=[tuple(models)],
            metrics=[tuple(metrics)], sizes=[tuple(config.n_test)], k=config.k,
            alpha=config.alpha, power=config.power, n_train=config.n_train,
            n_boot=config.n_boot, n_truth=config.n_truth,
        ),
        axes=axes(models, config.n_test, metrics),
        measures=MEASURES,
        block_size=5,
        n_rep=config.n_rep,
        figures={
            measure: functools.partial(trial_figure, measure=measure, title=title, labels=labels)
            for measure, title in TITLES.items()
        },
        claims=claims,
    )  # fmt: skip


# ---------------------------------------------------------------- figures
TITLES = {"null_is_false": "null is false", "power": "power", "type_1_error": "type-I error"}


def trial_figure(result: Result, measure: str, title: str, labels: Mapping[str, str]) -> ggplot:
    """A share by test size, model, metric and DGP, studentized, with its design value dashed."""
    one = result.plan.scenarios[0]
    levels = design_levels(one)
    rows = tidy(result, labels)
    rows = rows[rows["method"] == "studentized"]
    figure = measure_curves(
        rows, x="n_test", y=measure, color="model", panel="data", rows="metric",
        nominal=levels[measure], exact=False, log_x=True,
    )  # fmt: skip
    n_metric, n_data = rows["metric"].nunique(), rows["data"].nunique()
    size = p9.theme(figure_size=(2.7 * n_data + 2.2, 1.55 * n_metric + 1.3))
    return figure + p9.labs(x="test observations", y=title) + size


def tidy(result: Result, labels: Mapping[str, str]) -> pd.DataFrame:
    """The summary with numbers for sizes and words for names."""
    summary = result.summary.drop(columns=["models", "metrics", "sizes"])
    words = {"metric": _metric_in_words, "model": _in_words}
    return summary.assign(
        n_test=pd.to_numeric(summary["n_test"]),
        data=_category(summary["dgp"].map(labels)),
        **{name: _category(summary[name].map(function)) for name, function in words.items()},
    ).drop(columns="dgp")


def _category(words: pd.Series[Any]) -> Any:
    return pd.Categorical(words, list(dict.fromkeys(words)), ordered=True)


def _metric_in_words(name: str) -> str:
    words = {"correlation": "correlation", "r2": "R²", "tweedie_1.5": "Tweedie 1.5"}
    return words.get(name, name.upper())


def _in_words(name: str) -> str:
    return name.replace("log_", "log ").replace("_", " ")
