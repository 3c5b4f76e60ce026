"""Networks trained in compiled loops beside the same networks trained one after another in torch.

One after another is `torch.nn.Sequential`, its gradient and `torch.optim.Adam`, in the same process
with one thread: what a loop over bootstrap samples does. Needs torch, which no extra installs.
"""

import numpy as np
import pytest

from benchmarks.timing import least_alone
from simstudy.documents.stats.networks import (
    ADAM_FLOOR,
    NEWEST,
    VARIANCE_FLOOR,
    Network,
    Trainer,
    Training,
)

N_OBS, N_TRAIN, N_FEATURE = 506, 338, 13
N_NETWORK, N_PLAIN = 101, 2  # of a replicate of document 001; of the plain loop
NETWORK, TRAINING = Network((15, 10)), Training((1,))
FASTER = 50  # asserted, with room; see the pages for what was measured


def drawn():
    rng = np.random.default_rng(1)
    features, y = rng.standard_normal((N_OBS, N_FEATURE)), rng.standard_normal(N_TRAIN)
    weights = NETWORK.initial(N_NETWORK, N_FEATURE, rng)
    return features, y, weights, rng.integers(0, N_TRAIN, (N_NETWORK, N_TRAIN), dtype=np.int32)


def compiled():
    """A function that trains all networks for an epoch."""
    features, y, weights, order = drawn()
    trainer = Trainer(weights, features, y, TRAINING)
    return lambda: trainer.epoch(order)


def torch_network(torch, weights, at):
    layers = []
    for layer in weights[:-1]:
        _, n_in, n_out = layer.shape
        linear = torch.nn.Linear(n_in, n_out, bias=False)
        norm = torch.nn.BatchNorm1d(n_out, eps=VARIANCE_FLOOR, momentum=NEWEST)
        layers += [linear, norm, torch.nn.ReLU()]
    layers.append(torch.nn.Linear(weights[-1].shape[1], 1))
    with torch.no_grad():
        for linear, layer in zip(layers[::3], weights, strict=True):
            linear.weight.copy_(torch.as_tensor(layer[at].T))
        layers[-1].bias.zero_()
    return torch.nn.Sequential(*layers)


def one_after_another():
    """A function that trains some of them for an epoch, each by itself."""
    import torch

    torch.set_num_threads(1)
    features, y, weights, order = drawn()
    inputs, responses = (torch.as_tensor(each, dtype=torch.float32) for each in (features, y))
    networks = [torch_network(torch, weights, at) for at in range(N_PLAIN)]

    def epoch():
        for at, network in enumerate(networks):
            optimizer = torch.optim.Adam(
                network.parameters(), lr=TRAINING.learning_rate, eps=ADAM_FLOOR
            )
            for batch in np.split(order[at], TRAINING.batch_ends(N_TRAIN)[1:-1]):
                rows = torch.as_tensor(batch.astype(np.int64))
                loss = torch.nn.functional.mse_loss(network(inputs[rows])[:, 0], responses[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return epoch


def test_side_by_side_is_many_times_faster_than_one_after_another(benchmark):
    pytest.importorskip("torch")
    calls = ["compiled()", "one_after_another()"]
    seconds, plain = least_alone(benchmark, __name__, calls, rounds=20)
    of_all = plain / N_PLAIN * N_NETWORK
    print(f"{N_NETWORK} networks, an epoch: {seconds:.4f} s, {of_all:.3f} s one after another")
    benchmark.extra_info["ratio"] = of_all / seconds
    assert of_all / seconds >= FASTER
