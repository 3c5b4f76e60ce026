"""Does the two-stage trial work for a forest that predicts house prices, tried by its deviance?

The document names this example, and skewness as a limit of its method.

Aims         How skewed may positive responses be before power, type-I error and the share of
             false nulls leave their design values?
Data         Prices: the exponential of a linear signal in normal noise, whose log has a standard
             deviation of 0.25 (nearly normal), 0.5 or 1 (skewed as prices are).
Estimands    The true metric of each fitted model, from 10000 fresh observations.
Methods      A random forest, and least squares of the log price, each tried by MAE, MAPE, Tweedie
             deviance of power 1.5, and R²; bootstrap standard errors studentized or not.
Performance  Power, type-I error and share of false nulls by size of the test sample. At 3000
             replicates the MCSE is 0.5 points of the share, 0.8 of power, and about 1.6 of
             type-I error, which has few true nulls.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from experiments import regression_trial_models as plain
from experiments._answers import span
from experiments._model_trials import TrialConfig, model_trial_study
from experiments._yardsticks import JUST_AS_WELL
from simstudy.analysis.result import Result
from simstudy.claims import (
    Claim,
    Finding,
    WrongValue,
    cautious_binomial_error,
    decide,
    mc_margin,
)
from simstudy.design.plan import factors_of
from simstudy.documents.dgps.prices import Prices
from simstudy.documents.scenarios.models import Model
from simstudy.documents.stats.models.metrics import MAPE, tweedie_deviance
from simstudy.lazy import special
from simstudy.options import option, published
from simstudy.study import Study

METRICS = plain.METRICS | {metric.name: metric for metric in (MAPE, tweedie_deviance(1.5))}


def of_log_price(make: Callable[[], Any]) -> Any:
    """An estimator of the log price, whose predictions are prices."""
    import numpy as np
    from sklearn.compose import TransformedTargetRegressor

    return TransformedTargetRegressor(make(), func=np.log, inverse_func=np.exp)


MODELS = plain.MODELS | {
    f"log_{make.__name__}": Model(f"log_{make.__name__}", partial(of_log_price, make))
    for make in (plain.least_squares, plain.gradient_boosting)
}


@published(__file__)
class Config(TrialConfig):
    """Settings of the study."""

    spreads: list[float] = option("standard deviation of the log price", above=0, at_most=3)
    models: list[str] = option("what is on trial", one_of=tuple(MODELS))
    metrics: list[str] = option("what it is tried by", one_of=tuple(METRICS))


def answer(result: Result) -> str:
    """Shares of false nulls and power by the spread of prices."""
    at: dict[str, Any] = {
        "method": "studentized",
        "metric": "tweedie_1.5",
        "model": "random_forest",
    }
    spreads = ["Prices(spread=0.25)", "Prices(spread=1)"]
    false, power = (
        [span(result, measure, 0, dgp=dgp, **at) for dgp in spreads]
        for measure in ("null_is_false", "power")
    )
    return (
        f"By the deviance of a forest {false[0]} of nulls are false if prices spread little "
        f"(designed: 93%), and the power is {power[0]} where 80% is designed. If the log of prices "
        f"has a standard deviation of 1 they are {false[1]} and {power[1]}."
    )


def study(config: Config) -> Study:
    return model_trial_study(
        "regression_trial_prices",
        dgps={f"spread of log price {spread:g}": Prices(spread) for spread in config.spreads},
        models=[MODELS[name] for name in config.models],
        metrics=[METRICS[name] for name in config.metrics],
        answer=answer,
        claims=CLAIMS,
        **config.trial(),
    )


# ---------------------------------------------------------------- claims
def _forest(result: Result, spread: float, n_test: int) -> Finding:
    """Share of false nulls of a forest tried by its Tweedie deviance."""
    dgp = factors_of(result.scenario(dgp=Prices(spread)))["dgp"]
    cell = {"dgp": dgp, "n_test": str(n_test), "metric": "tweedie_1.5"}
    cell |= {"model": "random_forest", "method": "studentized"}
    power = result.row("power", **cell)
    detail = f"power {power['estimate']:.3f} ± {2 * power['mcse']:.3f}; n_test={n_test}"
    row = result.row("null_is_false", **cell)
    error = max(row["mcse"], float(cautious_binomial_error(row["estimate"], row["n_rep"])))
    return Finding(row["estimate"], error, detail, row["n_rep"])


NOMINAL = float(special.ndtr(1.5))  # share of false nulls at k = 1.5


def _skewness_costs(result: Result, spread: float = 1.0, n_test: int = 50) -> Finding:
    """Whether the share of false nulls falls short of its design, beyond "just as well"."""
    found = _forest(result, spread, n_test)
    reach = mc_margin(found.mcse, found.n_rep)
    said = f"share of false nulls {found.value:.3f}; {found.detail}"
    return decide(NOMINAL - JUST_AS_WELL - found.value, reach, said)


CLAIMS = (
    Claim(
        "skewness limits",
        "Extreme skewness limits the quality of the estimate",
        "section 4",
        _skewness_costs,
        published=True,
        wrong_value=WrongValue(
            "nearly normal prices", partial(_skewness_costs, spread=0.25, n_test=200)
        ),
        criterion="by more than 3 points",
        note="Lognormal prices with a spread of 1 in logs, 50 of them in the test sample. What a "
        "discontinuous statistic does is not tried.",
    ),
    Claim(
        "forest and deviance",
        "The trial works just as well for a random forest that predicts "
        "house prices and its Tweedie deviance (nearly normal prices)",
        "section 4",
        partial(_forest, spread=0.25, n_test=200),
        published=NOMINAL,
        difference=JUST_AS_WELL,
        wrong_value=WrongValue("skewed prices", partial(_forest, spread=1.0, n_test=50)),
    ),
    Claim(
        "forest and deviance, skewed",
        "The same, for skewed prices and a small test sample",
        "section 4",
        partial(_forest, spread=1.0, n_test=50),
        published=NOMINAL,
        difference=JUST_AS_WELL,
        expected="differs",
        scored=False,  # the document names extreme skewness as a limit: "skewness limits"
        note="Skewness, which the document names as a limit, costs points of the share of false "
        "nulls, and the studentized adjustment repairs only part of them.",
    ),
)
