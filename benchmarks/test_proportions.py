"""Estimated proportions of a block of lists beside the plain loops that they replace."""

import numpy as np
import pytest

from benchmarks.timing import least, seconds
from simstudy.documents.stats.compatible import ESTIMATORS
from tests.documents.stats import plain_shares as plain

N, N_REP = 168, 500  # a block short enough not to be put aside for other processes
PLAIN = {
    "cfdr": lambda p: plain.mean(plain.cfdr(p)),
    "cfdr_by_p_clipped": lambda p: plain.mean(plain.cfdr(p, "p", clipped=True)),
    "rfdr": lambda p: plain.mean(plain.rfdr(p)),
    "storey": lambda p: plain.storey(p, 0.5),
    "storey_bootstrap": plain.storey_bootstrap,
    "jiang_doerge": plain.jiang_doerge,
}
RATIO = dict.fromkeys(PLAIN, 100)
RATIO |= {"storey": 5, "storey_bootstrap": 50, "jiang_doerge": 50}  # shorter loops


def lists() -> np.ndarray:
    return np.random.default_rng(1).random((N_REP, N))


@pytest.mark.parametrize("name", PLAIN)
def test_a_block_is_faster_than_a_loop_over_its_lists(name, benchmark):
    p = lists()
    benchmark.pedantic(ESTIMATORS[name], (p,), rounds=3, warmup_rounds=1)
    first = p[0].tolist()
    ours, loop = least([lambda: ESTIMATORS[name](p), lambda: PLAIN[name](first)], rounds=20)
    ratio = loop / (ours / N_REP)
    benchmark.extra_info.update(microseconds_a_list=1e6 * ours / N_REP, ratio=ratio)
    assert ratio >= RATIO[name]


def test_the_likeliest_convex_density_of_a_block_is_faster_than_em(benchmark):
    """A hundred steps of EM, vectorized over components, come nowhere near as close."""
    p = lists()

    def em(values):
        rows = plain.components(values)
        weights = np.full(len(rows), 1 / len(rows))
        for _ in range(100):
            weights = weights * (rows / (weights @ rows)).mean(axis=1)
        return weights[0]

    benchmark.pedantic(ESTIMATORS["langaas"], (p,), rounds=3, warmup_rounds=1)
    ours = min(seconds(ESTIMATORS["langaas"], p) for _ in range(3)) / len(p)
    ratio = seconds(em, p[0].tolist()) / ours
    benchmark.extra_info.update(microseconds_a_list=1e6 * ours, ratio=ratio)
    assert ratio >= 10
