"""A trial with a threshold of its own test set, against the document's loop."""

import numpy as np
import pytest
from scipy import stats

from simstudy.stats.classifier.thresholds import thresholds
from simstudy.trials.applied import TRIAL_METHODS, AppliedTrial
from tests.trials.draws import streams


def document_p_value(s_hat, n, l):  # noqa: E741
    return 1 - stats.norm.cdf((s_hat - l) / np.sqrt(l * (1 - l) / n))


@pytest.mark.parametrize("n_boot", [0, 50])
def test_a_block_of_the_example_is_the_documents_loop(n_boot):
    applied, n_rep = AppliedTrial(n_boot=n_boot), 20
    found = applied.simulate(streams(), n_rep)
    again = streams()
    tests = 1 + again("data").standard_normal((n_rep, 50))
    trials = 1 + again("trial").standard_normal((n_rep, 184))
    bounds = thresholds(tests, applied.target, resamples=applied.resamples(again, tests))
    bounds["true"] = np.full(n_rep, 1 + stats.norm.ppf(1 - 0.95))
    for i in range(n_rep):
        for place, method in enumerate(TRIAL_METHODS):
            share = np.mean(trials[i] > bounds[method][i])
            assert found["trial_sensitivity"][i, place] == pytest.approx(share, abs=1e-15)
            assert found["reject"][i, place] == (document_p_value(share, 184, 0.9) < 0.05)
            kept = stats.norm.sf(bounds[method][i], 1, 1)
            power = stats.binom.sf(172, 184, kept)
            assert found["power_given_threshold"][i, place] == pytest.approx(power, abs=1e-12)
