"""A study of the trial of some models by some metrics on some data: does it keep its design?"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.claims import Claim, Finding, matches
from simstudy.design import grid
from simstudy.design.plan import factors_of
from simstudy.documents.scenarios.models import Model, ModelTrial, RegressionDgp, try_model
from simstudy.documents.stats.models.metrics import Metric
from simstudy.documents.stats.models.trial import METHODS
from simstudy.errors import ConfigError
from simstudy.figures import captions, in_order, measure_curves
from simstudy.figures.captions import format_name
from simstudy.figures.frame import with_labels
from simstudy.figures.theme import (
    BLUE,
    FULL_WIDTH,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    TALLEST,
    VERMILLION,
    colors_of,
)
from simstudy.lazy import pd, special
from simstudy.measures import rejection_rate
from simstudy.options import option
from simstudy.study import Study

if TYPE_CHECKING:
    from simstudy.lazy import ggplot

MEASURES = (
    rejection_rate("reject", given="null_is_false", name="power"),
    rejection_rate("reject", given="null_is_true", name="type_1_error"),
    rejection_rate("null_is_false", name="null_is_false"),
)
TITLES = {"null_is_false": "null is false", "power": "power", "type_1_error": "type-I error"}
DESIGN = {
    "null_is_false": "Φ(k), the share for normal means with a known variance",
    "power": "the power of the design",
    "type_1_error": "the size of the design",
}
MODEL_COLORS = {
    "least squares": BLUE,
    "ridge": VERMILLION,
    "random forest": GREEN,
    "gradient boosting": PURPLE,
    "log least squares": SKY,
    "log gradient boosting": ORANGE,
}


@dataclass
class TrialConfig:
    """Settings of every study of models, apart from its data, models and metrics."""

    n_test: list[int] = option("observations that the bound comes from", at_least=10)
    k: float = option("standard errors from the test metric to the bound", above=0, at_most=30)
    alpha: float = option("size of the test given a true null", above=0, below=1)
    power: float = option("power that the prospective sample is to give", above=0, below=1)
    n_train: int = option("observations that the models learn from", at_least=10)
    n_boot: int = option("bootstrap resamples", at_least=2)
    n_truth: int = option("fresh observations behind each true metric", at_least=1000)
    n_rep: int = option("replicates for each kind of data", at_least=1)

    def trial(self) -> dict[str, Any]:
        """These settings as `model_trial_study` takes them."""
        return {field.name: getattr(self, field.name) for field in fields(TrialConfig)}


def model_trial_study(
    name: str,
    *,
    dgps: Mapping[str, RegressionDgp],
    models: Sequence[Model],
    metrics: Sequence[Metric],
    n_test: Sequence[int],
    n_rep: int = 1000,
    answer: Callable[[Result], str] | None = None,
    claims: Sequence[Claim] = (),
    **trial: Any,
) -> Study:
    """The two-stage trial of these models by these metrics, on each kind of data.

    Parameters
    ----------
    name
        Name of the study.
    dgps
        Data-generating processes, by their labels in figures.
    models
        Models to test. Each is a method of the study, so adding one does not fit the others again.
    metrics
        Metrics of the trial: those of `simstudy.documents.stats.models.metrics`,
        `mean_metric("name", loss)` for the mean of a loss of one's own, or a `Metric` for another
        smooth function of means.
    n_test
        Sizes of the sample that the bound comes from.
    n_rep
        Replicates for each kind of data.
    answer
        Function of the result that returns the answer to the study's question.
    claims
        Claims of a document about it.
    **trial
        Other settings of `ModelTrial`: k, alpha, power, n_train, n_boot, n_truth.

    Returns
    -------
    Study
        Its measures are the power, the type-I error and the share of false nulls, by model, size
        of the test sample, method (bootstrap standard errors studentized or not) and metric.

    Examples
    --------
    Does the trial work for a ridge regression, tried by a loss that punishes low predictions more?

    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from simstudy.documents.dgps.linear import LinearModel
    >>> from simstudy.documents.stats.models.metrics import MSE, mean_metric
    >>> from experiments._model_trials import model_trial_study
    >>> from simstudy.documents.scenarios.models import Model
    >>> def pinball(y, prediction):
    ...     return np.maximum(0.9 * (y - prediction), 0.1 * (prediction - y))
    >>> study = model_trial_study(
    ...     "my_trial",
    ...     dgps={"linear": LinearModel(n_feature=3)},
    ...     models=[Model("ridge", Ridge(alpha=10.0))],
    ...     metrics=[MSE, mean_metric("pinball", pinball)],
    ...     n_test=[50], n_boot=100, n_truth=1000, n_rep=20,
    ... )
    >>> summary = study.run(seed=1).summary
    >>> sorted(set(summary["metric"]))
    ['mse', 'pinball']
    """
    need_scikit_learn()
    refuse_namesakes(models)
    return Study(
        name=name,
        scenarios=grid(
            ModelTrial,
            dgp=list(dgps.values()),
            metrics=[tuple(metrics)],
            sizes=[tuple(n_test)],
            **trial,
        ),
        methods={model.name: functools.partial(try_model, model) for model in models},
        axes={
            "model": tuple(model.name for model in models),
            "n_test": tuple(map(str, n_test)),  # positions on an axis are names
            "method": METHODS,
            "metric": tuple(metric.name for metric in metrics),
        },
        measures=MEASURES,
        block_size=5,
        n_rep=n_rep,
        figures={
            measure: functools.partial(
                trial_figure, measure=measure, labels={dgp: words for words, dgp in dgps.items()}
            )
            for measure in TITLES
        },
        answer=answer,
        claims=claims,
    )


def need_scikit_learn() -> None:
    """Raise a one-line error if scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise ConfigError(
            "this experiment fits models of scikit-learn, which is not installed, so there would "
            "be no predictions to try. Install it: pip install 'simstudy[models]'"
        ) from None


