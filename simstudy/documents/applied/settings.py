"""Settings of the tests, with ranges, for the command line and for Python."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simstudy.documents.stats.accuracy.of_scores import CHANGE_TESTS, COUNT_TESTS
from simstudy.documents.stats.accuracy.tasks import RELATED
from simstudy.options import build, option

OUT = "file NAME.json, or folder, for the answer"
AUTO = "auto"
TEST_NAMES = ("z", "t", "pooled_t", *COUNT_TESTS, *CHANGE_TESTS)
TO_BE_SOLVED = "?"
LEAST = 1e-6  # probability: nearer to 0 or 1 complements lose digits, and nobody has the cases
THRESHOLD_METHODS = ("umbrella", "empirical", "percentile", "basic", "normal", "bca", "tolerance")
MIN_ERROR_RATE = 1e-4  # rate: at 1e-6 SciPy's noncentral t is wrong with one degree of freedom
ALPHA = "chance that an unchanged candidate fails"
BETA = "chance that a candidate worse by theta passes"
THETA = "how much worse matters, in the units of the scores"
SIGMA = "standard deviation of one score"
CORRELATION = "of the two scores of a prompt"
LOWER = "whether smaller scores are better; else by the metric's name"
LOWER_IS_BETTER = frozenset({
    "perplexity", "ppl", "loss", "nll", "negative_log_likelihood", "cross_entropy", "bits_per_byte",
    "wer", "word_error_rate", "cer", "character_error_rate", "error", "error_rate", "brier",
    "brier_score", "mae", "mse", "rmse",
})  # fmt: skip


def is_lower_better(metric: str) -> bool:
    """Whether a smaller value of a metric is better; False if the metric is unknown."""
    return re.sub(r"[^a-z0-9]+", "_", metric.lower()).strip("_") in LOWER_IS_BETTER


@dataclass
class AccuracySettings:
    """The settings of `simstudy apply accuracy`.

    Without options that are given, what the scores themselves suggest.
    """

    reference: str = option(
        "column of the reference's scores, or with model= its name", default="reference"
    )
    candidate: str = option("the same of the candidate", default="candidate")
    model: str | None = option("column that names the model, where scores of both are in one")
    score: str | None = option("column of the scores, with model=; else score")
    prompt: str | None = option("column that names the prompt, with model=")
    paired: str = option(
        "whether a row is one prompt", default=AUTO, one_of=(AUTO, "true", "false")
    )
    test: str = option("how they are compared", default=AUTO, one_of=(AUTO, *TEST_NAMES))
    alpha: float = option(ALPHA, default=0.05, at_least=MIN_ERROR_RATE, below=0.5)
    beta: float = option(BETA, default=0.2, at_least=MIN_ERROR_RATE, below=0.5)
    theta: float | None = option(THETA, above=0)
    sigma: float | None = option(f"{SIGMA}, where it is known", above=0)
    correlation: float | None = option(CORRELATION, at_least=-1, below=1)
    metric: str = option("what the scores are", default="score")
    lower_is_better: bool | None = option(LOWER)
    same_scale: bool = option("do not ask whether one column is per cent", default=False)
    out: str | None = option(OUT)


@dataclass
class ThresholdSettings:
    """The settings of `simstudy apply thresholds`: defaults for blank cells.

    Quantities that a table may solve for may be "?": see `threshold_settings`.
    """

    alpha: float | None = option(ALPHA, default=0.05, above=0, below=1)
    beta: float | None = option(BETA, default=0.2, above=0, below=1)
    sigma: float | None = option(SIGMA, above=0)
    n: int | None = option("scores of the reference, and as many of a check", at_least=1)
    theta: float | None = option(THETA, above=0)
    reference: float | None = option("recorded mean")
    correlation: float | None = option(CORRELATION, default=0.0, at_least=-1, below=1)
    metric: str | None = option("what the scores are")
    lower_is_better: bool | None = option(LOWER)
    out: str | None = option(OUT)


def threshold_settings(values: Mapping[str, Any]) -> ThresholdSettings:
    """Check the defaults of a table of tasks; "?" marks what is computed.

    Raises
    ------
    ConfigError
        For a value of another type, or outside its range.
    """
    solved = [name for name in RELATED if str(values.get(name)) == TO_BE_SOLVED]
    known = {name: value for name, value in values.items() if name not in solved}
    settings = build(ThresholdSettings, known)
    for name in solved:
        setattr(settings, name, TO_BE_SOLVED)
    return settings


# ---------------------------------------------------------------- trials of models
METRIC_NAMES = ("mae", "mse", "rmse", "mape", "r2", "correlation", "calibration_slope")
CLUSTER = "column that names groups of cases that depend on each other"
SEED = "seed of the random numbers"
PREDICTIVE_MEAN = "mean"


@dataclass
class RegressionTestSettings:
    """The settings of `simstudy apply regression-trial test`."""

    y: str = option("column of the responses", default="y")
    prediction: str = option("column of the predictions", default="prediction")
    error: str | None = option("column of the errors, in place of y and prediction")
    cluster: str | None = option(CLUSTER)
    out: str | None = option(OUT)


@dataclass
class RegressionPlanSettings(RegressionTestSettings):
    """The settings of `simstudy apply regression-trial plan`."""

    metric: str = option("measure of the error", default="mae", one_of=METRIC_NAMES)
    k: float | None = option("standard errors from the estimate to the bound (1.5)")
    n2: int | None = option("cases of the second sample; computed from the others", at_least=1)
    power: float | None = option("chance to reject a false null (0.8)", above=0, below=1)
    alpha: float | None = option(
        "chance to reject a true null, on average (0.05)", above=0, below=1
    )
    n_boot: int = option("resamples of the studentized bootstrap", default=2000, at_least=100)
    seed: int = option(SEED, default=1, at_least=0)
    simulate: bool = option("simulate the plan with cases drawn from the file", default=False)
    n_rep: int = option("trials to simulate", default=1000, at_least=2)


@dataclass
class ClassifierTestSettings:
    """The settings of `simstudy apply classifier-trial test`."""

    label: str = option("column of the true classes", default="label")
    score: str = option("column of the scores", default="score")
    positive: str | None = option("label of positive cases; else 1, true, yes or positive")
    cluster: str | None = option(CLUSTER)
    out: str | None = option(OUT)


@dataclass
class ClassifierPlanSettings(ClassifierTestSettings):
    """The settings of `simstudy apply classifier-trial plan`."""

    sensitivity: float = option(
        "share of positive cases to find", default=0.95, at_least=LEAST, at_most=1 - LEAST
    )
    confidence: float = option(
        "chance that the threshold keeps the sensitivity", default=0.8, at_least=LEAST,
        at_most=1 - LEAST,
    )  # fmt: skip
    method: str = option("how the threshold is set", default="umbrella", one_of=THRESHOLD_METHODS)
    margin: float | None = option("sensitivity less the null (0.05)", at_least=LEAST, below=1)
    alpha: float = option("level of the trial's test", default=0.05, above=0, below=1)
    power: float | None = option("chance to reject, at the sensitivity (0.8)", above=0, below=1)
    n: int | None = option("positive cases of the trial, if not computed", at_least=1)
    seed: int = option(SEED, default=1, at_least=0)
    simulate: bool = option("simulate the plan with scores drawn from the file", default=False)
    n_rep: int = option("trials to simulate", default=10_000, at_least=2)


# ---------------------------------------------------------------- predictions
@dataclass
class LooSettings:
    """The settings of `simstudy apply loo`."""

    y: str = option("column of the response", default="y")
    features: list[str] | None = option("columns of the linear model; all other numbers")
    against: list[str] | None = option("columns of a second linear model, to compare with")
    prediction: list[str] | None = option(
        "columns of leave-one-out predictions, one or two models, in place of features"
    )
    log_density: list[str] | None = option("columns of their log predictive densities")
    cluster: str | None = option(CLUSTER)
    n_draw: int = option("draws of the Bayesian bootstrap", default=4000, at_least=100)
    seed: int = option(SEED, default=1, at_least=0)
    out: str | None = option(OUT)


@dataclass
class PredictiveSettings:
    """The settings of `simstudy apply predictive-pvalues`."""

    y: str = option("column of the responses", default="y")
    mean: str = option(
        "column of predictive means, in place of a file of draws", default=PREDICTIVE_MEAN
    )
    sd: str = option("column of predictive standard deviations", default="sd")
    law: str = option(
        "of draws: their ranks, or a normal distribution fitted to them, as document 001 does",
        default="draws", one_of=("draws", "normal"),
    )  # fmt: skip
    tail: str = option(
        "values that count as far", default="both", one_of=("both", "lower", "upper")
    )
    level: float = option("nominal coverage of intervals", default=0.9, above=0, below=1)
    cluster: str | None = option(CLUSTER)
    n_boot: int = option("resamples of the intervals", default=999, at_least=99)
    seed: int = option(SEED, default=1, at_least=0)
    out: str | None = option(OUT)
