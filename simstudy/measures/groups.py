"""Replicates that depend on each other in groups of a fixed size."""

import numpy as np

from simstudy.array_types import Float, Int, Shaped

FEW_GROUPS = 20  # fewer groups get a remark: a normal interval is then too short


def group_means(
    psi: Float[np.ndarray, " rep *cells"], n_rep: Int[np.ndarray, " *cells"], size: int
) -> tuple[Float[np.ndarray, " group *cells"], Int[np.ndarray, " *cells"]]:
    """Average the influences of consecutive groups of replicates.

    The influence of a group is such that the groups' mean is the error of the estimate, as it is
    of replicates (Liang & Zeger 1986, Biometrika 73, 13-22). The last group may be smaller.

    Parameters
    ----------
    psi
        Influences of replicates; NaN if a replicate was not used.
    n_rep
        Replicates used.

    Returns
    -------
    tuple
        Influences of groups, NaN for a group without used replicates; and the number of groups
        with used ones.
    """
    pad = [(0, -len(psi) % size), *[(0, 0)] * (psi.ndim - 1)]
    used = np.pad(~np.isnan(psi), pad)
    values = np.where(used, np.pad(psi, pad), 0.0)
    sums, is_used = values[::size], used[::size]
    for member in range(1, size):
        sums, is_used = sums + values[member::size], is_used | used[member::size]
    n_groups = np.asarray(is_used.sum(axis=0))
    with np.errstate(all="ignore"):
        return np.where(is_used, sums * (n_groups / n_rep), np.nan), n_groups


def few_groups(n_groups: Int[np.ndarray, " *cells"]) -> Shaped[np.ndarray, " *cells"] | None:
    """Remarks on cells whose error rests on few groups; None if there are none."""
    few = (n_groups >= 2) & (n_groups < FEW_GROUPS)
    words = "groups are few to know an error by: its interval is too short"
    lines = [f"{n} {words}" for n in n_groups.flat]
    return np.where(few, np.reshape(lines, few.shape), "") if few.any() else None
