"""Critical values of estimates with standard errors: normal, or Student's t."""

import numpy as np

from simstudy.lazy.scipy import special
from simstudy.measures.columns import Columns, Operand, operand, refuse_where
from simstudy.measures.proportions import against


def critical_values(columns: Columns, probability: np.ndarray, df: Operand | None) -> np.ndarray:
    """Quantiles of the standard normal, or of t with `df` degrees of freedom of each replicate.

    Parameters
    ----------
    probability
        One, or a row of them, which then is a last axis of the result.
    df
        Column or number; None for the normal.
    """
    if df is None:
        return np.asarray(special.ndtri(probability))
    degrees = operand(columns, df)
    _refuse_no_df(degrees)
    return np.asarray(special.stdtrit(against(degrees, probability), probability))


def refuse_df(df: Operand | None) -> None:
    """Refuse a number of degrees of freedom with which there is no Student's t."""
    if df is not None and not isinstance(df, str):
        _refuse_no_df(np.asarray(df, dtype=float))


def _refuse_no_df(df: np.ndarray) -> None:
    refuse_where(
        lambda degrees: degrees <= 0,
        df,
        what="df holds degrees of freedom that are not positive, for which there is no Student's t",
        instead="Give positive ones, and NaN where a replicate has none.",
    )
