"""Networks trained side by side are those that plain torch trains one at a time."""

import os
import subprocess
import sys

import numpy as np
import pytest

from simstudy.stats.networks.architecture import Network, Training
from simstudy.stats.networks.compiled_training import CompiledTrainer
from simstudy.stats.networks.orders import shuffled
from simstudy.stats.networks.torch_training import TorchTrainer
from tests.stats.networks.plain import plain_network, predict_plain, train_plain
from tests.support import ROOT

N_OBS, N_TRAIN, N_FEATURE, N_NETWORK, N_EPOCH = 60, 40, 4, 3, 6
NETWORK, TRAINING = Network((6, 5)), Training((N_EPOCH,), batch_size=16)
EPS = float(np.finfo(float).eps)
TRAINERS = [TorchTrainer, CompiledTrainer]


@pytest.fixture(autouse=True, params=TRAINERS, ids=lambda kind: kind.__name__)
def kind(request):
    if request.param is TorchTrainer:
        pytest.importorskip("torch")
    return request.param


def drawn(n_network=N_NETWORK, n_feature=N_FEATURE):
    """Features, responses, initial weights, and an order of its own for each network and epoch."""
    rng = np.random.default_rng(1)
    features, y = rng.standard_normal((N_OBS, n_feature)), rng.standard_normal(N_TRAIN)
    weights = NETWORK.initial(n_network, n_feature, rng)
    rows = rng.integers(0, N_TRAIN, (n_network, N_TRAIN), dtype=np.int32)
    return features, y, weights, [rng.permuted(rows, axis=1) for _ in range(N_EPOCH)]


def trained(kind, features, y, weights, orders):
    trainer = kind(weights, features, y, TRAINING, dtype="float64")
    for order in orders:
        trainer.epoch(order)
    return trainer.predict()


def rounding(kind, features, y, weights, orders):
    """What predictions move by where weights move by all the rounding that training can do.

    A step rounds each of the terms that one of its sums has, at most a batch's or a layer's; all
    steps together are taken as a change of the initial weights by that many roundings.
    """
    n_step = len(orders) * len(TRAINING.batches(N_TRAIN))
    n_term = max(TRAINING.batch_size, N_FEATURE, *NETWORK.hidden)
    signs = np.random.default_rng(2)
    moved = [w * (1 + n_step * n_term * EPS * signs.choice([-1, 1], w.shape)) for w in weights]
    before, after = (trained(kind, features, y, each, orders) for each in (weights, moved))
    return np.abs(after - before).max()


def test_training_is_that_of_plain_torch(kind):
    torch = pytest.importorskip("torch")
    features, y, weights, orders = drawn()
    found = trained(kind, features, y, weights, orders)
    tensors = [torch.as_tensor(array) for array in (features, y)]
    batches = TRAINING.batches(N_TRAIN)
    for at in range(N_NETWORK):
        network = plain_network(weights, at, torch.float64)
        own = [order[at] for order in orders]
        train_plain(network, *tensors, own, batches, TRAINING.learning_rate)
        expected = predict_plain(network, tensors[0])
        tolerance = rounding(kind, features, y, weights, orders)
        np.testing.assert_allclose(found[at], expected, rtol=0, atol=tolerance)


def test_that_test_catches_another_momentum(kind, monkeypatch):
    """A running mean that takes a little more of the latest batch is another network."""
    features, y, weights, orders = drawn()
    before, limit = (call(kind, features, y, weights, orders) for call in (trained, rounding))
    monkeypatch.setattr(f"{kind.__module__}.NEWEST", 0.1001)
    assert np.abs(trained(kind, features, y, weights, orders) - before).max() > limit


def test_its_gradient_is_that_of_autograd(kind):
    torch = pytest.importorskip("torch")
    features, y, weights, orders = drawn()
    trainer = kind(weights, features, y, TRAINING, dtype="float64")
    rows = np.ascontiguousarray(orders[0][:, TRAINING.batches(N_TRAIN)[0]])
    trainer.gradient_of(rows if kind is CompiledTrainer else torch.as_tensor(rows))
    for at in range(N_NETWORK):
        network, own = plain_network(weights, at, torch.float64), torch.as_tensor(rows[at]).long()
        said = network(torch.as_tensor(features)[own])[:, 0]
        torch.nn.functional.mse_loss(said, torch.as_tensor(y)[own]).backward()
        ends = np.cumsum([len(part) for part in by_layer(network)])
        found_by_part = np.split(gradients_of(trainer, at), ends[:-1])
        for found, expected in zip(found_by_part, by_layer(network), strict=True):
            n_term = rows.shape[1] * sum(NETWORK.hidden)
            limit = n_term * EPS * np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=0, atol=limit)


def gradients_of(trainer, at):
    """Weights, scales, shifts, and the bias, of one network, in one row."""
    if isinstance(trainer, CompiledTrainer):
        return trainer.of_network(at, trainer.gradient)
    g = trainer.gradients
    parts = [*g.weights, *g.scales, *g.shifts, g.bias]
    return np.concatenate([part[at].numpy().reshape(-1) for part in parts])


def by_layer(network):
    """The same of torch's layers."""
    linear, norms = network[::3], network[1::3]
    grads = [layer.weight.grad.T for layer in linear]
    grads += [norm.weight.grad for norm in norms] + [norm.bias.grad for norm in norms]
    grads.append(linear[-1].bias.grad)
    return [grad.numpy().reshape(-1) for grad in grads]


