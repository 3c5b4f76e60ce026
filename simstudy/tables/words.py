"""Estimates in words: one with its error, or the range of several with theirs."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from simstudy.lazy import pd, special
from simstudy.tables.rounding import plus_minus, to_decimals
from simstudy.tables.summary import as_words, factor_column

MAX_RATIO = 5.0  # of two errors of estimates that are averaged, unless they are proportions
ROUNDING = 1e-9  # relative difference of estimates that are one number but for arithmetic
CHANCE = 0.001  # p-value below which estimates differ by more than chance
MAX_VISIBLE = 0.5  # two errors that move a number by less than this of its last digit are not shown


def in_words(
    rows: pd.DataFrame | pd.Series,
    *,
    percent: bool = False,
    decimals: int | None = None,
    where: Sequence[str] = (),
) -> str:
    """Describe estimates with their Monte Carlo errors, for the answer of a study.

    The least and the greatest of several noisy estimates lie apart even if all have one true value.
    They are therefore given, each with its own error, only if the estimates differ by more than
    chance, or their errors are too unequal to tell; otherwise their weighted mean is. Its error
    takes the rows as independent, as those of different scenarios are.

    Parameters
    ----------
    rows
        Rows of a summary, or one row: `estimate` and `mcse`.
    percent
        Whether these are proportions to be shown as percentages.
    decimals
        Decimal places of the numbers shown. A number whose error does not show at these has no ±.
        Default: by the error.
    where
        Factors and axes that say where the least and the greatest are.

    Returns
    -------
    str
        "80.2 ± 0.3%", "5.0% (all 12 within chance)" or "2.3 ± 0.2% to 13.1 ± 0.4%".

    Raises
    ------
    LookupError
        If there is no row with an estimate.

    Examples
    --------
    The result is that of the example of `Study`.

    >>> from simstudy.tables import in_words
    >>> in_words(result.row("type_1_error", method="welch"), percent=True)[:3] > ""
    True
    """
    frame = rows.to_frame().T if isinstance(rows, pd.Series) else rows
    known = frame["estimate"].astype(float).map(math.isfinite)
    n_lost, frame = int((~known).sum()), frame[known]
    if frame.empty:
        raise LookupError("these rows have no estimate")
    values, errors = (frame[name].to_numpy(dtype=float) for name in ("estimate", "mcse"))
    text = functools.partial(_with_error, percent=percent, decimals=decimals)
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        found = text(values[0], errors.max())
    elif differ(values, errors) or (errors.max() > MAX_RATIO * errors.min() and not percent):
        ends = int(values.argmin()), int(values.argmax())
        found = " to ".join(text(values[at], errors[at]) + _place(frame, at, where) for at in ends)
    else:
        n = frame.get("n_given", frame.get("n_rep", pd.Series(1, frame.index)))  # replicates behind
        weights = n.to_numpy(dtype=float) if percent else 1 / errors**2
        mean = np.average(values, weights=weights)
        error = np.sqrt(np.sum((weights * errors) ** 2)) / np.sum(weights)
        each = "both" if len(frame) == 2 else f"all {len(frame):,}"
        found = f"{text(float(mean), float(error))} ({each} within chance)"
    return found + f"; {n_lost:,} without an estimate" * bool(n_lost)


def differ(values: np.ndarray, errors: np.ndarray) -> bool:
    """Whether estimates differ by more than their Monte Carlo errors explain.

    The sum of squared deviations from the weighted mean, in errors, is compared with the chi-square
    distribution (Cochran 1954). Common random numbers make it smaller, so that nothing is called
    different by mistake.
    """
    if not np.all(np.isfinite(errors) & (errors > 0)):
        return True
    weights = 1 / errors**2
    mean = np.sum(weights * values) / np.sum(weights)
    excess = float(np.sum(weights * (values - mean) ** 2))
    return bool(special.chdtrc(len(values) - 1, excess) < CHANCE)


def _with_error(value: float, error: float, *, percent: bool, decimals: int | None) -> str:
    """A number ± two errors, with a percent sign at the end."""
    size, sign = (100, "%") if percent else (1, "")
    value, error = size * value, size * error
    if decimals is None or 2 * error >= MAX_VISIBLE * 10.0**-decimals:
        return plus_minus(value, error) + sign
    return to_decimals(value, decimals).replace("-", "−") + sign


def _place(frame: pd.DataFrame, at: int, where: Sequence[str]) -> str:
    """Where a row is, by the factors that differ: " (n 20)"."""
    varying = [name for name in where if len(set(map(repr, frame[name].tolist()))) > 1]
    levels = {name: frame[name].iloc[at] for name in varying}
    words = [f"{as_words(n)} {factor_column([v], {}).cell(v)}" for n, v in levels.items()]
    return f" ({', '.join(words)})" if words else ""
