"""Networks trained side by side are those that a plain loop in NumPy trains one at a time."""

import os
import subprocess
import sys

import numpy as np
import pytest

from simstudy.documents.stats.networks import compiled_training
from simstudy.documents.stats.networks.architecture import VARIANCE_FLOOR, Network, Training
from simstudy.documents.stats.networks.compiled_training import CompiledTrainer
from tests.documents.stats.networks.plain import PlainNetwork
from tests.support import ROOT

N_OBS, N_TRAIN, N_FEATURE, N_NETWORK, N_EPOCH = 60, 40, 4, 3, 6
NETWORK, TRAINING = Network((6, 5)), Training((N_EPOCH,), batch_size=16)
EPS = float(np.finfo(float).eps)


def drawn(n_network=N_NETWORK, n_feature=N_FEATURE):
    """Features, responses, initial weights, and an order of its own for each network and epoch."""
    rng = np.random.default_rng(1)
    features, y = rng.standard_normal((N_OBS, n_feature)), rng.standard_normal(N_TRAIN)
    weights = NETWORK.initial(n_network, n_feature, rng)
    rows = rng.integers(0, N_TRAIN, (n_network, N_TRAIN), dtype=np.int32)
    return features, y, weights, [rng.permuted(rows, axis=1) for _ in range(N_EPOCH)]


def trained(features, y, weights, orders, dtype="float64"):
    trainer = CompiledTrainer(weights, features, y, TRAINING, dtype=dtype)
    for order in orders:
        trainer.epoch(order)
    return trainer.predict()


def trained_plainly(at, features, y, weights, orders):
    network, batches = PlainNetwork(weights, at), TRAINING.batches(N_TRAIN)
    network.train(features, y, [order[at] for order in orders], batches, TRAINING.learning_rate)
    return network.predict(features)


def rounding(features, y, weights, orders):
    """What predictions move by where weights move by all the rounding that training can do.

    A step rounds each of the terms that one of its sums has, at most a batch's or a layer's; all
    steps together are taken as a change of the initial weights by that many roundings.
    """
    n_step = len(orders) * len(TRAINING.batches(N_TRAIN))
    n_term = max(TRAINING.batch_size, features.shape[1], *NETWORK.hidden)
    signs = np.random.default_rng(2)
    moved = [w * (1 + n_step * n_term * EPS * signs.choice([-1, 1], w.shape)) for w in weights]
    before, after = (trained(features, y, each, orders) for each in (weights, moved))
    return np.abs(after - before).max()


def test_training_is_that_of_a_plain_loop():
    made = drawn()
    found, limit = trained(*made), rounding(*made)
    for at in range(N_NETWORK):
        np.testing.assert_allclose(found[at], trained_plainly(at, *made), rtol=0, atol=limit)


@pytest.mark.parametrize(("constant", "value"), [("NEWEST", 0.1001), ("SECOND_DECAY", 0.99901)])
def test_that_test_catches_another_constant(monkeypatch, constant, value):
    before, limit = trained(*drawn()), rounding(*drawn())
    if constant == "NEWEST":
        monkeypatch.setattr(compiled_training, constant, value)
        assert np.abs(trained(*drawn()) - before).max() > limit
    monkeypatch.setattr(f"tests.documents.stats.networks.plain.{constant}", value)
    assert np.abs(trained_plainly(0, *drawn()) - before[0]).max() > limit


def test_its_gradient_is_that_of_a_plain_loop_and_of_finite_differences():
    features, y, weights, orders = drawn()
    rows = np.ascontiguousarray(orders[0][:, TRAINING.batches(N_TRAIN)[0]])
    trainer = CompiledTrainer(weights, features, y, TRAINING, dtype="float64")
    trainer.gradient_of(rows)
    for at in range(N_NETWORK):
        plain = PlainNetwork(weights, at).gradient(features[rows[at]], y[rows[at]])
        own = trainer.of_network(at, trainer.gradient)
        found_by_part = np.split(own, np.cumsum([part.size for part in plain])[:-1])
        for found, expected in zip(found_by_part, plain, strict=True):
            limit = rows.shape[1] * sum(NETWORK.hidden) * EPS * np.abs(expected).max()
            np.testing.assert_allclose(found, expected.ravel(), rtol=0, atol=limit)

    step, losses = EPS ** (1 / 3), []
    for sign in (-1, 1):
        moved = [layer[1].copy() for layer in weights]
        moved[0][2, 3] += sign * step
        losses.append(loss(moved, features[rows[1]], y[rows[1]]))
    slope = (losses[1] - losses[0]) / (2 * step)
    third = 1e2 * losses[0]  # a bound on the third derivative: errors are step² of it
    found = trainer.of_network(1, trainer.gradient)[2 * NETWORK.hidden[0] + 3]
    assert abs(found - slope) <= third * step**2 + EPS * losses[0] / step


def loss(weights, x, y):
    """Mean squared error of a batch."""
    for layer in weights[:-1]:
        z = x @ layer
        x = np.maximum((z - z.mean(axis=0)) / np.sqrt(z.var(axis=0) + VARIANCE_FLOOR), 0)
    return np.mean((x @ weights[-1][:, 0] - y) ** 2)


def test_networks_beyond_a_vector_are_the_same_alone_and_among_others():
    """Networks of the last block, and features beyond the sixteenth, are like any others."""
    features, y, weights, orders = drawn(n_network=18, n_feature=17)
    together = trained(features, y, weights, orders)
    for at in (0, 15, 16, 17):
        own = [layer[[at]] for layer in weights], [order[[at]] for order in orders]
        np.testing.assert_array_equal(trained(features, y, *own)[0], together[at])
    limit = rounding(features, y, weights, orders)
    expected = trained_plainly(17, features, y, weights, orders)
    np.testing.assert_allclose(together[17], expected, rtol=0, atol=limit)


# ---------------------------------------------------------------- on other processors
SHOWN = """
from tests.documents.stats.networks.test_training import drawn, trained
print(trained(*drawn(), dtype="float32").tobytes().hex(), trained(*drawn()).tobytes().hex())
"""


@pytest.mark.slow
def test_compiled_training_is_the_same_bits_on_the_oldest_processor():
    held = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    shown = [python({**os.environ, **more}) for more in ({}, held)]
    assert shown[0] == shown[1]
    assert len(shown[0]) > 1000


def python(environment):
    command = [sys.executable, "-c", SHOWN]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
