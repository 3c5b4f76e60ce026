"""The formulas of a measure and of its Monte Carlo standard error, as text.

In the notation of the literature (Morris, White & Crowther 2019, Statistics in Medicine 38,
2074-2102; Siepe et al. 2024, Psychological Methods): n replicates used, θ̂ᵢ the estimate of
replicate i and θ̄ the mean of the estimates, θ the truth (which may vary by replicate), 1(...) an
indicator. The influence ψᵢ is what replicate i adds to the error of a measure: the derivative of
the measure with respect to its weight. In a share within a condition, n counts the replicates that
meet it.
"""

from typing import NamedTuple


class Formula(NamedTuple):
    """An estimate and its Monte Carlo standard error."""

    estimate: str
    mcse: str

    def in_groups(self, size: int) -> "Formula":
        """Return the formulas for replicates that depend on each other in groups of `size`."""
        if size == 1:
            return self
        averages = f"sd(averages of ψᵢ over groups of {size} replicates)/√(n/{size})"
        return self._replace(mcse=averages)


INFLUENCE = "sd(ψᵢ)/√n"
BINOMIAL = "√(p(1 − p)/n)"
WITHIN = "√(p(1 − p)/n₁), with n₁ (a random number) in the condition"
NORMAL = "closed form for normal estimates (Morris et al. 2019)"
OWN = Formula("the study's own function of the columns", INFLUENCE)
