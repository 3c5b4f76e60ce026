"""The conditional cdf against the bivariate normal route that it replaces, timed in one run."""

import numpy as np
import pytest
from scipy import special, stats

from benchmarks.timing import seconds
from simstudy.documents.stats.two_stage.law import TwoStageStatistic

N_POINTS = 5000
LEAST_RATIO = 20
K, N1, N2 = 1.5, 100, 300


def bivariate_route(x, *, null):
    """A bivariate normal probability over the probability of the state."""
    r, s = np.sqrt(N2 / N1), -1 if null else 1
    rho = s * r / np.hypot(1, r)
    law = stats.multivariate_normal(mean=[0, 0], cov=[[1, rho], [rho, 1]])
    points = np.column_stack([np.full(x.size, s * K), (x + r * K) / np.hypot(1, r)])
    return law.cdf(points) / special.ndtr(s * K)


@pytest.mark.parametrize("null", [False, True], ids=["null_false", "null_true"])
def test_cdf_is_twenty_times_faster(benchmark, null):
    law = TwoStageStatistic(K, N1, N2, null=null)
    x = law.rvs(N_POINTS, rng=np.random.default_rng(0))
    np.testing.assert_allclose(law.cdf(x), bivariate_route(x, null=null), rtol=0, atol=1e-6)
    benchmark.pedantic(law.cdf, args=(x,), rounds=20, warmup_rounds=2)
    pairs = [
        (seconds(lambda: bivariate_route(x, null=null)), seconds(lambda: law.cdf(x)))
        for _ in range(12)
    ]
    slow, fast = np.min(pairs, axis=0)
    benchmark.extra_info["ratio"] = slow / fast
    assert slow / fast >= LEAST_RATIO
