"""The two ways to a Monte Carlo standard error that some measures can be asked for."""

from typing import Literal

from simstudy.errors import DesignError, in_one_line

Mcse = Literal["influence", "normal"]


def refuse_other_ways(mcse: str) -> None:
    """Refuse what is neither of the two."""
    if mcse not in ("influence", "normal"):
        raise DesignError(
            f"mcse={in_one_line(repr(mcse))} is not a way to compute a Monte Carlo error. Use "
            "'influence', which assumes no distribution, or 'normal' for the formulas of Morris "
            "et al. (2019)."
        )
