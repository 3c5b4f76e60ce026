"""Remarks: doubts about an estimate, cell by cell, for the summary."""

import numpy as np

from simstudy.array_types import Float, Shaped
from simstudy.measures.columns import total

ALL_ALIKE = 1000  # among fewer equal replicates, a rare outcome may just be missing
FEW = 10  # an interval from fewer replicates relies on normal values
TOO_SKEW = 0.06  # squared skewness of influences over n: coverage 1.5 points too low
# Share of the squared error from one replicate that is suspicious: HEAVY_SHARE, or HEAVY_NORMAL / n
# if that is more, which squares of normal values exceed in one of millions of replicates.
HEAVY_SHARE = 0.1
HEAVY_NORMAL = 150
HEAVY = "one replicate carries {share:.0%} of the squared error: the variance may be infinite"
ALIKE = "all {n:,.0f} are alike: an outcome rarer than 1 in {rare:,.0f} may just be missing"
NORMAL_ONLY = "fewer than 10 replicates: the interval holds for normal values only"
SKEW = "few replicates for values this skew: the interval is too short"


def doubts(
    n: Float[np.ndarray, " *cells"], mcse: Float[np.ndarray, " *cells"], psi: np.ndarray
) -> Shaped[np.ndarray, " *cells"] | None:
    """Remarks on errors that may be too small: no spread, few replicates, skew or heavy tails.

    A 95% interval covers about 0.25 g^2/n less than it states, where g is the skewness of the
    influences (Hall 1992, The Bootstrap and Edgeworth Expansion, section 2.6).

    Parameters
    ----------
    n
        Number of independent replicates or groups behind each error.
    mcse
        Monte Carlo standard errors.
    psi
        Influences of shape (rep, *cells); NaN if not used.
    """
    if len(psi) == 0:
        return None
    known = (n >= 2) & np.isfinite(mcse)
    alike = known & (mcse == 0) & (n < ALL_ALIKE)
    few = known & (mcse > 0) & (n < FEW)
    with np.errstate(all="ignore"):
        psi = np.nan_to_num(psi)
        squares = psi * psi
        skew = known & (total(squares * psi) ** 2 > TOO_SKEW * total(squares) ** 3)
        largest = np.asarray(squares.max(axis=0) / total(squares))
        heavy = known & (largest > np.maximum(HEAVY_SHARE, HEAVY_NORMAL / n))
    if not (alike | few | skew | heavy).any():
        return None
    heavy_tails = np.full(n.shape, "", dtype=object)
    heavy_tails[heavy] = [HEAVY.format(share=share) for share in largest[heavy]]
    remark = joined(np.where(few, NORMAL_ONLY, np.where(skew, SKEW, "")), heavy_tails)
    remark[alike] = [ALIKE.format(n=count, rare=count / 3) for count in n[alike]]
    return remark


def joined(*remarks: np.ndarray | None) -> Shaped[np.ndarray, " *cells"]:
    """Join the remarks of each cell, without repeating one."""
    found: np.ndarray = np.asarray("", dtype=object)
    for remark in remarks:
        if remark is not None:
            further = np.asarray(remark, dtype=object)
            further = np.where(found == further, "", further)
            between = np.where((found != "") & (further != ""), "; ", "").astype(object)
            found = np.asarray(found + between + further, dtype=object)
    return found


def of_both(
    first: np.ndarray | None, second: np.ndarray | None
) -> Shaped[np.ndarray, " *cells"] | None:
    """Join the remarks on both sides of a contrast; None if no cell has one."""
    found = joined(first, second)
    return found if (found != "").any() else None
