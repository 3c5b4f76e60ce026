"""Every MCSE against the spread of its measure over thousands of studies."""

import numpy as np
import pytest

from simstudy import measures as m
from tests.measures import calibration as c

ROWS = 36  # of the table: measures, and values of those with an axis of their own
WITHIN_5 = c.studies_for(0.05, ROWS, spread=c.OF_SD)
WITHIN_15 = c.studies_for(0.15, ROWS, spread=c.OF_TYPICAL)  # the wider of the two yardsticks
FOURTH_POWERS = ("variance", "empirical_se", "mse", "rmse", "relative_error", "relative_precision")


def far_off(rows, ratio, gate):
    return {row.measure: round(ratio(row), 3) for row in rows if abs(ratio(row) - 1) > gate}


@pytest.mark.parametrize(
    ("law", "n_studies", "gate"),
    [
        ("exponential", WITHIN_15, 0.15),
        pytest.param("normal", WITHIN_5, 0.05, marks=pytest.mark.slow),
    ],
)
def test_mcse_is_the_sd_of_every_measure(law, n_studies, gate):
    rows = c.calibration(law, n_studies, seed=1)
    assert len(rows) == ROWS
    assert not far_off(rows, lambda row: row.ratio, gate)


def test_mcse_is_the_sd_or_typical_error_of_every_measure_for_heavy_tails():
    rows = c.calibration("t5", WITHIN_15, seed=1)
    heavy = [row for row in rows if row.measure.startswith(FOURTH_POWERS)]
    others = [row for row in rows if row not in heavy]
    assert not far_off(others, lambda row: row.ratio, 0.15)
    assert not far_off(heavy, lambda row: row.typical_ratio, 0.15)


def one(measure):
    return lambda data: {"wrong": measure(data)}


def ratio_of(distribution, measure):
    found = c.studies(distribution, WITHIN_15, seed=1, measure=one(measure))["wrong"]
    return c.row("wrong", *found).ratio


def test_calibration_catches_the_normal_formula_for_exponential_estimates():
    spread = m.empirical_se("estimate", mcse="normal")
    assert ratio_of("exponential", spread.estimate) < 0.85
    error = m.relative_error_model_se("estimate", "se", mcse="normal")
    assert ratio_of("exponential", error.estimate) < 0.85


def test_calibration_catches_a_conditional_rate_over_all_replicates():
    power = m.power("reject", given="null_is_false")

    def wrong(data):
        result = power.estimate(data)
        binomial = np.sqrt(result.estimate * (1 - result.estimate) / result.n_rep)
        return result._replace(mcse=binomial)

    assert ratio_of("normal", wrong) < 0.85
