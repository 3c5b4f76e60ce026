"""Bayesian bootstrap of leave-one-out utilities: Dirichlet weights on the observations.

Each draw weighs the observations by independent standard exponentials over their sum, and every
utility is taken of those weights. All utilities, and both models of a difference, share the draws
of a replicate; no two replicates share any, so a mean over replicates has independent errors. A
standard error from S draws scatters by about 1 / sqrt(2 S) of itself.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.bootstrap.losses import replicate_seeds
from simstudy.documents.stats.leave_one_out.utilities import (
    CLIPPED_FROM,
    UTILITIES,
    Estimate,
    Pointwise,
    about_mean,
    check_paired,
    check_pointwise,
    log_densities,
)
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError

AT_ONCE = 1 << 17  # sums held at a time: 1 MB, which stays in the cache while it is used
WIDTH = 4  # columns are padded to a multiple of this
SHARED, OWN = 3, 4  # columns of the response, and of each model

Draws = Float[np.ndarray, "rep utility draw"]


class _Sums(NamedTuple):
    """Weighted means of one model's columns, each of shape (replicate, draw)."""

    y: Float[np.ndarray, "rep draw"]
    y_square: Float[np.ndarray, "rep draw"]
    error: Float[np.ndarray, "rep draw"]
    error_square: Float[np.ndarray, "rep draw"]
    error_size: Float[np.ndarray, "rep draw"]
    log_density: Float[np.ndarray, "rep draw"]
    weight_square: Float[np.ndarray, "rep draw"]


@reading
def bayesian_bootstrap(
    pointwise: Pointwise, rng: np.random.Generator, *, n_draw: int = 4000
) -> Estimate:
    """Compute mean and standard deviation (divisor `n_draw` - 1) of every utility over the draws.

    Parameters
    ----------
    pointwise
        One replicate per row, at least two observations.
    rng
        Gives two words per replicate, whatever the sizes (`replicate_seeds`).
    n_draw
        At least 2; the first of many are those of few.

    Returns
    -------
    Estimate
        Utilities with their standard errors.

    References
    ----------
    Rubin (1981), Annals of Statistics 9(1), 130-134.
    Vehtari & Lampinen (2002), Neural Computation 14(10), 2439-2468.
    """
    check_pointwise(pointwise)
    return _summarise(_draws([pointwise], rng, n_draw))


@reading
def bayesian_bootstrap_against(
    first: Pointwise, others: Sequence[Pointwise], rng: np.random.Generator, *, n_draw: int = 4000
) -> list[Estimate]:
    """Compute utilities of a model, and of it less each of others, under the same weights.

    One pass over the draws serves all; the first estimate is that of `bayesian_bootstrap` with the
    same generator, to the last bit.

    Parameters
    ----------
    first
        Predictions of two models of the same data.
    others
        Predictions of the other models.
    rng
        Gives two words per replicate, whatever the sizes (`replicate_seeds`).
    n_draw
        Draws of weights, at least 2; the first of many are those of few.

    Returns
    -------
    list[Estimate]
        Utilities of the model, then a difference for each of the others.

    Raises
    ------
    DesignError
        If the responses differ.
    """
    check_pointwise(first)
    for other in others:
        check_paired(first, other)
    draws = _draws([first, *others], rng, n_draw)
    each = [[*_of_chunk(chunk)] for chunk in zip(*[draws] * (1 + len(others)), strict=True)]
    return [_joined(parts) for parts in zip(*each, strict=True)]


def _of_chunk(models: tuple[Draws, ...]) -> Iterator[Estimate]:
    own, *others = models
    yield _summary(own)
    for other in others:
        yield _summary(own - other)


@reading
def bootstrap_draws(pointwise: Pointwise, rng: np.random.Generator, *, n_draw: int = 4000) -> Draws:
    """Return the draws that `bayesian_bootstrap` summarises, in the order of `UTILITIES`.

    Parameters
    ----------
    pointwise
        One replicate per row, at least two observations.
    rng
        Gives two words per replicate, whatever the sizes (`replicate_seeds`).
    n_draw
        Draws of weights, at least 2; the first of many are those of few.

    Returns
    -------
    Draws
        Utilities of each draw.
    """
    check_pointwise(pointwise)
    return np.concatenate(list(_draws([pointwise], rng, n_draw)))


