"""Bayesian bootstrap of leave-one-out utilities: Dirichlet weights on the observations.

Each draw weighs the observations by independent standard exponentials over their sum, and every
utility is taken of those weights (Rubin 1981, Annals of Statistics 9(1), 130-134; Vehtari &
Lampinen 2002, Neural Computation 14(10), 2439-2468). All utilities, and all models of a data set,
share its draws; no two data sets share any. A standard error from S draws scatters by about
1 / sqrt(2 S) of itself.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.leave_one_out.utilities import (
    CLIPPED_FROM,
    UTILITIES,
    Estimate,
    Pointwise,
    about_mean,
    log_densities,
)

AT_ONCE = 1 << 15  # weights in memory at a time: they stay in the cache
SHARED, OWN = 3, 4  # columns of the response, and of each model

Columns = Float[np.ndarray, "obs column"]
Squares = Float[np.ndarray, "obs model"]
Sums = tuple[Float[np.ndarray, "column draw"], Float[np.ndarray, "model draw"]]
"""Sums over the observations of w times the columns, and of w² times squared errors."""


def bayesian_bootstrap(
    models: Sequence[Pointwise], rng: np.random.Generator, *, n_draw: int = 4000
) -> list[Estimate]:
    """Utilities of the first model, then of it less each other: mean and sd over the draws."""
    squares = np.stack([model.error**2 for model in models], axis=-1)
    rows = zip(_columns(models), squares, strict=True)
    found = [_moments(map(_utilities, _sums(*row, rng, n_draw))) for row in rows]
    values, errors = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    scale = np.array([models[0].y.shape[1] if name == "elpd" else 1.0 for name in UTILITIES])
    return [Estimate(*pair) for pair in zip(scale * values, scale * errors, strict=True)]


def _sums(
    columns: Columns, squares: Squares, rng: np.random.Generator, n_draw: int
) -> Iterator[Sums]:
    """Weighted sums of one replicate, some draws at a time."""
    n_obs = len(columns)
    at_once = max(1, AT_ONCE // n_obs)
    for start in range(0, n_draw, at_once):
        weights = rng.standard_exponential((min(at_once, n_draw - start), n_obs))
        yield (weights @ columns).T, (weights**2 @ squares).T


def _columns(models: Sequence[Pointwise]) -> Float[np.ndarray, "rep obs column"]:
    """A one for the sum of weights, the response about its mean, and what each model adds."""
    about = about_mean(models[0].y)
    columns = [np.ones_like(about), about, about**2]
    for model in models:
        columns += [model.error, model.error**2, np.abs(model.error), log_densities(model)]
    return np.stack(columns, axis=-1)


def _utilities(sums: Sums) -> Float[np.ndarray, "model utility draw"]:
    """Utilities of each draw, elpd over n: of the first model, then of it less each other."""
    total, y, y_square = sums[0][:SHARED]
    y, y_square = y / total, y_square / total
    found = []
    for model, weight_square in enumerate(sums[1] / total**2):
        at = SHARED + OWN * model
        error, mse, mae, log_density = sums[0][at : at + OWN] / total
        by_name = {
            "mae": mae,
            "mse": mse,
            "rmse": np.sqrt(mse),
            "r2_mean_square": _explained(mse, y_square),
            "r2_variance": _explained(mse - error**2, y_square - y**2),
            "r2_misplaced": _explained(mse - weight_square, y_square - y**2),
            "elpd": log_density,
        }
        by_name |= {name: np.clip(by_name[raw], -1, 1) for name, raw in CLIPPED_FROM.items()}
        found.append(np.stack([by_name[name] for name in UTILITIES]))
    return np.stack([found[0], *(found[0] - other for other in found[1:])])


def _explained(
    part: Float[np.ndarray, " draw"], whole: Float[np.ndarray, " draw"]
) -> Float[np.ndarray, " draw"]:
    """One less a share; NaN where there is nothing to explain: a constant response."""
    return np.asarray(1 - part / np.where(whole > 0, whole, np.nan))


def _moments(
    parts: Iterable[Float[np.ndarray, "*of draw"]],
) -> tuple[Float[np.ndarray, "*of"], Float[np.ndarray, "*of"]]:
    """Mean and standard deviation over the draws of all parts, which are not kept."""
    count, mean, square = 0, np.zeros(()), np.zeros(())
    for draws in parts:
        n, own = draws.shape[-1], draws.mean(axis=-1)
        gap = own - mean
        square = square + ((draws - own[..., np.newaxis]) ** 2).sum(axis=-1)
        square = square + gap**2 * (count * n / (count + n))
        mean, count = mean + gap * (n / (count + n)), count + n
    return mean, np.sqrt(square / (count - 1))
