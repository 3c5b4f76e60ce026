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

from experiments._answers import span
from experiments.loo_importance.claims import CLAIMS
from experiments.loo_importance.figures import figure_answers, figure_bias, figure_k, figure_simres
from simstudy.analysis.result import Result
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


def answer(result: Result) -> str:
    """Observations with a large Pareto k, and coverage of the expected log density."""
    few, many = [5], [50, 100]
    large_k = [span(result, "mean_share_bad_k", n_obs=50, n_feature=p) for p in (few, many)]
    elpd: dict[str, Any] = {"n_obs": 50, "n_feature": many, "utility": "elpd", "method": "taylor"}
    by_exact, by_importance = (
        span(result, "coverage", answer=way, **elpd) for way in ("exact", "importance")
    )
    return (
        f"Only while Pareto k is small. Of 50 observations {large_k[0]} have a k above 0.7 with 5 "
        f"features, and {large_k[1]} with 50 and 100. There 95% intervals of the log density cover "
        f"{by_importance} of the time by importance sampling, and {by_exact} by the exact answer."
    )


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
        answer=answer,
        claims=CLAIMS,
    )