def _summarise(draws: Iterator[Draws]) -> Estimate:
    return _joined([_summary(part) for part in draws])


def _summary(draws: Draws) -> Estimate:
    return Estimate(draws.mean(axis=2), draws.std(axis=2, ddof=1))


def _joined(parts: Sequence[Estimate]) -> Estimate:
    return Estimate(*map(np.concatenate, zip(*parts, strict=True)))


def _draws(models: list[Pointwise], rng: np.random.Generator, n_draw: int) -> Iterator[Draws]:
    """Utilities under each draw, some replicates at a time, one model after the other."""
    _check_draws(n_draw)
    seeds = replicate_seeds(rng, len(models[0].y))[:, 0].copy()
    values, squared = _columns(models), np.stack([model.error**2 for model in models], axis=1)
    at_once = max(1, AT_ONCE // (n_draw * values.shape[2]))
    for at in range(0, max(len(seeds), 1), at_once):
        rows = slice(at, at + at_once)
        means = _weighted_means(values[rows], squared[rows], seeds[rows], n_draw)
        for side in range(len(models)):
            yield _utilities(_of_model(*means, side), models[0].y.shape[1])


def _columns(models: list[Pointwise]) -> Float[np.ndarray, "rep obs column"]:
    """A one for the sum of weights, the response about its mean, and what each model adds."""
    y = models[0].y
    about = about_mean(y)
    columns = [np.ones_like(y), about, about**2]
    for model in models:
        error = model.error
        columns += [error, error**2, np.abs(error), log_densities(model)]
    columns += [np.zeros_like(y)] * (-len(columns) % WIDTH)
    return np.stack(columns, axis=-1)


def _weighted_means(
    values: Float[np.ndarray, "rep obs column"],
    squared: Float[np.ndarray, "rep side obs"],
    seeds: np.ndarray,
    n_draw: int,
) -> tuple[Float[np.ndarray, "rep column draw"], Float[np.ndarray, "rep side draw"]]:
    from simstudy.documents.stats.leave_one_out import _weight_kernels as kernels

    n_rep, _, n_column = values.shape
    sums = np.empty((n_rep, n_column, n_draw))
    squares = np.empty((n_rep, squared.shape[1], n_draw))
    kernels.weighted_sums(values.reshape(n_rep, -1), squared, seeds, sums, squares)
    total = sums[:, :1].copy()
    return np.divide(sums, total, out=sums), np.divide(squares, total**2, out=squares)


def _of_model(
    means: Float[np.ndarray, "rep column draw"],
    squares: Float[np.ndarray, "rep side draw"],
    side: int,
) -> _Sums:
    at = SHARED + OWN * side
    columns = [1, 2, *range(at, at + OWN)]
    return _Sums(
        *(means[:, column] for column in columns), *squares[:, side : side + 1].swapaxes(0, 1)
    )


def _utilities(sums: _Sums, n_obs: int) -> Draws:
    mse = sums.error_square
    by_name = {
        "mae": sums.error_size,
        "mse": mse,
        "rmse": np.sqrt(mse),
        "r2_mean_square": _explained(mse, sums.y_square),
        "r2_variance": _explained(mse - sums.error**2, sums.y_square - sums.y**2),
        "r2_misplaced": _explained(mse - sums.weight_square, sums.y_square - sums.y**2),
        "elpd": n_obs * sums.log_density,
    }
    by_name |= {name: np.clip(by_name[raw], -1, 1) for name, raw in CLIPPED_FROM.items()}
    return np.stack([by_name[name] for name in UTILITIES], axis=1)


def _explained(
    own: Float[np.ndarray, "rep draw"], whole: Float[np.ndarray, "rep draw"]
) -> Float[np.ndarray, "rep draw"]:
    """NaN where there is nothing to explain: a constant response."""
    share = np.divide(own, whole, out=np.full_like(own, np.nan), where=whole > 0)
    return np.asarray(1 - share)


def _check_draws(n_draw: int) -> None:
    if n_draw < 2:
        raise DesignError(
            f"n_draw={n_draw} draws have no spread, so there is no standard error. Use at least 2 "
            "(4000 are usual)."
        )
