"""Networks: predictions of many, layers and batches, orders of observations."""

import numpy as np
import pytest

from simstudy.documents.stats.networks._order_kernels import _place
from simstudy.documents.stats.networks.architecture import Network, Training, first_rates
from simstudy.documents.stats.networks.ensemble import ensemble_predictions, standardised
from simstudy.documents.stats.networks.orders import shuffled
from simstudy.errors import DesignError
from tests.documents.stats.words import GOLDEN, WORD, mixed, place
from tests.support import assert_caught, assert_within_mcse

N_TRAIN = 30
NETWORK, TRAINING = Network((6, 4)), Training((4,), batch_size=10)
EPS32 = float(np.finfo(np.float32).eps)


def drawn(n_network=3):
    rng = np.random.default_rng(1)
    features = rng.random((45, 3))
    y = features[:N_TRAIN] @ [1.0, -2.0, 0.0] + 5
    return features, y, rng.integers(0, N_TRAIN, (n_network, N_TRAIN))


def predicted(features, y, rows, training=TRAINING):
    initial, order = np.random.default_rng(2), np.random.default_rng(3)
    return ensemble_predictions(NETWORK, training, features, y, rows, initial=initial, order=order)


def test_predictions_at_some_epochs_are_those_of_a_training_that_ends_there():
    both = predicted(*drawn(), Training((2, 4), batch_size=10))
    assert both.shape == (2, 3, 45)
    for at, epochs in enumerate((2, 4)):
        alone = predicted(*drawn(), Training((epochs,), batch_size=10))
        np.testing.assert_array_equal(both[at], alone[0])


def test_it_follows_the_units_of_responses_and_of_features():
    """Powers of two round nothing, and standardising takes them out."""
    features, y, rows = drawn()
    plain = predicted(features, y, rows)
    np.testing.assert_array_equal(predicted(features, 4 * y, rows), 4 * plain)
    np.testing.assert_array_equal(predicted(8 * features, y, rows), plain)


def test_it_knows_no_response_but_those_of_its_rows():
    """Of observations that a network was not given, only the mean and spread reach it."""
    features, y, _ = drawn()
    rows = np.tile(np.arange(20), (2, 1))
    other = y.copy()
    other[20:] = y[20:][::-1]
    found, expected = (predicted(features, each, rows) for each in (other, y))
    # mean and sd are sums in another order: single precision may round them the other way
    limit = 1e3 * EPS32 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=limit)


def test_a_constant_feature_is_only_centred():
    features = np.column_stack([np.full(6, 7.0), np.arange(6.0)])
    found = standardised(features, 4)
    np.testing.assert_array_equal(found[:, 0], 0.0)
    np.testing.assert_allclose(found[:4, 1].std(), 1.0, rtol=1e-15)


@pytest.mark.parametrize("row", [-1, N_TRAIN])
def test_rows_that_are_not_there_are_refused(row):
    features, y, rows = drawn()
    rows[0, 0] = row
    with pytest.raises(DesignError, match="do not match, so a network would learn from the wrong"):
        predicted(features, y, rows)


# ---------------------------------------------------------------- layers and batches
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


# ---------------------------------------------------------------- orders
def test_orders_are_those_of_a_loop_in_whole_numbers():
    rows = np.random.default_rng(1).integers(0, 338, (5, 338))
    found = shuffled(rows, np.random.default_rng(2))
    seeds = np.random.default_rng(2).integers(WORD, size=5, dtype=np.uint64).tolist()
    for row, state, order in zip(rows.tolist(), seeds, found.tolist(), strict=True):
        for i in range(337):
            state = (state + GOLDEN) % WORD
            j = i + place(mixed(state), 338 - i)
            row[i], row[j] = row[j], row[i]
        assert order == row


@pytest.mark.parametrize("n", [7, 3 * 2**30])
def test_a_word_that_would_favour_a_place_is_mixed_again(n):
    words = np.random.default_rng(3).integers(WORD, size=200, dtype=np.uint64)
    assert [_place(word, np.uint64(n)) for word in words] == [place(w, n) for w in words.tolist()]
