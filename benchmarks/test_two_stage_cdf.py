"""The law of the two-stage statistic against SciPy's bivariate normal, timed in one run."""

import numpy as np
import pytest
from scipy import special, stats

from benchmarks.timing import seconds
from simstudy.documents.stats.two_stage import cdf

N_POINTS = 5000
LEAST_RATIO = 20
K, N1, N2 = 1.5, 100, 300


def bivariate_route(x, *, null_is_false):
    """A bivariate normal probability over the probability of the state."""
    r, s = np.sqrt(N2 / N1), 1 if null_is_false else -1
    rho = s * r / np.hypot(1, r)
    law = stats.multivariate_normal(mean=[0, 0], cov=[[1, rho], [rho, 1]])
    points = np.column_stack([np.full(x.size, s * K), (x + r * K) / np.hypot(1, r)])
    return law.cdf(points) / special.ndtr(s * K)


@pytest.mark.parametrize("null_is_false", [True, False])
def test_cdf_is_twenty_times_faster(benchmark, null_is_false):
    z1, x = np.random.default_rng(0).standard_normal((2, 20 * N_POINTS))
    x = (x - np.sqrt(N2 / N1) * (z1 + K))[(z1 + K > 0) == null_is_false][:N_POINTS]

    def by_owen():
        return cdf(x, null_is_false, K, N1, N2)

    slow = bivariate_route(x, null_is_false=null_is_false)
    np.testing.assert_allclose(by_owen(), slow, rtol=0, atol=1e-6)
    benchmark.pedantic(by_owen, rounds=20, warmup_rounds=2)
    pairs = [
        (seconds(lambda: bivariate_route(x, null_is_false=null_is_false)), seconds(by_owen))
        for _ in range(12)
    ]
    slow_time, fast_time = np.min(pairs, axis=0)
    benchmark.extra_info["ratio"] = slow_time / fast_time
    assert slow_time / fast_time >= LEAST_RATIO
