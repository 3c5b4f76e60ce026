"""All that a study knows of itself before it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from simstudy.analysis.precision import Target
from simstudy.analysis.result import Result
from simstudy.claims import Claim
from simstudy.measures import Measure
from simstudy.output.protocol.replicates import Need, Spread, needs_of, spread_of
from simstudy.plan import Plan


@dataclass(frozen=True)
class Intent:
    """All that a study knows of itself before it is drawn.

    Parameters
    ----------
    n_rep
        Replicates in each scenario, where they are fixed; None where a precision says.
    usual_n_rep
        Those of the study where neither is given.
    targets
        Monte Carlo errors to reach.
    pilot
        The result of a pilot of other random numbers, if there was one.
    about
        The docstring with the five headings; empty where there is none.
    command
        What draws it.
    """

    plan: Plan
    measures: Sequence[Measure]
    n_rep: int | None
    usual_n_rep: int
    targets: Sequence[Target] = ()
    pilot: Result | None = None
    about: str = ""
    command: str = ""
    worst: Mapping[str, float] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    block_seconds: float | None = None

    @cached_property
    def needs(self) -> list[Need]:
        """How many replicates each target takes."""
        by_name = {measure.name: measure for measure in self.measures}
        return needs_of(self.targets, by_name, self.plan, self.pilot)

    @cached_property
    def spreads(self) -> dict[str, Spread]:
        """By measure, the Monte Carlo error of one replicate."""
        return {m.name: spread_of(m, self.plan, self.pilot) for m in self.measures}

    @property
    def planned(self) -> int:
        """Replicates in each scenario."""
        if self.n_rep is not None or not self.needs:
            return self.n_rep or self.usual_n_rep
        return max(need.n_rep or 0 for need in self.needs)

    @property
    def n_pilot(self) -> int:
        """Replicates of each scenario in the pilot; 0 without one."""
        return max(self.pilot.n_rep.values()) if self.pilot else 0

    @property
    def precision(self) -> dict[str, Any]:
        """The targets, as one writes them."""
        return {each.measure: written(each) for each in self.targets}


def written(target: Target) -> float | str:
    """A Monte Carlo error as a user writes it."""
    return f"{100 * target.mcse:g}%" if target.relative else target.mcse
