"""Do intervals from resampled p-values cover the share of compatible predictions?

Estimates of that share are usually reported without an interval. The simplest interval draws the
p-values with replacement and estimates the share again.

Aims         For which estimators do percentile intervals cover, and where do they miss?
Data         168 two-sided p-values of normal scores: standard where compatible, else shifted by
             three predictive standard deviations; independent, or with one common factor.
Estimands    The share of compatible predictions: 1/4, 1/2, 3/4, 1.
Methods      90% percentile intervals of 99 resamples about each estimator that is fast enough: all
             but that of Langaas et al.
Performance  Coverage, misses on either side, and width; one MCSE is 0.9 points of 90% at 1000
             replicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from experiments._answers import span
from experiments.proportion_compatible.figures import ORDERED_WORDS, WORDS
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import Claim, Finding, WrongAlternative, decide, mc_limit
from simstudy.design import grid
from simstudy.design.plan import factors_of
from simstudy.documents.scenarios.proportions import (
    INTERVAL_MEASURES,
    INTERVAL_METHODS,
    ProportionInterval,
)
from simstudy.figures import captions, dots_plot, in_order, theme
from simstudy.lazy import ggplot, special
from simstudy.options import option, published
from simstudy.study import Study

CORRECTED = ("cfdr", "cfdr_clipped")


@published(__file__)
class Config:
    """Settings of the study."""

    n_prediction: int = option("predictions in each list", at_least=1)
    null_share: list[float] = option("shares of compatible predictions", at_least=0, at_most=1)
    shift: float = option(
        "mean score of the others, in predictive standard deviations", at_least=0, at_most=30
    )
    correlation: list[float] = option("of the scores, by a common factor", at_least=0, below=1)
    n_boot: int = option("resamples of each list", at_least=2)
    level: float = option("nominal coverage", above=0, below=1)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result: Result) -> str:
    """Coverage of 90% intervals, for independent and for dependent p-values."""
    storey, dependent, corrected = (
        span(result, "coverage", ".0%", estimator=estimators, correlation=correlation)
        for estimators, correlation in (
            (["storey", "jiang_doerge"], 0.0),
            (["storey", "jiang_doerge"], 0.3),
            (["rfdr", *CORRECTED], 0.0),
        )
    )
    return (
        f"90% intervals about Storey's and Jiang and Doerge's estimates cover the share in "
        f"{storey} of cases if p-values are independent, and in {dependent} if they have a common "
        f"factor. Those about the RFDR and the CFDR cover it in {corrected}."
    )


def study(config: Config) -> Study:
    swept = ("n_prediction", "null_share", "shift", "correlation", "n_boot", "level")
    return Study(
        name="proportion_intervals",
        scenarios=grid(ProportionInterval, **{name: getattr(config, name) for name in swept}),
        methods=INTERVAL_METHODS,
        axes={"estimator": tuple(INTERVAL_METHODS)},
        measures=INTERVAL_MEASURES,
        block_size=100,
        n_rep=config.n_rep,
        figures={
            "coverage": partial(measure_figure, measure="coverage"),
            "width": partial(measure_figure, measure="interval_width"),
        },
        answer=answer,
        claims=CLAIMS,
    )


# ---------------------------------------------------------------- figures
def measure_figure(result: Result, measure: str) -> ggplot:
    """Coverage or width by estimator, share and dependence."""
    said = WORDS | {name: ORDERED_WORDS[name] for name in ("cfdr",)}
    summary = result.summary[result.summary["estimator"].isin(list(said))]
    coverage = summary[summary["measure"] == "coverage"]
    ordered = coverage.groupby("estimator")["estimate"].mean().sort_values(ascending=False)
    words = {name: said[name] for name in ordered.index}
    rows = summary.assign(estimator=in_order(summary["estimator"], words))
    kinds = [f"ρ = {value:g}" if value else "independent" for value in rows["correlation"]]
    rows = rows.assign(scores=in_order(kinds, {kind: kind for kind in dict.fromkeys(kinds)}))
    first: ProportionInterval = result.plan.scenarios[0]
    figure = dots_plot(
        rows.drop(columns="correlation").rename(columns={"null_share": "compatible"}),
        measure=measure,
        y="estimator",
        color="scores",
        rows="compatible",
        nominal=first.level if measure == "coverage" else None,
    )
    return figure + captions.titles(
        captions.BARS,
        f"{first.level:.0%} percentile intervals of {first.n_boot} resamples, lists of "
        f"{first.n_prediction} p-values. Estimators in the order of their mean coverage.",
        "By NFDR; the order by p gives nearly the same.",
        *([captions.dashed("coverage asked for")] if measure == "coverage" else []),
        *captions.notes(rows),
        size=(theme.FULL_WIDTH, theme.TALLEST),
    )


# ---------------------------------------------------------------- claims
def _cover(
    result: Result, estimators: Sequence[str], *, at_least: bool, dependent: bool = False
) -> Finding:
    """Whether coverage is at least nominal, or below it, for all of some estimators.

    For p-values of which some are not compatible, independent or with a common factor.
    """
    trials = [t for t in result.plan.scenarios if bool(t.correlation) == dependent]
    trials = [t for t in trials if t.null_share < 1]
    if not trials:
        raise LookupError("p-values of this dependence with a share below 1")
    z, said = [], []
    for name in estimators:
        rows = [result.row("coverage", estimator=name, **factors_of(t)) for t in trials]
        found, n_rep = (np.array([row[what] for row in rows]) for what in ("estimate", "n_rep"))
        z += list(_deviation(found, n_rep, trials[0].level) * (1 if at_least else -1))
        said.append(f"{name} {', '.join(f'{share:.3f}' for share in found)}")
    shares = ", ".join(f"{trial.null_share:g}" for trial in trials)
    return decide(z, mc_limit(len(z)), f"{'; '.join(said)} at shares {shares}")


def _deviation(
    share: Float[np.ndarray, " trial"], n_rep: Float[np.ndarray, " trial"], level: float
) -> Float[np.ndarray, " trial"]:
    """How far a share is from its expectation, in standard errors, by the exact binomial tail.

    A normal approximation would call 0 of 3 replicates far from 0.9, which is wrong.
    """
    hits = np.rint(share * n_rep)
    below = special.ndtri(special.bdtr(hits, n_rep, level))
    above = -special.ndtri(special.betainc(np.maximum(hits, 1), n_rep - hits + 1, level))
    return np.where(share < level, np.minimum(below, 0.0), np.where(hits, above, 0.0))


CLAIMS = (
    Claim(
        "more than nominal",
        "Where the bias is small, resampling covers too often: it takes the number of compatible "
        "predictions for random, and it is not",
        "derived: the variance of a sum given the numbers of both kinds is below that of a sample",
        partial(_cover, estimators=("storey",), at_least=True),
        published=True,
        scored=False,
        rival=WrongAlternative(
            "with a common factor",
            partial(_cover, estimators=("storey",), at_least=True, dependent=True),
        ),
        note="Of Storey's estimate; its variance without the numbers is larger by the square of "
        "the difference of both kinds' means, times share and rest.",
    ),
    Claim(
        "biased estimators do not cover",
        "Intervals about the mean CFDR, printed or clipped, do not cover the share",
        "derived: resampling does not know of a bias",
        partial(_cover, estimators=CORRECTED, at_least=False),
        published=True,
        scored=False,
        rival=WrongAlternative(
            "about Storey's estimate", partial(_cover, estimators=("storey",), at_least=False)
        ),
    ),
)
