"""The bootstrap of a quantile against enumeration, plain loops, arch, SciPy and real resampling."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

from simstudy.documents.stats import quantile_bootstrap as qb
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

Q = 1 - 0.95
ALPHA = 0.2
NEEDS_DEV = "needs pip install -e '.[dev]'"


def samples(kind, n_rep, n_obs):
    block = np.random.default_rng(20).standard_t(2, size=(n_rep, n_obs))
    return np.sort(np.round(block) if kind == "tied" else block, axis=1)


@pytest.mark.parametrize("n_obs", [1, 2, 3, 4, 5])
def test_pairs_have_the_law_of_all_resamples(n_obs):
    ranks = np.sort(list(itertools.product(range(n_obs), repeat=n_obs)), axis=1)
    for q in (0.05, 0.2, 0.31, 0.5, 0.77, 0.95):
        rank, g = qb.interpolation(n_obs, q)
        plain, found = np.zeros((n_obs, n_obs)), np.zeros((n_obs, n_obs))
        np.add.at(plain, (ranks[:, rank - 1], ranks[:, rank] if g else ranks[:, rank - 1]), 1.0)
        pairs = qb.likely_pairs(n_obs, q)
        found[pairs.lower, pairs.upper] = pairs.probability
        np.testing.assert_allclose(found, plain / n_obs**n_obs, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize(("n_obs", "q"), [(50, 0.05), (1000, 0.5), (90_000, 0.05001)])
def test_pairs_have_both_marginal_laws_and_fall_in_probability(n_obs, q):
    pairs, (rank, g) = qb.likely_pairs(n_obs, q), qb.interpolation(n_obs, q)
    assert g > 0
    assert (np.diff(np.log(pairs.probability)) <= 1e-8).all()
    for ranks, j in ((pairs.lower, rank), (pairs.upper, rank + 1)):
        upto = np.cumsum(np.bincount(ranks, pairs.probability, minlength=n_obs))
        at_most = stats.binom.sf(j - 1, n_obs, np.arange(1, n_obs + 1) / n_obs)
        np.testing.assert_allclose(upto, at_most, atol=1e-12)


@pytest.mark.parametrize("kind", ["continuous", "tied"])
def test_sample_quantile_is_numpys_to_the_last_bit(kind):
    for n_obs, q in itertools.product((1, 2, 7, 50), (1e-3, Q, 0.05, 0.5, 0.97)):
        block = samples(kind, 4, n_obs)
        np.testing.assert_array_equal(qb.sample_quantile(block, q), np.quantile(block, q, axis=1))


N_DRAWS = replicates_to_catch(0.02, sd=0.5, comparisons=4)


def shares_and_truth(draws, sample):
    """Share of draws at or below four values, and the exact probability of each."""
    at = np.quantile(sample, [0.01, 0.04, 0.07, 0.12])
    exact = qb.resample(sample[None], Q)
    truth = np.array([exact.weights[exact.values <= value].sum() for value in at])
    return np.mean(draws[:, None] <= at, axis=0), truth, np.sqrt(truth * (1 - truth) / draws.size)


def test_draws_follow_the_exact_law():
    rng, sample = np.random.default_rng(4), samples("continuous", 1, 50)[0]
    made = qb.resample(sample[None], Q, N_DRAWS, rng)
    assert_within_mcse(*shares_and_truth(np.repeat(made.values[0], made.weights[0]), sample))
    # Caught: ranks drawn independently.
    rank, g = qb.interpolation(50, Q)
    lower = sample[np.int64(50 * rng.beta(rank, 51 - rank, N_DRAWS))]
    upper = sample[np.int64(50 * rng.beta(rank + 1, 50 - rank, N_DRAWS))]
    assert_caught(*shares_and_truth(lower + (upper - lower) * g, sample))


@pytest.mark.parametrize("kind", ["continuous", "tied"])
@pytest.mark.parametrize("n_boot", [0, 200])
def test_resamples_written_out_have_the_same_quantiles_and_moments(kind, n_boot):
    made = qb.resample(
        samples(kind, 6, 50), Q, n_boot, np.random.default_rng(4) if n_boot else None
    )
    levels, shape = (0.0, 0.017, 0.2, 0.5, 0.8, 1.0), qb.shape_of(made)
    found = np.array([qb.quantile_of(made, np.full(6, level)) for level in levels])
    for i, (values, weights) in enumerate(zip(made.values, made.weights, strict=True)):
        assert (np.diff(values) >= 0).all()
        if n_boot:
            plain = np.quantile(np.repeat(values, weights), levels)
        else:
            at = np.searchsorted(np.cumsum(weights), levels)
            plain = values[np.minimum(at, len(values) - 1)]
        np.testing.assert_allclose(found[:, i], plain, rtol=1e-13)
        mean = np.average(values, weights=weights)
        second, third = (np.average((values - mean) ** k, weights=weights) for k in (2, 3))
        assert shape.mean[i] == pytest.approx(mean, rel=1e-12)
        assert shape.std[i] == pytest.approx(np.sqrt(second), rel=1e-12)
        assert shape.skewness[i] == pytest.approx(third / second**1.5, rel=1e-9)


def test_acceleration_is_archs():
    base = pytest.importorskip("arch.bootstrap.base", reason=NEEDS_DEV)
    for n_obs, q in itertools.product((2, 3, 20, 50), (Q, 0.5, 0.9)):
        block = samples("continuous", 6, n_obs)
        for sample, found in zip(block, qb.jackknife_acceleration(block, q), strict=True):
            left_out = np.array([np.delete(sample, i) for i in range(n_obs)])
            values = np.quantile(left_out, q, axis=1)[:, None]
            expected = base._get_acceleration(values)[0, 0] if np.ptp(values) > 0 else 0.0
            assert found == pytest.approx(expected, abs=1e-9)


def written_out(draws):
    return qb.Resamples(np.sort(draws, axis=1), np.ones(draws.shape, int), draws.shape[1])


def bounds_of(sample, draws):
    estimate = np.array([np.quantile(sample, Q)])
    slope = qb.jackknife_acceleration(np.sort(sample)[None], Q)
    return qb.bootstrap_bounds(written_out(draws), estimate, slope, alpha=ALPHA)


ARCH_NAMES = {"percentile": "percentile", "basic": "basic", "normal": "norm", "bca strict": "bca"}


def test_bounds_are_archs_on_the_same_resamples():
    bootstrapped = pytest.importorskip("arch.bootstrap", reason=NEEDS_DEV).IIDBootstrap
    for sample in samples("continuous", 3, 50):
        given = {"extra_kwargs": {"q": Q}}
        ours = bounds_of(sample, bootstrapped(sample, seed=5).apply(np.quantile, 400, **given).T)
        for name, theirs in ARCH_NAMES.items():
            interval = bootstrapped(sample, seed=5).conf_int(
                np.quantile, reps=400, method=theirs, size=1 - ALPHA, tail="lower", **given
            )
            assert ours[name][0] == pytest.approx(interval[0, 0], abs=1e-10)


@pytest.mark.parametrize("kind", ["continuous", "tied"])
@pytest.mark.parametrize(("n_obs", "q"), [(2, 0.3), (21, 0.05), (50, Q), (50, 0.5), (31, 0.93)])
def test_exact_bounds_are_their_formulas_over_all_pairs(kind, n_obs, q):
    block, pairs = samples(kind, 25, n_obs), qb.likely_pairs(n_obs, q)
    estimate, slope = qb.sample_quantile(block, q), qb.jackknife_acceleration(block, q)
    found = qb.bootstrap_bounds(qb.resample(block, q), estimate, slope, alpha=ALPHA)
    for i, sample in enumerate(block):
        values = qb.between(sample[pairs.lower], sample[pairs.upper], qb.interpolation(n_obs, q).g)
        law = sorted(zip(values, pairs.probability, strict=True))

        def at(level, law=law):
            below = itertools.accumulate(p for _, p in law)
            return next((v for (v, _), p in zip(law, below, strict=True) if p >= level), law[-1][0])

        strict = pairs.probability[values < estimate[i]].sum()
        weak = pairs.probability[values <= estimate[i]].sum()
        shares = {"bca strict": strict, "bca mid": (strict + weak) / 2, "bca weak": min(weak, 1)}
        for name, share in shares.items():
            z0 = special.ndtri(share)
            w = z0 + special.ndtri(ALPHA)
            extreme = np.isinf(z0)
            level = share if extreme else special.ndtr(z0 + w / (1 - slope[i] * w))
            assert found[name][i] == at(level)
        assert found["percentile"][i] == at(ALPHA)
        assert found["basic"][i] == 2 * estimate[i] - at(1 - ALPHA)
        mean = pairs.probability @ values
        std = np.sqrt(pairs.probability @ (values - mean) ** 2)
        normal = estimate[i] + special.ndtri(ALPHA) * std
        assert found["normal"][i] == pytest.approx(normal, rel=1e-10)


def test_all_scores_equal_give_that_score():
    block = np.full((2, 40), 0.7)
    about = qb.sample_quantile(block, Q), qb.jackknife_acceleration(block, Q)
    for found in qb.bootstrap_bounds(qb.resample(block, Q), *about, alpha=ALPHA).values():
        np.testing.assert_allclose(found, 0.7, rtol=1e-15)
