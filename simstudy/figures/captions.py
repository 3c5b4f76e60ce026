"""What figures say beneath, in one place: the same mark means the same in every figure.

Points are simulated, and bars and bands around them are 95% Monte Carlo intervals (Wilson's for
shares, else two MCSE or the normal interval). Solid lines, upright marks and steps are exact
theory. Dashed lines are what the rest is held against: the level asked for, equality, the truth.
Crosses are what a document prints, on a grey bar for the error of its own replicates. "a ± b" is an
estimate with two MCSE, "a (b)" one with one.
"""

from __future__ import annotations

import textwrap

import numpy as np

from simstudy.lazy.pandas import pd

WIDTH = 82  # characters that fit under the narrowest figure, 5.8 inches, at 8 points

BARS = "Bars: 95% Monte Carlo intervals."
BANDS = "Bands: 2 Monte Carlo standard errors."
LINES = "Solid lines: exact theory."
LEVEL_MARKS = "Level marks: exact theory."
UPRIGHT = "Upright marks: exact theory."
STEPS = "Vermillion: counts by theory, with 2 standard deviations of a count."
CROSSES = "Crosses: as published, grey the 95% interval of its own replicates."
PARENTHESES = "In parentheses: one Monte Carlo standard error."
PLUS_MINUS = "±: 2 Monte Carlo standard errors."


def caption(*sentences: str) -> str:
    """Sentences under a figure, wrapped to its width; empty ones are left out."""
    return "\n".join(textwrap.wrap(" ".join(s for s in sentences if s), WIDTH))


def dashed(what: str = "the level asked for") -> str:
    """The sentence on dashed lines."""
    return f"Dashed: {what}."


def notes(rows: pd.DataFrame) -> list[str]:
    """What every figure of a summary says beneath: replicates, failures, what is not drawn."""
    return [replicates_in_words(rows), failures_in_words(rows), undefined_in_words(rows)]


def replicates_in_words(rows: pd.DataFrame) -> str:
    """How many replicates stand behind a point, where the summary says so."""
    counts = rows["n_rep"].dropna()
    if counts.empty:
        return ""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,} replicates per point." if low == high else f"{low:,} to {high:,} replicates."


def failures_in_words(rows: pd.DataFrame) -> str:
    """How many points lost replicates to failures, and how many at most; "" when none did.

    `n_rep` replicates were used and `n_failed` were not: together they are all.
    """
    failed = rows["n_failed"].fillna(0)
    if not failed.gt(0).any():
        return ""
    n_rep = rows["n_rep"].iloc[int(failed.to_numpy().argmax())]
    of_all = "" if pd.isna(n_rep) else f" of {int(n_rep + failed.max()):,}"
    return (
        f"Failed replicates: {int(failed.gt(0).sum()):,} of {len(rows):,} points have some, "
        f"at most {int(failed.max()):,}{of_all}."
    )


def undefined_in_words(rows: pd.DataFrame) -> str:
    """How many rows have no estimate, so no mark, or a mark without Monte Carlo error."""
    no_value = int((~np.isfinite(rows["estimate"].to_numpy(float))).sum())
    bare = int((rows["estimate"].notna() & (rows["lower"].isna() | rows["upper"].isna())).sum())
    return " ".join(
        [f"{no_value} of {len(rows)} estimates are not finite and not drawn."] * (no_value > 0)
        + [f"{bare} of {len(rows)} points have no Monte Carlo error to show."] * (bare > 0)
    )
