"""The bootstrap t against a loop over the same resamples; its interval against its test."""

import numpy as np
import pytest

from simstudy.documents.stats.bootstrap.losses import bootstrap_indices, replicate_seeds
from simstudy.documents.stats.two_sample.bootstrap_t import TAILS, bootstrap_t
from tests.documents.stats.draws import rng_at, samples

SIZES = [(3, 9), (12, 5), (8, 8)]
N_BOOT = 99


def t(x: np.ndarray, y: np.ndarray, null: float = 0.0) -> float:
    """Welch's, of difference `null`."""
    variance = sum(s.var(ddof=1) / len(s) * (np.ptp(s) > 0) for s in (x, y))
    difference = x.mean() - y.mean() - null
    return difference / np.sqrt(variance) if variance else np.inf * np.sign(difference)


def slow_draws(x, y, seed1, seed2, n_boot: int) -> np.ndarray:
    null = x.mean() - y.mean()
    pairs = zip(*(bootstrap_indices(s, len(x), n_boot) for s, x in ((seed1, x), (seed2, y))),
                strict=True)  # fmt: skip
    return np.array([t(x[first], y[second], null) for first, second in pairs])


def slow_bootstrap_t(x, y, drawn: np.ndarray, *, tails: str, alpha: float):
    """Lower and upper limit, and the p-value, from p-values of every difference between draws."""
    n_boot, unit = len(drawn), (x.mean() - y.mean()) / t(x, y)

    def p(at: float) -> float:
        if tails == "symmetric":
            return (1 + (abs(drawn) >= abs(at)).sum()) / (1 + n_boot)
        nearer = min((drawn >= at).sum(), (drawn <= at).sum())
        return min(1.0, 2 * (1 + nearer) / (1 + n_boot))

    reaches = np.concatenate([drawn, -drawn]) if tails == "symmetric" else drawn
    kept = [at for at in reaches if p(at) > alpha]
    estimate = x.mean() - y.mean()
    return estimate - max(kept) * unit, estimate - min(kept) * unit, p(t(x, y))


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("sizes", SIZES)
def test_answers_are_those_of_a_loop_over_resamples(sizes, tails):
    x, y = samples(*sizes)
    found = bootstrap_t(x, y, rng_at(), n_boot=N_BOOT, tails=tails, alpha=0.1)
    again = rng_at()
    seeds = [replicate_seeds(again, len(x))[:, 0] for _ in range(2)]
    for rep in range(len(x)):
        drawn = slow_draws(x[rep], y[rep], seeds[0][rep], seeds[1][rep], N_BOOT)
        lower, upper, p = slow_bootstrap_t(x[rep], y[rep], drawn, tails=tails, alpha=0.1)
        assert found.p[rep] == p
        assert found.lower[rep] == pytest.approx(lower, rel=1e-9)
        assert found.upper[rep] == pytest.approx(upper, rel=1e-9)


@pytest.mark.parametrize("tails", TAILS)
def test_the_interval_leaves_out_what_the_test_rejects(tails):
    x, y = samples(9, 14, 400)
    found = bootstrap_t(x, y, rng_at(), n_boot=N_BOOT, tails=tails)
    leaves_out_zero = (found.lower > 0) | (found.upper < 0)
    assert 0 < leaves_out_zero.mean() < 1
    assert ((found.p <= 0.05) == leaves_out_zero).all()
