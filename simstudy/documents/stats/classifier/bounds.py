"""Confidence bounds for a quantile of scores: the threshold that keeps a sensitivity.

A threshold keeps sensitivity k where it is at most the (1−k)-quantile of the positive scores, so
a lower confidence bound for that quantile keeps it with the bound's confidence. The mirror image,
an upper bound for a quantile of the negative scores, keeps a specificity. Methods, by name:

=================  =============================================================================
percentile         quantile of the bootstrap distribution at α
basic              2·estimate − quantile at 1 − α
normal             estimate + z_α · bootstrap standard error
bc                 percentile at Φ(2·z0 + z_α)
bca                percentile at Φ(z0 + (z0 + z_α)/(1 − a·(z0 + z_α)))
order_statistic    the order statistic with at least the confidence (Neyman-Pearson umbrella)
normal_tolerance   exact for normal scores
smoothed           percentile of the bootstrap from a kernel-smoothed distribution
bayesian           quantile of the Bayesian bootstrap posterior
=================  =============================================================================

with α = 1 − confidence for a lower and α = confidence for an upper bound. z0 = Φ⁻¹(share of
bootstrap values below the estimate) depends on what is done with those **equal** to it, about one
in ten for a 5% quantile: "strict" leaves them out, "weak" counts them, "mid" counts half.

The first five are in `bootstrap_bounds`, with sources; the others in `direct_bounds`.
"""

from collections.abc import Callable, Mapping

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_choice
from simstudy.documents.stats.classifier.bootstrap_bounds import (
    EXACT_METHODS,
    exact_bootstrap_bounds,
)
from simstudy.documents.stats.classifier.direct_bounds import (
    bayesian_bootstrap_bound,
    normal_tolerance_bound,
    order_statistic_bound,
    smoothed_bound,
)
from simstudy.documents.stats.reading import reading

DIRECT: Mapping[str, Callable[..., Float[np.ndarray, " rep"]]] = {
    "order_statistic": order_statistic_bound,
    "normal_tolerance": normal_tolerance_bound,
    "smoothed": smoothed_bound,
    "bayesian": bayesian_bootstrap_bound,
}
METHODS = (*EXACT_METHODS, *DIRECT)


@reading
def quantile_bound(
    scores: Float[np.ndarray, "rep obs"],
    *,
    method: str,
    q: float,
    confidence: float,
    side: str = "lower",
    ties: str = "mid",
    quantile_method: str = "linear",
) -> Float[np.ndarray, " rep"]:
    """Compute a bound of each row's quantile by the name of its method.

    Parameters
    ----------
    scores : float array (rep, obs)
        One replicate per row, any units, in any order.
    method
        Any of `METHODS`.
    q
        Probability of the quantile that is bounded, in (0, 1).
    confidence
        Probability that the bound is on the safe side, in (0, 1).
    side
        "lower" or "upper": on which side of the quantile the bound is.
    ties, quantile_method
        For the bootstrap methods, as in `exact_bootstrap_bounds`.

    Returns
    -------
    float array (rep,)
        Bounds, in score units.
    """
    check_choice("method", method, METHODS)
    if method in DIRECT:
        return DIRECT[method](scores, q=q, confidence=confidence, side=side)
    return exact_bootstrap_bounds(
        scores,
        q=q,
        confidence=confidence,
        side=side,
        methods=(method,),
        ties=ties,
        quantile_method=quantile_method,
    )[method]
