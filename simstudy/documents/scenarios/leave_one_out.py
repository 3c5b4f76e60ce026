"""Leave-one-out utilities of a Bayesian regression, and how well standard errors know their error.

The target of a standard error has two answers, and both are here. One is the spread of the
estimate over data sets of the same size from the same process (`estimate`). The other, for which
Vehtari & Lampinen (2002) made the Bayesian bootstrap, is the distance of the estimate from the
utility that this very fit has on new data (`distance`): here the truth is known, since a linear
predictor's risk is. For the five forms of R² that truth is 1 - E e² / Var(y) of new data. The
predictive density has no such closed form, so of elpd only the first answer is there.

The coefficients of the report's simulations are drawn anew for each data set, so that its estimates
scatter by far more than any standard error should say: to hold a standard error against the spread
they must be the same in all data sets (`coefficients: equal`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.design import Columns, grid
from simstudy.documents.dgps.linear import LinearModel, RandomCoefficients, Regression
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.documents.stats.leave_one_out.importance import (
    importance_leave_one_out,
    posterior_draws,
)
from simstudy.documents.stats.leave_one_out.priors import Prior, default_prior, wide_prior
from simstudy.documents.stats.leave_one_out.regression import (
    ExactLeaveOneOut,
    decompose,
    exact_leave_one_out,
    leverages,
)
from simstudy.documents.stats.leave_one_out.utilities import (
    R2_FORMS,
    UTILITIES,
    Estimate,
    Pointwise,
    taylor,
    taylor_difference,
)
from simstudy.documents.stats.models.least_squares import LinearFit
from simstudy.errors import DesignError
from simstudy.measures import (
    bias_eliminated_coverage,
    coverage,
    empirical_se,
    intervals,
    mean,
    median,
    model_se,
    relative_error_model_se,
)
from simstudy.options import option
from simstudy.provenance.streams import Streams

METHODS = ("taylor", "bootstrap")
PRIORS = {"default": default_prior, "wide": wide_prior}
COEFFICIENTS = {"drawn": RandomCoefficients, "equal": LinearModel}
COMPARED_MODELS = ("half", "useless")
ANSWERS = ("exact", "importance")
MAY_BE_MISSING = ("distance", "taylor_over")
LEVEL = 0.95
K_LIMIT = 0.7  # Pareto k above which importance sampling is not to be trusted, by custom

Features = Float[np.ndarray, "rep obs feature"]
Utilities = Float[np.ndarray, "rep utility"]


class Fit(NamedTuple):
    """A model's leave-one-out predictions, and what its predictor is worth on new data."""

    leave_one_out: ExactLeaveOneOut
    truth: Utilities


@dataclass(frozen=True)
class _Setting:
    """Data and prior.

    Parameters
    ----------
    n_obs, n_feature
        Observations, and standard normal features of each.
    noise_sd
        Standard deviation of the error.
    coefficients
        `drawn` from N(0, 1) for each data set, or `equal`: all of size 1.
    prior
        `default` is rstanarm's, `wide` N(0, 10²) for every coefficient.
    """

    n_obs: int = 100
    n_feature: int = 1
    noise_sd: float = 1.0
    coefficients: str = "drawn"
    prior: str = "default"

    def __post_init__(self) -> None:
        _refuse_unknown("coefficients", self.coefficients, COEFFICIENTS)
        _refuse_unknown("prior", self.prior, PRIORS)
        _ = self.dgp

    @property
    def dgp(self) -> LinearModel:
        """The data-generating process."""
        kind = COEFFICIENTS[self.coefficients]
        return kind(self.n_feature, 1.0, noise_variance=self.noise_sd**2)

    def fit(self, data: Regression, features: Features) -> Fit:
        """The model of some features: the first few of the data's, or more than these."""
        prior = PRIORS[self.prior](features, data.y)
        answer = exact_leave_one_out(features, data.y, prior)
        return Fit(answer, self.true_utilities(data, answer))

    def true_utilities(self, data: Regression, answer: ExactLeaveOneOut) -> Utilities:
        """True utilities of each replicate's posterior mean predictor on new data; NaN for elpd."""
        parts = data.coefficients, answer.coefficients
        widest = max(part.shape[1] for part in parts)
        truth, fitted = (np.pad(p, ((0, 0), (0, widest - p.shape[1]))) for p in parts)
        fit = LinearFit(answer.intercept, fitted, np.ones(len(truth), dtype=bool))
        mse, mae, *_ = self.dgp.risk(truth, fit)
        total = self.dgp.signal_sd(truth) ** 2 + self.dgp.noise_variance
        known = {"mae": mae, "mse": mse, "rmse": np.sqrt(mse)}
        known |= dict.fromkeys(R2_FORMS, 1 - mse / total)
        unknown = np.full(len(truth), np.nan)
        return np.stack([known.get(name, unknown) for name in UTILITIES], axis=-1)


