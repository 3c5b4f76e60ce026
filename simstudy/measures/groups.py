"""Groups of dependent replicates, summed before errors are computed."""

import numpy as np

from simstudy.array_types import Float, Int, Shaped
from simstudy.errors import StudyError

FEW_GROUPS = 20  # fewer groups get a remark: a normal interval is then too short


def grouped_sums(
    values: Float[np.ndarray, " rep *cells"], size: int
) -> Float[np.ndarray, " group *cells"]:
    """Sums of consecutive groups of values.

    Raises
    ------
    StudyError
        If the last group is incomplete.
    """
    if size == 1:
        return values
    if len(values) % size:
        raise StudyError(
            f"{len(values)} replicates are not a whole number of groups of {size}, so the last "
            "group is incomplete and has no known error. Give whole groups."
        )
    sums = values[::size].astype(float)
    for member in range(1, size):
        sums += values[member::size]
    return sums


def n_groups(psi: Float[np.ndarray, " rep *cells"], size: int) -> Int[np.ndarray, " *cells"]:
    """The number of groups with a used replicate (influence not NaN)."""
    used = grouped_sums((~np.isnan(psi)).astype(float), size)
    return np.asarray((used > 0).sum(axis=0))


def few_groups(
    psi: Float[np.ndarray, " rep *cells"], size: int
) -> Shaped[np.ndarray, " *cells"] | None:
    """Remarks on cells whose error rests on few groups; None if there are none."""
    if size == 1:
        return None
    groups = n_groups(psi, size)
    few = (groups >= 2) & (groups < FEW_GROUPS)
    words = "groups are few to know an error by: its interval is too short"
    lines = [f"{n} {words}" for n in groups.flat]
    return np.where(few, np.reshape(lines, few.shape), "") if few.any() else None


def on_first_of_groups(
    sums: Float[np.ndarray, " group *cells"], size: int
) -> Float[np.ndarray, " rep *cells"]:
    """Put the sum of each group on its first member, 0 on the others."""
    if size == 1:
        return sums
    spread = np.zeros((len(sums) * size, *sums.shape[1:]))
    spread[::size] = sums
    return spread
