"""Checks of scores beside a plain loop that draws and tests them one replicate after the other.

Ours is a whole block of a scenario: eight tests, and two pilot runs. The loop has no pilots, and
only as many tests as it says.
"""

import numpy as np
import pytest
from scipy import special, stats

from benchmarks.timing import seconds
from simstudy.documents.dgps.prompts import PerplexityScores
from simstudy.documents.scenarios.score_checks import ScoreCheck
from simstudy.provenance.streams import Streams

SCORES, BLOCK = PerplexityScores(), 10_000


def by_scipy(trial: ScoreCheck, n_rep: int) -> None:
    """z, t and the paired t, each as one would call it."""
    rng, about = np.random.default_rng(1), trial.population
    error = about.sd * np.sqrt(2 / trial.n)
    for _ in range(n_rep):
        at = rng.integers(trial.n_prompts, size=trial.n)
        x, y = about.reference[at], about.check[at]
        _ = stats.norm.sf((y.mean() - x.mean()) / error) <= trial.alpha
        _ = stats.ttest_ind(y, x, alternative="greater").pvalue <= trial.alpha
        _ = stats.ttest_rel(y, x, alternative="greater").pvalue <= trial.alpha


def by_numpy(trial: ScoreCheck, n_rep: int) -> None:
    """The same three against thresholds that are known beforehand: as lean as a loop can be."""
    rng, about, n = np.random.default_rng(1), trial.population, trial.n
    z, t, paired = (
        special.ndtri(0.95) * about.sd * np.sqrt(2 / n),
        special.stdtrit(2 * n - 2, 0.95) * np.sqrt(1 / n),
        special.stdtrit(n - 1, 0.95) * np.sqrt(1 / n),
    )
    for _ in range(n_rep):
        at = rng.integers(trial.n_prompts, size=n)
        x, y = about.reference[at], about.check[at]
        worse = y - x
        difference = worse.mean()
        _ = difference >= z
        _ = difference >= t * np.sqrt(x.var(ddof=1) + y.var(ddof=1))
        _ = difference >= paired * worse.std(ddof=1)


CASES = {  # the loop, its replicates, n, and the ratio asked for
    "scipy, n = 32": (by_scipy, 200, 32, 800),
    "scipy, n = 512": (by_scipy, 200, 512, 400),
    "numpy, n = 32": (by_numpy, 500, 32, 40),
    "numpy, n = 512": (by_numpy, 500, 512, 25),
}


@pytest.mark.parametrize("name", CASES)
def test_a_replicate_is_so_many_times_faster_than_in_a_loop(benchmark, name):
    loop, n_plain, n, ratio = CASES[name]
    trial = ScoreCheck(SCORES, n=n, correlation=0.8)

    def ours():
        return trial.simulate(Streams(1, "benchmark", "scenario", 0), BLOCK)

    benchmark.pedantic(ours, rounds=3, warmup_rounds=1)
    here = seconds(ours, rounds=5) / BLOCK
    plain = seconds(lambda: loop(trial, n_plain), rounds=2) / n_plain
    benchmark.extra_info.update(
        microseconds_ours=1e6 * here, microseconds_loop=1e6 * plain, ratio=plain / here
    )
    print(f"{name}: {1e6 * here:.2f} µs against {1e6 * plain:.0f} µs, {plain / here:.0f} times")
    assert plain / here >= ratio
