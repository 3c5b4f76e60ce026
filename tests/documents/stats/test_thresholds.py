"""Thresholds by every method, and their theory, against quadrature, SciPy and simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from simstudy.documents.dgps.scores import (
    DiscretisedScores,
    HeavyTailedScores,
    NormalScores,
    SkewedScores,
)
from simstudy.documents.stats import quantile_bootstrap as qb
from simstudy.documents.stats import threshold_theory as theory
from simstudy.documents.stats import thresholds as th
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

TARGET = th.Target(0.95, 0.8)
N_OBS = 50


def drawn(n_rep=6, n_obs=N_OBS):
    return NormalScores().draw(np.random.default_rng(3), n_rep, n_obs)


def by(method, x, target=TARGET):
    return th.thresholds(x, target, (method,))[method]


@pytest.mark.parametrize("n_boot", [0, 200])
def test_bootstraps_are_those_of_the_resamples(n_boot):
    x = np.sort(drawn(), axis=1)
    made = qb.resample(x, TARGET.q, n_boot, np.random.default_rng(4) if n_boot else None)
    about = qb.sample_quantile(x, TARGET.q), qb.jackknife_acceleration(x, TARGET.q)
    plain = qb.bootstrap_bounds(made, *about, alpha=0.2)
    shuffled = np.random.default_rng(1).permuted(x, axis=1)
    found = th.thresholds(shuffled, TARGET, resamples=made if n_boot else None)
    assert set(plain) <= set(found)
    for name, bound in plain.items():
        np.testing.assert_array_equal(found[name], bound)


def test_infeasible_umbrellas_call_everybody_positive():
    for method in ("umbrella", "umbrella interpolated"):
        assert (by(method, drawn(3, 31)) == -np.inf).all()
        assert theory.exact_coverage(NormalScores(), method, 31, TARGET) == 1
        assert theory.exact_mean_sensitivity(NormalScores(), method, 31, TARGET) == 1


def test_made_of_order_statistics_they_have_these_ranks():
    ranked = np.arange(1.0, N_OBS + 1)[np.newaxis]
    for method in ("empirical", "umbrella", "umbrella interpolated", "bayesian"):
        law = th.order_law(method, N_OBS, TARGET)
        assert by(method, ranked)[0] == pytest.approx(law.rank + law.g, rel=1e-14)
    assert by("empirical", ranked)[0] == np.quantile(ranked, TARGET.q)
    assert by("umbrella", ranked)[0] == 1


@pytest.mark.parametrize("method", [*th.METHODS, *th.FURTHER])
def test_thresholds_move_with_the_scores(method):
    sample = drawn(4, 59)
    for target in (TARGET, th.Target(0.7, 0.8)):
        moved = by(method, 3 + 2 * sample, target)
        np.testing.assert_allclose(moved, 3 + 2 * by(method, sample, target), rtol=1e-9)
    np.testing.assert_allclose(by(method, np.full((2, 40), 0.7)), 0.7, rtol=1e-15)


@pytest.mark.parametrize(
    ("n_obs", "q", "confidence"), [(2, 0.05, 0.8), (50, 0.05, 0.8), (50, 0.9, 0.99)]
)
def test_normal_tolerance_covers_exactly(n_obs, q, confidence):
    """P(mean + c·sd <= quantile) by integrating over the chi law of the sd; SciPy 1.15 has 1e-7."""
    alpha = 1 - confidence
    factor = th.normal_tolerance_factor(n_obs, q, alpha)
    chi = stats.chi(n_obs - 1, scale=1 / math.sqrt(n_obs - 1))

    def below(sd):
        return special.ndtr(math.sqrt(n_obs) * (special.ndtri(q) - factor * sd)) * chi.pdf(sd)

    covered = integrate.quad(below, 0, chi.isf(1e-14), epsabs=1e-12, limit=300)[0]
    assert 1 - covered == pytest.approx(alpha, abs=1e-7)
    sample = drawn(2, n_obs)
    bound = th.normal_tolerance_bound(sample, th.Target(1 - q, confidence))
    np.testing.assert_allclose(bound, sample.mean(1) + factor * sample.std(1, ddof=1))


def test_of_very_many_scores_the_tolerance_factor_is_the_normal_quantile():
    factor = th.normal_tolerance_factor(2**40, 0.05, 0.1)
    assert factor == pytest.approx(special.ndtri(0.05), rel=1e-5)


N_SMOOTH = replicates_to_catch(0.02, sd=0.4)


def share_below_smoothed_bound(noise):
    """Position 2 of n = 21 is a whole order statistic."""
    sample = drawn(1, 21)[0]
    width = 1.3 * sample.std(ddof=1) * 21 ** (-1 / 3)
    bound = th.smoothed_bound(sample[None], TARGET)[0]
    rng = np.random.default_rng(7)
    resamples = rng.choice(sample, (N_SMOOTH, 21)) + noise * width * rng.normal(size=(N_SMOOTH, 21))
    return np.mean(np.sort(resamples, axis=1)[:, 1] <= bound)


def test_smoothed_bound_is_the_percentile_of_smoothed_resamples():
    assert_within_mcse(share_below_smoothed_bound(1.0), 0.2, 0.4 / math.sqrt(N_SMOOTH))
    # Caught: resamples without noise.
    assert_caught(share_below_smoothed_bound(0.0), 0.2, 0.4 / math.sqrt(N_SMOOTH))


def test_bayesian_posterior_is_that_of_dirichlet_weights():
    """The first c of 30 flat weights add up to a beta(c, 30 - c)."""
    cdf, first = th.bayesian_bootstrap_cdf(30, 0.1), np.arange(1, 30)
    np.testing.assert_allclose(cdf[:-1], stats.beta.sf(0.1, first, 30 - first), rtol=1e-12)
    assert cdf[-1] == 1
    bound = by("bayesian", np.arange(1.0, 31)[None], th.Target(0.9, 0.8))[0]
    assert cdf[int(bound) - 1] >= 0.2 > cdf[int(bound) - 2]


def plain_coverage(scores, n_obs, target):
    """By the joint density of two neighbouring order statistics, in two nested integrals."""
    rank, g = qb.interpolation(n_obs, target.q)
    limit = float(scores.threshold(target.sensitivity))
    log_norm = special.gammaln(n_obs + 1) - special.gammaln(rank) - special.gammaln(n_obs - rank)

    def above(u):
        far = float(scores.cdf((limit - (1 - g) * scores.quantile(u)) / g))
        inner = integrate.quad(lambda v: (1 - v) ** (n_obs - rank - 1), u, max(far, u))[0]
        return np.exp(log_norm) * u ** (rank - 1) * inner

    top = float(scores.cdf(limit))
    return integrate.quad(above, 0, top, epsabs=1e-12, limit=200)[0]


@pytest.mark.parametrize("scores", [NormalScores(), SkewedScores(), HeavyTailedScores()])
@pytest.mark.parametrize(("n_obs", "sensitivity"), [(50, 0.95), (30, 0.9)])
def test_coverage_of_the_empirical_quantile_is_that_of_two_integrals(scores, n_obs, sensitivity):
    target = th.Target(sensitivity, 0.8)
    ours = theory.exact_coverage(scores, "empirical", n_obs, target)
    assert ours == pytest.approx(plain_coverage(scores, n_obs, target), abs=1e-8)


@pytest.mark.parametrize("method", ["umbrella", "bayesian"])
def test_coverage_on_a_lattice_is_a_binomial_tail(method):
    scores, rank = DiscretisedScores(), th.order_law(method, N_OBS, TARGET).rank
    upto = 1 - scores.sensitivity(scores.threshold(0.95) + scores.step)  # P(score <= true one)
    known = stats.binom.sf(rank - 1, N_OBS, upto)
    assert theory.exact_coverage(scores, method, N_OBS, TARGET) == pytest.approx(known, rel=1e-9)


def test_mean_sensitivity_is_the_integral_of_coverage():
    scores, kept = NormalScores(), np.linspace(0.0005, 0.9995, 1000)
    law = th.order_law("empirical", N_OBS, TARGET)
    chance = theory.threshold_cdf(scores, law, scores.threshold(kept))
    ours = theory.exact_mean_sensitivity(scores, "empirical", N_OBS, TARGET)
    assert ours == pytest.approx(chance.mean(), abs=1e-6)
    assert theory.exact_mean_sensitivity(scores, "umbrella", N_OBS, TARGET) == pytest.approx(
        50 / 51, abs=1e-12
    )


def test_the_expected_shift_is_that_of_simulated_test_sets():
    exact = theory.expected_shift(NormalScores(), N_OBS, TARGET.q)
    sd = 0.075  # of one test set's shift
    n_rep = replicates_to_catch(exact, sd=sd)
    x = np.sort(NormalScores().draw(np.random.default_rng(6), n_rep, N_OBS), axis=1)
    shift = qb.shape_of(qb.resample(x, TARGET.q)).mean - qb.sample_quantile(x, TARGET.q)
    assert_within_mcse(shift.mean(), exact, sd / np.sqrt(n_rep))
    assert_caught(shift.mean(), 0.0, sd / np.sqrt(n_rep))


def test_densities_are_slopes_of_the_cdf_and_hold_nearly_all():
    scores, law = NormalScores(), th.order_law("umbrella", N_OBS, TARGET)
    (place, density), (kept, density_kept) = theory.threshold_density(scores, law)
    step = 1e-5
    ends = theory.threshold_cdf(scores, law, np.concatenate([place - step, place + step]))
    slope = np.subtract(*np.split(ends, 2)[::-1]) / (2 * step)
    np.testing.assert_allclose(density[20:-20], slope[20:-20], rtol=2e-3)
    for x, y in ((place, density), (kept[::-1], density_kept[::-1])):
        assert np.trapezoid(y, x) == pytest.approx(0.999, abs=2e-3)


def test_theory_says_nothing_where_it_knows_nothing():
    for method in ("bca strict", "percentile", "smoothed"):
        assert np.isnan(theory.exact_coverage(NormalScores(), method, N_OBS, TARGET))
    assert np.isnan(theory.exact_coverage(DiscretisedScores(), "empirical", N_OBS, TARGET))
    assert np.isnan(theory.exact_coverage(SkewedScores(), "tolerance", N_OBS, TARGET))
    assert np.isnan(theory.expected_shift(DiscretisedScores(), N_OBS, TARGET.q))


def test_a_block_is_described_by_its_own_test_sets():
    n_rep = 20
    x = np.random.default_rng(1).standard_normal((n_rep, 50))
    exactly = qb.resample(np.sort(x, axis=1), TARGET.q)
    found = th.described(x, TARGET, exactly, np.random.default_rng(2))
    x = np.sort(x, axis=1)
    made = qb.resample(x[:4], TARGET.q, n_rep, np.random.default_rng(2))
    kept = [np.mean(row > np.quantile(row, 1 - 0.95)) for row in x]
    np.testing.assert_array_equal(found["sensitivity_on_test_set"], kept)
    np.testing.assert_array_equal(found["score_3"], x[:, 2])
    shape = qb.shape_of(exactly)
    np.testing.assert_array_equal(found["bootstrap_mean"], shape.mean)
    np.testing.assert_array_equal(found["bootstrap_skewness"], shape.skewness)
    for method, column in th.COMPARED.items():
        np.testing.assert_array_equal(found[column], by(method, x, th.Target(0.95, 0.92)))
    for i in range(4):
        plain = np.repeat(made.values[i], made.weights[i])
        np.testing.assert_array_equal(found[f"resample_{i + 1}"], plain)
    everywhere = qb.resample(np.arange(50.0)[None], TARGET.q)
    beyond = everywhere.values >= th.n_low(50, TARGET.q)  # of scores that are their own ranks
    assert everywhere.weights[beyond].sum() < 1e-8
