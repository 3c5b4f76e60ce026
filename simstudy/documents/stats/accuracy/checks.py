"""Arguments that make no sense, refused."""

import numpy as np
from numpy.typing import ArrayLike

from simstudy.documents.stats.arguments import check_size
from simstudy.errors import DesignError


def check_positive(name: str, value: ArrayLike, meaning: str) -> None:
    """Refuse what is not above 0 or not finite, naming the first."""
    check_size(name, value, meaning, unit=", in the units of the scores")


def check_probability(name: str, value: ArrayLike) -> None:
    """Refuse anything outside [0, 1], naming the first."""
    values = np.atleast_1d(np.asarray(value, dtype=float))
    outside = ~((values >= 0) & (values <= 1))
    if outside.any():
        raise DesignError(
            f"{name}={values[outside].flat[0]:g} is not a probability, so there is no chance of "
            f"anything to compute. Give {name} between 0 and 1 (0.95, not 95)."
        )
