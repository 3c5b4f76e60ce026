"""Trials that a user planned, drawn from the cases of their file with replacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy.array_types import Float
from simstudy.data.parts import Data
from simstudy.design import Columns
from simstudy.documents.stats.classifier_trial import critical_count
from simstudy.documents.stats.models._pooled import METRICS, Pool, pooled_metric, stage_of_rows
from simstudy.documents.stats.models.trial import verdict
from simstudy.documents.stats.thresholds import Target, thresholds
from simstudy.measures import rejection_rate
from simstudy.provenance.streams import Streams
from simstudy.study import Study

Rates = tuple[tuple[str, float, float], ...]  # name, estimate and Monte Carlo standard error
BLOCK = 50  # trials drawn at once


@dataclass(frozen=True)
class PlannedRegressionTrial:
    """A planned trial of a regression model, on cases drawn from the planner's file.

    `pool` has moments of each case, or of each group with its size last; `n1` and `n2` rows of it
    are in the two samples. The rest are values of the plan.
    """

    pool: Data
    metric: str
    n1: int
    n2: int
    k: float
    critical_value: float
    n_boot: int
    has_sizes: bool

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        pool, data, boot = self.pool.read_array(), streams("data"), streams("bootstrap")
        metric = pooled_metric(METRICS[self.metric], pool, has_sizes=self.has_sizes)
        first, second = (
            stage_of_rows(
                metric, data.integers(0, len(pool), (n_rep, n)), boot, k=self.k, n_boot=self.n_boot
            )
            for n in (self.n1, self.n2)
        )
        sign = 1 if metric.lower_is_better else -1
        truth = float(metric.value(pool.mean(axis=0)))
        found = verdict(first, second, k=self.k, limit=self.critical_value, sign=sign)
        bound, reject = found["bound"][:, 0, 0], found["reject"][:, 0, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            at_truth = sign * (second.estimate - truth) / second.std_error
        is_false = sign * (bound - truth) > 0
        return {
            "reject": reject,
            "null_is_false": is_false,
            "null_is_true": ~is_false,
            "reject_at_boundary": at_truth[:, 0, 0] < self.critical_value,
        }


@dataclass(frozen=True)
class PlannedClassifierTrial:
    """A planned trial of a classifier, on positive scores drawn from the planner's file.

    `n_test` of them set the threshold, and `n` are in the trial; the rest are values of the plan.
    """

    scores: Data
    n_test: int
    n: int
    threshold_method: str
    sensitivity: float
    confidence: float
    null: float
    alpha: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        pool, rng = self.scores.read_array(), streams("data")
        test = pool[rng.integers(0, len(pool), (n_rep, self.n_test))]
        target, method = Target(self.sensitivity, self.confidence), self.threshold_method
        found = thresholds(test, target, [method])[method]
        true = (len(pool) - np.searchsorted(np.sort(pool), found)) / len(pool)
        critical = critical_count(self.n, self.null, self.alpha)
        return {
            "kept": true >= self.sensitivity * (1 - 1e-12),
            "reject": rng.binomial(self.n, true) >= critical,
            "reject_at_null": rng.binomial(self.n, self.null, n_rep) >= critical,
        }


def regression_rates(pool: Pool, *, n_rep: int, seed: int, **plan: Any) -> Rates:
    """Rates of a planned trial whose first sample has as many rows as the pool.

    `plan` has the other fields of `PlannedRegressionTrial`.
    """
    scenario = PlannedRegressionTrial(Data.from_array(pool, "cases"), n1=len(pool), **plan)
    measures = [
        rejection_rate("reject", given="null_is_false", name="power"),
        rejection_rate("reject", given="null_is_true", name="size"),
        rejection_rate("reject_at_boundary", name="size at bound"),
        rejection_rate("null_is_false", name="bound holds"),
    ]
    return _rates("planned_regression_trial", scenario, measures, n_rep, seed)


def classifier_rates(
    scores: Float[np.ndarray, " case"], *, n_rep: int, seed: int, **plan: Any
) -> Rates:
    """Rates of a planned trial whose test set has as many positive scores as given.

    `plan` has the other fields of `PlannedClassifierTrial`.
    """
    scenario = PlannedClassifierTrial(Data.from_array(scores, "scores"), n_test=len(scores), **plan)
    measures = [
        rejection_rate("kept", name="kept"),
        rejection_rate("reject", name="power"),
        rejection_rate("reject_at_null", name="size"),
    ]
    return _rates("planned_classifier_trial", scenario, measures, n_rep, seed)


def _rates(name: str, scenario: Any, measures: Sequence[Any], n_rep: int, seed: int) -> Rates:
    study = Study(name=name, scenarios=[scenario], measures=measures, block_size=BLOCK)
    summary = study.run(n_rep, seed, progress=False).summary
    rows = zip(summary["measure"], summary["estimate"], summary["mcse"], strict=True)
    return tuple((str(m), float(estimate), float(mcse)) for m, estimate, mcse in rows)
