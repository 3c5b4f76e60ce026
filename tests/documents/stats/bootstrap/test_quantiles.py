"""The exact bootstrap of a quantile against enumeration, sorting, arch and real resampling."""

import itertools

import mpmath
import numpy as np
import pytest

from simstudy.documents.stats.bootstrap import quantiles as qb
from simstudy.documents.stats.bootstrap.resamples import draw_resamples, likely_pairs
from tests.documents.stats.replayed import NEEDS_DEV
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

Q_DOCUMENT = 1 - 0.95
LEVELS = (0.0, 0.001, 0.05, 0.2, 0.5, 0.8, 0.999, 1.0)


def enumerated_pairs(n_obs, where):
    """Joint law of the two ranks from all n^n resamples."""
    ranks = np.sort(list(itertools.product(range(n_obs), repeat=n_obs)), axis=1)
    lower = ranks[:, where.rank - 1]
    upper = ranks[:, where.rank] if where.g > 0 else lower
    counts = np.zeros((n_obs, n_obs))
    np.add.at(counts, (lower, upper), 1.0)
    return counts / n_obs**n_obs


def all_candidates(sample, law):
    """Every attainable value with its probability, ascending: the plain way."""
    ordered, joint = np.sort(sample), qb.pair_probabilities(law)
    pairs = [(a, b) for a in range(sample.size) for b in range(a, sample.size)]
    ends = np.array([(ordered[a], ordered[b]) for a, b in pairs])
    values = qb.quantile_of_sorted(ends, qb.Interpolation(1, law.g))
    weights = np.array([joint[pair] for pair in pairs])
    order = np.argsort(values, kind="stable")
    return values[order], weights[order]


def samples(kind, n_rep, n_obs):
    rng = np.random.default_rng(20)
    block = rng.standard_t(2, size=(n_rep, n_obs))
    return np.round(block) if kind == "tied" else block


