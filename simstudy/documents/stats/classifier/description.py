"""Description of test sets of a threshold: exact bootstraps, lowest scores and some resamples."""

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.bootstrap.quantiles import quantile_law, sample_quantile
from simstudy.documents.stats.bootstrap.resamples import draw_resamples, exact_shape
from simstudy.documents.stats.classifier.thresholds import Target, check_target, thresholds
from simstudy.documents.stats.reading import reading

N_SHOWN = 4  # test sets whose bootstrap is drawn: no single one is typical
STRICTER = 0.92  # the confidence that the umbrella really has
COMPARED = {"umbrella": "umbrella_at_92", "bca strict": "bca_strict_at_92"}
"""Methods whose thresholds are compared at that confidence, and their columns."""


@reading
def described(
    x: Float[np.ndarray, "rep obs"], target: Target, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Describe test sets: the exact bootstrap of the quantile, the lowest scores, some resamples.

    Row r of `resample_1` is resample r of the block's first test set, in ascending order; and so on
    for the first four.

    Parameters
    ----------
    x : float array (rep, obs)
        Positive scores, a test set in each row.
    target
        Share of cases that the threshold keeps.
    rng
        Generator of the resamples.

    Returns
    -------
    dict
        Columns of replicates: arrays (rep,) or (rep, *axes), by name.
    """
    check_target(target)
    x = np.sort(x, axis=1)
    shape, stricter = exact_shape(x, target.q), target._replace(confidence=STRICTER)
    found = thresholds(x, stricter, tuple(COMPARED))
    shown = draw_resamples(rng, x[:N_SHOWN], n_boot=len(x), q=target.q)
    return {
        "sensitivity_on_test_set": (x > sample_quantile(x, target.q)[:, None]).mean(axis=1),
        "bootstrap_mean": shape.mean,
        "bootstrap_skewness": shape.skewness,
        **{column: found[method] for method, column in COMPARED.items()},
        **{f"score_{i + 1}": x[:, i] for i in range(n_low(x.shape[1], target.q))},
        **{
            f"resample_{i + 1}": np.repeat(values, counts)
            for i, (values, counts) in enumerate(zip(*shown, strict=True))
        },
    }


@reading
def n_low(n_obs: int, q: float) -> int:
    """Count the lowest scores of which a bootstrapped quantile is made.

    One resample in 10^9 has a quantile made of others.

    Parameters
    ----------
    n_obs
        Scores in a test set.
    q
        Probability of the quantile.

    Returns
    -------
    int
        A number, at most `n_obs`.
    """
    return min(int(np.searchsorted(quantile_law(n_obs, q).cdf_upper, 1 - 1e-9)) + 1, n_obs)
