"""The classifier trial's kernels beside the plain loops they replace, timed in the same run."""

import numpy as np
from arch.bootstrap import IIDBootstrap
from scipy import stats

from benchmarks.timing import seconds
from simstudy.documents.dgps.scores import NormalScores
from simstudy.documents.stats.classifier import bounds as threshold_bounds
from simstudy.documents.stats.classifier import direct_bounds
from simstudy.documents.stats.classifier import trial as binomial_trial

METHODS = {"basic": "basic", "percentile": "percentile", "normal": "norm", "bca": "bca"}
N_OBS, N_REP, N_BOOT = 50, 5000, 1000
SENSITIVITY, CONFIDENCE = 0.95, 0.8


def plain_bounds(sample):
    """One replicate as published: a fresh bootstrap of 1000 resamples for every method."""
    return [
        IIDBootstrap(sample, seed=1).conf_int(
            np.quantile,
            reps=N_BOOT,
            method=method,
            size=CONFIDENCE,
            tail="lower",
            extra_kwargs={"q": 1 - SENSITIVITY},
        )[0, 0]
        for method in METHODS.values()
    ]


def coverage_table(scores):
    """Four exact bootstrap bounds of every row, and how many are safe thresholds."""
    bounds = threshold_bounds.exact_bootstrap_bounds(
        scores, q=1 - SENSITIVITY, confidence=CONFIDENCE, methods=tuple(METHODS), ties="strict"
    )
    true = NormalScores().threshold(SENSITIVITY)
    return {name: np.mean(bound <= true) for name, bound in bounds.items()}


def test_coverage_table_is_over_1000_times_faster_a_replicate(benchmark):
    scores = NormalScores().draw(np.random.default_rng(1), N_REP, N_OBS)
    table = benchmark.pedantic(coverage_table, (scores,), rounds=5, warmup_rounds=1)
    assert set(table) == set(METHODS)
    ours = min(seconds(lambda: coverage_table(scores)) for _ in range(5)) / N_REP
    plain = seconds(lambda: plain_bounds(scores[0]))
    benchmark.extra_info.update(microseconds_a_replicate=1e6 * ours, ratio=plain / ours)
    assert plain / ours >= 1000


def plain_power(n_obs, sensitivity, null, n_draws):
    """As published: one trial at a time."""
    rng, p_values = np.random.default_rng(1), []
    for _ in range(n_draws):
        share = rng.binomial(n_obs, sensitivity) / n_obs
        statistic = (share - null) / np.sqrt(null * (1 - null) / n_obs)
        p_values.append(1 - stats.norm.cdf(statistic))
    return np.mean(np.array(p_values) < 0.05)


def exact_power():
    """The published grid of 27 designs at their normal-approximation sample sizes."""
    grid = np.meshgrid([0.85, 0.90, 0.95], [0.01, 0.03, 0.05], [0.10, 0.15, 0.20])
    n_obs = np.ceil(binomial_trial.normal_sample_size(*grid[:2], 1 - grid[2], 0.05)).astype(int)
    return binomial_trial.trial_power(n_obs, grid[0], grid[0] - grid[1], 0.05, rule="score").power


def test_exact_power_is_over_500_times_faster_a_design(benchmark):
    power = benchmark.pedantic(exact_power, rounds=5, warmup_rounds=1)
    ours = min(seconds(exact_power) for _ in range(5)) / power.size
    n_draws = 500
    plain = seconds(lambda: plain_power(184, 0.95, 0.90, n_draws)) * 5000 / n_draws
    benchmark.extra_info.update(ratio=plain / ours)
    assert plain / ours >= 500


def plain_smooth_bound(sample, n_boot):
    """The smoothed bootstrap by resampling, one resample at a time."""
    rng, width = np.random.default_rng(1), 1.3 * sample.std(ddof=1) * sample.size ** (-1 / 3)
    draws = [
        np.quantile(rng.choice(sample, sample.size) + width * rng.normal(size=sample.size), 0.05)
        for _ in range(n_boot)
    ]
    return np.quantile(draws, 1 - CONFIDENCE)


def test_smoothed_bound_is_over_100_times_faster_a_replicate(benchmark):
    scores = NormalScores().draw(np.random.default_rng(1), 500, N_OBS)

    def smoothed():
        return direct_bounds.smoothed_bound(scores, q=0.05, confidence=CONFIDENCE)

    benchmark.pedantic(smoothed, rounds=3, warmup_rounds=1)
    ours = min(seconds(smoothed) for _ in range(3)) / len(scores)
    plain = seconds(lambda: plain_smooth_bound(scores[0], N_BOOT))
    benchmark.extra_info.update(ratio=plain / ours)
    assert plain / ours >= 100
