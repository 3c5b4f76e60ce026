"""The formulas of measures and of their Monte Carlo standard errors, as text.

In the notation of the literature (Morris, White & Crowther 2019, Statistics in Medicine 38,
2074-2102; Siepe et al. 2024, Psychological Methods): n replicates that were used, θ̂ᵢ the estimate
in replicate i and θ̄ their mean, θ the truth (which may be another in each replicate), 1(...) a
count of what happened. An influence ψᵢ is what replicate i adds to the error of a measure: the
derivative of the measure with respect to its weight.
"""

from typing import NamedTuple

from simstudy.measures.core import Measure


class Formula(NamedTuple):
    """An estimate and its Monte Carlo standard error."""

    estimate: str
    mcse: str


INFLUENCE = "sd(ψᵢ)/√n"
BINOMIAL = "√(p(1 − p)/n)"
WITHIN = "√(p(1 − p)/n₁), with n₁ (a random number) in the condition"
RESAMPLED = "standard deviation of the function over resamples of the replicates"
NORMAL = "closed form for normal estimates (Morris et al. 2019)"

FORMULAS = {
    "bias": Formula("Σ(θ̂ᵢ − θ)/n", "sd(θ̂ᵢ − θ)/√n"),
    "relative_bias": Formula("Σ((θ̂ᵢ − θ)/θ)/n", "sd((θ̂ᵢ − θ)/θ)/√n"),
    "standardised_bias": Formula("Σ(θ̂ᵢ − θ)/n / empirical SE", INFLUENCE),
    "median_bias": Formula("median of θ̂ᵢ − θ", "√(1/4n) / density of θ̂ᵢ − θ in its median"),
    "mse": Formula("Σ(θ̂ᵢ − θ)²/n", "sd((θ̂ᵢ − θ)²)/√n"),
    "rmse": Formula("√(Σ(θ̂ᵢ − θ)²/n)", "MCSE(MSE)/(2 RMSE)"),
    "mae": Formula("Σ|θ̂ᵢ − θ|/n", "sd(|θ̂ᵢ − θ|)/√n"),
    "variance": Formula("Σ(θ̂ᵢ − θ̄)²/(n − 1)", "sd((θ̂ᵢ − θ̄)²) n/(n − 1)/√n"),
    "empirical_se": Formula("√(Σ(θ̂ᵢ − θ̄)²/(n − 1))", "MCSE(variance)/(2 empirical SE)"),
    "relative_precision": Formula(
        "variance of the reference's θ̂ᵢ / variance of the method's, less 1", INFLUENCE
    ),
    "correlation": Formula(
        "Σzᵢwᵢ/n of the two columns, standardised", "sd(zᵢwᵢ − r(zᵢ² + wᵢ²)/2)/√n"
    ),
    "outlier_rate": Formula("Σ1(far from the median, in robust standard deviations)/n", INFLUENCE),
    "model_se": Formula("√(Σseᵢ²/n)", "sd(seᵢ²)/√n/(2 model SE)"),
    "relative_error_model_se": Formula("model SE / empirical SE, less 1", INFLUENCE),
    "coverage": Formula("Σ1(lowerᵢ ≤ θ ≤ upperᵢ)/n", BINOMIAL),
    "coverage_at": Formula("Σ1(|θ̂ᵢ − θ| ≤ quantile · seᵢ)/n", BINOMIAL),
    "bias_eliminated_coverage": Formula("Σ1(lowerᵢ ≤ θ̄ ≤ upperᵢ)/n", INFLUENCE),
    "tail_miss": Formula("Σ1(interval wholly on that side of θ)/n", BINOMIAL),
    "interval_width": Formula("Σ(upperᵢ − lowerᵢ)/n", "sd(upperᵢ − lowerᵢ)/√n"),
    "interval_score": Formula(
        "Σ(widthᵢ + 2/(1 − level) · distance by which it misses θ)/n", "sd of the summands/√n"
    ),
    "rejection_rate": Formula("Σ1(rejects)/n", BINOMIAL),
    "rejection_rate_at": Formula("Σ1(pᵢ ≤ α)/n", BINOMIAL),
    "non_rejection_rate": Formula("Σ1(does not reject)/n", BINOMIAL),
    "power_at": Formula("Σ1(|θ̂ᵢ − null| > quantile · seᵢ)/n", BINOMIAL),
    "type_s_rate": Formula("share of significant θ̂ᵢ with the sign that θ has not", WITHIN),
    "exaggeration": Formula("mean of |θ̂ᵢ/θ| over significant θ̂ᵢ", INFLUENCE),
    "sensitivity": Formula("Σ1(rejects, effect)/Σ1(effect)", WITHIN),
    "specificity": Formula("Σ1(does not reject, no effect)/Σ1(no effect)", WITHIN),
    "positive_predictive_value": Formula("Σ1(rejects, effect)/Σ1(rejects)", WITHIN),
    "negative_predictive_value": Formula(
        "Σ1(does not reject, no effect)/Σ1(does not reject)", WITHIN
    ),
    "positive_likelihood_ratio": Formula("sensitivity/(1 − specificity)", INFLUENCE),
    "negative_likelihood_ratio": Formula("(1 − sensitivity)/specificity", INFLUENCE),
    "area_under_curve": Formula(
        "share of pairs, one with and one without an effect, in which the score is higher with "
        "it; ties half",
        INFLUENCE,
    ),
    "mean": Formula("Σxᵢ/n", "sd(xᵢ)/√n"),
    "weighted_mean": Formula(
        "Σwᵢxᵢ/n, or Σwᵢxᵢ/Σwᵢ if normalised",
        "sd(wᵢxᵢ)/√n, or sd(wᵢ(xᵢ − estimate))/√n over the mean weight",
    ),
    "weighted_proportion": Formula(
        "Σwᵢ1(event)/n, or Σwᵢ1(event)/Σwᵢ if normalised",
        "sd(wᵢ1(event))/√n, or sd(wᵢ(1(event) − estimate))/√n over the mean weight",
    ),
    "conditional": Formula(
        "its own, of conditional expectations given part of the data", INFLUENCE
    ),
    "controlled": Formula(
        "its own, less what q controls explain of its error",
        "sd(ψᵢ less its regression on the controls)/√n, with q degrees of freedom fewer",
    ),
    "quantile": Formula("quantile of the column", "√(p(1 − p)/n) / density in the quantile"),
    "proportion": Formula("Σ1(event)/n", BINOMIAL),
    "rank_check": Formula("exact p-value of uniform ranks", "none: it is not an estimate"),
    "convergence_rate": Formula("Σ1(did not fail)/all replicates", BINOMIAL),
    "bootstrapped": Formula("the study's own function of the columns", RESAMPLED),
}
"""By the kind of a measure; what stands for the name of a function with `_at` may stand for both.

`n` in a share within a condition counts the replicates in it.
"""

OWN = Formula("the study's own function of the columns", INFLUENCE)


def formula_of(measure: Measure) -> Formula:
    """The formulas of a measure and its Monte Carlo standard error."""
    found, m = _of_independent(measure), measure.group_size
    if m > 1:
        return found._replace(mcse=f"sd(averages of ψᵢ over groups of {m} replicates)/√(n/{m})")
    return found


def _of_independent(measure: Measure) -> Formula:
    found = FORMULAS.get(measure.kind, OWN)
    if getattr(measure, "formula", None) is not None:
        return found._replace(mcse=NORMAL)
    if getattr(measure, "binomial", False):
        return found._replace(mcse=BINOMIAL)
    if is_conditional(measure) and found.mcse == BINOMIAL:
        return Formula(f"{found.estimate}, in the condition", WITHIN)
    if is_conditional(measure) and measure.kind == "mean":
        return Formula("Σxᵢ1(in the condition)/Σ1(in the condition)", INFLUENCE)
    return found


def is_conditional(measure: Measure) -> bool:
    """Whether a measure is a proportion with a random denominator."""
    from simstudy.measures.moments import MomentMeasure, share

    return isinstance(measure, MomentMeasure) and measure.value is share
