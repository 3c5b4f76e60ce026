"""Bounds for a quantile of scores against arch, SciPy, closed forms and plain loops."""

import math

import numpy as np
import pytest
from scipy import integrate, special
from scipy import stats as scipy_stats

from simstudy.documents.stats.bootstrap import quantiles as qb
from simstudy.documents.stats.bootstrap.resamples import draw_resamples, in_order
from simstudy.documents.stats.classifier import bounds as tb
from tests.documents.stats.replayed import bootstrapped
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

Q = 1 - 0.95


def block(n_rep=6, n_obs=50, seed=11):
    return np.random.default_rng(seed).normal(1.0, 1.0, (n_rep, n_obs))


# The same resamples as arch, and the same answers.

ARCH_NAMES = {name: name for name in ("percentile", "basic", "bca")} | {"normal": "norm"}


def arch_bound(sample, method):
    bootstrap = bootstrapped(sample, seed=5)
    interval = bootstrap.conf_int(
        np.quantile, reps=400, method=method, size=0.8, tail="lower", extra_kwargs={"q": Q}
    )
    return interval[0, 0]


def test_bounds_from_resamples_are_archs_on_the_same_resamples():
    for sample in block(3):
        drawn = bootstrapped(sample, seed=5).apply(np.quantile, 400, extra_kwargs={"q": Q}).T
        estimate, draws = np.array([np.quantile(sample, Q)]), in_order(drawn)
        acceleration = qb.jackknife_acceleration(np.sort(sample)[None], q=Q)
        ours = tb.bounds_from_resamples(
            draws, estimate, acceleration, confidence=0.8, ties="strict"
        )
        for name, theirs in ARCH_NAMES.items():
            assert ours[name][0] == pytest.approx(arch_bound(sample, theirs), abs=1e-10)


def test_mid_rank_bca_is_scipys_on_the_same_resamples():
    for sample in block(3):
        theirs = scipy_stats.bootstrap(
            (sample,),
            lambda x, axis: np.quantile(x, Q, axis=axis),
            n_resamples=500,
            confidence_level=0.8,
            alternative="greater",
            method="BCa",
            rng=np.random.default_rng(1),
        )
        ours = tb.bounds_from_resamples(
            in_order(theirs.bootstrap_distribution[None]),
            np.array([np.quantile(sample, Q)]),
            qb.jackknife_acceleration(np.sort(sample)[None], q=Q),
            confidence=0.8,
            ties="mid",
        )["bca"][0]
        assert ours == pytest.approx(theirs.confidence_interval[0], abs=1e-10)


# The exact bootstrap.


def exact_at(sample, level):
    return qb.bootstrap_quantile(sample[None], np.clip(level, 0, 1), q=Q)[0, 0]


@pytest.mark.parametrize("ties", tb.TIES)
def test_exact_bounds_are_their_formulas_with_the_exact_law(ties):
    """That law is the one of all resamples: `bootstrap/test_quantiles.py`."""
    sample = block(1)[0]
    estimate = np.array([np.quantile(sample, Q)])
    acceleration = qb.jackknife_acceleration(np.sort(sample)[None], q=Q)
    found = tb.exact_bootstrap_bounds(sample[None], q=Q, confidence=0.8, ties=ties)
    alpha = 0.2
    strict, weak = (m[0] for m in qb.bootstrap_masses(sample[None], estimate, q=Q))
    share = {"strict": strict, "mid": (strict + weak) / 2, "weak": weak}[ties]
    z0 = special.ndtri(np.array([share]))
    level = tb.corrected_level(z0, acceleration, alpha)[0]
    assert found["bca"][0] == exact_at(sample, level)
    assert found["percentile"][0] == exact_at(sample, alpha)
    assert found["basic"][0] == pytest.approx(2 * estimate[0] - exact_at(sample, 1 - alpha))
    assert found["normal"][0] == pytest.approx(
        estimate[0] + special.ndtri(alpha) * qb.bootstrap_moments(sample[None], q=Q).std[0]
    )


@pytest.mark.parametrize(
    ("n_obs", "q", "confidence"), [(2, 0.05, 0.8), (50, 0.05, 0.8), (50, 0.9, 0.99)]
)
def test_normal_tolerance_covers_exactly(n_obs, q, confidence):
    """P(mean + c·sd <= quantile) by integrating over the chi distribution of the sd."""
    alpha = 1 - confidence
    factor = tb.normal_tolerance_factor(n_obs, q, alpha)
    chi = scipy_stats.chi(n_obs - 1, scale=1 / math.sqrt(n_obs - 1))

    def below(sd):
        return special.ndtr(math.sqrt(n_obs) * (special.ndtri(q) - factor * sd)) * chi.pdf(sd)

    covered = integrate.quad(below, 0, chi.isf(1e-14), epsabs=1e-12, limit=300)[0]
    assert 1 - covered == pytest.approx(alpha, abs=1e-8)
    sample = block(2, n_obs)
    bound = tb.normal_tolerance_bound(sample, q=q, confidence=confidence)
    np.testing.assert_allclose(bound, sample.mean(1) + factor * sample.std(1, ddof=1))


