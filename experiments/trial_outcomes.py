"""How does a two-stage trial end: which errors, and how often, at the design that was chosen?

Four outcomes are possible: the null that the first stage sets is true or false, and the second
stage rejects it or does not.

Aims         Are the four probabilities the products of the trial's rates, at the document's design?
Data         Independent normal observations with known variance (mean 3, variance 2).
Estimands    The probability of each outcome.
Methods      The two-stage test, its second stage of the size that gives the power.
Performance  The share of replicates with each outcome, and its exact value. At 100000 replicates
             the MCSE is at most 0.14 points, and 0.02 for the rarest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments._answers import span
from simstudy.analysis.result import Result
from simstudy.design import Columns, grid
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.stats.models.trial import trial_design
from simstudy.documents.stats.two_stage import OutcomeTable, TwoStageDesign, outcome_table
from simstudy.figures import dots_plot
from simstudy.lazy import ggplot, pd, special
from simstudy.measures import rejection_rate
from simstudy.options import option, published
from simstudy.provenance.streams import Streams
from simstudy.study import Study
from simstudy.tables import Column, Table


@dataclass(frozen=True)
class TwoStageOutcomes:
    """A `TwoStage` trial whose second stage has the size that gives a power."""

    k: float
    n1: int
    alpha: float = 0.05
    power: float = 0.8
    draws: str = "raw"

    def __post_init__(self) -> None:
        _ = self.design  # refused now, and not by the first block

    @property
    def design(self) -> TwoStageDesign:
        """Size of the second stage, and critical value."""
        return trial_design(self.n1, self.k, self.alpha, self.power)

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        trial = TwoStage(self.k, self.n1, self.design.n2, self.alpha, draws=self.draws)
        drawn = trial.simulate(streams, n_rep)
        reject, null_is_true = (np.asarray(drawn[name]) for name in ("reject", "null_is_true"))
        return OutcomeTable(
            reject_null_true=reject & null_is_true,
            keep_null_true=~reject & null_is_true,
            reject_null_false=reject & ~null_is_true,
            keep_null_false=~reject & ~null_is_true,
        )._asdict()

    def exact(self) -> dict[str, float]:
        """Rates of the outcomes at the power that the whole n2 reaches."""
        return outcome_table(self.alpha, self.k, self.n1, self.design.n2)._asdict()

    def nominal(self) -> OutcomeTable:
        """Rates of the outcomes at the requested power: products of the error rates."""
        is_true, is_false = special.ndtr(-self.k), special.ndtr(self.k)
        return OutcomeTable(
            reject_null_true=self.alpha * is_true,
            keep_null_true=(1 - self.alpha) * is_true,
            reject_null_false=self.power * is_false,
            keep_null_false=(1 - self.power) * is_false,
        )


MEASURES = tuple(rejection_rate(name, name=name) for name in OutcomeTable._fields)


@published(__file__)
class Config:
    """Settings of the study; the table shows the first design."""

    k: list[float] = option(
        "standard errors from the first mean to the bound", at_least=-30, at_most=30
    )
    n1: list[int] = option("observations in the first stage", at_least=1)
    alpha: list[float] = option("size of the test given a true null", above=0, below=1)
    power: list[float] = option("power that the second stage is to give", above=0, below=1)
    draws: str = option(
        "every observation, or the sample means by their own law", one_of=("raw", "sufficient")
    )
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result: Result) -> str:
    """The four outcomes, as shares of all trials."""
    power, beta, kept, error = (
        span(result, measure)
        for measure in (
            "reject_null_false",
            "keep_null_false",
            "keep_null_true",
            "reject_null_true",
        )
    )
    return (
        f"{power} of all trials reject a false null, and {kept} keep a true one. {beta} keep a "
        f"false null (type-II errors), and {error} reject a true one (type-I errors)."
    )


def study(config: Config) -> Study:
    swept = ("k", "n1", "alpha", "power", "draws")
    return Study(
        name="trial_outcomes",
        scenarios=grid(TwoStageOutcomes, **{name: getattr(config, name) for name in swept}),
        measures=MEASURES,
        block_size=5000,
        answer=answer,
        n_rep=config.n_rep,
        tables={"outcomes": table_of_outcomes},
        figures={"outcomes": figure_of_outcomes},
    )


REJECT, KEEP = "reject", "do not reject"
IS_TRUE, IS_FALSE = "null is true", "null is false"
OUTCOMES = {
    "reject_null_true": (REJECT, IS_TRUE, "α · Φ(−k)"),
    "reject_null_false": (REJECT, IS_FALSE, "(1 − β) · Φ(k)"),
    "keep_null_true": (KEEP, IS_TRUE, "(1 − α) · Φ(−k)"),
    "keep_null_false": (KEEP, IS_FALSE, "β · Φ(k)"),
}


def _factors(design: TwoStageOutcomes) -> dict[str, Any]:
    return {name: getattr(design, name) for name in ("k", "n1", "alpha", "power")}


def outcomes(result: Result) -> pd.DataFrame:
    """A row for each outcome of the first design: as printed, exactly, and simulated."""
    design: TwoStageOutcomes = result.plan.scenarios[0]
    rows = [result.row(name, **_factors(design)) for name in OUTCOMES]
    decision, null, formula = zip(*OUTCOMES.values(), strict=True)
    return pd.DataFrame(
        {
            "decision": decision,
            "null": null,
            "formula": formula,
            "nominal": [getattr(design.nominal(), name) for name in OUTCOMES],
            "exact": [row["exact"] for row in rows],
            "simulated": [row["estimate"] for row in rows],
            "simulated_mcse": [row["mcse"] for row in rows],
        }
    )


def _setting(result: Result) -> str:
    scenario: TwoStageOutcomes = result.plan.scenarios[0]
    return (
        f"k = {scenario.k:g}, n1 = {scenario.n1}, n2 = {scenario.design.n2}, α = {scenario.alpha:g}"
    )


def _asked_for(result: Result) -> str:
    scenario: TwoStageOutcomes = result.plan.scenarios[0]
    return (
        f"1 − β = {scenario.power:g} is asked for, and n2 as a whole number gives "
        f"{scenario.design.achieved_power:.5f}"
    )


def table_of_outcomes(result: Result) -> Table:
    """The four outcomes of the first design."""
    n_rep = result.n_rep[next(iter(result.plan.keys))]
    columns: dict[str, Column | str] = {
        "nominal": Column("as printed", decimals=4),
        "exact": Column("exact", decimals=4),
        "simulated": Column("simulated", mcse="simulated_mcse"),
    }
    caption = f"Outcomes of a two-stage trial ({_setting(result)})"
    printed = f"As printed: the products of the rates. {_asked_for(result)}."
    note = f"In parentheses: Monte Carlo standard errors, of {n_rep:,} replicates."
    return Table(outcomes(result), caption, columns, [printed, note])


def figure_of_outcomes(result: Result) -> ggplot:
    """Shares of the four outcomes at the first design, with their exact values."""
    rows = result.select(**_factors(result.plan.scenarios[0]))
    words = {name: f"{decision}, {null}" for name, (decision, null, _) in OUTCOMES.items()}
    outcome = pd.Categorical(rows["measure"].map(words), list(words.values()))
    return dots_plot(
        rows.assign(outcome=outcome, measure="share of trials"),
        measure="share of trials", y="outcome", in_figures=True,
    )  # fmt: skip
