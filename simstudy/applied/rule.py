"""What every test of a regression can say; effects and margins are "worse by", in score units."""

from typing import Any, Protocol


class Rule(Protocol):
    """A test of a candidate against a reference, with the scores that it was given."""

    @property
    def name(self) -> str:
        """As one asks for it."""

    @property
    def words(self) -> str:
        """The test and what it was given, as after "by"."""

    @property
    def standard_error(self) -> float:
        """Of the difference of the means."""

    @property
    def p_value(self) -> float:
        """Chance of a candidate as bad as this one, or worse, where nothing changed."""

    @property
    def fails(self) -> bool:
        """Whether the candidate is shown to be worse."""

    @property
    def margin(self) -> float:
        """How much worse than the reference's mean a candidate fails; NaN where none can."""

    @property
    def level(self) -> float:
        """Chance that an unchanged candidate fails: alpha, or less where scores are counts."""

    def power(self, effect: float) -> float:
        """Chance that a candidate fails that is worse by `effect`."""

    def detectable_effect(self, beta: float) -> float:
        """The effect of which a share `beta` passes; NaN where even the worst would."""

    def n_needed(self, theta: float, beta: float) -> int | None:
        """Scores of each model with which `theta` is missed at most at rate `beta`, or None."""

    def law(self, effect: float) -> Any:
        """Of how much worse the candidate is found, where it is worse by `effect`; None if none."""
