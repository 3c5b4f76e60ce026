"""How many positive cases does a trial need to show a classifier's sensitivity?

With true sensitivity k the trial should reject the null that it is at most l = k - margin. The
document takes the sample size from two normal approximations and the test from one of them.

Aims         What sizes does the formula give, which power and size does the trial then really have,
             and where is the least n that reaches the power?
Data         True positives among n positive cases, binomial.
Estimands    Power at k and size at l.
Methods      The document's score test; the exact binomial test; the mid-p test; each at the n of
             the normal approximation, and at sizes around one of them.
Performance  Power and size with their exact binomial values; one MCSE of a power of 80% is 0.06
             points at the published 500,000 replicates.
"""

from experiments._answers import span
from experiments.classifier_sample_size.claims import CLAIMS
from experiments.classifier_sample_size.figures import (
    figure_5,
    figure_6,
    figure_6_deviation,
    figure_sawtooth,
)
from experiments.classifier_sample_size.tables import table_of_designs
from simstudy.analysis.result import Result
from simstudy.design import grid
from simstudy.documents.scenarios.thresholds import TRIAL_MEASURES, Trial
from simstudy.documents.stats.classifier_trial import RULES
from simstudy.options import option, published
from simstudy.study import Study


@published(__file__)
class Config:
    """Settings of the study."""

    sensitivity: list[float] = option("true sensitivity k", above=0, below=1)
    margin: list[float] = option("from the null up to k", above=0, below=1)
    beta: list[float] = option("type-II error asked for", above=0, below=0.5)
    alpha: list[float] = option("nominal size", above=0, below=0.5)
    around: list[int] = option("further sizes for the last design of the grid", at_least=1)
    n_rep: int = option("published replicates in each scenario", at_least=1)


def answer(result: Result) -> str:
    """Power and size at the sample size of the formula."""
    power, exact = (
        span(result, "power", n_obs=0, beta=0.2, rule=rule) for rule in ("score", "exact")
    )
    size, exact_size = (span(result, "size", n_obs=0, rule=rule) for rule in ("score", "exact"))
    return (
        f"The size of the formula gives the score test a power of {power} for a target of 80%, and "
        f"it rejects true nulls in {size} for 5%. The exact test has {exact} and {exact_size}."
    )


def study(config: Config) -> Study:
    about = {name: getattr(config, name) for name in ("sensitivity", "beta", "margin", "alpha")}
    designs = grid(Trial, **about)
    last = {name: getattr(designs[-1], name) for name in about}
    sizes = grid(Trial, **last, n_obs=config.around)
    return Study(
        name="classifier_sample_size",
        scenarios=designs + sizes,
        measures=TRIAL_MEASURES,
        axes={"rule": RULES},
        block_size=5000,
        n_rep=config.n_rep,
        figures={
            "sawtooth": figure_sawtooth,
            "5": figure_5,
            "6": figure_6,
            "6_deviation": figure_6_deviation,
        },
        tables={"designs": table_of_designs},
        labels={"n_obs": {0: "by formula"}},
        answer=answer,
        claims=CLAIMS,
    )
