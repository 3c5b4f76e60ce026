"""Predictions of many networks, each trained on its own rows: bootstrap samples, say."""

from typing import Any

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.stats.networks.architecture import Network, Training
from simstudy.documents.stats.networks.compiled_training import CompiledTrainer
from simstudy.documents.stats.networks.orders import shuffled
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError


@reading
def ensemble_predictions(
    network: Network,
    training: Training,
    features: Float[np.ndarray, "obs feature"],
    y: Float[np.ndarray, " train"],
    rows: Int[np.ndarray, "network draw"],
    *,
    initial: np.random.Generator,
    order: np.random.Generator,
) -> Float[np.ndarray, "epoch network obs"]:
    """Train networks, and predict all observations after some numbers of epochs.

    Parameters
    ----------
    network
        The layers.
    training
        How the networks are trained.
    features
        Features of the training observations, and after them of those to predict.
    y
        Responses of the training observations.
    rows
        The observations that each network learns from; a repeated one counts as often as it is
        there. An epoch takes all of them in an order of the network's own.
    initial, order
        Generators of initial weights and of orders.

    Returns
    -------
    Array
        In the units of `y`, by number of epochs in `training.epochs`. Features and responses are
        standardised by the mean and standard deviation of the training observations.
    """
    _check_matching(features, y, rows)
    scaled, centre, unit = standardised(features, len(y)), y.mean(), _spread(y)
    weights = network.initial(len(rows), features.shape[1], initial)
    trained = CompiledTrainer(weights, scaled, (y - centre) / unit, training)
    said = []
    for epoch in range(1, training.epochs[-1] + 1):
        trained.epoch(shuffled(rows, order))
        if epoch in training.epochs:
            said.append(trained.predict())
    return np.asarray(centre + unit * np.stack(said))


@reading
def standardised(
    features: Float[np.ndarray, "obs feature"], n_train: int
) -> Float[np.ndarray, "obs feature"]:
    """Standardise features by mean and standard deviation of the first `n_train` observations.

    A feature that is constant among them is only centred.

    Parameters
    ----------
    features : float array (obs, feature)
        Features of all observations.
    n_train
        Training observations, which come first.

    Returns
    -------
    float array (obs, feature)
        The features, without units.
    """
    train = features[:n_train]
    spread = train.std(axis=0)
    return np.asarray((features - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _spread(y: Float[np.ndarray, " train"]) -> Any:
    return y.std() or 1.0


def _check_matching(features: np.ndarray, y: np.ndarray, rows: np.ndarray) -> None:
    if not features.shape[1]:
        raise DesignError("features have no columns to learn from. Give at least one feature.")
    if not (np.isfinite(features).all() and np.isfinite(y).all()):
        raise DesignError(
            "features or responses hold a number that is missing or infinite, of which a network "
            "learns nothing. Leave such observations out, or fill them in."
        )
    if len(features) < len(y) or rows.min() < 0 or rows.max() >= len(y):
        raise DesignError(
            f"{len(features)} observations, {len(y)} responses and rows from {rows.min()} to "
            f"{rows.max()} do not match, so a network would learn from the wrong ones. Give the "
            "training observations first, and rows below their number."
        )
