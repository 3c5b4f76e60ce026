"""The z test: the spread of one score is known beforehand."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from simstudy.applied.scores import Scores
from simstudy.lazy import stats
from simstudy.stats.accuracy import design


@dataclass(frozen=True)
class KnownSigma:
    """The z test of two means.

    Parameters
    ----------
    sigma
        Standard deviation of one score, in its units.
    correlation
        Of the two scores of a prompt; 0 takes them for different prompts.
    """

    scores: Scores
    alpha: float
    sigma: float
    correlation: float = 0.0

    @property
    def name(self) -> str:
        return "z"

    @property
    def words(self) -> str:
        pairs = f", correlation {self.correlation:g} in pairs" if self.correlation else ""
        return f"z test with sigma {self.sigma:g}{pairs}"

    @property
    def _spread(self) -> tuple[float, int, int | None]:
        """Sigma and the sizes; None for the second where it is the first."""
        n, n_check = len(self.scores.reference), len(self.scores.candidate)
        return self.sigma, n, None if n == n_check else n_check

    @property
    def _with(self) -> dict[str, Any]:
        return {"correlation": self.correlation}

    @cached_property
    def standard_error(self) -> float:
        return float(design.standard_error(*self._spread, **self._with))

    @property
    def p_value(self) -> float:
        return float(design.p_value(-self.scores.worse_by, 0.0, *self._spread, **self._with))

    @cached_property
    def margin(self) -> float:
        return -float(design.threshold(0.0, self.alpha, *self._spread, **self._with))

    @property
    def fails(self) -> bool:
        return bool(design.fails(-self.scores.worse_by, -self.margin))

    @property
    def level(self) -> float:
        return self.alpha

    def power(self, effect: float) -> float:
        return float(design.power(effect, self.alpha, *self._spread, **self._with))

    def detectable_effect(self, beta: float) -> float:
        return float(design.detectable_effect(self.alpha, beta, *self._spread, **self._with))

    def n_needed(self, theta: float, beta: float) -> int | None:
        return int(design.sample_size(theta, self.alpha, beta, self.sigma, **self._with))

    def law(self, effect: float) -> Any:
        return stats.norm(effect, self.standard_error)
