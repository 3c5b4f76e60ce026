"""Compiled weights and sums against loops, and means against Taylor's formula."""

import math

import numpy as np
import pytest

from simstudy.documents.stats.bootstrap.losses import replicate_seeds
from simstudy.documents.stats.leave_one_out import bayesian_bootstrap as bootstrap
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import (
    bayesian_bootstrap,
    bayesian_bootstrap_against,
    bootstrap_draws,
)
from simstudy.documents.stats.leave_one_out.utilities import (
    UTILITIES,
    Pointwise,
    taylor,
    taylor_ratio,
)
from tests.documents.stats.draws import rng_at
from tests.documents.stats.leave_one_out.plain import utilities_of
from tests.documents.stats.words import GOLDEN, WORD, mixed

EPS = float(np.finfo(float).eps)


def make_pointwise(n_rep: int = 3, n_obs: int = 11, seed: int = 5) -> Pointwise:
    y, other = np.random.default_rng(seed).standard_normal((2, n_rep, n_obs))
    error = 0.7 * y + 0.4 * other + 0.1
    return Pointwise(y, error, -(error**2) - 0.3 * other)


def with_same_response(pointwise: Pointwise, seed: int = 6) -> Pointwise:
    other = make_pointwise(*pointwise.y.shape, seed=seed)
    return Pointwise(pointwise.y, other.error, other.log_density)


# ---------------------------------------------------------------- the weights
def slow_exponential(word: int) -> float:
    """The ziggurat as published, in whole numbers as far as it goes."""
    from simstudy.documents.stats.leave_one_out._weight_kernels import EDGE, EDGES, HEIGHT

    state = word
    while True:
        layer, x = word % 256, (word >> 11) * 2.0**-53
        x *= EDGES[layer]
        if x < EDGES[layer + 1]:
            return x
        state = (state + GOLDEN) % WORD
        share = (mixed(state) >> 11) * 2.0**-53 + 2.0**-54
        if layer == 0:
            return EDGE - math.log(share)
        if HEIGHT[layer] + share * (HEIGHT[layer + 1] - HEIGHT[layer]) < math.exp(-x):
            return x
        state = (state + GOLDEN) % WORD
        word = mixed(state)


def slow_weights(seed: int, n_obs: int, n_draw: int) -> np.ndarray:
    words = [mixed((seed + (at + 1) * GOLDEN) % WORD) for at in range(n_draw * n_obs)]
    return np.array([slow_exponential(word) for word in words]).reshape(n_draw, n_obs)


def weights(seed: int, n_obs: int, n_draw: int) -> np.ndarray:
    from simstudy.documents.stats.leave_one_out._weight_kernels import fill_exponentials

    out = np.empty((n_draw, n_obs))
    fill_exponentials(np.uint64(seed), 0, np.empty(n_obs, np.uint64), out)
    return out


@pytest.mark.parametrize("seed", [0, 2**63 + 11, 2**64 - 1])
def test_weights_are_those_of_a_loop_in_whole_numbers(seed):
    n_obs, n_draw = 100, 300  # one weight in 90 is not decided by its first word
    assert (weights(seed, n_obs, n_draw) == slow_weights(seed, n_obs, n_draw)).all()


def test_layers_have_equal_areas_and_end_at_height_one():
    from simstudy.documents.stats.leave_one_out._weight_kernels import (
        EDGE,
        EDGES,
        HEIGHT,
        layer_area,
    )

    assert EDGES[1] * HEIGHT[1] + math.exp(-EDGE) == pytest.approx(layer_area(), rel=4 * EPS)
    areas = EDGES[1:-1] * np.diff(HEIGHT[1:])
    # The last edge is where all rounding gathers: heights near 1 are known to an eps.
    np.testing.assert_allclose(areas[:-1], layer_area(), rtol=256 * EPS / layer_area())
    assert HEIGHT[-1] == 1
    assert areas[-1] == pytest.approx(layer_area(), rel=256 * EPS / layer_area())


