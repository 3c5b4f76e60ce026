"""Trials that count true positives, against the document's p-value."""

import numpy as np
import pytest
from scipy import stats

from simstudy.trials.sensitivity import Trial
from tests.trials.draws import streams


def document_p_value(s_hat, n, l):  # noqa: E741
    return 1 - stats.norm.cdf((s_hat - l) / np.sqrt(l * (1 - l) / n))


@pytest.mark.parametrize(("k", "b"), [(0.95, 0.05), (0.85, 0.03)])
def test_a_block_of_trials_is_the_documents_loop(k, b):
    trial = Trial(k, b)
    found = trial.simulate(streams(), 200)["reject"][:, 0]
    counts = streams()("data").binomial(trial.n_trial, k, size=(200, 1))[:, 0]
    plain = [document_p_value(x / trial.n_trial, trial.n_trial, k - b) < 0.05 for x in counts]
    np.testing.assert_array_equal(found, plain)
