"""Ten measures with their MCSEs against the loops over replicates that define them.

Both are timed in the same run; the loops on fewer replicates, to whose number their time is
proportional.
"""

import tracemalloc

import numpy as np
import pytest

from benchmarks.timing import seconds
from simstudy import measures as m
from tests.measures import plain

N_REP = 200_000
N_LOOP = 4_000
FASTER = 8  # asserted; 15 to 30 when measured, the less the busier the memory
TRUTH = 0.5

TEN = [
    m.bias("x", TRUTH),
    m.empirical_se("x"),
    m.mse("x", TRUTH),
    m.rmse("x", TRUTH),
    m.mae("x", TRUTH),
    m.model_se("se"),
    m.relative_error_model_se("x", "se"),
    m.coverage("lower", "upper", TRUTH),
    m.interval_width("lower", "upper"),
    m.rejection_rate(p_value="p", alpha=0.05),
]


def draw(n_rep):
    rng = np.random.default_rng(1)
    x, se = TRUTH + rng.standard_normal(n_rep), rng.uniform(0.8, 1.2, n_rep)
    return {"x": x, "se": se, "lower": x - se, "upper": x + se, "p": rng.random(n_rep)}


def vectorized(columns):
    return [measure.estimate(columns) for measure in TEN]


def loop(columns):
    x, se, lower, upper, p = (columns[name].tolist() for name in ("x", "se", "lower", "upper", "p"))
    pairs = list(zip(lower, upper, strict=True))
    return [
        plain.bias(x, TRUTH),
        plain.empirical_se(x),
        plain.mse(x, TRUTH),
        plain.rmse(x, TRUTH),
        plain.mae(x, TRUTH),
        plain.model_se(se),
        plain.relative_error_model_se(x, se),
        plain.share([low <= TRUTH <= high for low, high in pairs]),
        plain.error_of_mean([high - low for low, high in pairs]),
        plain.share([v < 0.05 for v in p]),
    ]


def test_the_loops_say_the_same():
    columns = draw(N_LOOP)
    found = [(float(result.estimate), float(result.mcse)) for result in vectorized(columns)]
    np.testing.assert_allclose(found, loop(columns), rtol=1e-10)


@pytest.mark.benchmark(group="ten measures")
def test_ten_measures_beat_the_loops(benchmark):
    columns, few = draw(N_REP), draw(N_LOOP)
    benchmark.pedantic(vectorized, args=(columns,), rounds=3, warmup_rounds=1)
    fast = min(seconds(vectorized, columns) for _ in range(3))
    slow = min(seconds(loop, few) for _ in range(3)) * N_REP / N_LOOP
    benchmark.extra_info["ratio"] = slow / fast
    assert slow > FASTER * fast


def test_memory_is_a_few_columns():
    """Not one array for each measure and term: at most eight columns beyond those given."""
    columns = draw(N_REP)
    tracemalloc.start()
    vectorized(columns)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * columns["x"].nbytes
