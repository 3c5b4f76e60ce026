"""How a designed two-stage trial ends: four outcomes, of which each replicate has one."""

from dataclasses import dataclass

import numpy as np

from simstudy.design import Columns
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.stats.models.trial import trial_design
from simstudy.documents.stats.two_stage import OutcomeTable, TwoStageDesign, outcome_table
from simstudy.lazy import special
from simstudy.measures import rejection_rate
from simstudy.provenance.streams import Streams


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
