"""Settings of the tests, with ranges, for the command line and for Python."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy.documents.applied.count_tests import CHANGE_TESTS, COUNT_TESTS
from simstudy.options import build, option

AUTO = "auto"
TEST_NAMES = ("z", "t", "pooled_t", *COUNT_TESTS, *CHANGE_TESTS)
RELATED = ("theta", "alpha", "beta", "sigma", "n")  # of a task: four of them say the fifth
TO_BE_SOLVED = "?"
LEAST_ERROR = 1e-4  # rate: at 1e-6 SciPy's noncentral t is wrong with one degree of freedom
ALPHA = "chance that an unchanged candidate fails"
BETA = "chance that a candidate worse by theta passes"
THETA = "how much worse matters, in the units of the scores"
SIGMA = "standard deviation of one score, where it is known"
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
class Columns:
    """The columns of a file that hold scores."""

    reference: str = option(
        "column of the reference's scores, or with model= its name", default="reference"
    )
    candidate: str = option("the same of the candidate", default="candidate")
    model: str | None = option("column that names the model, where scores of both are in one")
    score: str | None = option("column of the scores, with model=; else score")
    prompt: str | None = option("column that names the prompt, with model=")


@dataclass
class Question:
    """The question asked of scores.

    Without options that are given, what the scores themselves suggest.
    """

    paired: str = option(
        "whether a row is one prompt", default=AUTO, one_of=(AUTO, "true", "false")
    )
    test: str = option("how they are compared", default=AUTO, one_of=(AUTO, *TEST_NAMES))
    alpha: float = option(ALPHA, default=0.05, at_least=LEAST_ERROR, below=0.5)
    beta: float = option(BETA, default=0.2, at_least=LEAST_ERROR, below=0.5)
    theta: float | None = option(THETA, above=0)
    sigma: float | None = option(SIGMA, above=0)
    correlation: float | None = option(CORRELATION, at_least=-1, below=1)
    metric: str = option("what the scores are", default="score")
    lower_is_better: bool | None = option(LOWER)
    same_scale: bool = option("do not ask whether one column is per cent", default=False)


@dataclass
class AccuracySettings(Question, Columns):
    """The settings of `simstudy apply accuracy`."""

    out: str | None = option("folder for the answer")


@dataclass
class ThresholdSettings:
    """The settings of `simstudy apply thresholds`: defaults for blank cells.

    Those that a table may solve for may be "?": see `threshold_settings`.
    """

    alpha: float | str | None = option(ALPHA, default=0.05, above=0, below=1)
    beta: float | str | None = option(BETA, default=0.2, above=0, below=1)
    sigma: float | str | None = option("standard deviation of one score", above=0)
    n: int | str | None = option("scores of the reference, and as many of a check", at_least=1)
    theta: float | str | None = option(THETA, above=0)
    reference: float | None = option("recorded mean")
    correlation: float | None = option(CORRELATION, default=0.0, at_least=-1, below=1)
    metric: str | None = option("what the scores are")
    lower_is_better: bool | None = option(LOWER)
    out: str | None = option("folder for the table")


def threshold_settings(values: Mapping[str, Any]) -> ThresholdSettings:
    """Check the defaults of a table of tasks; "?" marks what is computed.

    Raises
    ------
    ConfigError
        For a value of another type, or outside its range.
    """
    solved = {
        name
        for name in RELATED
        if isinstance(values.get(name), str) and values[name] == TO_BE_SOLVED
    }
    known = {name: value for name, value in values.items() if name not in solved}
    settings = build(ThresholdSettings, plain_values(known))
    for name in solved:
        setattr(settings, name, TO_BE_SOLVED)
    return settings


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert NumPy numbers to Python numbers."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in values.items()
    }
