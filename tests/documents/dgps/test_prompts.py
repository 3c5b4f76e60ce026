"""Prompts: populations with known moments, and sums over draws that a slow loop repeats exactly."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps.prompts import (
    BinaryScores,
    BoundedScores,
    GaussianScores,
    PerplexityScores,
    draw_run,
    paired_population,
)
from tests.documents.stats.words import GOLDEN, WORD, mixed, place

CONTINUOUS = {
    GaussianScores(mean=3.0, sd=2.0): stats.norm(3.0, 2.0),
    BoundedScores(mean=0.2, precision=6.0): stats.beta(1.2, 4.8),
    PerplexityScores(mean=20.0, spread=1.0): stats.lognorm(1.0, scale=20 * np.exp(-0.5)),
}
KINDS = [BinaryScores(mean=0.75), *CONTINUOUS]


# ---------------------------------------------------------------- what is drawn
def indices(rng: np.random.Generator, n_prompts: int, n_rep: int, n: int) -> np.ndarray:
    """The prompts of each replicate, one after the other: `(n_rep, n)`."""
    seed, per_replicate = int(rng.integers(0, WORD, dtype=np.uint64)), -(-n // 32) * 8
    found = np.empty((n_rep, n), np.int64)
    for rep in range(n_rep):
        for i in range(n):
            word = mixed((seed + (rep * per_replicate + i // 4 + 1) * GOLDEN) % WORD)
            found[rep, i] = place(word, n_prompts, bits=16, at=i % 4 * 16)
    return found


def chained_sum(values: np.ndarray) -> float:
    """In the order of the kernel: four chains, then two sums of two."""
    a, b, c, d = ([0.0, *values[start::4]] for start in range(4))
    sums = [float(np.add.accumulate(chain)[-1]) for chain in (a, b, c, d)]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


@pytest.mark.parametrize("n", [1, 3, 31, 32, 33, 70])
@pytest.mark.parametrize("n_prompts", [2, 7, 1000, 4096, 40_000, 65_535])
def test_a_run_is_the_sum_over_its_prompts_to_the_last_bit(n_prompts, n):
    scores = np.random.default_rng(n_prompts).lognormal(size=n_prompts)
    drawn = draw_run(np.random.default_rng(5), scores, 4, n, centre=1.5)
    about = scores[indices(np.random.default_rng(5), n_prompts, 4, n)] - 1.5
    assert drawn.total.tolist() == [chained_sum(row) for row in about]
    assert drawn.squares.tolist() == [chained_sum(row * row) for row in about]


def test_the_first_replicates_of_many_are_those_of_few():
    scores = np.arange(100.0)
    few, many = (draw_run(np.random.default_rng(2), scores, n, 40) for n in (3, 50))
    assert many.total[:3].tolist() == few.total.tolist()


# ---------------------------------------------------------------- populations
@pytest.mark.parametrize("scores", KINDS, ids=str)
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_a_run_that_has_not_changed_has_the_same_scores_in_another_order(scores, correlation):
    made = paired_population(scores, correlation=correlation, n_prompts=1024)
    level = (np.arange(1024) + 0.5) / 1024
    np.testing.assert_array_equal(made.reference, scores.quantile(level))
    np.testing.assert_array_equal(np.sort(made.check), made.reference)
    assert made.effect == pytest.approx(0, abs=1024 * np.finfo(float).eps * made.sd)
    assert made.sd_check == pytest.approx(made.sd, rel=1e-12)
    variance = made.sd**2 + made.sd_check**2 - 2 * made.correlation * made.sd * made.sd_check
    assert made.sd_worse == pytest.approx(np.sqrt(variance), rel=1e-9)


@pytest.mark.parametrize("scores", KINDS, ids=str)
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8, 0.95])
def test_its_correlation_is_closer_to_the_one_asked_for_than_random_pairs_would_be(
    scores, correlation
):
    n_prompts = 4096
    made = paired_population(scores, correlation=correlation, n_prompts=n_prompts)
    assert abs(made.correlation - correlation) < (1 - correlation**2) / np.sqrt(n_prompts)
    assert made.correlation == pytest.approx(np.corrcoef(made.reference, made.check)[0, 1])


@pytest.mark.parametrize("scores", CONTINUOUS, ids=str)
def test_quantiles_are_those_of_scipy(scores):
    level = np.linspace(0.001, 0.999, 99)
    np.testing.assert_allclose(scores.quantile(level), CONTINUOUS[scores].ppf(level), rtol=1e-9)


def test_a_binary_population_has_the_nearest_share():
    made = paired_population(BinaryScores(mean=0.8), n_prompts=4096)
    assert made.reference.mean() == round(0.8 * 4096) / 4096


# ---------------------------------------------------------------- effects, within the support
def test_a_worse_run_stays_in_the_support():
    def check(scores, effect):
        return paired_population(scores, correlation=0.5, effect=effect, n_prompts=4096)

    assert set(np.unique(check(BinaryScores(mean=0.8), 0.25).check)) == {0.0, 1.0}
    bounded = check(BoundedScores(mean=0.2), 0.15)
    assert 0 < bounded.check.min() < bounded.check.max() < 1
    perplexity = check(PerplexityScores(mean=20.0), 5.0)
    np.testing.assert_allclose(
        np.sort(perplexity.check) / np.sort(perplexity.reference), 1.25, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("scores", "effect"),
    [(BinaryScores(mean=0.8), 0.1), (GaussianScores(), 0.3), (BoundedScores(mean=0.2), 0.05),
     (PerplexityScores(mean=20.0), 5.0)],
)  # fmt: skip
def test_a_worse_run_is_worse_by_the_effect_as_far_as_quantiles_say(scores, effect):
    made = paired_population(scores, effect=effect, n_prompts=4096)
    mean = np.sort(made.reference).mean()
    # What 4096 quantiles lose of the mean of the reference they lose of the check's, in proportion.
    lost = abs(mean - scores.mean) * (1 + effect / max(abs(scores.mean), effect)) + 1 / 4096
    assert made.effect == pytest.approx(effect, abs=lost)
    assert made.effect > 0
