"""A linear signal in noise, and what a fitted linear predictor risks on it.

    y = u + curvature · τ (z² - 1)/√2 + σ exp(γ z - γ²) ε,   u = x'θ,  z = u/τ,  τ² = Var(u)

with normal features x and unit-variance errors ε. The defaults are the linear-Gaussian model; its
departures (correlated features, a curved truth, errors whose spread follows the signal, heavy
tails) keep their meaning when combined: the curvature is uncorrelated with the features, so θ
stays the best linear predictor, and the error variance is σ² on average.

Only u and the prediction matter to an error, and the two are jointly normal: so the risk of any
linear predictor is a sum of moments and at most a one-dimensional integral, and test observations
are drawn without drawing their features. In the linear-Gaussian model so is a least-squares fit.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.dgps.normals import standard_normals
from simstudy.documents.stats.models.least_squares import (
    LinearFit,
    check_enough_observations,
    fit_least_squares,
)
from simstudy.documents.stats.models.risk import (
    folded_normal_mean,
    normal_expectation,
    student_mixture,
)
from simstudy.errors import DesignError

# Exact for the polynomials below, which are of degree 8 at most.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(8)
WEIGHTS = WEIGHTS / np.sqrt(2 * np.pi)

Coefficients = Float[np.ndarray, "rep feature"]
Reps = Float[np.ndarray, " rep"]


class Regression(NamedTuple):
    """Observations to learn from, and the coefficients that they come from.

    Attributes
    ----------
    features : float array (rep, obs, feature)
        Features, one replicate per matrix.
    y : float array (rep, obs)
        Responses.
    coefficients
        The true coefficients, of each replicate.
    """

    features: Float[np.ndarray, "rep obs feature"]
    y: Float[np.ndarray, "rep obs"]
    coefficients: Coefficients


class Outcomes(NamedTuple):
    """New responses and their predictions.

    Attributes
    ----------
    y : float array (rep, obs)
        Responses.
    prediction : float array (rep, obs)
        Predictions, in the same units.
    """

    y: Float[np.ndarray, "rep obs"]
    prediction: Float[np.ndarray, "rep obs"]


class Risk(NamedTuple):
    """True risk of each replicate's predictor, and the variance of one observation's loss.

    Attributes
    ----------
    mse
        Mean squared error, in the response's units squared.
    mae
        Mean absolute error, in its units.
    mse_variance
        Var(e²); infinite where the errors' fourth moment is.
    mae_variance
        Var|e|.
    """

    mse: Reps
    mae: Reps
    mse_variance: Reps
    mae_variance: Reps


class _Error(NamedTuple):
    """The error of a predictor, y - prediction, as a function of z and independent noise.

    e = -shift + slope z + bend (z² - 1) + √rest η + σ exp(γ z - γ²) ε.
    """

    shift: Reps
    slope: Reps
    bend: Reps
    rest: Reps

    def mean_given(self, z: Float[np.ndarray, " node"]) -> Float[np.ndarray, "rep node"]:
        line = np.multiply.outer(self.slope, z) - self.shift[:, np.newaxis]
        return np.asarray(line + np.multiply.outer(self.bend, z**2 - 1))


@dataclass(frozen=True)
class LinearModel:
    """Normal features, a linear signal whose signs are redrawn each replicate, and noise.

    Attributes
    ----------
    n_feature
        Number of features, each standard normal.
    coefficient
        Size of every coefficient; its sign is + or - with equal probability.
    noise_variance
        σ², mean variance of the errors, in the response's units squared.
    correlation
        Correlation of neighbouring features; that of features i and j is `correlation`^|i - j|.
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
    correlation: float = 0.0
    curvature: float = 0.0
    heteroskedasticity: float = 0.0
    df: float = np.inf

    def __post_init__(self) -> None:
        _check_sizes(self)
        _check_shapes(self)

    def draw_coefficients(self, rng: np.random.Generator, n_rep: int) -> Coefficients:
        """Draw coefficients of equal size and random signs.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.

        Returns
        -------
        Coefficients
            Coefficients of each replicate.
        """
        signs = np.sign(rng.random((n_rep, self.n_feature)) - 0.5)
        return np.asarray(self.coefficient * signs)

    def draw(
        self,
        rng: np.random.Generator,
        n_rep: int,
        n_obs: int,
        coefficients: Coefficients | None = None,
    ) -> Regression:
        """Draw features and responses.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.
        coefficients
            Values of `n_rep` replicates; None draws new ones.

        Returns
        -------
        Regression
            Features, responses and coefficients.
        """
        if coefficients is None:
            coefficients = self.draw_coefficients(rng, n_rep)
        features = self._draw_features(rng, n_rep, n_obs)
        signal = np.matmul(features, coefficients[:, :, np.newaxis])[:, :, 0]
        noise = self._draw_noise(rng, (n_rep, n_obs))
        return Regression(features, self._respond(signal, noise, coefficients), coefficients)

    def draw_fit(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> tuple[Coefficients, LinearFit]:
        """Draw coefficients, and the least-squares fit with an intercept to `n_obs` observations.

        In the plain model with normal errors the fit comes from its own law, and no observation is
        drawn. With S the centred sum of squares and products of the features, θ̂ - θ given S is
        normal with variance σ² S⁻¹, and S is Wishart(n - 1, Σ): so θ̂ - θ is σ Σ^(-1/2) g / √(χ²)
        for a standard normal g and an independent χ² of n - p degrees of freedom. The intercept
        is the mean error less the mean features times θ̂ - θ, both independent of S: given θ̂ it is
        normal with variance (σ² + (θ̂ - θ)'Σ(θ̂ - θ)) / n.

        Other models have no such law: their observations are drawn, and fitted.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        tuple[Coefficients, LinearFit]
            The coefficients and the fit of each replicate.

        References
        ----------
        Anderson (2003), An Introduction to Multivariate Statistical Analysis, sections 5.2 and 7.2.
        """
        if not self._is_plain or np.isfinite(self.df):
            train = self.draw(rng, n_rep, n_obs)
            return train.coefficients, fit_least_squares(train.features, train.y)
        check_enough_observations(n_obs, self.n_feature)
        coefficients = self.draw_coefficients(rng, n_rep)
        normal = standard_normals(rng, n_rep, self.n_feature + 1)
        chi = np.sqrt(rng.chisquare(n_obs - self.n_feature, n_rep))
        scaled = np.sqrt(self.noise_variance) * normal[:, :-1] / chi[:, np.newaxis]
        distance = (scaled**2).sum(axis=1)  # Σ-norm of θ̂ - θ, squared
        intercept = normal[:, -1] * np.sqrt((self.noise_variance + distance) / n_obs)
        fitted = coefficients + self._uncorrelate(scaled)
        return coefficients, LinearFit(intercept, fitted, np.ones(n_rep, dtype=bool))

    def draw_outcomes(
        self, rng: np.random.Generator, coefficients: Coefficients, fit: LinearFit, n_obs: int
    ) -> Outcomes:
        """Draw new responses and predictions from their joint law: no feature is drawn.

        Parameters
        ----------
        rng
            Generator of the draws.
        coefficients
            The true coefficients, of each replicate.
        fit
            The fitted predictors.
        n_obs
            Observations of each replicate.

        Returns
        -------
        Outcomes
            Responses and predictions.
        """
        shape, scale = (len(coefficients), n_obs), self.signal_sd(coefficients)
        z, other = standard_normals(rng, *shape), standard_normals(rng, *shape)
        noise = self._draw_noise(rng, shape)
        shared, total = self._project(fit.coefficients, coefficients)
        alone = np.sqrt(np.maximum(total - shared**2, 0.0))
        prediction = fit.intercept[:, None] + shared[:, None] * z + alone[:, None] * other
        return Outcomes(self._respond(scale[:, None] * z, noise, coefficients), prediction)

    def draw_errors(
        self, rng: np.random.Generator, coefficients: Coefficients, fit: LinearFit, n_obs: int
    ) -> Float[np.ndarray, "rep obs"]:
        """Draw new errors y - prediction from their law: one normal each in the plain model.

        Parameters
        ----------
        rng
            Generator of the draws.
        coefficients
            The true coefficients, of each replicate.
        fit
            The fitted predictors.
        n_obs
            Observations of each replicate.

        Returns
        -------
        float array (rep, obs)
            Errors, in the units of the response.
        """
        if not self._is_plain or np.isfinite(self.df):
            y, prediction = self.draw_outcomes(rng, coefficients, fit, n_obs)
            return np.asarray(y - prediction)
        error = self._error(coefficients, fit, with_intercept=True)
        sd = np.sqrt(error.slope**2 + error.rest + self.noise_variance)
        normal = standard_normals(rng, len(coefficients), n_obs)
        return np.asarray(sd[:, np.newaxis] * normal - error.shift[:, np.newaxis])

    def signal_sd(self, coefficients: Coefficients) -> Reps:
        """Compute τ, the standard deviation of the linear signal.

        Parameters
        ----------
        coefficients
            The true coefficients, of each replicate.

        Returns
        -------
        Reps
            In the units of the response.
        """
        return np.asarray(np.sqrt(self._inner(coefficients, coefficients)))

    def risk(
        self, coefficients: Coefficients, fit: LinearFit, *, with_intercept: bool = True
    ) -> Risk:
        """Compute the true risk of fitted predictors, and the variance of one observation's loss.

        In the plain model the error is normal with variance v = σ² + ‖θ - θ̂‖² about -b, the fitted
        intercept: MSE v + b², MAE that of a folded normal, Var(e²) = 2 v² + 4 b² v.

        Parameters
        ----------
        coefficients
            The truth.
        fit
            The predictors; a replicate without a fit has no risk (NaN).
        with_intercept
            False leaves b out, as if the predictor had been fitted without an intercept: MSE v,
            MAE √(2 v / π), Var(e²) = 2 v². It is published, and too small by b².

        Returns
        -------
        Risk
            Risk of each replicate's predictor.
        """
        error = self._error(coefficients, fit, with_intercept=with_intercept)
        mse, fourth = self._moments(error)
        mae = self._mean_absolute(error)
        return Risk(mse, mae, fourth - mse**2, mse - mae**2)

    @property
    def _is_plain(self) -> bool:
        """Whether errors depend on z through a line alone."""
        return self.curvature == 0 and self.heteroskedasticity == 0

    def _draw_features(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, "rep obs feature"]:
        """A first-order autoregression over the features, started from its stationary law."""
        features = standard_normals(rng, n_rep, n_obs * self.n_feature)
        features = features.reshape(n_rep, n_obs, self.n_feature)
        if self.correlation:
            innovation = np.sqrt(1 - self.correlation**2)
            for j in range(1, self.n_feature):
                features[..., j] *= innovation
                features[..., j] += self.correlation * features[..., j - 1]
        return features

    def _draw_noise(
        self, rng: np.random.Generator, shape: tuple[int, int]
    ) -> Float[np.ndarray, "rep obs"]:
        if np.isinf(self.df):
            return standard_normals(rng, *shape)
        return np.asarray(rng.standard_t(self.df, shape) * np.sqrt((self.df - 2) / self.df))

    def _respond(
        self,
        signal: Float[np.ndarray, "rep obs"],
        noise: Float[np.ndarray, "rep obs"],
        coefficients: Coefficients,
    ) -> Float[np.ndarray, "rep obs"]:
        sd = np.sqrt(self.noise_variance)
        if self._is_plain:
            return np.asarray(signal + sd * noise)
        scale = self.signal_sd(coefficients)[:, np.newaxis]
        z, gamma = signal / scale, self.heteroskedasticity
        bent = signal + self.curvature * scale * (z**2 - 1) / np.sqrt(2)
        return np.asarray(bent + sd * np.exp(gamma * z - gamma**2) * noise)

    @property
    def _covariance(self) -> Float[np.ndarray, "feature feature"]:
        """Σ, of the features."""
        lag = np.abs(np.subtract.outer(np.arange(self.n_feature), np.arange(self.n_feature)))
        return np.asarray(np.power(float(self.correlation), lag))

    def _inner(self, a: Coefficients, b: Coefficients) -> Reps:
        """Covariance of the linear combinations a'x and b'x."""
        weighted = a if self.correlation == 0 else a @ self._covariance
        return np.asarray((weighted * b).sum(axis=1))

    def _uncorrelate(self, normal: Coefficients) -> Coefficients:
        """Rows of variance Σ⁻¹ from rows of unit variance."""
        if self.correlation == 0:
            return normal
        return np.asarray(np.linalg.solve(np.linalg.cholesky(self._covariance).T, normal.T).T)

    def _project(self, direction: Coefficients, coefficients: Coefficients) -> tuple[Reps, Reps]:
        """Coefficient on z, and variance, of the linear combination direction'x."""
        total, scale = self._inner(direction, direction), self.signal_sd(coefficients)
        along = self._inner(direction, coefficients)
        return np.divide(along, scale, out=np.zeros_like(along), where=scale > 0), total

    def _error(self, coefficients: Coefficients, fit: LinearFit, *, with_intercept: bool) -> _Error:
        slope, total = self._project(coefficients - fit.coefficients, coefficients)
        bend = self.curvature * self.signal_sd(coefficients) / np.sqrt(2)
        shift = np.where(with_intercept, fit.intercept, np.where(fit.full_rank, 0.0, np.nan))
        return _Error(shift, slope, bend, np.maximum(total - slope**2, 0.0))

    def _moments(self, error: _Error) -> tuple[Reps, Reps]:
        """E e² and E e⁴. Weighting by the scale squared shifts z by 2γ, and no integral is left."""
        signal, tilted = (error.mean_given(z) for z in (NODES, NODES + 2 * self.heteroskedasticity))
        rest, sigma2 = error.rest, self.noise_variance
        square = signal**2
        second = _mean_over_nodes(square) + rest
        fourth = _mean_over_nodes(square * (square + 6 * rest[:, None])) + 3 * rest**2
        cross = sigma2 * (_mean_over_nodes(tilted**2) + rest)
        own = sigma2**2 * self._noise_kurtosis * np.exp(4 * self.heteroskedasticity**2)
        return second + sigma2, fourth + 6 * cross + own

    @property
    def _noise_kurtosis(self) -> float:
        if np.isinf(self.df):
            return 3.0
        return 3 * (self.df - 2) / (self.df - 4) if self.df > 4 else np.inf

    def _mean_absolute(self, error: _Error) -> Reps:
        if np.isinf(self.df):
            return self._mean_absolute_normal(error, self.noise_variance)
        variance, weight = student_mixture(self.df)
        return np.asarray(
            sum(
                w * self._mean_absolute_normal(error, self.noise_variance * v)
                for v, w in zip(variance, weight, strict=True)
            )
        )

    def _mean_absolute_normal(self, error: _Error, noise_variance: float) -> Reps:
        if self._is_plain:
            return folded_normal_mean(-error.shift, error.slope**2 + error.rest + noise_variance)
        gamma = self.heteroskedasticity

        def given(z: Float[np.ndarray, " node"]) -> Float[np.ndarray, "rep node"]:
            own = noise_variance * np.exp(2 * (gamma * z - gamma**2))
            return folded_normal_mean(error.mean_given(z), error.rest[:, np.newaxis] + own)

        return normal_expectation(given)


def _mean_over_nodes(values: Float[np.ndarray, "rep node"]) -> Reps:
    """Expectation over z, without BLAS: the same bits on every processor."""
    return np.asarray((values * WEIGHTS).sum(axis=1))


def _check_sizes(model: LinearModel) -> None:
    if model.n_feature < 1:
        raise DesignError(
            f"n_feature={model.n_feature} leaves nothing to predict from. Use at least 1 feature; "
            "coefficient=0 makes it useless."
        )
    if not 0 < model.noise_variance < np.inf:
        raise DesignError(
            f"noise_variance={model.noise_variance:g} is no variance of an error: without noise "
            "every loss is a loss of fitting, and their spread says nothing. Use a finite number "
            "above 0."
        )
    if not np.isfinite(model.coefficient) or not np.isfinite(model.curvature):
        raise DesignError(
            f"coefficient={model.coefficient:g} and curvature={model.curvature:g} must be finite, "
            "for they set the scale of the response. Use numbers near 1."
        )
    if model.coefficient == 0 and not model._is_plain:
        raise DesignError(
            "coefficient=0 has no signal for the curvature or the spread of the errors to follow. "
            "Use a coefficient other than 0, or set both to 0."
        )


def _check_shapes(model: LinearModel) -> None:
    if not -1 < model.correlation < 1:
        raise DesignError(
            f"correlation={model.correlation:g} makes the features copies of one another, so no "
            "coefficient can be told from another. Use a correlation strictly between -1 and 1."
        )
    if not model.df > 2:
        raise DesignError(
            f"df={model.df:g} gives errors without a variance, so the MSE risk is infinite. Use "
            "df > 2 (above 4 for a finite variance of the loss), or df=inf for normal errors."
        )
    if not abs(model.heteroskedasticity) <= 1:
        raise DesignError(
            f"heteroskedasticity={model.heteroskedasticity:g} spreads the errors' standard "
            "deviation over more than e^4 between signals 2 standard deviations either side, and "
            "a few observations would be the whole risk. Use a value from -1 to 1."
        )
