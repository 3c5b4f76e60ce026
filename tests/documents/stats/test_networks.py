"""Networks trained side by side are those that a plain loop in NumPy trains one at a time."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from simstudy.documents.stats import networks as training
from tests.documents.stats.plain_network import PlainNetwork
from tests.support import ROOT, assert_caught, assert_within_mcse

N_OBS, N_TRAIN, N_FEATURE, N_NETWORK, N_EPOCH = 60, 40, 4, 3, 6
NETWORK, TRAINING = training.Network((6, 5)), training.Training((N_EPOCH,), batch_size=16)
EPS = float(np.finfo(float).eps)


def batches():
    return [slice(start, end) for start, end in pairwise(TRAINING.batch_ends(N_TRAIN))]


def drawn(hidden=NETWORK.hidden):
    """Features, responses, initial weights, and an order of its own for each network and epoch."""
    rng = np.random.default_rng(1)
    features, y = rng.standard_normal((N_OBS, N_FEATURE)), rng.standard_normal(N_TRAIN)
    weights = training.Network(hidden).initial(N_NETWORK, N_FEATURE, rng)
    rows = rng.integers(0, N_TRAIN, (N_NETWORK, N_TRAIN), dtype=np.int32)
    return features, y, weights, [rng.permuted(rows, axis=1) for _ in range(N_EPOCH)]


def trained(features, y, weights, orders):
    trainer = training.Trainer(weights, features, y, TRAINING)
    for order in orders:
        trainer.epoch(order)
    return trainer.predict()


def trained_plainly(at, features, y, weights, orders):
    network = PlainNetwork(weights, at)
    network.train(features, y, [order[at] for order in orders], batches(), TRAINING.learning_rate)
    return network.predict(features)


def rounding(features, y, weights, orders):
    """What predictions move by where weights move by all the rounding that training can do.

    A step rounds each of the terms that one of its sums has, at most a batch's or a layer's; all
    steps together are taken as a change of the initial weights by that many roundings.
    """
    n_step = len(orders) * len(batches())
    n_term = max(TRAINING.batch_size, features.shape[1], *NETWORK.hidden)
    signs = np.random.default_rng(2)
    moved = [w * (1 + n_step * n_term * EPS * signs.choice([-1, 1], w.shape)) for w in weights]
    before, after = (trained(features, y, each, orders) for each in (weights, moved))
    return np.abs(after - before).max()


@pytest.mark.parametrize("hidden", [NETWORK.hidden, (), (4,), (7, 5, 3)])
def test_training_is_that_of_a_plain_loop(hidden):
    made = drawn(hidden)
    found, limit = trained(*made), rounding(*made)
    for at in range(N_NETWORK):
        np.testing.assert_allclose(found[at], trained_plainly(at, *made), rtol=0, atol=limit)


@pytest.mark.parametrize(("constant", "value"), [("NEWEST", 0.1001), ("SECOND_DECAY", 0.99901)])
def test_that_test_catches_another_constant(monkeypatch, constant, value):
    before, limit = trained(*drawn()), rounding(*drawn())
    monkeypatch.setattr(training, constant, value)
    assert np.abs(trained(*drawn()) - before).max() > limit


def test_a_network_is_the_same_alone_and_among_others():
    features, y, weights, orders = drawn()
    together = trained(features, y, weights, orders)
    for at in range(N_NETWORK):
        own = [layer[[at]] for layer in weights], [order[[at]] for order in orders]
        np.testing.assert_array_equal(trained(features, y, *own)[0], together[at])


def predicted(features, y, rows, epochs=(4,)):
    return training.ensemble_predictions(
        NETWORK, training.Training(epochs, batch_size=10), features, y, rows,
        initial=np.random.default_rng(2), order=np.random.default_rng(3),
    )  # fmt: skip


def ensemble():
    features, y, _, orders = drawn()
    return features, y + 5, orders[0]


def test_predictions_at_some_epochs_are_those_of_a_training_that_ends_there():
    both = predicted(*ensemble(), epochs=(2, 4))
    assert both.shape == (2, N_NETWORK, N_OBS)
    for at, epochs in enumerate((2, 4)):
        np.testing.assert_array_equal(both[at], predicted(*ensemble(), epochs=(epochs,))[0])


def test_they_follow_the_units_of_responses_and_of_features():
    """Powers of two round nothing, and standardising takes them out; a constant is centred."""
    features, y, rows = ensemble()
    features = np.column_stack([features, np.full(N_OBS, 7.0)])
    found = predicted(features, y, rows)
    np.testing.assert_array_equal(predicted(features, 4 * y, rows), 4 * found)
    np.testing.assert_array_equal(predicted(8 * features, y, rows), found)


def test_initial_weights_are_uniform_with_variance_two_over_inputs():
    first, last = training.Network((5,)).initial(20_000, 8, np.random.default_rng(1))
    for weights, shape in ((first, (20_000, 8, 5)), (last, (20_000, 5, 1))):
        assert weights.shape == shape
        variance = 2 / shape[1]
        mcse = np.sqrt((9 / 5 - 1) * variance**2 / weights.size)  # fourth moment of a uniform
        assert np.abs(weights).max() <= np.sqrt(6 / shape[1])
        assert_within_mcse((weights**2).mean(), variance, mcse)
        assert_caught((weights**2).mean(), variance / 2, mcse)


@pytest.mark.parametrize("n_obs", [2, 3, 5, 63, 64, 65, 129, 338])
@pytest.mark.parametrize("batch_size", [2, 3, 64])
def test_batches_hold_everything_once_and_none_is_of_one(n_obs, batch_size):
    ends = training.Training((1,), batch_size).batch_ends(n_obs)
    assert (ends[0], ends[-1]) == (0, n_obs)
    sizes = np.diff(ends)
    assert sizes.min() >= 2
    assert sizes.max() - sizes.min() <= 1
    assert sizes.max() <= max(batch_size, 3)  # two batches of 2 cannot hold 5


SHOWN = """
from tests.documents.stats.test_networks import long_training
print(*long_training())
"""


def long_training():
    """Predictions after as many epochs as a document's, on data that a network cannot learn."""
    rng = np.random.default_rng(1)
    features, y = rng.standard_normal((338, 13)), rng.standard_normal(338)
    rows = rng.integers(0, 338, (20, 338))
    network, how = training.Network((15, 10)), training.Training((200,))
    return training.ensemble_predictions(
        network, how, features, y, rows, initial=rng, order=rng
    ).ravel()  # fmt: skip


@pytest.mark.slow
def test_training_is_nearly_the_same_on_the_oldest_processor():
    """Sums in another order, and products that are not fused, move the ninth digit at most."""
    held = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    one, other = (python({**os.environ, **more}) for more in ({}, held))
    assert 0 < np.abs(one - other).max() < 1e-9


def python(environment):
    command = [sys.executable, "-c", SHOWN]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return np.array(done.stdout.split(), float)


@pytest.mark.slow
def test_training_is_the_same_whether_its_code_was_compiled_or_read(tmp_path):
    """The first run compiles, later ones read the cache: code that is not inlined would differ."""
    first, second = (python({**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}) for _ in range(2))
    np.testing.assert_array_equal(first, second)
