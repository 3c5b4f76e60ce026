"""A linear signal in noise, and what a fitted linear predictor risks on it.

    y = u + curvature · τ (z² - 1)/√2 + σ exp(γ z - γ²) ε,   u = x'θ,  z = u/τ,  τ² = Var(u)

with independent standard normal features x and unit-variance errors ε. The defaults are the
linear-Gaussian model. Its departures (a curved truth, errors whose spread follows the signal, heavy
tails) keep their meaning when combined: the curvature is uncorrelated with the features, so θ stays
the best linear predictor, and the error variance is σ² on average.

The linear-Gaussian model alone has known laws: of a least-squares fit, of its errors on new data,
and of its risk. There no feature is drawn.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.models.least_squares import LinearFit
from simstudy.errors import DesignError
from simstudy.lazy import special

Coefficients = Float[np.ndarray, "rep feature"]
Reps = Float[np.ndarray, " rep"]


class Regression(NamedTuple):
    """Observations to learn from, and the coefficients that they come from."""

    features: Float[np.ndarray, "rep obs feature"]
    y: Float[np.ndarray, "rep obs"]
    coefficients: Coefficients


class Risk(NamedTuple):
    """True MSE and MAE of each replicate's predictor, Var(e²) and Var|e| of its errors e."""

    mse: Reps
    mae: Reps
    mse_variance: Reps
    mae_variance: Reps


