"""Every MCSE against the spread of its measure over thousands of studies."""

import numpy as np
import pytest

from simstudy import measures as m
from tests.measures import calibration as c

ROWS = 36  # of the table: measures, and values of those with an axis of their own
WITHIN_5, WITHIN_15 = (c.studies_for(gate, ROWS) for gate in (0.05, 0.15))


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
    far_off = {row.measure: round(row.ratio, 3) for row in rows if abs(row.ratio - 1) > gate}
    assert not far_off


def ratio_of(distribution, measure):
    found = c.studies(distribution, WITHIN_15, seed=1, measure=lambda data: {"": measure(data)})
    return c.row("wrong", *found[""]).ratio


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
