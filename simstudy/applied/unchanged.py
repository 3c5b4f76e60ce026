"""Scores that are the same throughout: nothing changed, and no spread to hold a change against."""

import math
from dataclasses import dataclass
from typing import Any

from simstudy.applied.scores import Scores


@dataclass(frozen=True)
class Unchanged:
    """What is said of scores without spread, none of which is worse: they pass, with p = 1."""

    scores: Scores

    @property
    def name(self) -> str:
        return "none"

    @property
    def words(self) -> str:
        return "no test: there is no difference, and no spread"

    @property
    def standard_error(self) -> float:
        return 0.0

    @property
    def p_value(self) -> float:
        return 1.0

    @property
    def fails(self) -> bool:
        return False

    @property
    def margin(self) -> float:
        return math.nan

    @property
    def level(self) -> float:
        return math.nan

    def power(self, effect: float) -> float:  # noqa: ARG002
        return math.nan

    def detectable_effect(self, beta: float) -> float:  # noqa: ARG002
        return math.nan

    def n_needed(self, theta: float, beta: float) -> int | None:  # noqa: ARG002
        return None

    def law(self, effect: float) -> Any:  # noqa: ARG002
        return None
