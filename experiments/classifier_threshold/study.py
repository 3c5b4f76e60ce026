"""Which threshold, set on a few positive cases, keeps a classifier's sensitivity?

A threshold is set on the scores of n positive cases and then used for ever. It is safe where it
does not exceed t*, the largest threshold with the target sensitivity.

Aims         How often is the threshold safe when the empirical quantile is used as it is, when a
             bootstrap bounds it, and when an order statistic does; and what does safety cost?
Data         Independent normal scores of positive cases (mean 1, sd 1).
Estimands    t*, the 5% quantile of the scores, and the true sensitivity of each threshold.
Methods      The empirical quantile; percentile, basic, normal and BCa bootstrap, BCa with each of
             three conventions for bootstrap values equal to the estimate; the Neyman-Pearson
             umbrella; the normal tolerance bound. Bootstraps with infinitely many resamples and
             with 1000, on the same data.
Performance  Coverage (share of safe thresholds), mean true sensitivity, and the spread of both;
             one MCSE of a coverage of 80% is 0.13 points at the published 100,000 replicates.
"""

from typing import Any

from experiments.classifier_threshold.claims import CLAIMS
from experiments.classifier_threshold.figures import figure_1, figure_2, figure_4, figure_coverage
from experiments.classifier_threshold.tables import table_of_coverage
from simstudy.analysis.result import Result
from simstudy.design import grid
from simstudy.documents.scenarios.thresholds import MEASURES, Threshold
from simstudy.options import option, published
from simstudy.study import Rules, Study
from simstudy.tables import in_words


@published(__file__)
class Config:
    """Settings of the study."""

    n_obs: list[int] = option("positive cases in the test set", at_least=2)
    sensitivity: list[float] = option("target to keep", above=0, below=1)
    confidence: list[float] = option("with which to keep it", above=0, below=1)
    n_boot: list[int] = option(
        "resamples of each bootstrap; 0 for infinitely many, exactly", at_least=0
    )
    n_rep: int = option("published replicates in each scenario", at_least=1)


def answer(result: Result) -> str:
    """The rules that keep the sensitivity with the required confidence."""
    rows = result.select(measure="coverage").drop_duplicates("method")
    kept = rows[rows["upper"] >= rows["confidence"]]
    lost = rows[rows["upper"] < rows["confidence"]].sort_values("estimate")

    def says(row: Any) -> str:
        return in_words(row, percent=True, decimals=1)

    named = (f"{row['method']} ({says(row)})" for _, row in kept.iterrows())
    best, worst = lost.iloc[-1], lost.iloc[0]
    return (
        f"Asked for a sensitivity of 95% with a confidence of {rows['confidence'].iloc[0]:.0%}, "
        f"only these rules keep it: {', '.join(named)}. The others keep it in "
        f"{says(worst)} ({worst['method']}) to {says(best)} ({best['method']})."
    )


def study(config: Config) -> Study:
    swept = ("n_obs", "sensitivity", "confidence", "n_boot")
    return Study(
        name="classifier_threshold",
        scenarios=grid(Threshold, **{name: getattr(config, name) for name in swept}),
        measures=MEASURES,
        axes={"method": Threshold.methods},
        block_size=1000,
        n_rep=config.n_rep,
        figures={"coverage_table": figure_coverage, "1": figure_1, "2": figure_2, "4": figure_4},
        tables={"coverage": table_of_coverage},
        labels={"n_boot": {0: "∞"}, "n_obs": "positive cases"},
        answer=answer,
        claims=CLAIMS,
        rules=Rules(common_random_numbers=("confidence", "n_boot")),
    )
