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
    }


def loop(columns, of):
    """Summands of each replicate, with the share or mean of them and its error."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [of(row) for row in rows]


def mean_of(of):
    return lambda columns: plain.error_of_mean([float(v) for v in loop(columns, of)])


def share_of(of):
    return lambda columns: plain.share(loop(columns, of))


def root_of(of):
    def counted(columns):
        value, error = mean_of(of)(columns)
        return math.sqrt(value), error / (2 * math.sqrt(value))

    return counted


CASES = {
    "bias": (m.bias("estimate", "truth"), mean_of(lambda r: r["estimate"] - r["truth"])),
    "relative_bias": (
        m.relative_bias("estimate", "shifted"),
        mean_of(lambda r: (r["estimate"] - r["shifted"]) / r["shifted"]),
    ),
    "mse": (m.mse("estimate", "truth"), mean_of(lambda r: (r["estimate"] - r["truth"]) ** 2)),
    "rmse": (m.rmse("estimate", "truth"), root_of(lambda r: (r["estimate"] - r["truth"]) ** 2)),
    "mae": (m.mae("estimate", "truth"), mean_of(lambda r: abs(r["estimate"] - r["truth"]))),
    "coverage": (
        m.coverage("lower", "upper", "truth"),
        share_of(lambda r: r["lower"] <= r["truth"] <= r["upper"]),
    ),
    "coverage_at": (
        m.coverage_at("estimate", "se", "truth", level=0.8),
        share_of(lambda r: abs(r["estimate"] - r["truth"]) <= stats.norm.ppf(0.9) * r["se"]),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_measure_is_what_a_loop_counts(columns, case):
    measure, counted = CASES[case]
    found, (value, error) = measure.estimate(columns), counted(columns)
    assert float(found.estimate) == pytest.approx(value, rel=1e-12)
    assert float(found.mcse) == pytest.approx(error, rel=1e-10)


def test_that_loop_catches_one_truth_taken_for_all(columns):
    """The negative control: with the truths' mean in the place of each."""
    flat = columns | {name: np.full(N, columns[name].mean()) for name in ("truth", "shifted")}
    for case in ("relative_bias", "mse", "rmse", "mae", "coverage", "coverage_at"):
        measure, counted = CASES[case]
        assert float(measure.estimate(flat).estimate) != pytest.approx(
            counted(columns)[0], rel=1e-3
        )
