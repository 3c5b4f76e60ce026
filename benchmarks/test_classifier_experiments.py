"""The classifier's experiments beside the document's loops, timed in the same run.

Ours is a whole block of a scenario, with everything that it stores: every method, not only the
document's. The plain loops do as the document's code does, on fewer replicates.
"""

import numpy as np
import pytest
from arch.bootstrap import IIDBootstrap
from scipy import stats

from benchmarks.timing import seconds
from simstudy.documents.scenarios.thresholds import AppliedTrial, Threshold, Trial
from simstudy.documents.stats.classifier_trial import normal_sample_size, trial_power
from simstudy.provenance.streams import Streams

K, J, N_TEST, N_BOOT = 0.95, 0.8, 50, 1000
TRUE = 1 + stats.norm.ppf(1 - K)
TABLE = ("basic", "percentile", "norm", "bca")


def document_bound(phat, method):
    return IIDBootstrap(a=phat).conf_int(
        func=np.quantile, reps=N_BOOT, method=method, size=J, tail="lower",
        extra_kwargs={"q": 1 - K},
    )[0, 0]  # fmt: skip


def document_table(n_rep):
    for _ in range(n_rep):
        phat = np.random.randn(N_TEST) + 1  # noqa: NPY002
        _ = [document_bound(phat, method) <= TRUE for method in TABLE]


def document_figure_4(n_rep):
    for _ in range(n_rep):
        phat = np.random.randn(N_TEST) + 1  # noqa: NPY002
        for threshold in (np.sort(phat)[0], document_bound(phat, "bca")):
            _ = 1 - stats.norm.cdf(threshold, 1, 1)


def document_example(n_rep):
    for _ in range(n_rep):
        threshold = document_bound(np.random.randn(N_TEST) + 1, "bca")  # noqa: NPY002
        share = np.mean(np.random.randn(184) + 1 > threshold)  # noqa: NPY002
        _ = 1 - stats.norm.cdf((share - 0.9) / np.sqrt(0.09 / 184))


def document_figure_6(n_rep):
    for _ in range(n_rep):
        share = np.random.binomial(184, 0.95) / 184  # noqa: NPY002
        _ = 1 - stats.norm.cdf((share - 0.9) / np.sqrt(0.09 / 184)) < 0.05


CASES = {  # the document's loop and its replicates, our scenario and its block, the ratio asked for
    "coverage table, exact": (document_table, 2, Threshold(), 1000, 400),
    "coverage table, 1000 resamples": (document_table, 2, Threshold(n_boot=1000), 1000, 1000),
    "figure 4, exact": (document_figure_4, 4, Threshold(), 1000, 100),
    "figure 4, 1000 resamples": (document_figure_4, 4, Threshold(n_boot=1000), 1000, 350),
    "example, exact": (document_example, 4, AppliedTrial(), 500, 200),
    "example, 1000 resamples": (document_example, 4, AppliedTrial(n_boot=1000), 500, 250),
    "figure 6, drawn": (document_figure_6, 500, Trial(), 5000, 40),
}


@pytest.mark.parametrize("name", CASES)
def test_a_replicate_is_so_many_times_faster_than_the_documents(benchmark, name):
    document, n_plain, scenario, block, ratio = CASES[name]

    def ours():
        return scenario.simulate(Streams(1, "benchmark", "scenario", 0), block)

    benchmark.pedantic(ours, rounds=3, warmup_rounds=1)
    here = seconds(ours, rounds=5) / block
    plain = seconds(lambda: document(n_plain), rounds=2) / n_plain
    benchmark.extra_info.update(
        microseconds_ours=1e6 * here, microseconds_document=1e6 * plain, ratio=plain / here
    )
    print(f"{name}: {1e6 * here:.2f} µs against {1e6 * plain:.0f} µs, {plain / here:.0f} times")
    assert plain / here >= ratio


def exact_figure_6():
    """All 27 type-II errors of the figure."""
    k, margin, beta = np.meshgrid([0.85, 0.9, 0.95], [0.01, 0.03, 0.05], [0.1, 0.15, 0.2])
    n = np.ceil(normal_sample_size(k, margin, 1 - beta, 0.05)).astype(int)
    return 1 - trial_power(n, k, k - margin, 0.05, rule="score").power


def test_figure_6_is_500_times_faster_exactly_than_from_5000_draws(benchmark):
    shown = benchmark.pedantic(exact_figure_6, rounds=3, warmup_rounds=1)
    here = seconds(exact_figure_6, rounds=5)
    plain = seconds(lambda: document_figure_6(500), rounds=2) * 10 * shown.size
    benchmark.extra_info.update(ratio=plain / here)
    print(f"figure 6, exact: {1e3 * here:.2f} ms against {plain:.1f} s, {plain / here:.0f} times")
    assert plain / here >= 500