def folded_normal_mean(
    mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """E|e| of a normal e (Leone, Nelson & Nottingham 1961, Technometrics 3(4), 543-550)."""
    scaled = mean / np.sqrt(2 * variance)
    exponential = 1 + special.expm1(-(scaled**2))  # NumPy's own rounds by processor
    density = np.sqrt(2 * variance / np.pi) * exponential
    return np.asarray(density + mean * special.erf(scaled))


@dataclass(frozen=True)
class LinearModel:
    """Normal features, a linear signal whose signs are redrawn each replicate, and noise.

    Attributes
    ----------
    n_feature, coefficient
        Features, and size of every coefficient; its sign is + or - with equal probability.
    noise_variance
        σ², mean variance of the errors, in the response's units squared.
    curvature
        Standard deviation of the curved part of the truth, in units of that of the linear part.
    heteroskedasticity
        γ: the errors' standard deviation is proportional to exp(γ z).
    df
        Degrees of freedom of Student-t errors, scaled to unit variance; infinity is normal.
    """

    n_feature: int = 20
    coefficient: float = 0.5
    noise_variance: float = 2.5
    curvature: float = 0.0
    heteroskedasticity: float = 0.0
    df: float = np.inf

    def __post_init__(self) -> None:
        bent = self.curvature != 0 or self.heteroskedasticity != 0
        sizes = np.isfinite([self.coefficient, self.noise_variance, self.curvature]).all()
        known = sizes and self.n_feature >= 1 and self.noise_variance > 0 and self.df > 2
        if not known or abs(self.heteroskedasticity) > 1 or (bent and self.coefficient == 0):
            raise DesignError(
                f"{self} has no signal in noise of finite variance. Use n_feature >= 1, finite "
                "sizes, noise_variance above 0, df above 2, heteroskedasticity from -1 to 1, and "
                "a coefficient other than 0 where the truth is bent."
            )

    def draw_coefficients(self, rng: np.random.Generator, n_rep: int) -> Coefficients:
        """Coefficients of equal size and random signs."""
        signs = np.sign(rng.random((n_rep, self.n_feature)) - 0.5)
        return np.asarray(self.coefficient * signs)

    def draw(
        self,
        rng: np.random.Generator,
        n_rep: int,
        n_obs: int,
        coefficients: Coefficients | None = None,
    ) -> Regression:
        """Features and responses, with new coefficients unless they are given."""
        if coefficients is None:
            coefficients = self.draw_coefficients(rng, n_rep)
        features = rng.standard_normal((n_rep, n_obs, self.n_feature))
        signal = np.matmul(features, coefficients[:, :, np.newaxis])[:, :, 0]
        noise = np.sqrt(self.noise_variance) * self._draw_noise(rng, (n_rep, n_obs))
        if self.curvature or self.heteroskedasticity:
            scale = self.signal_sd(coefficients)[:, np.newaxis]
            z, gamma = signal / scale, self.heteroskedasticity
            signal = signal + self.curvature * scale * (z**2 - 1) / np.sqrt(2)
            noise = noise * np.exp(gamma * z - gamma**2)
        return Regression(features, signal + noise, coefficients)

    def _draw_noise(
        self, rng: np.random.Generator, shape: tuple[int, int]
    ) -> Float[np.ndarray, "rep obs"]:
        if np.isinf(self.df):
            return rng.standard_normal(shape)
        return np.asarray(rng.standard_t(self.df, shape) * np.sqrt((self.df - 2) / self.df))

    def signal_sd(self, coefficients: Coefficients) -> Reps:
        """τ, the standard deviation of the linear signal."""
        return np.asarray(np.sqrt((coefficients**2).sum(axis=1)))

    # ------------------------------------------------------------ the linear-Gaussian model alone
    def draw_fit(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> tuple[Coefficients, LinearFit]:
        """Coefficients, and the least-squares fit with an intercept, from its own law.

        With S the centred sum of squares and products of the features, θ̂ - θ given S is normal
        with variance σ² S⁻¹, and S is Wishart(n - 1, I): so θ̂ - θ is σ g / √(χ²) for a standard
        normal g and an independent χ² of n - p degrees of freedom. The intercept is the mean error
        less the mean features times θ̂ - θ, both independent of S: given θ̂ it is normal with
        variance (σ² + ‖θ̂ - θ‖²) / n (Anderson 2003, An Introduction to Multivariate Statistical
        Analysis, sections 5.2 and 7.2).
        """
        self._require_normal()
        coefficients = self.draw_coefficients(rng, n_rep)
        normal = rng.standard_normal((n_rep, self.n_feature + 1))
        chi = np.sqrt(rng.chisquare(n_obs - self.n_feature, n_rep))
        off = np.sqrt(self.noise_variance) * normal[:, :-1] / chi[:, np.newaxis]
        distance = (off**2).sum(axis=1)
        intercept = normal[:, -1] * np.sqrt((self.noise_variance + distance) / n_obs)
        return coefficients, LinearFit(intercept, coefficients + off, np.ones(n_rep, dtype=bool))

    def draw_errors(
        self, rng: np.random.Generator, coefficients: Coefficients, fit: LinearFit, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        """New errors y - prediction from their law, which is normal."""
        shift, variance = self._error_law(coefficients, fit)
        normal = rng.standard_normal((len(coefficients), n_obs))
        return np.asarray(np.sqrt(variance)[:, np.newaxis] * normal - shift[:, np.newaxis])

    def risk(
        self, coefficients: Coefficients, fit: LinearFit, *, with_intercept: bool = True
    ) -> Risk:
        """True risk of fitted predictors, and variance of one observation's loss.

        The error is normal with variance v = σ² + ‖θ - θ̂‖² about -b, the fitted intercept: MSE
        v + b², MAE that of a folded normal, Var(e²) = 2 v² + 4 b² v. A replicate without a fit has
        no risk (NaN). Without the intercept b counts as 0: published, and too small by b².
        """
        shift, variance = self._error_law(coefficients, fit)
        if not with_intercept:
            shift = np.where(fit.full_rank, 0.0, np.nan)
        mse, mae = variance + shift**2, folded_normal_mean(-shift, variance)
        return Risk(mse, mae, 2 * variance**2 + 4 * shift**2 * variance, mse - mae**2)

    def _error_law(self, coefficients: Coefficients, fit: LinearFit) -> tuple[Reps, Reps]:
        self._require_normal()
        distance = ((coefficients - fit.coefficients) ** 2).sum(axis=1)
        return fit.intercept, self.noise_variance + distance

    def _require_normal(self) -> None:
        if self.curvature or self.heteroskedasticity or np.isfinite(self.df):
            raise DesignError(
                f"{self} has no known law of errors: use curvature=0, heteroskedasticity=0 and "
                "df=inf, or draw test observations (ModelTrial)."
            )


@dataclass(frozen=True)
class RandomCoefficients(LinearModel):
    """A `LinearModel` with independent N(0, `coefficient`²) coefficients: no two signals alike.

    The defaults are the smallest design of the simulations in Lindgren's report on leave-one-out
    standard errors: no intercept, and standard normal coefficients.
    """

    n_feature: int = 1
    coefficient: float = 1.0
    noise_variance: float = 1.0

    def draw_coefficients(self, rng: np.random.Generator, n_rep: int) -> Coefficients:
        """Independent normal coefficients."""
        return np.asarray(self.coefficient * rng.standard_normal((n_rep, self.n_feature)))