@pytest.mark.parametrize("n_obs", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("method", qb.QUANTILE_METHODS)
def test_pair_law_is_that_of_all_resamples(n_obs, method):
    for q in (0.05, 0.2, 0.31, 0.5, 0.77, 0.95):
        where = qb.interpolation(n_obs, q, method)
        joint = qb.pair_probabilities(qb.quantile_law(n_obs, q, method))
        np.testing.assert_allclose(joint, enumerated_pairs(n_obs, where), rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("rank", [50, 500, 950])
def test_rank_law_is_accurate_in_both_tails(rank):
    probability = qb.rank_probabilities(1000, rank)
    with mpmath.workdps(60):
        for c in (max(rank - 190, 1), rank - 40, rank, min(rank + 49, 1000)):
            ends = [mpmath.mpf(c - 1) / 1000, mpmath.mpf(c) / 1000]
            exact = mpmath.betainc(rank, 1001 - rank, *ends, regularized=True)
            assert probability[c - 1] == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(("n_obs", "q"), [(1000, 0.5), (19_000, 0.5), (90_000, 0.05001)])
def test_pair_law_of_large_samples_stays_finite_and_whole(n_obs, q):
    law = qb.quantile_law(n_obs, q)
    assert law.g > 0
    rows = law.diag + law.row * law.tail
    assert np.isfinite(rows).all()
    assert rows.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", ["continuous", "tied"])
@pytest.mark.parametrize("method", qb.QUANTILE_METHODS)
def test_sample_quantile_is_numpys_to_the_last_bit(kind, method):
    for n_obs, q in itertools.product((1, 2, 7, 50), (1e-3, Q_DOCUMENT, 0.05, 0.5, 0.97)):
        block = samples(kind, 4, n_obs)
        ours = qb.sample_quantile(block, q, quantile_method=method)
        np.testing.assert_array_equal(ours, np.quantile(block, q, axis=1, method=method))


@pytest.mark.parametrize("kind", ["continuous", "tied"])
@pytest.mark.parametrize(
    ("n_obs", "q"), [(2, 0.3), (21, 0.05), (50, Q_DOCUMENT), (50, 0.5), (31, 0.93)]
)
def test_quantiles_are_those_of_all_sorted_pairs(kind, n_obs, q):
    block, law = samples(kind, 25, n_obs), qb.quantile_law(n_obs, q)
    ours = qb.bootstrap_quantile(block, np.array([LEVELS]), q=q)
    for sample, found in zip(block, ours, strict=True):
        values, weights = all_candidates(sample, law)
        index = np.searchsorted(np.cumsum(weights), LEVELS[:-1])
        np.testing.assert_array_equal(found, [*values[index], values[-1]])


@pytest.mark.parametrize("kind", ["continuous", "tied"])
@pytest.mark.parametrize("q", [Q_DOCUMENT, 0.5, 0.93])
def test_moments_and_masses_are_those_of_all_pairs(kind, q):
    block, law = samples(kind, 25, 40), qb.quantile_law(40, q)
    estimate = qb.sample_quantile(block, q)
    mean, std = qb.bootstrap_moments(block, q=q)
    strict, weak = qb.bootstrap_masses(block, estimate, q=q)
    for i, sample in enumerate(block):
        values, weights = all_candidates(sample, law)
        center = weights @ values
        assert mean[i] == pytest.approx(center, rel=1e-12, abs=1e-13)
        assert std[i] == pytest.approx(np.sqrt(weights @ (values - center) ** 2), abs=1e-12)
        assert strict[i] == pytest.approx(weights[values < estimate[i]].sum(), abs=1e-13)
        assert weak[i] == pytest.approx(weights[values <= estimate[i]].sum(), abs=1e-13)


N_DRAWS = replicates_to_catch(0.02, sd=0.5, comparisons=4)


def shares_and_truth(draws, sample):
    """Share of draws at or below four values, and the exact probability of each."""
    at = np.quantile(sample, [0.01, 0.04, 0.07, 0.12])
    truth = [qb.bootstrap_masses(sample[None], np.array([v]), q=Q_DOCUMENT).weak[0] for v in at]
    truth = np.array(truth)
    return np.mean(draws[:, None] <= at, axis=0), truth, np.sqrt(truth * (1 - truth) / draws.size)


@pytest.mark.parametrize("way", ["resampling", "ranks"])
def test_draws_follow_the_exact_law(way):
    rng, sample = np.random.default_rng(4), samples("continuous", 1, 50)[0]
    if way == "resampling":
        draws = np.quantile(rng.choice(sample, (N_DRAWS, 50)), Q_DOCUMENT, axis=1)
    else:
        made = draw_resamples(rng, sample[None], n_boot=N_DRAWS, q=Q_DOCUMENT)
        draws = np.repeat(made.values[0], made.counts[0])
    assert_within_mcse(*shares_and_truth(draws, sample))


def test_that_test_catches_ranks_drawn_independently():
    rng, sample = np.random.default_rng(4), np.sort(samples("continuous", 1, 50)[0])
    where = qb.interpolation(50, Q_DOCUMENT)
    lower = sample[np.int64(50 * rng.beta(where.rank, 51 - where.rank, N_DRAWS))]
    upper = sample[np.int64(50 * rng.beta(where.rank + 1, 50 - where.rank, N_DRAWS))]
    assert_caught(*shares_and_truth(lower + (upper - lower) * where.g, sample))


@pytest.mark.parametrize("method", qb.QUANTILE_METHODS)
def test_acceleration_is_archs(method):
    base = pytest.importorskip("arch.bootstrap.base", reason=NEEDS_DEV)
    for n_obs, q in itertools.product((2, 3, 20, 50), (Q_DOCUMENT, 0.5, 0.9)):
        block = np.sort(samples("continuous", 6, n_obs), axis=1)
        ours = qb.jackknife_acceleration(block, q=q, quantile_method=method)
        for sample, found in zip(block, ours, strict=True):
            left_out = np.array([np.delete(sample, i) for i in range(n_obs)])
            values = np.quantile(left_out, q, axis=1, method=method)[:, None]
            expected = base._get_acceleration(values)[0, 0] if np.ptp(values) > 0 else 0.0
            assert found == pytest.approx(expected, abs=1e-9)


def test_all_scores_equal_is_a_point_mass():
    block = np.full((2, 10), 0.7)
    np.testing.assert_array_equal(
        qb.bootstrap_quantile(block, np.array([[0.0, 0.2, 1.0]]), q=0.05), 0.7
    )
    np.testing.assert_array_equal(qb.bootstrap_moments(block, q=0.05).std, 0.0)
    np.testing.assert_array_equal(qb.jackknife_acceleration(block, q=0.05), 0.0)
    strict, weak = qb.bootstrap_masses(block, np.array([0.7, 0.7]), q=0.05)
    np.testing.assert_array_equal(strict, 0.0)
    np.testing.assert_allclose(weak, 1.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("n_obs", "q", "method"),
    [(50, 0.05, "linear"), (400, 0.3, "hazen"), (7, 0.5, "inverted_cdf"), (1, 0.5, "linear")],
)
def test_likely_pairs_are_those_of_the_whole_table(n_obs, q, method):
    joint = qb.pair_probabilities(qb.quantile_law(n_obs, q, method))
    pairs, kept = likely_pairs(n_obs, q, method), joint > 1e-30
    plain = np.zeros_like(joint)
    plain[pairs.lower, pairs.upper] = pairs.probability
    np.testing.assert_array_equal(plain > 0, kept)
    np.testing.assert_allclose(plain[kept], joint[kept] / joint[kept].sum(), rtol=1e-13)
    assert (np.diff(pairs.probability) <= 0).all()
