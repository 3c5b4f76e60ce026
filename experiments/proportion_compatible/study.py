"""How well can p-values tell which share of predictions their model's distributions fit?

Each prediction has a p-value that is uniform where its value comes from the predictive
distribution. Means of two kinds of corrected false discovery rates have been proposed as estimates
of the share of such predictions, as a measure of a model that needs no other model to compare with.

Aims         What are their bias, spread and error, as printed and clipped, in either order, and
             of standard estimators; what do dependence and weak alternatives do to them; and what
             does a predictive distribution that lacks the residual noise?
Data         Two-sided p-values of normal scores: standard where compatible, else shifted by 1.5 to
             6 predictive standard deviations; independent, with one common factor or with one for
             each group of 12. Or all too wide: predictive distributions without residual noise.
Estimands    The share of compatible predictions: 0, 1/4, 1/2, 3/4, 1.
Methods      Mean CFDR and mean RFDR in the order of the NFDR and of p, the first also clipped at 1;
             Storey's, its smoother and bootstrap; Jiang & Doerge; Pounds & Cheng; Langaas et al.
Performance  Bias, empirical standard error, root mean squared error; the mean of Fisher's combined
             p-value. At 10,000 replicates the MCSE of a bias is a hundredth of the spread.
"""

from typing import Any

from experiments._answers import span
from experiments.proportion_compatible.claims import CLAIMS
from experiments.proportion_compatible.figures import FIGURES
from simstudy.analysis.result import Result
from simstudy.design import grid
from simstudy.documents.scenarios.proportions import MEASURES, METHODS, EstimatedProportion
from simstudy.options import option, published
from simstudy.study import Study


@published(__file__)
class Config:
    """Settings of the study."""

    n_prediction: int = option("predictions in each list", at_least=1)
    other_n: list[int] = option("other numbers of them, where independent", at_least=1)
    null_share: list[float] = option(
        "shares of compatible predictions below 1", at_least=0, below=1
    )
    shift: list[float] = option(
        "mean scores of the others, in predictive standard deviations", at_least=0, at_most=30
    )
    shift_of_other_n: float = option("the same, for the other numbers", at_least=0, at_most=30)
    correlation: float = option("of dependent scores", above=0, below=1)
    n_together: list[int] = option("dependent neighbours; 0 for all", at_least=0)
    spread: list[float] = option(
        "standard deviations of scores where residual noise is left out", above=1, at_most=100
    )
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result: Result) -> str:
    """The bias of three estimators where half of the predictions are compatible."""
    half = {"null_share": 0.5, "n_prediction": 168}
    names = {"cfdr": "CFDR", "rfdr": "RFDR", "storey": "Storey's estimator"}
    each = (
        f"{shown} by {span(result, 'bias', 2, percent=False, estimator=name, **half)}"
        for name, shown in names.items()
    )
    return (
        "Not well: if half of 168 predictions are compatible, the biases over all alternatives are "
        f"{', '.join(each)}. No estimator has the smallest error everywhere."
    )


def study(config: Config) -> Study:
    return Study(
        name="proportion_compatible",
        scenarios=_scenarios(config),
        methods=METHODS,
        axes={"estimator": tuple(METHODS)},
        measures=MEASURES,
        block_size=250,
        n_rep=config.n_rep,
        figures=FIGURES,
        answer=answer,
        claims=CLAIMS,
    )


def _scenarios(config: Config) -> list[EstimatedProportion]:
    """Each share but 1 with each shift; without others there is nothing to shift."""
    kinds: list[dict[str, Any]] = [
        {"correlation": 0.0},
        {"correlation": config.correlation, "n_together": config.n_together},
    ]
    found: list[EstimatedProportion] = []
    for dependence in kinds:
        found += grid(EstimatedProportion, n_prediction=config.n_prediction, **dependence)
        found += grid(
            EstimatedProportion,
            n_prediction=config.n_prediction,
            null_share=config.null_share,
            shift=config.shift,
            **dependence,
        )
    found += grid(EstimatedProportion, n_prediction=config.other_n)
    found += grid(
        EstimatedProportion,
        n_prediction=config.other_n,
        null_share=config.null_share,
        shift=config.shift_of_other_n,
    )
    found += grid(
        EstimatedProportion, n_prediction=config.n_prediction, null_share=0.0, spread=config.spread
    )
    return found