def test_its_gradient_is_that_of_finite_differences(kind):
    """Of the mean squared error of a batch, by one weight of the first layer."""
    features, y, weights, orders = drawn()
    rows = np.ascontiguousarray(orders[0][:, TRAINING.batches(N_TRAIN)[0]])
    step = EPS ** (1 / 3)
    losses = []
    for sign in (-1, 1):
        moved = [layer.copy() for layer in weights]
        moved[0][1, 2, 3] += sign * step
        losses.append(plain_loss(moved, features[rows[1]], y[rows[1]], at=1))
    trainer = kind(weights, features, y, TRAINING, dtype="float64")
    if kind is TorchTrainer:
        import torch

        trainer.gradient_of(torch.as_tensor(rows))
    else:
        trainer.gradient_of(rows)
    found = gradients_of(trainer, 1)[2 * NETWORK.hidden[0] + 3]
    slope = (losses[1] - losses[0]) / (2 * step)
    third = 1e2 * losses[0]  # a bound on the third derivative: errors are step² of it
    assert abs(found - slope) <= third * step**2 + EPS * losses[0] / step


def plain_loss(weights, x, y, at):
    """Forward in NumPy."""
    from simstudy.stats.networks.architecture import VARIANCE_FLOOR

    for layer in weights[:-1]:
        z = x @ layer[at]
        x = np.maximum((z - z.mean(axis=0)) / np.sqrt(z.var(axis=0) + VARIANCE_FLOOR), 0)
    return np.mean((x @ weights[-1][at][:, 0] - y) ** 2)


def test_a_network_is_the_same_alone_and_among_others(kind):
    features, y, weights, orders = drawn()
    together = trained(kind, features, y, weights, orders)
    limit = 0.0 if kind is CompiledTrainer else rounding(kind, features, y, weights, orders)
    for at in range(N_NETWORK):
        own = [layer[[at]] for layer in weights], [order[[at]] for order in orders]
        alone = trained(kind, features, y, *own)
        np.testing.assert_allclose(alone[0], together[at], rtol=0, atol=limit)


def test_it_is_the_same_bits_when_trained_again(kind):
    for dtype in ("float32", "float64"):
        features, y, weights, orders = drawn()
        twice = [kind(weights, features, y, TRAINING, dtype=dtype) for _ in range(2)]
        for trainer in twice:
            for order in orders:
                trainer.epoch(order)
        np.testing.assert_array_equal(*(trainer.predict() for trainer in twice))


def test_more_networks_and_features_than_fill_a_vector(kind):
    """Networks of the last block, and features beyond the sixteenth, are like any others."""
    if kind is not CompiledTrainer:
        pytest.skip("torch has no vectors of sixteen")
    features, y, weights, orders = drawn(n_network=18, n_feature=17)
    together = trained(kind, features, y, weights, orders)
    for at in (15, 16, 17):
        own = [layer[[at]] for layer in weights], [order[[at]] for order in orders]
        np.testing.assert_array_equal(trained(kind, features, y, *own)[0], together[at])
    torch = pytest.importorskip("torch")
    network = plain_network(weights, 17, torch.float64)
    tensors = [torch.as_tensor(array) for array in (features, y)]
    own, batches = [order[17] for order in orders], TRAINING.batches(N_TRAIN)
    train_plain(network, *tensors, own, batches, TRAINING.learning_rate)
    limit = rounding(kind, features, y, weights, orders)
    np.testing.assert_allclose(together[17], predict_plain(network, tensors[0]), rtol=0, atol=limit)


# ---------------------------------------------------------------- the networks of document 001
N_EPOCH_OF_ALL = 40
DIGITS = 1e3 * EPS  # of standardised predictions: the last two or three


def test_both_trainers_agree_on_all_networks_of_a_replicate(kind):
    """In double precision; a step's rounding is carried on, so it is not the last digit alone."""
    pytest.importorskip("torch")
    if kind is not CompiledTrainer:
        pytest.skip("both at once")
    said = [of_a_replicate(each) for each in TRAINERS]
    np.testing.assert_allclose(*said, rtol=0, atol=DIGITS)


def test_that_test_catches_a_rate_that_is_a_millionth_larger(kind):
    if kind is not CompiledTrainer:
        pytest.skip("one trainer is enough")
    said = [of_a_replicate(kind, learning_rate=rate) for rate in (1e-3, 1.000001e-3)]
    assert np.abs(said[1] - said[0]).max() > 10 * DIGITS


def of_a_replicate(kind, learning_rate=1e-3):
    """101 networks 13-15-10-1 of 338 observations each, in batches of 56 and 57."""
    rng = np.random.default_rng(4)
    features, y = rng.standard_normal((506, 13)), rng.standard_normal(338)
    weights = Network((15, 10)).initial(101, 13, rng)
    rows = rng.integers(0, 338, (101, 338), dtype=np.int32)
    trainer = kind(weights, features, y, Training((1,), learning_rate=learning_rate), "float64")
    for _ in range(N_EPOCH_OF_ALL):
        trainer.epoch(shuffled(rows, rng))
    return trainer.predict()


# ---------------------------------------------------------------- on other processors
SHOWN = """
from tests.stats.networks.test_training import *
features, y, weights, orders = drawn()
trainer = CompiledTrainer(weights, features, y, TRAINING)
for order in orders:
    trainer.epoch(order)
print(trainer.predict().tobytes().hex())
"""


def test_compiled_training_is_the_same_bits_on_the_oldest_processor(kind):
    if kind is not CompiledTrainer:
        pytest.skip("torch promises this to nobody")
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
