"""Does importance sampling leave the observation out, and what becomes of the standard errors?

The document's software leaves observations out by Pareto-smoothed importance sampling from the
posterior of all of them. Here it is compared with the exact answer.

Aims         Where does importance sampling differ from exact leave-one-out, and why if there are as
             many features as observations?
Data         As in the document: normal features and coefficients, drawn anew for each data set. 50
             observations under the wide prior, and 5 or 10 under the default one.
Estimands    The utility that the fit has on new data.
Methods      Exact leave-one-out, and importance sampling from 4000 independent posterior draws;
             standard errors by Taylor's formula and by the Bayesian bootstrap.
Performance  Bias and coverage of the interval; Pareto k, and the leverage, which is k by theory. At
             250 replicates one MCSE is 1.4 points of a coverage of 95%.
"""

from typing import Any

from experiments.loo_importance.claims import CLAIMS
from experiments.loo_importance.figures import figure_answers, figure_bias, figure_k, figure_simres
from simstudy.design import grid
from simstudy.documents.scenarios.leave_one_out import (
    IMPORTANCE_AXES,
    IMPORTANCE_MEASURES,
    MAY_BE_MISSING,
    ImportanceSampling,
)
from simstudy.options import option, published
from simstudy.study import Rules, Study


@published(__file__)
class Config:
    """Settings of the study."""

    wide_n_obs: int = option("observations under the wide prior", at_least=2)
    wide_n_feature: list[int] = option("features under the wide prior", at_least=1)
    low_n: list[int] = option("observations under the default prior", at_least=2)
    n_feature: list[int] = option("features under the default prior", at_least=1)
    noise_sd: float = option("standard deviation of the errors", above=0)
    n_draw: int = option("posterior draws, and draws of the bootstrap", at_least=25)
    n_rep: int = option("replicates in each scenario", at_least=1)


def study(config: Config) -> Study:
    common: dict[str, Any] = {"noise_sd": config.noise_sd, "n_draw": config.n_draw}
    wide = grid(
        ImportanceSampling,
        n_obs=config.wide_n_obs,
        n_feature=config.wide_n_feature,
        prior="wide",
        **common,
    )
    few = grid(ImportanceSampling, n_obs=config.low_n, n_feature=config.n_feature, **common)
    return Study(
        name="loo_importance",
        scenarios=[*wide, *few],
        axes=IMPORTANCE_AXES,
        measures=IMPORTANCE_MEASURES,
        block_size=5,
        n_rep=config.n_rep,
        rules=Rules(may_be_missing=MAY_BE_MISSING),
        figures={
            "bias": figure_bias,
            "answers": figure_answers,
            "simres_both_answers": figure_simres,
            "pareto_k": figure_k,
        },
        claims=CLAIMS,
    )