def refuse_namesakes(models: Sequence[Model]) -> None:
    """Refuse two models with the same name."""
    names = [model.name for model in models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"two models are named {twice!r}, and replicates are found by a model's name, so one "
            "would take the other's place: rename one of them."
        )


def design_levels(trial: ModelTrial) -> dict[str, float]:
    """Exact measures for normal means with a known variance."""
    return {
        "null_is_false": float(special.ndtr(trial.k)),
        "power": trial.power,
        "type_1_error": trial.alpha,
    }


# ---------------------------------------------------------------- figures
def trial_figure(result: Result, measure: str, labels: Mapping[RegressionDgp, str]) -> ggplot:
    """A share by test size, model, metric and data, studentized, with its design value dashed.

    The RMSE is not drawn, since its decisions are those of the MSE up to curvature.
    """
    every = in_readers_words(result, labels)
    every = every[every["method"] == "studentized"]
    rows = without_repetition(every)
    joined = _is_joined(rows, measure)
    if not joined:  # a categorical axis has more room for several models
        sizes = {n: f"{n:,g}" for n in sorted(rows["n_test"].unique())}
        rows = rows.assign(n_test=in_order(rows["n_test"], sizes))
    trial: ModelTrial = result.plan.scenarios[0]
    figure = measure_curves(
        rows,
        x="n_test",
        y=measure,
        color="model",
        panel="data",
        rows="metric",
        nominal=(level := design_levels(trial)[measure]),
        exact=False,
        log_x=joined,
        joined=joined,
        dodge=1.0 if joined else 1.6,
        colors=colors_of(map(format_name, result.plan.axes["model"]), MODEL_COLORS),
    )
    n_metric, n_data = rows["metric"].nunique(), rows["data"].nunique()
    return figure + captions.titles(
        f"Studentized bootstrap, {_sizes_in_words(trial)}.",
        captions.BARS,
        captions.JOINS * joined,
        captions.dashed(f"{DESIGN[measure]}, {level:.3g}"),
        repetition_in_words(every, measure),
        *captions.notes(figure.data),
        x="test observations",
        y=TITLES[measure],
        size=(FULL_WIDTH, min(1.35 * n_metric + 1.4, TALLEST)) if n_data > 1 else None,
    )


def _is_joined(rows: pd.DataFrame, measure: str) -> bool:
    """Whether to join the points by a line; not if few true nulls make it a zigzag."""
    return measure != "type_1_error" and rows["n_test"].nunique() > 1


def _sizes_in_words(trial: ModelTrial) -> str:
    return f"n_train = {trial.n_train:,}, k = {trial.k:g}"


