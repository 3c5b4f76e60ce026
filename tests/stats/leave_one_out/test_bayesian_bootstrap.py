"""Compiled weights and sums against loops, draws against the exact variance of means."""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from simstudy.stats.bootstrap.losses import replicate_seeds
from simstudy.stats.leave_one_out import bayesian_bootstrap as bootstrap
from simstudy.stats.leave_one_out.bayesian_bootstrap import (
    bayesian_bootstrap,
    bayesian_bootstrap_against,
    bayesian_bootstrap_difference,
    bootstrap_draws,
)
from simstudy.stats.leave_one_out.utilities import UTILITIES, Pointwise, taylor, taylor_ratio
from tests.stats.draws import rng_at
from tests.stats.words import GOLDEN, WORD, mixed
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

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
    from simstudy.stats.leave_one_out._weight_kernels import EDGE, EDGES, HEIGHT

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
    from simstudy.stats.leave_one_out._weight_kernels import fill_exponentials

    out = np.empty((n_draw, n_obs))
    fill_exponentials(np.uint64(seed), 0, np.empty(n_obs, np.uint64), out)
    return out


@pytest.mark.parametrize("seed", [0, 2**63 + 11, 2**64 - 1])
def test_weights_are_those_of_a_loop_in_whole_numbers(seed):
    n_obs, n_draw = 100, 300  # one weight in 90 is not decided by its first word
    assert (weights(seed, n_obs, n_draw) == slow_weights(seed, n_obs, n_draw)).all()


def test_layers_have_equal_areas_and_end_at_height_one():
    from simstudy.stats.leave_one_out._weight_kernels import EDGE, EDGES, HEIGHT, layer_area

    assert EDGES[1] * HEIGHT[1] + math.exp(-EDGE) == pytest.approx(layer_area(), rel=4 * EPS)
    areas = EDGES[1:-1] * np.diff(HEIGHT[1:])
    # The last edge is where all rounding gathers: heights near 1 are known to an eps.
    np.testing.assert_allclose(areas[:-1], layer_area(), rtol=256 * EPS / layer_area())
    assert HEIGHT[-1] == 1
    assert areas[-1] == pytest.approx(layer_area(), rel=256 * EPS / layer_area())


SHARE_ERROR = 0.002  # of a share of draws: the smallest error worth catching
N_WEIGHT = replicates_to_catch(SHARE_ERROR, sd=0.5, comparisons=20)
LIMITS = -np.log1p(-np.arange(1, 20) / 20)  # nineteen quantiles, and one in the tail
LIMITS = np.append(LIMITS, 8.0)


def shares_below(draws: np.ndarray) -> np.ndarray:
    return np.array([(draws <= limit).mean() for limit in LIMITS])


def test_weights_are_exponential():
    share = 1 - np.exp(-LIMITS)
    found = shares_below(weights(3, 1, N_WEIGHT))
    assert_within_mcse(found, share, np.sqrt(share * (1 - share) / N_WEIGHT))
    # Caught: layers without refusal.
    from simstudy.stats.leave_one_out._weight_kernels import EDGES

    words = rng_at().integers(0, 2**64, N_WEIGHT, dtype=np.uint64)
    wrong = (words >> np.uint64(11)).astype(float) * 2.0**-53 * EDGES[words % np.uint64(256)]
    assert_caught(shares_below(wrong), share, np.sqrt(share * (1 - share) / N_WEIGHT))


# ---------------------------------------------------------------- the draws
def slow_draws(models: list[Pointwise], rep: int, seed: int, n_draw: int) -> list[np.ndarray]:
    """Utilities of one replicate by their definitions, one draw of Dirichlet weights at a time."""
    n_obs, answers = models[0].y.shape[1], [[] for _ in models]
    for exponentials in weights(seed, n_obs, n_draw):
        w = exponentials / exponentials.sum()
        for model, answer in zip(models, answers, strict=True):
            y, e, density = (part[rep] for part in model)
            mse, spread = w @ e**2, w @ (y - w @ y) ** 2
            raw = {
                "mae": w @ np.abs(e),
                "mse": mse,
                "rmse": np.sqrt(mse),
                "r2_mean_square": 1 - mse / (w @ (y - y.mean()) ** 2),
                "r2_variance": 1 - w @ (e - w @ e) ** 2 / spread,
                "r2_misplaced": 1 - (mse - ((w * e) ** 2).sum()) / spread,
                "elpd": n_obs * (w @ density),
            }
            raw["r2_clipped"] = min(max(raw["r2_variance"], -1), 1)
            raw["r2_published"] = min(max(raw["r2_misplaced"], -1), 1)
            answer.append([raw[name] for name in UTILITIES])
    return [np.array(answer).T for answer in answers]


@pytest.mark.parametrize("n_obs", [2, 3, 11, 50])
@pytest.mark.parametrize("n_draw", [2, 7, 8])
def test_draws_are_those_of_a_loop_over_weights(n_obs, n_draw):
    pointwise = make_pointwise(3, n_obs)
    found = bootstrap_draws(pointwise, rng_at(), n_draw=n_draw)
    seeds = replicate_seeds(rng_at(), 3)[:, 0]
    for rep in range(3):
        (slow,) = slow_draws([pointwise], rep, int(seeds[rep]), n_draw)
        # A spread is a difference of two squares, which a small one is known to eps over it.
        spread = slow_spread(pointwise.y[rep], weights(int(seeds[rep]), n_obs, n_draw))
        tolerance = 50 * n_obs * EPS * max(1, 1 / spread.min()) * np.abs(slow).max()
        np.testing.assert_allclose(found[rep], slow, rtol=0, atol=tolerance)