def test_of_very_many_scores_the_tolerance_factor_is_the_normal_quantile():
    factor = tb.normal_tolerance_factor(2**40, 0.05, 0.1)
    assert factor == pytest.approx(special.ndtri(0.05), rel=1e-5)


# The smoothed bootstrap: position 2 of n = 21 is a whole order statistic.

N_SMOOTH = replicates_to_catch(0.02, sd=0.4)


def share_below_smoothed_bound(noise):
    sample = block(1, 21)[0]
    width = 1.3 * sample.std(ddof=1) * 21 ** (-1 / 3)
    bound = tb.smoothed_bound(sample[None], q=0.05, confidence=0.8)[0]
    rng = np.random.default_rng(7)
    resamples = rng.choice(sample, (N_SMOOTH, 21)) + noise * width * rng.normal(size=(N_SMOOTH, 21))
    return np.mean(np.sort(resamples, axis=1)[:, 1] <= bound)


def test_smoothed_bound_is_the_percentile_of_smoothed_resamples():
    assert_within_mcse(share_below_smoothed_bound(1.0), 0.2, 0.4 / math.sqrt(N_SMOOTH))
    # Caught: resamples without noise.
    assert_caught(share_below_smoothed_bound(0.0), 0.2, 0.4 / math.sqrt(N_SMOOTH))


def test_smoothed_bound_default_bandwidth_and_equal_scores():
    sample = block(2)
    width = 1.3 * sample.std(1, ddof=1) * 50 ** (-1 / 3)
    bound = tb.smoothed_bound(sample, q=0.05, confidence=0.8)
    mixed = special.ndtr((bound[:, None] - sample) / width[:, None]).mean(1)
    target = special.betaincinv(1 + 49 * 0.05, 50 - 49 * 0.05, 0.2)
    np.testing.assert_allclose(mixed, target, rtol=1e-9)
    np.testing.assert_array_equal(tb.smoothed_bound(np.ones((1, 9)), q=0.05, confidence=0.8), 1.0)


# The Bayesian bootstrap.


def test_bayesian_posterior_is_that_of_dirichlet_weights():
    """The first c of 30 flat weights add up to a beta(c, 30 - c)."""
    cdf, first = tb.bayesian_bootstrap_cdf(30, 0.1), np.arange(1, 30)
    np.testing.assert_allclose(cdf[:-1], scipy_stats.beta.sf(0.1, first, 30 - first), rtol=1e-12)
    assert cdf[-1] == 1
    bound = tb.bayesian_bootstrap_bound(np.arange(1.0, 31)[None], q=0.1, confidence=0.8)[0]
    assert cdf[int(bound) - 1] >= 0.2 > cdf[int(bound) - 2]


# What holds for every method.


def exactly(method, **more):
    return lambda x, **how: tb.exact_bootstrap_bounds(x, methods=(method,), **how, **more)[method]


BOUNDS = {
    **{method: exactly(method) for method in tb.EXACT_METHODS},
    **{f"bca {ties}": exactly("bca", ties=ties) for ties in tb.TIES},
    "tolerance": tb.normal_tolerance_bound,
    "smoothed": tb.smoothed_bound,
    "bayesian": tb.bayesian_bootstrap_bound,
}
by_every_method = pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)


@by_every_method
def test_bounds_move_with_the_scores(bound):
    sample = block(4, 59)
    for q in (0.05, 0.3):
        plain = bound(sample, q=q, confidence=0.8)
        moved = bound(3 + 2 * sample, q=q, confidence=0.8)
        np.testing.assert_allclose(moved, 3 + 2 * plain, rtol=1e-9)
        shuffled = np.random.default_rng(1).permuted(sample, axis=1)
        np.testing.assert_allclose(bound(shuffled, q=q, confidence=0.8), plain, rtol=1e-12)


@by_every_method
def test_all_scores_equal_give_that_score(bound):
    found = bound(np.full((2, 40), 0.7), q=0.05, confidence=0.8)
    np.testing.assert_allclose(found, 0.7, rtol=1e-15)


def test_of_an_estimate_that_is_not_known_no_method_has_a_bound():
    scores = block(n_rep=2)
    resamples = draw_resamples(np.random.default_rng(3), scores, n_boot=50, q=Q)
    estimate = np.array([np.nan, 0.1])
    methods = ("percentile", "basic", "normal", "bca")
    found = tb.bounds_from_resamples(
        resamples, estimate, np.zeros(2), confidence=0.8, methods=methods
    )
    for name, bound in found.items():
        assert np.isnan(bound).tolist() == [True, False], name
