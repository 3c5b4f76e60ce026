"""Prompts: populations with known moments, and sums over draws that a slow loop repeats exactly."""

import numpy as np
import pytest
from scipy import stats

from simstudy.data.parts import Data
from simstudy.documents.dgps.prompts import (
    BinaryScores,
    BoundedScores,
    EmpiricalScores,
    GaussianScores,
    PerplexityScores,
    draw_pairs,
    draw_run,
    own_population,
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


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_pairs_are_the_sums_over_the_same_prompts_to_the_last_bit(lower_is_better):
    x, y = np.random.default_rng(1).lognormal(size=(2, 1000))
    runs = own_population(x, y, lower_is_better=lower_is_better)
    drawn = draw_pairs(np.random.default_rng(5), runs, 4, 45)
    at = indices(np.random.default_rng(5), 1000, 4, 45)
    worse = (y - x if lower_is_better else x - y)[at]
    about, check = x[at] - x.mean(), y[at] - x.mean()
    slow = [about, worse, about * about + check * check, worse * worse]
    for column, values in zip(drawn, slow, strict=True):
        assert column.tolist() == [chained_sum(row) for row in values]


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


# ---------------------------------------------------------------- one's own scores
OWN = np.random.default_rng(4).gamma(2.0, size=500)


def own(**about) -> EmpiricalScores:
    return EmpiricalScores(Data.from_array(OWN, name="own"), **about)


def test_own_scores_are_their_own_quantiles():
    made = paired_population(own(), n_prompts=len(OWN))
    np.testing.assert_array_equal(made.reference, np.sort(OWN))


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_own_scores_become_worse_by_other_weights_on_the_same_values(lower_is_better):
    made = paired_population(own(lower_is_better=lower_is_better), effect=0.4, n_prompts=60_000)
    assert set(made.check) <= set(OWN)
    assert made.effect == pytest.approx(0.4, abs=np.ptp(OWN) * len(OWN) / 60_000)
    values, counts = np.unique(made.check, return_counts=True)
    slope = np.polyfit(values, np.log(counts), 1, w=np.sqrt(counts))[0]
    tilted = np.exp(slope * OWN)  # the same family, with the slope that the counts have
    mean = tilted @ OWN / tilted.sum()
    assert abs(mean - OWN.mean()) == pytest.approx(0.4, rel=0.01)


def test_own_scores_of_right_and_wrong_become_worse_as_binary_ones_do():
    right = np.repeat([0.0, 1.0], [100, 400])
    mine = EmpiricalScores(Data.from_array(right, name="right"))
    found = paired_population(mine, effect=0.1, n_prompts=1000)
    known = paired_population(BinaryScores(mean=0.8), effect=0.1, n_prompts=1000)
    np.testing.assert_array_equal(found.check, known.check)


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        ([0, 1, 1, 0], 1.0),
        ([0.1, 0.4, 0.8], 0.1),
        ([1 / 3, 1, 2 / 3, 1 / 4], 1 / 12),  # from the least: 1/12, 3/4, 5/12
        ([np.pi, 3 * np.pi, 6 * np.pi], np.pi),
        ([-2.5, 7.5, 2.5], 5.0),
        ([0, 1, np.sqrt(2)], 0.0),
        (OWN, 0.0),
        ([0.3, 0.3], 0.0),
    ],
)
def test_own_scores_have_the_step_of_their_lattice(scores, step):
    mine = EmpiricalScores(Data.from_array(np.array(scores, float), name="scores"))
    assert mine.step == pytest.approx(step, rel=1e-12)
