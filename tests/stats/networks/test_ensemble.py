"""Predictions of many networks: in the units of the response, and of the rows they were given."""

import numpy as np
import pytest

from simstudy.errors import DesignError
from simstudy.stats.networks.architecture import Network, Training
from simstudy.stats.networks.ensemble import ensemble_predictions, standardised

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
