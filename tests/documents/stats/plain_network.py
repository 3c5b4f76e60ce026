"""One network at a time in NumPy, as a textbook has it: layers, normalisation, gradient, Adam."""

import numpy as np

from simstudy.documents.stats.networks import (
    ADAM_FLOOR,
    FIRST_DECAY,
    NEWEST,
    SECOND_DECAY,
    VARIANCE_FLOOR,
)


class PlainNetwork:
    """Network number `at` of a batch; parameters are weights by layer, scales, shifts, a bias."""

    def __init__(self, weights, at=0):
        widths = [layer.shape[2] for layer in weights[:-1]]
        self.n_layer = len(weights)
        self.parameters = [layer[at].copy() for layer in weights]
        self.parameters += [np.ones(n) for n in widths] + [np.zeros(n) for n in widths]
        self.parameters.append(np.zeros(1))
        self.running = [(np.zeros(n), np.ones(n)) for n in widths]
        self.first, self.second = ([np.zeros_like(p) for p in self.parameters] for _ in range(2))
        self.n_step = 0

    def layers(self):
        n = self.n_layer
        weights, scales = self.parameters[:n], self.parameters[n : 2 * n - 1]
        return weights, scales, self.parameters[2 * n - 1 : -1], self.parameters[-1]

    def gradient(self, x, y):
        """Of the mean squared error of a batch, by parameter; moments of the batch on the way."""
        weights, scales, shifts, bias = self.layers()
        inputs, normalised, roots, self.moments = [x], [], [], []
        for w, scale, shift in zip(weights, scales, shifts, strict=False):
            z = inputs[-1] @ w
            self.moments.append((z.mean(axis=0), z.var(axis=0, ddof=1)))
            roots.append(1 / np.sqrt(z.var(axis=0) + VARIANCE_FLOOR))
            normalised.append((z - z.mean(axis=0)) * roots[-1])
            inputs.append(np.maximum(normalised[-1] * scale + shift, 0))
        error = 2 * (inputs[-1] @ weights[-1] + bias - y[:, np.newaxis]) / len(y)
        of_bias, of_weights, of_scales, of_shifts = error.sum(axis=0), [], [], []
        for at in reversed(range(len(weights))):
            of_weights.insert(0, inputs[at].T @ error)
            if at:
                error = (error @ weights[at].T) * (inputs[at] > 0)
                unit = normalised[at - 1]
                of_scales.insert(0, (error * unit).sum(axis=0))
                of_shifts.insert(0, error.sum(axis=0))
                error = error - error.mean(axis=0) - unit * (error * unit).mean(axis=0)
                error = error * roots[at - 1] * scales[at - 1]
        return [*of_weights, *of_scales, *of_shifts, of_bias]

    def step(self, x, y, learning_rate):
        """Adam's, and running moments, which predictions use."""
        self.n_step += 1
        for at, slope in enumerate(self.gradient(x, y)):
            self.first[at] = FIRST_DECAY * self.first[at] + (1 - FIRST_DECAY) * slope
            self.second[at] = SECOND_DECAY * self.second[at] + (1 - SECOND_DECAY) * slope**2
            first = self.first[at] / (1 - FIRST_DECAY**self.n_step)
            second = self.second[at] / (1 - SECOND_DECAY**self.n_step)
            self.parameters[at] -= learning_rate * first / (np.sqrt(second) + ADAM_FLOOR)
        pairs = zip(self.running, self.moments, strict=True)
        self.running = [
            tuple((1 - NEWEST) * old + NEWEST * new for old, new in zip(*pair, strict=True))
            for pair in pairs
        ]

    def train(self, features, y, orders, batches, learning_rate):
        for order in orders:
            for batch in batches:
                self.step(features[order[batch]], y[order[batch]], learning_rate)

    def predict(self, x):
        weights, scales, shifts, bias = self.layers()
        parts = zip(weights, scales, shifts, self.running, strict=False)
        for w, scale, shift, (mean, variance) in parts:
            unit = (x @ w - mean) / np.sqrt(variance + VARIANCE_FLOOR)
            x = np.maximum(unit * scale + shift, 0)
        return (x @ weights[-1] + bias)[:, 0]
