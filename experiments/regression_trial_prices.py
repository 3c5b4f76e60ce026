"""Does the two-stage trial work for a forest that predicts house prices, tried by its deviance?

The document names this example, and skewness as a limit of its method.

Aims         How skewed may positive responses be before power, type-I error and the share of
             false nulls leave their design values?
Data         Prices: the exponential of a linear signal in normal noise, whose log has a standard
             deviation of 0.25 (nearly normal), 0.5 or 1 (skewed as prices are).
Estimands    The true metric of each fitted model, from 10000 fresh observations.
Methods      A random forest, and least squares of the log price, each tried by MAE, MAPE, Tweedie
             deviance of power 1.5, and R²; bootstrap standard errors studentized or not.
Performance  Power, type-I error and share of false nulls by size of the test sample. At 1000
             replicates the MCSE is 0.8 points of the share, 1.3 of power, and about 2.7 of
             type-I error, which has few true nulls.
"""

from dataclasses import dataclass
from typing import Any

from experiments._model_trial import (
    METRICS,
    MODELS,
    Prices,
    TrialConfig,
    model_study,
)
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced
from simstudy.identity.names import identity
from simstudy.lazy.scipy import special
from simstudy.options import option, published
from simstudy.study import Study


@published(__file__)
@dataclass
class Config(TrialConfig):
    """What the study sweeps."""

    spreads: list[float] = option("standard deviation of the log price", above=0, at_most=3)
    models: list[str] = option("what is on trial", one_of=MODELS)
    metrics: list[str] = option("what it is tried by", one_of=tuple(METRICS))


def study(config: Config) -> Study:
    return model_study(
        "regression_trial_prices",
        config,
        dgps=[(f"spread of log price {one:g}", Prices(one)) for one in config.spreads],
        models=config.models,
        metrics=config.metrics,
        claims=CLAIMS,
    )


# ---------------------------------------------------------------- claims
def _forest(spread: float, n_test: int) -> Any:
    """Share of false nulls of a forest tried by its Tweedie deviance."""

    def reproduce(result: Result) -> Reproduced:
        name = identity(Prices(spread))
        cell = {"dgp": name, "n_test": str(n_test), "metric": "tweedie_1.5"}
        cell |= {"model": "random_forest", "method": "studentized"}
        row, power = (result.value(one, **cell) for one in ("null_is_false", "power"))
        detail = f"power {power['estimate']:.3f} ± {2 * power['mcse']:.3f}"
        return Reproduced(row["estimate"], row["mcse"], f"{detail}; n_test={n_test}")

    return reproduce


NOMINAL = float(special.ndtr(1.5))  # share of false nulls at k = 1.5
NEAR = 0.02  # granted to "just as well"
CLAIMS = (
    Claim(
        "forest and deviance", "The trial works just as well for a random forest that predicts "
        "house prices and its Tweedie deviance (nearly normal prices)", "section 4",
        _forest(0.25, 200), published=NOMINAL, tolerance=NEAR,
    ),
    Claim(
        "forest and deviance, skewed", "The same, for skewed prices and a small test sample",
        "section 4",
        _forest(1.0, 50), published=NOMINAL, tolerance=NEAR, expected="differs",
        note="Skewness, which the document names as a limit, costs points of the share of false "
        "nulls, and the studentized adjustment repairs only part of them.",
    ),
)  # fmt: skip