def _refuse_unknown(name: str, value: str, known: Sequence[str] | dict[str, Any]) -> None:
    if value not in known:
        raise DesignError(f"{name}={value!r} is unknown. Use one of {', '.join(known)}.")


@dataclass(frozen=True)
class LeaveOneOut(_Setting):
    """Exact leave-one-out of a model, and of its difference from others, on the same data.

    The axes of its columns are compared, utility and method.

    Parameters
    ----------
    n_draw
        Draws of the Bayesian bootstrap.
    against
        Other models, from which the model is compared: `half` has the first half of its features
        (none of a single one: the model of a mean), `useless` one more that has no effect.
    """

    n_draw: int = 4000
    against: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for other in self.against:
            _refuse_unknown("against", other, COMPARED_MODELS)

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        data = self.dgp.draw(streams("data"), n_rep, self.n_obs)
        own = self.fit(data, data.features)
        others = [self.fit(data, self._features(kind, data, streams)) for kind in self.against]
        truths = [own.truth, *(own.truth - other.truth for other in others)]
        first, *rest = (fit.leave_one_out.pointwise for fit in (own, *others))
        estimates = estimated(first, rest, streams, n_draw=self.n_draw)
        return standard_error_columns(estimates, np.stack(truths, axis=1))

    def _features(self, kind: str, data: Regression, streams: Streams) -> Features:
        if kind == "half":
            return data.features[:, :, : self.n_feature // 2]
        useless = streams("useless feature").standard_normal(data.y.shape)
        return np.concatenate([data.features, useless[:, :, np.newaxis]], axis=2)


@dataclass(frozen=True)
class ImportanceSampling(_Setting):
    """Leave-one-out by importance sampling and the exact answer.

    The axes of its columns are answer, utility and method. The parameter `n_draw` counts posterior
    draws, and as many of the bootstrap.
    """

    n_draw: int = 4000

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        data = self.dgp.draw(streams("data"), n_rep, self.n_obs)
        features, y, _ = data
        prior, exact = PRIORS[self.prior](features, y), self.fit(data, features)
        draws = posterior_draws(features, y, prior, streams("posterior"), n_draw=self.n_draw)
        sampled = importance_leave_one_out(features, y, draws)
        estimates = [
            estimated(pointwise, [], streams, n_draw=self.n_draw)[0]
            for pointwise in (exact.leave_one_out.pointwise, sampled.pointwise)
        ]
        rows = zip(features, y, exact.leave_one_out.sigma, *prior, strict=True)
        leverage = [leverages(decompose(x, r, Prior(*p)), s).mean() for x, r, s, *p in rows]
        return {
            **standard_error_columns(estimates, exact.truth[:, np.newaxis]),
            "mean_k": sampled.pareto_k.mean(axis=1),
            "share_bad_k": (sampled.pareto_k > K_LIMIT).mean(axis=1),
            "leverage": np.array(leverage),
        }


def axes(against: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Axes of the columns of `LeaveOneOut`."""
    compared = ("model", *(f"less {other}" for other in against))
    return {"compared": compared, "utility": UTILITIES, "method": METHODS}


IMPORTANCE_AXES = {"answer": ANSWERS, "utility": UTILITIES, "method": METHODS}


def estimated(
    first: Pointwise, others: list[Pointwise], streams: Streams, *, n_draw: int
) -> list[tuple[Estimate, ...]]:
    """Estimates by each of `METHODS`: of a model, then of it less each of the others."""
    by_taylor = [taylor(first), *(taylor_difference(first, other) for other in others)]
    drawn = bayesian_bootstrap([first, *others], streams("bootstrap"), n_draw=n_draw)
    return list(zip(by_taylor, drawn, strict=True))


def standard_error_columns(
    estimates: list[tuple[Estimate, ...]], truth: Float[np.ndarray, "rep compared utility"]
) -> Columns:
    """Columns for measures of standard errors, each (replicate, compared, utility, method).

    `distance` is the estimate less its truth, `taylor_over` Taylor's standard error over each, NaN
    over 0.
    """
    value, std_error = (
        np.stack([np.stack([e[part] for e in ways], axis=-1) for ways in estimates], axis=1)
        for part in (0, 1)
    )
    lower, upper = intervals.normal(value, std_error, level=LEVEL)
    return {
        "estimate": value,
        "std_error": std_error,
        "distance": value - truth[..., np.newaxis],
        "lower": lower,
        "upper": upper,
        "taylor_over": std_error[..., :1] / np.where(std_error > 0, std_error, np.nan),
    }


MEASURES = (
    mean("estimate"),
    mean("distance", name="bias"),
    empirical_se("estimate"),
    model_se("std_error"),
    median("std_error"),
    relative_error_model_se("estimate", "std_error", name="relative_error"),
    relative_error_model_se("distance", "std_error", name="relative_error_given_fit"),
    bias_eliminated_coverage("estimate", "lower", "upper", name="coverage"),
    coverage(
        estimate="distance", se="std_error", truth=0.0, level=LEVEL, name="coverage_given_fit"
    ),
    mean("taylor_over"),
    empirical_se("taylor_over", name="scatter"),
)
IMPORTANCE_MEASURES = (
    *(measure for measure in MEASURES if measure.name not in ("mean_taylor_over", "scatter")),
    median("taylor_over"),
    mean("mean_k"),
    mean("share_bad_k"),
    mean("leverage"),
)


# ---------------------------------------------------------------- the report's cells
@dataclass
class CellsConfig:
    """Factors that every study of the report's cells sweeps.

    The report leaves two settings open, and both studies read them alike: p and σ of few
    observations are those of many, and σ under the wide prior is 1.
    """

    n_obs: list[int] = option("observations", at_least=2)
    n_feature: list[int] = option("features", at_least=1)
    noise_sd: list[float] = option("standard deviations of the errors", above=0)
    high_p: list[int] = option("features under a wide prior", at_least=1)
    high_p_n_obs: int = option("observations with that many features", at_least=2)
    high_p_noise_sd: list[float] = option("standard deviations of their errors", above=0)
    n_draw: int = option("draws of the Bayesian bootstrap", at_least=2)
    n_rep: int = option("published replicates in each scenario", at_least=1)


def cells(config: CellsConfig, n_obs: Sequence[int], **common: Any) -> list[LeaveOneOut]:
    """Scenarios under the default prior, then those of many features under the wide one."""
    default = {"n_obs": n_obs, "noise_sd": config.noise_sd, "n_feature": config.n_feature}
    wide = {
        "n_obs": config.high_p_n_obs,
        "noise_sd": config.high_p_noise_sd,
        "n_feature": config.high_p,
        "prior": "wide",
    }
    common |= {"n_draw": config.n_draw}
    return [each for kind in (default, wide) for each in grid(LeaveOneOut, **(kind | common))]
