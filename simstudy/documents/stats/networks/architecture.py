"""A network of linear layers, its initial weights, and how it is trained.

Every linear layer but the last is followed by batch normalisation and a ramp (ReLU); the last one
gives a single number. Training minimises the mean squared error of mini-batches by Adam with its
usual constants, at a constant rate, without early stopping and without a penalty.

Linear layers before a normalisation have no bias: what it adds, the normalisation takes away. Its
gradient would be zero but for rounding, which Adam, dividing by its size, would turn into steps as
long as any other.

References
----------
Ioffe & Szegedy (2015), Batch normalization, ICML 37, 448-456; Kingma & Ba (2015), Adam, ICLR.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from simstudy.errors import DesignError

VARIANCE_FLOOR = 1e-3  # added to a batch's variance, in the squared units of a layer's output
NEWEST = 0.1  # share of the latest batch in the means and variances that predictions use
FIRST_DECAY, SECOND_DECAY = (
    0.9,
    0.999,
)  # Adam's decay of mean gradients, and of their squares
ADAM_FLOOR = 1e-8  # added to the root of the latter

Weights = list[np.ndarray]
"""By layer, `(network, input, output)`."""


@dataclass(frozen=True)
class Network:
    """A network: how many outputs each hidden layer has; it has one output in the end.

    Parameters
    ----------
    hidden
        Outputs of the linear layers before the last, at least one layer.

    Raises
    ------
    DesignError
        If there is no hidden layer, or one has no outputs.
    """

    hidden: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise DesignError(
                f"hidden={self.hidden} is no row of layers, so there is nothing to train. Give "
                "every hidden layer at least 1 output, such as (15, 10)."
            )

    def layers(self, n_feature: int) -> list[tuple[int, int]]:
        """List inputs and outputs of each linear layer.

        Parameters
        ----------
        n_feature
            Features.

        Returns
        -------
        list[tuple[int, int]]
            A pair for each layer.
        """
        sizes = (n_feature, *self.hidden, 1)
        return list(itertools.pairwise(sizes))

    def initial(self, n_network: int, n_feature: int, rng: np.random.Generator) -> Weights:
        """Draw initial weights: uniform, with the variance 2 / inputs that suits a ramp.

        Uniform numbers, unlike normal ones, are the same bits on every machine.

        Parameters
        ----------
        n_network
            Networks.
        n_feature
            Features.
        rng
            Generator of the weights.

        Returns
        -------
        list
            An array (network, input, output) for each layer.

        References
        ----------
        He, Zhang, Ren & Sun (2015), ICCV, 1026-1034, equation 10.
        """
        drawn = []
        for n_in, n_out in self.layers(n_feature):
            share = rng.random((n_network, n_in, n_out))
            drawn.append((2 * share - 1) * np.sqrt(6 / n_in))
        return drawn


@dataclass(frozen=True)
class Training:
    """How networks are trained, and when they predict.

    Parameters
    ----------
    epochs
        Passes over the data after which predictions are taken, ascending; the last ends training.
    batch_size
        Observations in a mini-batch, at most, unless one would be left alone: an epoch is cut into
        batches as equal as possible.
    learning_rate
        Step size of Adam.

    Raises
    ------
    DesignError
        If epochs do not ascend from at least 1, the batch size is below 2, or the rate is not
        positive.
    """

    epochs: tuple[int, ...] = (100,)
    batch_size: int = 64
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in itertools.pairwise(self.epochs))
        if not self.epochs or self.epochs[0] < 1 or not ascending:
            raise DesignError(
                f"epochs={self.epochs} are not ascending numbers of passes over the data, so it is "
                "not clear when to predict. Give them as (50, 100), each at least 1."
            )
        if self.batch_size < 2:
            raise DesignError(
                f"batch_size={self.batch_size}: a batch of a single observation has no variance to "
                "normalise by. Use at least 2."
            )
        if not (np.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise DesignError(
                f"learning_rate={self.learning_rate:g} does not lead downhill. Use a finite rate "
                "above 0, such as 0.001."
            )

    def batches(self, n_obs: int) -> list[slice]:
        """Cut an epoch into mini-batches, as slices of its order.

        Parameters
        ----------
        n_obs
            Observations, at least 2.

        Returns
        -------
        list[slice]
            The slices.

        Raises
        ------
        DesignError
            If there are fewer than 2 observations.
        """
        if n_obs < 2:
            raise DesignError(
                f"{n_obs} observations have no variance to normalise by, so no network can be "
                "trained on them. Give at least 2."
            )
        n_batch = -(-n_obs // self.batch_size)
        n_batch = min(n_batch, n_obs // 2)  # none of a single observation
        ends = [n_obs * batch // n_batch for batch in range(n_batch + 1)]
        return [slice(start, end) for start, end in itertools.pairwise(ends)]


def first_rates(n_step: int, learning_rate: float) -> tuple[float, float]:
    """Compute Adam's rate at a step, and the divisor of its second root, with the bias undone.

    Parameters
    ----------
    n_step
        The step, from 1.
    learning_rate
        Adam's learning rate.

    Returns
    -------
    tuple[float, float]
        Rate and divisor.

    References
    ----------
    Kingma & Ba (2015), ICLR, algorithm 1.
    """
    return (
        learning_rate / (1 - FIRST_DECAY**n_step),
        float(np.sqrt(1 - SECOND_DECAY**n_step)),
    )


def count_of(weights: Weights) -> int:
    """Count the networks in weights.

    Parameters
    ----------
    weights
        An array (network, input, output) for each layer.

    Returns
    -------
    int
        Their number.
    """
    return len(weights[0])
