"""Does an accuracy check keep its error rates for scores of any kind, and on the same prompts?

The document records the mean score of n prompts as a reference, and fails a check of n prompts
whose mean is worse by Φ⁻¹(1 - alpha)·√(2σ²/n): a z test with σ as known. It asks nothing of the
distribution of scores, and says nothing of prompts that both runs share.

Aims         How far are alpha and beta from 5% and 20% by distribution and n; what does a wrong or
             an estimated σ do; what do shared prompts do to the test, and what do they save a test
             that uses them; what does a lucky or unlucky reference do?
Data         Populations of 16384 prompts with pairs of scores: normal; right or wrong; bounded and
             skewed, as ROUGE; lognormal and the lower the better, as perplexity. Both runs draw
             the same prompts, with correlations of up to 0.95 between their scores; or the
             reference is fixed at a quantile of its distribution.
Estimands    Failures of a check that is not worse (alpha), and of one that is worse by the effect
             that the document's formula calls detectable (1 - beta).
Methods      z with the right σ, with 0.8 and 1.25 of it, and with that of a pilot run of 32 or 256
             scores; Student's t; z with the known standard deviation of paired differences, and
             the paired t.
Performance  Rates of failure, and how often a pilot run moves the level by more than half of it.
             At 400,000 replicates the MCSE is 0.03 points of 5% and 0.06 of 80%.
"""

from typing import Any

from experiments._answers import span
from experiments.accuracy_scores.claims import CLAIMS
from experiments.accuracy_scores.figures import FIGURES, SCORES
from simstudy.analysis.result import Result
from simstudy.design import grid, zipped
from simstudy.documents.scenarios.score_checks import MEASURES, METHODS, ScoreCheck
from simstudy.documents.stats.accuracy.design import detectable_effect, sample_size
from simstudy.options import option, published
from simstudy.study import Rules, Study


@published(__file__)
class Config:
    """Settings of the study."""

    scores: list[str] = option("distribution of the scores", one_of=tuple(SCORES))
    n: list[int] = option("scores in each run", at_least=2)
    correlation: list[float] = option(
        "of the scores of one prompt in both runs", at_least=0, below=1
    )
    saved_from: int = option("n of the z test whose power paired tests are to reach", at_least=4)
    reference: list[float] = option("quantiles at which the reference is fixed", above=0, below=1)
    n_with_reference: list[int] = option("scores in each run beside them", at_least=2)
    alpha: float = option("level of the tests", above=0, below=0.5)
    beta: float = option("type-II error of the effect", above=0, below=0.5)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result: Result) -> list[str]:
    """Failing checks of an unchanged model: by correlation of the scores, and by luck."""
    null: dict[str, Any] = {"detectable_at": 0, "same_prompts": True}
    by_z, by_pairs = (
        span(result, "rejection_rate", method=method, correlation=correlation, **null)
        for method, correlation in (("z", 0.0), ("paired_t", 0.5))
    )
    correlated = span(result, "rejection_rate", method="z", correlation=0.5, **null)
    lucky = span(result, "rejection_rate", method="z", detectable_at=0, reference=0.95)
    return [
        f"With α = 5% and uncorrelated scores of any kind the check fails an unchanged model in "
        f"{by_z} of cases. If the two scores of a prompt have correlation 0.5 it fails "
        f"{correlated}; the paired t test then fails {by_pairs}.",
        f"For a reference luckier than 95% of references it fails {lucky}.",
    ]


def study(config: Config) -> Study:
    return Study(
        name="accuracy_scores",
        scenarios=list(dict.fromkeys([*_redrawn(config), *_saving(config), *_fixed(config)])),
        axes={"method": METHODS},
        measures=MEASURES,
        rules=Rules(may_be_missing=("reject",)),
        block_size=10_000,
        n_rep=config.n_rep,
        figures=FIGURES,
        answer=answer,
        claims=CLAIMS,
    )


def _redrawn(config: Config) -> list[ScoreCheck]:
    """Every n, without an effect and with the one that it detects."""
    sizes = [n for n in config.n for _ in range(2)]
    effects = [at for n in config.n for at in (0, n)]
    return grid(
        ScoreCheck,
        zipped(n=sizes, detectable_at=effects),
        correlation=config.correlation,
        **_common(config),
    )


def _saving(config: Config) -> list[ScoreCheck]:
    """The n of a paired test, by the formula, for the effect that `saved_from` detects."""
    errors = config.alpha, config.beta
    effect = detectable_effect(*errors, 1.0, config.saved_from)
    pairs = [
        (rho, int(sample_size(effect, *errors, 1.0, correlation=rho))) for rho in config.correlation
    ]
    return grid(
        ScoreCheck,
        zipped(correlation=[rho for rho, _ in pairs], n=[n for _, n in pairs]),
        detectable_at=[0, config.saved_from],
        **_common(config),
    )


def _fixed(config: Config) -> list[ScoreCheck]:
    return grid(
        ScoreCheck,
        n=config.n_with_reference,
        same_prompts=False,
        reference=config.reference,
        **_common(config),
    )


def _common(config: Config) -> dict[str, Any]:
    scores = [SCORES[name] for name in config.scores]
    return {"scores": scores, "alpha": config.alpha, "beta": config.beta}