def without_repetition(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those of the RMSE, if rows of the MSE agree."""
    return rows[rows["metric"] != "RMSE"] if (rows["metric"] == "MSE").any() else rows


def repetition_in_words(rows: pd.DataFrame, measure: str) -> str:
    """The largest distance between the MSE and the RMSE, as text; empty if the RMSE is drawn."""
    of_measure = rows[rows["measure"] == measure]
    keys = ["data", "model", "n_test"]
    both = of_measure.pivot(index=keys, columns="metric", values="estimate")
    if not {"MSE", "RMSE"} <= set(both.columns):
        return ""
    gap = float((both["RMSE"] - both["MSE"]).abs().max())
    return f"By the RMSE every share is within {gap:.3f} of that by the MSE."


def in_readers_words(result: Result, labels: Mapping[RegressionDgp, str]) -> pd.DataFrame:
    """The summary with numeric sizes and labels for names."""
    summary = with_labels(result.summary, result.plan.scenarios, dgp=labels)
    words = {"metric": in_metric_words, "model": format_name}
    return (
        summary.drop(columns=["metrics", "sizes"])
        .rename(columns={"dgp": "data"})
        .assign(
            n_test=pd.to_numeric(summary["n_test"]),
            **{name: _category(summary[name].map(say)) for name, say in words.items()},
        )
    )


def _category(words: pd.Series[Any]) -> Any:
    return pd.Categorical(words, list(dict.fromkeys(words)), ordered=True)


def in_metric_words(name: str) -> str:
    """A metric's name for a reader."""
    words = {"correlation": "correlation", "r2": "R²", "tweedie_1.5": "Tweedie 1.5"}
    return words.get(name, name.upper())


# ---------------------------------------------------------------- claims
def keeps_the_design(
    result: Result, measures: tuple[str, ...], *, within: float, dgps: Sequence[RegressionDgp]
) -> Finding:
    """Whether studentized shares are near the design in every cell, by interval.

    Parameters
    ----------
    measures
        Measures to look at: some of `power`, `type_1_error`, `null_is_false`.
    within
        Largest distance that counts as near.
    dgps
        Data-generating processes whose cells are checked, with all sizes, models and metrics.

    Raises
    ------
    LookupError
        If no data are from these, or all trials failed.
    TooFewReplicatesError
        If chance alone could move a cell across the limit.
    """
    trials = [trial for trial in result.plan.scenarios if trial.dgp in dgps]
    if not trials:
        raise LookupError(f"data from {', '.join(map(str, dgps))}")
    design = design_levels(trials[0])
    rows = _studentized(result, [factors_of(trial)["dgp"] for trial in trials], design)
    rows = rows[rows["measure"].isin(measures)]
    if rows.empty:
        raise LookupError("a trial that did not fail")
    detail = _furthest(rows)
    return matches(rows["estimate"], rows["design"], rows["error"], margin=within, detail=detail)


def _studentized(result: Result, dgps: Sequence[Any], design: Mapping[str, float]) -> pd.DataFrame:
    """Summary rows of these data, without states of the null that never occurred.

    `error` is the Monte Carlo error of a share, or that of the design value if it is larger, so
    that it is never 0 for few replicates.
    """
    rows = result.summary[result.summary["dgp"].isin(dgps)]
    rows = rows[rows["method"] == "studentized"]
    cell = ["dgp", "model", "n_test", "metric"]
    false = rows.loc[rows["measure"] == "null_is_false", [*cell, "estimate"]]
    rows = rows.merge(false.rename(columns={"estimate": "false"}), on=cell)
    state = {"power": rows["false"], "type_1_error": 1 - rows["false"]}
    given = np.select([rows["measure"] == name for name in state], list(state.values()), 1.0)
    p = rows["measure"].map(design)
    rows = rows.assign(design=p, n_given=rows["n_rep"] * given).query("n_given > 0")
    error = np.sqrt(rows["design"] * (1 - rows["design"]) / rows["n_given"])
    return rows.assign(error=np.fmax(rows["mcse"], error))


def _furthest(rows: pd.DataFrame) -> str:
    """The share that is furthest from the design, in standard errors, as text."""
    distance = rows["estimate"] - rows["design"]
    worst: Any = rows.iloc[int(np.abs(distance / rows["error"]).argmax())]
    return (
        f"furthest of {len(rows)} shares: {worst['measure']} {worst['estimate']:.3f} ± "
        f"{2 * worst['error']:.3f} ({worst['model']}, {worst['metric']}, "
        f"n_test={worst['n_test']}); median distance {distance.median():+.3f}"
    )
