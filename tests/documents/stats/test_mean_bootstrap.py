"""Resampled means against loops on the same indices, and against enumeration."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from simstudy.documents.stats import mean_bootstrap as bootstrap
from tests.documents.draws import bootstrap_indices, rng_at


def make_losses(n_rep: int = 3, n_obs: int = 31, n_metric: int = 2) -> np.ndarray:
    """|error| to the powers 1, 2, ...: losses of one model, as different as losses are."""
    error = np.abs(np.random.default_rng(5).normal(size=(n_rep, n_obs, 1)))
    return error ** np.arange(1, 1 + n_metric)


@pytest.mark.parametrize("n_obs", [2, 7, 8, 17, 31, 64, 1000, 2**16 + 1])
@pytest.mark.parametrize("n_column", [1, 2, 4, 5])
def test_resampled_means_are_exactly_those_of_a_loop(n_obs, n_column):
    values = rng_at().integers(-1000, 1000, size=(2, n_obs, n_column)).astype(float)
    means = bootstrap.resampled_means(values, rng_at(), n_boot=5)
    for rep, seeds in enumerate(bootstrap.replicate_seeds(rng_at(), 2)):
        indices = bootstrap_indices(seeds[0], n_obs, 5)
        slow = [values[rep, index].sum(axis=0) / n_obs for index in indices]
        assert (means[rep] == slow).all()  # whole numbers: their sums have no rounding


@pytest.mark.parametrize("counts_at_once", [1, 80, 10**6])
def test_plain_resampled_means_are_those_of_a_loop(counts_at_once, monkeypatch):
    values, drawn = rng_at().integers(-1000, 1000, size=(2, 31, 3)).astype(float), rng_at()
    slow = [
        [values[rep, drawn.integers(0, 31, size=31)].sum(axis=0) / 31 for _ in range(13)]
        for rep in range(2)
    ]
    monkeypatch.setattr(bootstrap, "MAX_COUNTS", counts_at_once)
    assert (bootstrap.plain_resampled_means(values, rng_at(), n_boot=13) == slow).all()


def test_inner_variances_are_those_of_resamples_of_resamples():
    values, seeds = make_losses(2, 30), bootstrap.replicate_seeds(rng_at(), 2)
    found = bootstrap.inner_variances(values, seeds, 9, 20)
    for rep, (outer, inner) in enumerate(seeds):
        patterns = bootstrap_indices(inner, 30, 20)
        for b, index in enumerate(bootstrap_indices(outer, 30, 9)):
            resample = values[rep, index]
            slow = np.var([resample[pattern].mean(axis=0) for pattern in patterns], axis=0)
            np.testing.assert_allclose(found[rep, b], slow, rtol=1e-12)


def test_bootstrap_variance_is_that_of_a_loop_and_of_every_possible_resample():
    losses = make_losses(2, 4, 3)
    found = bootstrap.bootstrap_variance(losses, rng_at(), n_boot=50)
    for rep, seeds in enumerate(bootstrap.replicate_seeds(rng_at(), 2)):
        draws = losses[rep, bootstrap_indices(seeds[0], 4, 50)].mean(axis=1)
        np.testing.assert_allclose(found[rep], draws.var(axis=0), rtol=1e-12)
    everything = losses[:, np.array([*itertools.product(range(4), repeat=4)])]
    every_variance = everything.mean(axis=2).var(axis=1)
    np.testing.assert_allclose(bootstrap.ideal_variance(losses), every_variance, rtol=1e-13)


def test_other_replicates_columns_and_threads_move_nothing():
    losses = make_losses(5, 20, 3)
    whole = bootstrap.resampled_means(losses, rng_at(), n_boot=99)
    assert (bootstrap.resampled_means(losses[:2], rng_at(), n_boot=99) == whole[:2]).all()
    assert (
        bootstrap.resampled_means(losses[:, :, ::-1], rng_at(), n_boot=99)[..., ::-1] == whole
    ).all()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(
            lambda _: bootstrap.resampled_means(losses, rng_at(), n_boot=99), range(8)
        ):
            assert (found == whole).all()
