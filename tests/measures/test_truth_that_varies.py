"""Measures of replicates that each have a truth of their own, against a loop that counts.

What reports of simulation studies ask for (Siepe et al. 2024), where some replicates have an effect
and others none, and effects differ: a measure that took one truth for all would be wrong here.
"""

import math

import numpy as np
import pytest
from scipy import stats

from simstudy import measures as m
from tests.measures import plain

N = 80


@pytest.fixture(scope="module")
def columns():
    """Truths 0 (no effect), or 1 to 3; errors skewed, standard errors random."""
    rng = np.random.default_rng(7)
    effect = rng.random(N) < 0.5
    truth = np.where(effect, rng.uniform(1, 3, N), 0.0)
    estimate = truth + rng.gamma(2.0, 0.4, N) - 0.7
    se = rng.uniform(0.3, 0.9, N)
    return {
        "estimate": estimate,
        "se": se,
        "lower": estimate - 2 * se,
        "upper": estimate + 1.5 * se,
        "truth": truth,
        "shifted": truth + 1.0,  # never 0, for what is relative to it
        "effect": effect,
        "reject": np.abs(estimate) > 1.3 * se,
        "score": np.abs(estimate) / se,
    }


def loop(columns, of):
    """Summands of each replicate, with the share or mean of them and its error."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [of(row) for row in rows]


def mean_of(of):
    return lambda columns: plain.error_of_mean([float(v) for v in loop(columns, of)])


def share_of(of):
    return lambda columns: plain.share(loop(columns, of))


def share_among(of, among):
    """A share of those replicates that are in the condition, with their own number as n."""

    def counted(columns):
        inside = [of(row) for row in _rows(columns) if among(row)]
        return plain.share(inside)

    return counted


def _rows(columns):
    return loop(columns, lambda row: row)


def root_of(of):
    def counted(columns):
        value, error = mean_of(of)(columns)
        return math.sqrt(value), error / (2 * math.sqrt(value))

    return counted


def pairs_in_order(columns):
    wins = [
        (with_it["score"] > without["score"]) + (with_it["score"] == without["score"]) / 2
        for with_it in _rows(columns)
        for without in _rows(columns)
        if with_it["effect"] and not without["effect"]
    ]
    return sum(wins) / len(wins), None


CASES = {
    "bias": (m.bias("estimate", "truth"), mean_of(lambda r: r["estimate"] - r["truth"])),
    "relative_bias": (
        m.relative_bias("estimate", "shifted"),
        mean_of(lambda r: (r["estimate"] - r["shifted"]) / r["shifted"]),
    ),
    "mse": (m.mse("estimate", "truth"), mean_of(lambda r: (r["estimate"] - r["truth"]) ** 2)),
    "rmse": (m.rmse("estimate", "truth"), root_of(lambda r: (r["estimate"] - r["truth"]) ** 2)),
    "mae": (m.mae("estimate", "truth"), mean_of(lambda r: abs(r["estimate"] - r["truth"]))),
    "model_se": (m.model_se("se"), root_of(lambda r: r["se"] ** 2)),
    "coverage": (
        m.coverage("lower", "upper", "truth"),
        share_of(lambda r: r["lower"] <= r["truth"] <= r["upper"]),
    ),
    "coverage_at": (
        m.coverage_at("estimate", "se", "truth", level=0.8),
        share_of(lambda r: abs(r["estimate"] - r["truth"]) <= stats.norm.ppf(0.9) * r["se"]),
    ),
    "interval_width": (
        m.interval_width("lower", "upper"),
        mean_of(lambda r: r["upper"] - r["lower"]),
    ),
    "power": (
        m.power("reject", given="effect"),
        share_among(lambda r: r["reject"], lambda r: r["effect"]),
    ),
    "sensitivity": (
        m.sensitivity("reject", effect="effect"),
        share_among(lambda r: r["reject"], lambda r: r["effect"]),
    ),
    "specificity": (
        m.specificity("reject", effect="effect"),
        share_among(lambda r: not r["reject"], lambda r: not r["effect"]),
    ),
    "positive_predictive_value": (
        m.positive_predictive_value("reject", effect="effect"),
        share_among(lambda r: r["effect"], lambda r: r["reject"]),
    ),
    "negative_predictive_value": (
        m.negative_predictive_value("reject", effect="effect"),
        share_among(lambda r: not r["effect"], lambda r: not r["reject"]),
    ),
    "positive_likelihood_ratio": (
        m.positive_likelihood_ratio("reject", effect="effect"),
        lambda c: plain.likelihood_ratio(c["reject"], c["effect"]),
    ),
    "negative_likelihood_ratio": (
        m.negative_likelihood_ratio("reject", effect="effect"),
        lambda c: plain.likelihood_ratio(~c["reject"], c["effect"]),
    ),
    "correlation": (
        m.correlation("estimate", "truth"),
        lambda c: plain.correlation(c["estimate"].tolist(), c["truth"].tolist()),
    ),
    "area_under_curve": (m.area_under_curve("score", effect="effect"), pairs_in_order),
}


@pytest.mark.parametrize("case", CASES)
def test_a_measure_is_what_a_loop_counts(columns, case):
    measure, counted = CASES[case]
    found, (value, error) = measure.estimate(columns), counted(columns)
    assert float(found.estimate) == pytest.approx(value, rel=1e-12)
    if error is not None:
        assert float(found.mcse) == pytest.approx(error, rel=1e-10)


def test_that_loop_catches_one_truth_taken_for_all(columns):
    """The negative control: with the truths' mean in the place of each."""
    flat = columns | {name: np.full(N, columns[name].mean()) for name in ("truth", "shifted")}
    for case in ("relative_bias", "mse", "rmse", "mae", "coverage", "coverage_at"):
        measure, counted = CASES[case]
        assert float(measure.estimate(flat).estimate) != pytest.approx(
            counted(columns)[0], rel=1e-3
        )
