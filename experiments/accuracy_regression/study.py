"""Does a test of an accuracy regression keep its α and β, and for which reference and prompts?

The accuracy of a model on n prompts is on record; it fails a check on as many prompts if that is
lower by more than a z test with σ = 1/2 allows. The document takes the reference and the check as
independent samples of normal means, whatever the accuracy is.

Aims         What are the test's error rates on the lattice of accuracies; averaged over references
             and given one; on the same prompts; with the σ that is assumed, true or estimated; and
             what would other tests do?
Data         Right and wrong answers of a reference and a check. Different prompts: every number of
             prompts at every accuracy. The same prompts, with correlated answers: the largest
             number. One reference that is used again, at quantiles of its binomial from unlucky to
             lucky: the least and the largest number, accuracy one half.
Estimands    The share of checks that fail where nothing has changed, and where the model is worse
             by the document's own detectable effect θ(n).
Methods      The document's z test with σ = 1/2, failing at the threshold or strictly below, as
             computed or rounded to a whole number of answers; with the true σ; Welch's t test;
             the pooled z; Fisher's exact test, its mid-p and Boschloo's; and of prompts lost and
             gained: McNemar's exact test, its mid-p, the paired z and t, which hold for different
             prompts too, paired at random.
Performance  The share that fails, with its exact value by enumeration, and the spread of the
             difference of accuracies. At 500,000 replicates the MCSE is 0.03 points of a share of
             5% and 0.06 of one of 80%.
"""

from typing import Any

from experiments._answers import most
from experiments.accuracy_regression.claims import CLAIMS
from experiments.accuracy_regression.figures import FIGURES
from simstudy.analysis.result import Result
from simstudy.design import grid
from simstudy.documents.scenarios.accuracy import MEASURES, METHODS, AccuracyCheck
from simstudy.options import option, published
from simstudy.study import Study
from simstudy.tables import in_words

ONE_HALF = 0.5  # accuracy of reused references, for which σ = 1/2 is true


@published(__file__)
class Config:
    """Settings of the study."""

    n: list[int] = option("prompts of a reference, and of a check", at_least=2)
    accuracy: list[float] = option("probability of a right answer, on record", above=0, below=1)
    effect: list[float] = option("by how much a check is worse, in units of θ(n)", at_least=0)
    correlation: list[float] = option(
        "of the two answers to a prompt, with the largest n", above=0, below=1
    )
    paired_accuracy: list[float] = option("accuracies with these correlations", above=0, below=1)
    quantile: list[float] = option(
        "where a reference lies that is used again, with the least and the largest n and an "
        "accuracy of one half",
        above=0,
        below=1,
    )
    alpha: float = option("type-I error asked for", above=0, below=0.5)
    beta: float = option("type-II error asked for", above=0, below=0.5)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result: Result) -> list[str]:
    """The rejection rate on average over references, for one reference, and with correlation."""
    null: dict[str, Any] = {"measure": "rejection_rate", "method": "document", "effect": 0.0}
    average = most(result.select(correlation=0.0, quantile=0.0, **null))
    one = in_words(
        result.select(correlation=0.0, quantile=[0.025, 0.975], **null), percent=True, decimals=1
    )
    alike = most(result.select(correlation=[0.2, 0.4, 0.6, 0.8], quantile=0.0, **null))
    return [
        f"On average over references it keeps α = 5% if answers are independent: at most "
        f"{average} of true nulls are rejected. If answers of the models are correlated it "
        f"rejects less (at most {alike}).",
        f"For the one reference that you have it does not: depending on its luck it rejects {one}.",
    ]


def study(config: Config) -> Study:
    return Study(
        name="accuracy_regression",
        scenarios=_scenarios(config),
        axes={"method": METHODS},
        measures=MEASURES,
        block_size=10_000,
        n_rep=config.n_rep,
        figures=FIGURES,
        answer=answer,
        claims=CLAIMS,
    )


def _scenarios(config: Config) -> list[AccuracyCheck]:
    """Different prompts, then the same, then one reference."""
    few, many = min(config.n), max(config.n)
    about: dict[str, Any]
    about = {"effect": config.effect, "alpha": config.alpha, "beta": config.beta}
    same = about | {"accuracy": config.paired_accuracy, "correlation": config.correlation}
    kept = about | {"accuracy": ONE_HALF, "quantile": config.quantile}
    return [
        *grid(AccuracyCheck, n=config.n, accuracy=config.accuracy, **about),
        *grid(AccuracyCheck, n=many, **same),
        *grid(AccuracyCheck, n=sorted({few, many}), **kept),
    ]
