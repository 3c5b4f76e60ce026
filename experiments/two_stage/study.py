"""How often does the two-stage trial reject, when its null is true and when it is false?

A first sample sets the bound mu0 = mean1 + k se1; a second sample of n2 tests the null that the
mean is at least mu0. Whether that null is true is itself random.

Aims         Does the conditional law of the test statistic hold; what are power and type-I error
             by k and n2, and how large is the error when the truth lies exactly on the bound?
Data         Independent normal observations with known variance (mean 3, variance 2). Every
             observation is drawn at some second stages, the sample means by their own law at the
             others, since the trial uses only these. In addition to the grid, samples of other
             sizes in the same ratio, and a very large first sample.
Estimands    The mean; more to the point, the two conditional rejection probabilities.
Methods      The test that rejects below the alpha-quantile of the statistic given a true null.
Performance  Power (given that the null is false), type-I error (given that it is true), and the
             share of replicates in which the null is false. At 100000 replicates the MCSE is at
             most 0.2 points of power; of type-I error it is 0.1 points at k = 0 and 0.9 at
             k = 2.5, where few replicates have a true null.
"""

from dataclasses import replace

from experiments._answers import span
from experiments.two_stage.claims import CLAIMS
from experiments.two_stage.figures import figure_1, figure_1b, figure_1c, figure_boundary
from experiments.two_stage.trials import large_first_stages, other_sizes
from simstudy.analysis.result import Result
from simstudy.design import grid
from simstudy.documents.scenarios.two_stage import MEASURES, TwoStage
from simstudy.options import option, published
from simstudy.study import Study


@published(__file__)
class Config:
    """Settings of the study."""

    k: list[float] = option(
        "standard errors from the first mean to the bound", at_least=-30, at_most=30
    )
    n1: list[int] = option("observations in the first stage", at_least=1)
    n2: list[int] = option("observations in the second stage", at_least=1)
    other_n1: list[int] = option("more first-stage sizes, at the same ratios n2/n1", at_least=1)
    large_n1: list[int] = option("first stages so large that the mean is known", at_least=1)
    alpha: list[float] = option("size of the test given a true null", above=0, below=1)
    draws: str = option(
        "every observation, or the sample means by their own law", one_of=("raw", "sufficient")
    )
    raw_n2: list[int] = option(
        "second stages with every observation drawn; sample means by their law at others",
        at_least=1,
    )
    n_rep: int = option("published replicates in each scenario", at_least=1)


def answer(result: Result) -> str:
    """How often true and false nulls are rejected."""
    every, power = (span(result, measure, n1=100) for measure in ("type_1_error", "power"))
    return (
        f"With α = 5% and n1 = 100 the trial rejects true nulls in {every} of cases, for any k. It "
        f"rejects false nulls in {power}: more often for larger k and for a larger second stage."
    )


def study(config: Config) -> Study:
    trials = [
        trial if trial.n2 in config.raw_n2 else replace(trial, draws="sufficient")
        for trial in grid(
            TwoStage, k=config.k, n1=config.n1, n2=config.n2, alpha=config.alpha, draws=config.draws
        )
    ]
    beside = other_sizes(trials, config.other_n1) + large_first_stages(trials, config.large_n1)
    return Study(
        name="two_stage",
        scenarios=[*trials, *(trial for trial in beside if trial not in trials)],
        measures=MEASURES,
        block_size=1000,
        n_rep=config.n_rep,
        figures={"boundary": figure_boundary, "1": figure_1, "1B": figure_1b, "1C": figure_1c},
        answer=answer,
        claims=CLAIMS,
    )
