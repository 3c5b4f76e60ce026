"""What is said of test sets, against what they say themselves."""

import numpy as np

from simstudy.stats.bootstrap.resamples import draw_resamples, exact_shape
from simstudy.stats.classifier.description import described
from simstudy.stats.classifier.thresholds import Target, thresholds

TARGET = Target(0.95, 0.8)


def test_a_block_is_described_by_its_own_test_sets():
    n_rep = 20
    x = np.random.default_rng(1).standard_normal((n_rep, 50))
    found = described(x, TARGET, np.random.default_rng(2))
    x = np.sort(x, axis=1)
    made = draw_resamples(np.random.default_rng(2), x[:4], n_boot=n_rep, q=TARGET.q)
    stricter = thresholds(x, TARGET._replace(confidence=0.92), ("umbrella", "bca strict"))
    for i in range(n_rep):
        kept = np.mean(x[i] > np.quantile(x[i], 1 - 0.95))
        assert found["sensitivity_on_test_set"][i] == kept
        assert found["score_3"][i] == x[i, 2]
    shape = exact_shape(x, TARGET.q)
    np.testing.assert_array_equal(found["bootstrap_mean"], shape.mean)
    np.testing.assert_array_equal(found["bootstrap_skewness"], shape.skewness)
    np.testing.assert_array_equal(found["umbrella_at_92"], stricter["umbrella"])
    np.testing.assert_array_equal(found["bca_strict_at_92"], stricter["bca strict"])
    for i in range(4):
        plain = np.repeat(made.values[i], made.counts[i])
        np.testing.assert_array_equal(found[f"resample_{i + 1}"], plain)
