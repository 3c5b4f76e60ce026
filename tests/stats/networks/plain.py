"""One network at a time, by torch's own layers, gradient and optimizer."""

import numpy as np

from simstudy.stats.networks.architecture import ADAM_FLOOR, NEWEST, VARIANCE_FLOOR


def plain_network(weights, at=0, dtype=None):
    """Network number `at` of a batch, as anyone would write it."""
    import torch

    layers = []
    for layer in weights:
        _, n_in, n_out = layer.shape
        is_last = layer is weights[-1]
        linear = torch.nn.Linear(n_in, n_out, bias=is_last, dtype=dtype)
        with torch.no_grad():
            linear.weight.copy_(torch.as_tensor(layer[at].T))
            if is_last:
                linear.bias.zero_()
        layers.append(linear)
        if not is_last:
            norm = torch.nn.BatchNorm1d(n_out, eps=VARIANCE_FLOOR, momentum=NEWEST, dtype=dtype)
            layers += [norm, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers)


def train_plain(network, features, y, orders, batches, learning_rate):
    """Epochs of Adam on the mean squared error, in the orders given."""
    import torch

    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate, eps=ADAM_FLOOR)
    network.train()
    for order in orders:
        for batch in batches:
            rows = torch.as_tensor(order[batch].astype(np.int64))
            loss = torch.nn.functional.mse_loss(network(features[rows])[:, 0], y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def predict_plain(network, features):
    import torch

    network.eval()
    with torch.no_grad():
        return network(features)[:, 0].double().numpy()
