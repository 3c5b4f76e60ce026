"""Every MCSE against the spread of its measure over thousands of studies."""

import numpy as np
import pytest

from simstudy import measures as m
from tests.measures import calibration as c

ROWS = 45  # of the table: measures, and values of those with an axis of their own
WITHIN_5 = c.studies_for(0.05, ROWS, spread=c.OF_SD)
WITHIN_15 = c.studies_for(0.15, ROWS, spread=c.OF_TYPICAL)  # the wider of the two yardsticks
FOURTH_POWERS = ("variance", "empirical_se", "mse", "rmse", "relative_error", "relative_precision")


def far_off(rows, ratio, gate):
    return {row.measure: round(ratio(row), 3) for row in rows if abs(ratio(row) - 1) > gate}


def test_mcse_is_the_sd_of_every_measure_for_normal_estimates():
    rows = c.calibration("normal", WITHIN_5, seed=1)
    assert len(rows) == ROWS
    assert not far_off(rows, lambda row: row.ratio, 0.05)


def test_mcse_is_the_sd_of_every_measure_for_exponential_estimates():
    rows = c.calibration("exponential", WITHIN_15, seed=1)
    assert not far_off(rows, lambda row: row.ratio, 0.15)


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


def test_calibration_catches_the_binomial_formula_for_bias_eliminated_coverage():
    """Lopsided intervals: the mean to be covered errs, and coverage with it.

    Exponential estimates with mean 1 and intervals (x - 0.1, x + 0.5), so that the mean is covered
    for x in (0.5, 1.1): a share of exp(-0.5) - exp(-1.1) = 0.27 with slope exp(-1.1) - exp(-0.5).
    The variance is 0.31/n, of which the binomial formula has 0.20/n.
    """
    measure = m.bias_eliminated_coverage("estimate", "lower", "upper")

    def lopsided(data):
        return {**data, "lower": data["estimate"] - 0.1, "upper": data["estimate"] + 0.5}

    def binomial(data):
        result = measure.estimate(lopsided(data))
        share = result.estimate
        return result._replace(mcse=np.sqrt(share * (1 - share) / result.n_rep))

    right = ratio_of("exponential", lambda data: measure.estimate(lopsided(data)))
    assert abs(right - 1) < 0.15
    assert ratio_of("exponential", binomial) < 0.85


def test_calibration_catches_a_paired_contrast_taken_as_independent():
    spread = m.empirical_se("estimate")

    def wrong(data):
        pair = c.both_methods(data)
        first, second = ({"estimate": pair["estimate"][:, k]} for k in (0, 1))
        return m.unpaired(spread, first, second)

    assert ratio_of("normal", wrong) > 1.15


@pytest.mark.parametrize("name", list(c.DISTRIBUTIONS))
def test_the_distributions_have_mean_0_and_sd_1(name):
    n = 200_000
    values = c.DISTRIBUTIONS[name](np.random.default_rng(1), (n,))
    assert abs(values.mean()) < c.critical_z(3) / np.sqrt(n)
    kurtosis = {"normal": 3, "t5": 9, "exponential": 9}[name]
    assert abs(values.var() - 1) < c.critical_z(3) * np.sqrt((kurtosis - 1) / n)
