"""Thresholds by counts of resamples; their theory against quadrature."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from simstudy.documents.dgps.scores import (
    DiscretisedScores,
    HeavyTailedScores,
    NormalScores,
    SkewedScores,
)
from simstudy.documents.stats.bootstrap import quantiles as bootstrap
from simstudy.documents.stats.bootstrap.resamples import (
    draw_resamples,
    exact_shape,
    resampled_quantile,
    resampled_shape,
)
from simstudy.documents.stats.classifier import theory
from simstudy.documents.stats.classifier import thresholds as th
from simstudy.documents.stats.classifier.bounds import TIES, bounds_from_resamples
from simstudy.documents.stats.classifier.thresholds import described
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

TARGET = th.Target(0.95, 0.8)
N_OBS = 50


def drawn(n_boot=200, n_rep=6):
    x = NormalScores().draw(np.random.default_rng(3), n_rep, N_OBS)
    return x, draw_resamples(np.random.default_rng(4), x, n_boot=n_boot, q=TARGET.q)


@pytest.mark.parametrize("ties", TIES)
def test_bounds_from_counts_are_those_of_their_resamples(ties):
    """Which `arch` is held against in `test_bounds.py`."""
    x, made = drawn()
    names = ("percentile", "basic", "normal", f"bca {ties}")
    found = th.thresholds(x, TARGET, names, resamples=made)
    estimate = bootstrap.sample_quantile(x, TARGET.q)
    slope = bootstrap.jackknife_acceleration(np.sort(x, axis=1), q=TARGET.q)
    plain = bounds_from_resamples(made, estimate, slope, confidence=0.8, ties=ties)
    for name in names:
        np.testing.assert_array_equal(found[name], plain[name.removesuffix(f" {ties}")])


def test_resamples_written_out_have_the_same_quantiles_and_moments():
    _, made = drawn()
    values = np.array([np.repeat(v, c) for v, c in zip(made.values, made.counts, strict=True)])
    for level in (0.0, 0.017, 0.2, 0.5, 0.8, 1.0):
        plain = np.quantile(values, level, axis=1)
        ours = resampled_quantile(made, np.full(len(values), level))
        np.testing.assert_allclose(ours, plain, rtol=1e-13)
    shape = resampled_shape(made)
    np.testing.assert_allclose(shape.mean, values.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(shape.std, values.std(axis=1), rtol=1e-10)
    off = values - values.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(shape.skewness * shape.std**3, (off**3).mean(axis=1), rtol=1e-9)


def test_exact_moments_are_sums_over_all_pairs():
    x, _ = drawn()
    joint = bootstrap.pair_probabilities(bootstrap.quantile_law(N_OBS, TARGET.q))
    g = bootstrap.interpolation(N_OBS, TARGET.q).g
    shape = exact_shape(x, TARGET.q)
    for i, row in enumerate(np.sort(x, axis=1)):
        atoms = (1 - g) * row[:, None] + g * row[None, :]
        mean = (joint * atoms).sum()
        second, third = ((joint * (atoms - mean) ** k).sum() for k in (2, 3))
        assert shape.mean[i] == pytest.approx(mean, rel=1e-12)
        assert shape.std[i] == pytest.approx(np.sqrt(second), rel=1e-10)
        assert shape.skewness[i] == pytest.approx(third / second**1.5, rel=1e-8)


def test_infeasible_umbrellas_call_everybody_positive():
    x = NormalScores().draw(np.random.default_rng(1), 3, 31)
    found = th.thresholds(x, TARGET, ("umbrella", "umbrella interpolated"))
    for method, threshold in found.items():
        assert (threshold == -np.inf).all()
        assert theory.exact_coverage(NormalScores(), method, 31, TARGET) == 1
        assert theory.exact_mean_sensitivity(NormalScores(), method, 31, TARGET) == 1


def test_laws_of_thresholds_are_those_of_the_bounds():
    ranked = np.arange(1.0, N_OBS + 1)[np.newaxis]
    for method in ("umbrella", "bayesian"):
        (bound,) = th.thresholds(ranked, TARGET, (method,))[method]
        assert th.order_law(method, N_OBS, TARGET) == (N_OBS, bound, 0.0)


# ---------------------------------------------------------------- theory
def plain_coverage(scores, n_obs, target):
    """By the joint density of two neighbouring order statistics, in two nested integrals."""
    rank, g = bootstrap.interpolation(n_obs, target.q)
    limit = float(scores.threshold(target.sensitivity))
    log_norm = special.gammaln(n_obs + 1) - special.gammaln(rank) - special.gammaln(n_obs - rank)

    def above(u):
        far = float(scores.specificity((limit - (1 - g) * scores.quantile(u)) / g))
        inner = integrate.quad(lambda v: (1 - v) ** (n_obs - rank - 1), u, max(far, u))[0]
        return np.exp(log_norm) * u ** (rank - 1) * inner

    top = float(scores.specificity(limit))
    return integrate.quad(above, 0, top, epsabs=1e-12, limit=200)[0]


@pytest.mark.parametrize("scores", [NormalScores(), SkewedScores(), HeavyTailedScores()])
@pytest.mark.parametrize(("n_obs", "sensitivity"), [(50, 0.95), (30, 0.9)])
def test_coverage_of_the_empirical_quantile_is_that_of_two_integrals(scores, n_obs, sensitivity):
    target = th.Target(sensitivity, 0.8)
    plain = plain_coverage(scores, n_obs, target)
    ours = theory.exact_coverage(scores, "empirical", n_obs, target)
    assert ours == pytest.approx(plain, abs=1e-8)


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
    x = NormalScores().draw(np.random.default_rng(6), n_rep, N_OBS)
    shift = exact_shape(x, TARGET.q).mean - bootstrap.sample_quantile(x, TARGET.q)
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


# ---------------------------------------------------------------- test sets described
def test_a_block_is_described_by_its_own_test_sets():
    n_rep = 20
    x = np.random.default_rng(1).standard_normal((n_rep, 50))
    found = described(x, TARGET, np.random.default_rng(2))
    x = np.sort(x, axis=1)
    made = draw_resamples(np.random.default_rng(2), x[:4], n_boot=n_rep, q=TARGET.q)
    stricter = th.thresholds(x, TARGET._replace(confidence=0.92), ("umbrella", "bca strict"))
    for i in range(n_rep):
        kept = np.mean(x[i] > np.quantile(x[i], 1 - 0.95))
        assert found["sensitivity_on_test_set"][i] == kept
        assert found["score_3"][i] == x[i, 2]
    shape = exact_shape(x, TARGET.q)
    np.testing.assert_array_equal(found["bootstrap_mean"], shape.mean)
    np.testing.assert_array_equal(found["bootstrap_skewness"], shape.skewness)
    np.testing.assert_array_equal(found["umbrella_at_92"], stricter["umbrella"])
    np.testing.assert_array_equal(found["bca_strict_at_92"], stricter["bca strict"])
    for i in range(4):
        plain = np.repeat(made.values[i], made.counts[i])
        np.testing.assert_array_equal(found[f"resample_{i + 1}"], plain)
