"""Layers, initial weights, batches, and what is refused."""

import numpy as np
import pytest

from simstudy.stats.networks.architecture import Network, Training, first_rates
from tests.support import assert_caught, assert_within_mcse


def test_initial_weights_are_uniform_with_variance_two_over_inputs():
    first, last = Network((5,)).initial(20_000, 8, np.random.default_rng(1))
    assert first.shape == (20_000, 8, 5)
    assert last.shape == (20_000, 5, 1)
    for weights, n_in in ((first, 8), (last, 5)):
        variance = 2 / n_in
        fourth = 9 / 5 * variance**2  # of a uniform
        mcse = np.sqrt((fourth - variance**2) / weights.size)
        assert np.abs(weights).max() <= np.sqrt(6 / n_in)
        assert_within_mcse((weights**2).mean(), variance, mcse)
        assert_caught((weights**2).mean(), 1 / n_in, mcse)


@pytest.mark.parametrize("n_obs", [2, 3, 5, 63, 64, 65, 129, 338])
@pytest.mark.parametrize("batch_size", [2, 3, 64])
def test_batches_hold_everything_once_and_none_is_of_one(n_obs, batch_size):
    batches = Training((1,), batch_size=batch_size).batches(n_obs)
    rows = np.concatenate([np.arange(n_obs)[batch] for batch in batches])
    np.testing.assert_array_equal(rows, np.arange(n_obs))
    sizes = [batch.stop - batch.start for batch in batches]
    assert min(sizes) >= 2
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= max(batch_size, 3)  # two batches of 2 cannot hold 5


def test_adam_s_rates_undo_the_start():
    """After one step the running means are gradient / 10 and its square / 1000."""
    rate, divisor = first_rates(1, 0.001)
    np.testing.assert_allclose(rate, 0.01, rtol=1e-15)
    np.testing.assert_allclose(divisor, np.sqrt(0.001), rtol=1e-13)  # 1 - 0.999 loses 3 digits