# ---------------------------------------------------------------- the draws
@pytest.mark.parametrize("n_obs", [2, 3, 11, 50])
@pytest.mark.parametrize("n_draw", [2, 7, 8])
def test_draws_are_those_of_a_loop_over_weights(n_obs, n_draw):
    pointwise = make_pointwise(3, n_obs)
    found = bootstrap_draws(pointwise, rng_at(), n_draw=n_draw)
    seeds = replicate_seeds(rng_at(), 3)[:, 0]
    for rep in range(3):
        drawn, columns = weights(int(seeds[rep]), n_obs, n_draw), [part[rep] for part in pointwise]
        by_draw = [utilities_of(w, *columns) for w in drawn]
        slow = np.array([[utilities[name] for utilities in by_draw] for name in UTILITIES])
        # A spread is a difference of two squares: a small one is known to eps over it.
        y, share = columns[0], drawn / drawn.sum(axis=1, keepdims=True)
        spread = (share @ y**2 - (share @ y) ** 2).min()
        tolerance = 50 * n_obs * EPS * max(1, 1 / spread) * np.abs(slow).max()
        np.testing.assert_allclose(found[rep], slow, rtol=0, atol=tolerance)


def test_a_summary_is_that_of_its_draws():
    found = bayesian_bootstrap(make_pointwise(), rng_at(), n_draw=50)
    draws = bootstrap_draws(make_pointwise(), rng_at(), n_draw=50)
    assert (found.value == draws.mean(axis=2)).all()
    assert (found.std_error == draws.std(axis=2, ddof=1)).all()


def test_a_long_bootstrap_begins_with_the_short_one():
    long, short = (bootstrap_draws(make_pointwise(), rng_at(), n_draw=n) for n in (13, 6))
    assert (long[:, :, :6] == short).all()


def test_the_size_of_parts_changes_nothing(monkeypatch):
    whole = bayesian_bootstrap(make_pointwise(5), rng_at(), n_draw=30)
    monkeypatch.setattr(bootstrap, "AT_ONCE", 30 * 8 * 2)
    parts = bayesian_bootstrap(make_pointwise(5), rng_at(), n_draw=30)
    assert all((a == b).all() for a, b in zip(whole, parts, strict=True))


def test_taylor_over_bootstrap_is_the_stated_ratio_for_means():
    """Of a flat Dirichlet's weights a mean of n losses has their variance over n + 1."""
    pointwise = make_pointwise(3, 7)
    error, density = pointwise.error, pointwise.log_density
    means = {"mae": np.abs(error), "mse": error**2, "elpd": 7 * density}  # elpd is a sum
    for name, losses in means.items():
        ratio = taylor(pointwise).std_error[:, UTILITIES.index(name)] / np.sqrt(losses.var(1) / 8)
        np.testing.assert_allclose(ratio, taylor_ratio(7), rtol=50 * EPS)


# ---------------------------------------------------------------- edges
def test_null_model_has_a_floor_of_its_own_only_where_a_parenthesis_is_misplaced():
    """Its numerator then varies by (sum w z)², about a chi-square over n: sd sqrt(2)/n."""
    n_obs, n_draw = 100, 4000
    y = rng_at().standard_normal((1, n_obs))
    error = (y - y.mean()) * n_obs / (n_obs - 1)
    found = bayesian_bootstrap(Pointwise(y, error), rng_at(), n_draw=n_draw)
    errors = dict(zip(UTILITIES, found.std_error[0], strict=True))
    assert errors["r2_variance"] < 1e3 * EPS
    assert errors["r2_mean_square"] < 1e3 * EPS
    floor = np.sqrt(2) / n_obs
    # Of a chi-square's sd from S draws the relative spread is sqrt((15 - 1) / (4 S)); to first
    # order in 1/n the floor is off by terms of relative size 1/sqrt(n) at most.
    z = np.sqrt(14 / (4 * n_draw)) * 4.5 + 1 / np.sqrt(n_obs)
    assert errors["r2_misplaced"] == pytest.approx(floor, rel=z)


# ---------------------------------------------------------------- one pass for several models
@pytest.mark.parametrize("n_others", [0, 1, 3])
def test_one_pass_is_each_model_and_pair_alone(n_others, monkeypatch):
    monkeypatch.setattr(bootstrap, "AT_ONCE", 500)  # several replicates do not fit
    first = make_pointwise()
    others = [with_same_response(first, seed=seed) for seed in range(20, 20 + n_others)]
    found = bayesian_bootstrap_against(first, others, rng_at(), n_draw=30)
    own = bootstrap_draws(first, rng_at(), n_draw=30)
    wanted = [own, *(own - bootstrap_draws(each, rng_at(), n_draw=30) for each in others)]
    assert len(found) == 1 + n_others
    for ours, draws in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours.value, draws.mean(axis=2))
        np.testing.assert_array_equal(ours.std_error, draws.std(axis=2, ddof=1))