def slow_spread(y: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    w = drawn / drawn.sum(axis=1, keepdims=True)
    return w @ y**2 - (w @ y) ** 2


def test_a_summary_is_that_of_its_draws():
    found = bayesian_bootstrap(make_pointwise(), rng_at(), n_draw=50)
    draws = bootstrap_draws(make_pointwise(), rng_at(), n_draw=50)
    assert (found.value == draws.mean(axis=2)).all()
    assert (found.std_error == draws.std(axis=2, ddof=1)).all()


def test_both_models_of_a_difference_have_the_same_weights():
    first = make_pointwise()
    second = with_same_response(first)
    found = bayesian_bootstrap_difference(first, second, rng_at(), n_draw=50)
    gap = bootstrap_draws(first, rng_at(), n_draw=50) - bootstrap_draws(second, rng_at(), n_draw=50)
    assert (found.value == gap.mean(axis=2)).all()
    assert (found.std_error == gap.std(axis=2, ddof=1)).all()


def test_a_long_bootstrap_begins_with_the_short_one():
    long, short = (bootstrap_draws(make_pointwise(), rng_at(), n_draw=n) for n in (13, 6))
    assert (long[:, :, :6] == short).all()


def test_the_size_of_parts_changes_nothing(monkeypatch):
    whole = bayesian_bootstrap(make_pointwise(5), rng_at(), n_draw=30)
    monkeypatch.setattr(bootstrap, "AT_ONCE", 30 * 8 * 2)
    parts = bayesian_bootstrap(make_pointwise(5), rng_at(), n_draw=30)
    assert all((a == b).all() for a, b in zip(whole, parts, strict=True))


def test_threads_change_nothing():
    alone = bayesian_bootstrap(make_pointwise(), rng_at(), n_draw=100)
    with ThreadPoolExecutor(4) as pool:
        work = [
            pool.submit(bayesian_bootstrap, make_pointwise(), rng_at(), n_draw=100)
            for _ in range(8)
        ]
        assert all((job.result().std_error == alone.std_error).all() for job in work)


# ---------------------------------------------------------------- means: the exact variance


def closed_variance(losses) -> Any:
    n = len(losses)
    return sum((v - sum(losses) / n) ** 2 for v in losses) / (n * (n + 1))


def dirichlet_variance(losses: list[Fraction]) -> Fraction:
    """Of sum w l, from the covariance of flat Dirichlet weights, entry by entry."""
    n = len(losses)
    covariance = lambda i, j: Fraction((n if i == j else 0) - 1, n**2 * (n + 1))  # noqa: E731
    return sum(losses[i] * losses[j] * covariance(i, j) for i in range(n) for j in range(n))


@pytest.mark.parametrize("losses", [(0, 1), (3, -1, 4, 1, -5), (2, 7, 1, 8, 2, 8, 1, 8)])
def test_the_variance_of_a_mean_has_a_closed_form(losses):
    fractions = [Fraction(v) for v in losses]
    assert closed_variance(fractions) == dirichlet_variance(fractions)


def test_taylor_over_bootstrap_is_the_stated_ratio_for_means():
    pointwise = make_pointwise(3, 7)
    found, error = taylor(pointwise).std_error, pointwise.error
    scaled_density = 7 * pointwise.log_density  # elpd is a sum
    means = {"mae": np.abs(error), "mse": error**2, "elpd": scaled_density}
    for name, losses in means.items():
        exact = np.sqrt([closed_variance(row) for row in losses])
        ratio = found[:, UTILITIES.index(name)] / exact
        np.testing.assert_allclose(ratio, taylor_ratio(7), rtol=50 * EPS)


def fourth_moment(losses: np.ndarray) -> float:
    """Of sum w l about its mean: E (sum g c)⁴ = 3 p2² + 6 p4 for exponentials g, over that of a
    gamma(n), which is independent of the weights; c are losses about their mean.
    """
    n, about = len(losses), losses - losses.mean()
    above = 3 * (about**2).sum() ** 2 + 6 * (about**4).sum()
    return float(above / (n * (n + 1) * (n + 2) * (n + 3)))


MEAN_LOSSES = np.array([0.1, 2.0, 0.4, 1.1, 0.7, 3.0])
MEAN_VARIANCE = float(closed_variance(MEAN_LOSSES))
SPREAD_OF_SQUARE = np.sqrt(fourth_moment(MEAN_LOSSES) - MEAN_VARIANCE**2)
N_DRAW = replicates_to_catch(0.02 * MEAN_VARIANCE, sd=SPREAD_OF_SQUARE)


def drawn_variance(n_draw: int) -> float:
    zero = np.zeros((1, len(MEAN_LOSSES)))
    data = Pointwise(zero, MEAN_LOSSES[np.newaxis], zero)
    mae = bootstrap_draws(data, rng_at(2), n_draw=n_draw)[0, UTILITIES.index("mae")]
    return float(((mae - MEAN_LOSSES.mean()) ** 2).mean())


def test_drawn_means_have_the_exact_variance():
    mcse = SPREAD_OF_SQUARE / np.sqrt(N_DRAW)
    assert_within_mcse(drawn_variance(N_DRAW), MEAN_VARIANCE, mcse)
    # Caught: another divisor.
    n = len(MEAN_LOSSES)
    assert_caught(drawn_variance(N_DRAW), MEAN_VARIANCE * (n + 1) / n, mcse)


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
    wanted = [bayesian_bootstrap(first, rng_at(), n_draw=30)]
    wanted += [bayesian_bootstrap_difference(first, o, rng_at(), n_draw=30) for o in others]
    assert len(found) == 1 + n_others
    for ours, alone in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours.value, alone.value)
        np.testing.assert_array_equal(ours.std_error, alone.std_error)
