"""Draws against loops over them; means against Taylor's formula."""

import numpy as np
import pytest

from simstudy.documents.stats.leave_one_out import bayesian_bootstrap as module
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.documents.stats.leave_one_out.utilities import UTILITIES, Pointwise
from tests.documents.draws import rng_at
from tests.documents.stats.leave_one_out.plain import utilities_of

EPS = float(np.finfo(float).eps)


def make_pointwise(n_rep: int = 3, n_obs: int = 11, seed: int = 5) -> Pointwise:
    y, other = np.random.default_rng(seed).standard_normal((2, n_rep, n_obs))
    error = 0.7 * y + 0.4 * other + 0.1
    return Pointwise(y, error, -(error**2) - 0.3 * other)


def models_of(n_rep: int = 3, n_obs: int = 11, n_model: int = 3) -> list[Pointwise]:
    first = make_pointwise(n_rep, n_obs)
    others = (make_pointwise(n_rep, n_obs, seed=20 + at) for at in range(n_model - 1))
    return [first, *(other._replace(y=first.y) for other in others)]


def assert_is_the_loop(found, models, weights_of):
    """Mean and standard deviation over draws, one by one, of each model and its difference."""
    for rep in range(len(models[0].y)):
        weights = weights_of(rep)
        slow = np.array([
            [[utilities_of(w, *(part[rep] for part in model))[name] for name in UTILITIES]
             for model in models] for w in weights
        ])  # fmt: skip
        slow[:, 1:] = slow[:, :1] - slow[:, 1:]
        # A spread is a difference of two squares: a small one is known to eps over it.
        y, share = models[0].y[rep], weights / weights.sum(axis=1, keepdims=True)
        spread = (share @ y**2 - (share @ y) ** 2).min()
        tolerance = 50 * len(y) * EPS * max(1, 1 / spread) * np.abs(slow).max()
        for at, estimate in enumerate(found):
            for ours, plain in zip(estimate, (slow.mean(0), slow.std(0, ddof=1)), strict=True):
                np.testing.assert_allclose(ours[rep], plain[at], rtol=0, atol=tolerance)


SIZES = pytest.mark.parametrize(("n_obs", "n_draw"), [(2, 2), (3, 7), (11, 8), (50, 30)])


@SIZES
@pytest.mark.parametrize("n_model", [1, 3])
@pytest.mark.parametrize("at_once", [1, 60, 1 << 20])
def test_estimates_are_those_of_a_loop_over_draws(monkeypatch, n_obs, n_draw, n_model, at_once):
    monkeypatch.setattr(module, "AT_ONCE", at_once)  # whatever the size of its parts
    models, rng = models_of(2, n_obs, n_model), rng_at()
    found = bayesian_bootstrap(models, rng_at(), n_draw=n_draw)
    weights = [rng.standard_exponential((n_draw, n_obs)) for _ in range(2)]
    assert_is_the_loop(found, models, weights.__getitem__)
