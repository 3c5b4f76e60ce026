"""Compiled bootstraps against loops on the same indices, against `arch`, against enumeration."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import special

from simstudy.documents.stats.bootstrap.losses import (
    adjusted_std_error,
    bootstrap_indices,
    bootstrap_variance,
    ideal_variance,
    replicate_seeds,
    resampled_means,
    studentized_bootstrap,
)
from tests.documents.stats.draws import rng_at
from tests.documents.stats.replayed import replayed
from tests.documents.stats.words import GOLDEN, WORD, mixed, place

EPS = float(np.finfo(float).eps)
K = 1.5
TAIL = float(special.ndtr(-K))


def make_losses(n_rep: int = 3, n_obs: int = 31, n_metric: int = 2) -> np.ndarray:
    """|error| to the powers 1, 2, ...: losses of one model, as different as losses are."""
    error = np.abs(np.random.default_rng(5).normal(size=(n_rep, n_obs, 1)))
    return error ** np.arange(1, 1 + n_metric)


def slow_bootstrap(loss, seeds, *, n_boot, n_inner=0, ddof=1, k=K):
    """One replicate, one metric: variance and quantile by a loop over resamples of resamples."""
    patterns = bootstrap_indices(seeds[1], len(loss), n_inner) if n_inner else []
    means, t = [], []
    for index in bootstrap_indices(seeds[0], len(loss), n_boot):
        resample = loss[index]
        std_error = resample.std() / np.sqrt(len(loss))
        if n_inner:
            std_error = np.std([resample[pattern].mean() for pattern in patterns], ddof=ddof)
        means.append(resample.mean())
        t.append((resample.mean() - loss.mean()) / std_error)
    return np.var(means, ddof=ddof), np.quantile(t, special.ndtr(-k))


# ---------------------------------------------------------------- the indices
@pytest.mark.parametrize("n_obs", [2, 31, 32, 1000, 2**15 + 1, 3 * 2**14, 2**16 - 1, 2**16, 70_001])
def test_indices_are_those_of_a_loop_in_whole_numbers(n_obs):
    """Compiled and not; with 3 * 2^14 observations one part of a word in four is refused."""
    from simstudy.documents.stats.bootstrap._resample_kernels import fill_indices

    seed, slow = 2**64 - 12345, []
    bits, n_word = (16, -(-n_obs // 32) * 8) if n_obs < 2**16 else (32, (n_obs + 1) // 2)
    for b in range(3):
        states = (seed + (b * n_word + w + 1) * GOLDEN for w in range(n_word))
        words = [mixed(state % WORD) for state in states]
        parts = [(word, at) for word in words for at in range(0, 64, bits)]
        slow.append([place(word, n_obs, bits=bits, at=at) for word, at in parts[:n_obs]])
    compiled = np.empty((2, n_obs), np.uint32)
    fill_indices(np.uint64(seed), 1, n_obs, compiled)
    np.testing.assert_array_equal(bootstrap_indices(seed, n_obs, 3), slow)
    np.testing.assert_array_equal(compiled, slow[1:])


# ---------------------------------------------------------------- loops on the same indices
@pytest.mark.parametrize("n_obs", [2, 7, 8, 17, 31, 64, 1000, 2**16 - 1, 2**16])
@pytest.mark.parametrize("n_column", [1, 2, 4, 5])
def test_resampled_means_are_exactly_those_of_a_loop(n_obs, n_column):
    values = rng_at().integers(-1000, 1000, size=(3, n_obs, n_column)).astype(float)
    means = resampled_means(values, rng_at(), n_boot=13)
    for rep, seeds in enumerate(replicate_seeds(rng_at(), 3)):
        indices = bootstrap_indices(seeds[0], n_obs, 13)
        slow = [values[rep, index].sum(axis=0) / n_obs for index in indices]
        assert (means[rep] == slow).all()  # whole numbers: their sums have no rounding


@pytest.mark.parametrize("n_obs", [30, 31])
@pytest.mark.parametrize("n_metric", [1, 2, 3])
@pytest.mark.parametrize(("n_inner", "ddof"), [(None, 1), (None, 0), (20, 1), (21, 0)])
def test_studentized_bootstrap_is_a_loop_over_resamples(n_obs, n_metric, n_inner, ddof):
    losses, n_boot = make_losses(2, n_obs, n_metric), 101
    found = studentized_bootstrap(losses, rng_at(), k=K, n_boot=n_boot, n_inner=n_inner, ddof=ddof)
    for rep, seeds in enumerate(replicate_seeds(rng_at(), 2)):
        for m in range(n_metric):
            variance, quantile = slow_bootstrap(
                losses[rep, :, m], seeds, n_boot=n_boot, n_inner=n_inner or 0, ddof=ddof
            )
            # The roundings of sums of this many terms; a resample spreads as its sample does.
            rounding = 10 * n_obs * n_boot * EPS
            assert found.variance[rep, m] == pytest.approx(variance, rel=rounding)
            assert found.quantile[rep, m] == pytest.approx(quantile, rel=rounding)
            assert found.mean[rep, m] == pytest.approx(losses[rep, :, m].mean(), rel=rounding)


@pytest.mark.parametrize("k", [-1.5, 0.0, 0.5, 1.2, 2.0])
def test_quantile_interpolates_as_numpy_does(k):
    from simstudy.documents.stats.bootstrap._loss_kernels import linear_quantile

    for n in (2, 3, 100, 1000):
        values, probability = rng_at(n).normal(size=n), float(special.ndtr(-k))
        assert linear_quantile(values, probability) == np.quantile(values, probability)


@pytest.mark.parametrize("ddof", [0, 1])
def test_single_bootstrap_is_the_variance_of_the_double_one(ddof):
    losses = make_losses(n_obs=40, n_metric=3)
    single = bootstrap_variance(losses, rng_at(), n_boot=200, ddof=ddof)
    double = studentized_bootstrap(losses, rng_at(), k=K, n_boot=200, ddof=ddof)
    np.testing.assert_allclose(single, double.variance, rtol=40 * 200 * EPS)


def test_upper_bound_is_that_of_arch_on_the_same_resamples():
    losses = make_losses(2, 50, 2)
    found = studentized_bootstrap(losses, rng_at(), k=K, n_boot=300, ddof=0)
    for rep, seeds in enumerate(replicate_seeds(rng_at(), 2)):
        bootstrap = replayed(losses[rep], bootstrap_indices(seeds[0], 50, 300))
        interval = bootstrap.conf_int(
            lambda x: x.mean(axis=0),
            reps=300,
            method="studentized",
            std_err_func=lambda _, x: x.std(axis=0) / np.sqrt(len(x)),
            size=1 - TAIL,
            tail="upper",
        )
        np.testing.assert_allclose(found.upper_bound[rep], interval[1], rtol=50 * 300 * EPS)


# ---------------------------------------------------------------- theory
def test_ideal_variance_is_that_of_every_possible_resample():
    losses = make_losses(2, 4, 2)
    everything = np.array(list(itertools.product(range(4), repeat=4)))
    np.testing.assert_allclose(
        ideal_variance(losses), losses[:, everything].mean(axis=2).var(axis=1), rtol=100 * EPS
    )


# ---------------------------------------------------------------- what may not move a number
def quantiles(losses, **knobs):
    return studentized_bootstrap(losses, rng_at(), k=K, n_boot=99, **knobs).quantile


@pytest.mark.parametrize("n_inner", [None, 10])
def test_other_replicates_and_metrics_move_nothing(n_inner):
    losses = make_losses(5, 20, 3)
    whole = quantiles(losses, n_inner=n_inner)
    assert (quantiles(losses[:2], n_inner=n_inner) == whole[:2]).all()
    assert (quantiles(losses[:, :, :1], n_inner=n_inner) == whole[:, :1]).all()
    assert (quantiles(losses[:, :, ::-1], n_inner=n_inner)[:, ::-1] == whole).all()


def test_threads_move_nothing():
    losses = make_losses(4, 200, 2)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: quantiles(losses, n_inner=20), range(8)):
            assert (found == quantiles(losses, n_inner=20)).all()


def test_the_unit_of_the_losses_scales_the_variance_and_not_the_quantile():
    losses = make_losses()
    plain = studentized_bootstrap(losses, rng_at(), k=K)
    for unit in (2.0**-400, 2.0**400):
        scaled = studentized_bootstrap(unit * losses, rng_at(), k=K)
        assert (scaled.quantile == plain.quantile).all()
        assert (scaled.variance == plain.variance * unit**2).all()


# ---------------------------------------------------------------- losses that have no answer
@pytest.mark.parametrize("n_inner", [None, 10])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
def test_a_loss_that_is_not_finite_fails_its_replicate_and_metric_alone(bad, n_inner):
    losses = make_losses(3, 20, 2)
    spoilt = losses.copy()
    spoilt[1, 4:10, 0] = bad  # six of 1e308 overflow their mean
    found = studentized_bootstrap(spoilt, rng_at(), k=K, n_boot=99, n_inner=n_inner)
    clean = studentized_bootstrap(losses, rng_at(), k=K, n_boot=99, n_inner=n_inner)
    assert np.isnan([found.mean[1, 0], found.variance[1, 0], found.quantile[1, 0]]).all()
    assert found.failed.sum() == 1
    rest = ~found.failed
    assert (found.quantile[rest] == clean.quantile[rest]).all()


@pytest.mark.parametrize("n_inner", [None, 10])
def test_constant_losses_have_no_variance_and_no_studentized_quantile(n_inner):
    losses = np.full((1, 10, 2), 0.1)  # ten tenths do not add up to one
    losses[0, :, 1] = np.arange(10)
    found = studentized_bootstrap(losses, rng_at(), k=K, n_boot=99, n_inner=n_inner)
    assert found.variance[0, 0] == 0
    assert found.n_constant.tolist() == [[99, 0]]
    assert found.failed.tolist() == [[True, False]]
    assert bootstrap_variance(losses, rng_at(), n_boot=9)[0, 0] == 0
    assert ideal_variance(losses)[0, 0] == 0


@pytest.mark.parametrize("n_inner", [None, 10])
def test_resamples_without_spread_are_counted_and_lie_beyond_every_other(n_inner):
    rare = np.zeros((1, 20, 1))
    rare[0, 0] = 0.1  # (19/20)^20, or 36 resamples in 100, hold only zeros: below the quantile
    common = 1.0 * (np.arange(20) < 9)[None, :, None]
    found = studentized_bootstrap(
        np.concatenate([rare, common], axis=2), rng_at(), k=K, n_boot=200, n_inner=n_inner
    )
    seeds = replicate_seeds(rng_at(), 1)[0]
    zeros = (rare[0, bootstrap_indices(seeds[0], 20, 200), 0] == 0).all(axis=1).sum()
    assert found.n_constant.tolist() == [[zeros, 0]]
    assert found.failed.tolist() == [[True, False]]


def test_a_few_resamples_without_spread_do_not_spoil_the_quantile():
    loss = np.array([0.3] * 17 + [1.1, 0.7, 0.9])  # one resample in 26 holds only the first
    found = studentized_bootstrap(loss[None, :, None], rng_at(), k=K, n_boot=500)
    seeds = replicate_seeds(rng_at(), 1)[0]
    resamples = loss[bootstrap_indices(seeds[0], 20, 500)]
    constant = np.ptp(resamples, axis=1) == 0
    spread = np.where(constant, 1.0, resamples.std(axis=1)) / np.sqrt(20)
    t = np.where(constant, -np.inf, (resamples.mean(axis=1) - loss.mean()) / spread)
    assert 0 < constant.sum() == found.n_constant[0, 0] < 500 * TAIL - 1
    assert found.quantile[0, 0] == pytest.approx(np.quantile(t, TAIL), rel=20 * 500 * EPS)


# ---------------------------------------------------------------- the adjusted standard error
def test_adjusted_std_error_reaches_the_upper_bound_in_k_steps():
    found = studentized_bootstrap(make_losses(), rng_at(), k=K)
    np.testing.assert_allclose(
        found.mean + K * found.adjusted_std_error, found.upper_bound, rtol=10 * EPS
    )


def test_a_quantile_on_the_wrong_side_is_no_scale():
    found = adjusted_std_error(np.ones(4), np.array([-0.1, 0.1, 0.0, np.nan]), k=0.05)
    np.testing.assert_array_equal(found, [2.0, np.nan, np.nan, np.nan])
    assert adjusted_std_error(np.ones(1), np.array([1.8]), k=-1.5)[0] == pytest.approx(1.2)
