"""Captions. A symbol has the same meaning in every figure.

Points are simulated. Bars and bands around them are 95% Monte Carlo intervals (Wilson's for
proportions, else two MCSE or the normal interval). Solid lines, vertical marks and steps are
exact theory. Dashed lines are the reference: the nominal level, equality, the truth. Crosses are
published values, on a grey bar for the error of the document's own replicates. "a ± b" is an
estimate with two MCSE. Dotted lines only join points.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

from simstudy.figures.frame import factors_of
from simstudy.lazy import p9, pd
from simstudy.tables.summary import format_range

PER_INCH = 18  # characters of a caption per inch, at 7.2 points
WIDTH = 116  # characters that fit under a figure of 6.5 inches

BARS = "Bars: 95% Monte Carlo intervals (hidden if smaller than the marker)."
SHADED = "Shaded: 95% Monte Carlo intervals."
BANDS = "Bands: ± 2 Monte Carlo standard errors."
LINES = "Solid lines: exact theory."
APART = "Points of one value are set apart by colour."
JOINS = "Dotted lines only join points."
LEVEL_MARKS = "Level marks: exact theory."
UPRIGHT = "Vertical marks: exact theory."
CROSSES = "Crosses: published values, with the 95% interval of their own replicates in grey."
PARENTHESES = "In parentheses: one Monte Carlo standard error."
PLUS_MINUS = "±: 2 Monte Carlo standard errors."


def caption(*sentences: str) -> str:
    """Wrap sentences to the width of a figure, for its caption; empty ones are left out.

    Parameters
    ----------
    sentences
        Sentences, in order.

    Returns
    -------
    str
        The caption.
    """
    return "\n".join(textwrap.wrap(" ".join(s for s in sentences if s), WIDTH))


def wrapped_to(inches: float, text: str) -> str:
    """Wrap a caption to the width of a figure, in inches."""
    return "\n".join(textwrap.wrap(text, max(int(PER_INCH * inches) - 1, 20)))


def dashed(name: str = "the level asked for") -> str:
    """The sentence on dashed lines."""
    return f"Dashed: {name}."


def dashed_at(levels: Iterable[float], name: str | None = None) -> str:
    """The sentence on dashed lines at these levels, if any, with their name if they have one."""
    at_zero = {level == 0 for level in levels}
    words = ["0"] * (True in at_zero) + ["the level asked for"] * (False in at_zero)
    return dashed(name or ", or ".join(words)) if words else ""


def notes(rows: pd.DataFrame) -> list[str]:
    """The notes below a figure of a summary: replicates, failures, rows not drawn."""
    said = format_replicates(rows), format_failures(rows), format_undefined(rows)
    return [*said, format_warned(rows)]


def format_fixed(rows: pd.DataFrame, *shown: str | None) -> str:
    """The setting: factors with one level that no role shows, such as "n = 50, effect = 1."."""
    found = {}
    for name in [name for name in factors_of(rows) if name not in shown]:
        if rows[name].notna().all() and rows[name].astype(str).nunique() == 1:
            value = rows[name].iloc[0]
            found[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{', '.join(f'{format_name(n)} = {text}' for n, text in found.items())}." * bool(found)


def format_replicates(rows: pd.DataFrame) -> str:
    """The number of replicates per point, by measure if it differs.

    For a conditional share it is the number of those in the condition.
    """
    n_used = rows["n_given"].fillna(rows["n_rep"]) if "n_given" in rows else rows["n_rep"]
    counts = n_used.dropna()
    if counts.empty:
        return ""
    if counts.nunique() == 1:
        return f"{int(counts.iloc[0]):,} replicates per point."
    measures = rows.loc[counts.index, "measure"].astype(str) if "measure" in rows else counts * 0
    groups = counts.groupby(measures, sort=False)
    each = [f"{format_name(str(name))} {format_range(found)}" for name, found in groups]
    return f"Replicates per point: {'; '.join(each) if len(each) > 1 else format_range(counts)}."


def format_name(name: str) -> str:
    """A column's or measure's name for a reader: underscores become spaces."""
    return name.replace("_", " ")


def format_failures(rows: pd.DataFrame) -> str:
    """The sentence on points that lost replicates to failures; empty if none did.

    All replicates are `n_rep` used ones and `n_failed` failed ones.
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


def format_warned(rows: pd.DataFrame) -> str:
    """The sentence on points whose numbers have a warning; empty if none has."""
    n_warned = int(rows["warning"].fillna("").ne("").sum())
    if not n_warned:
        return ""
    are = "is" if n_warned == 1 else "are"
    return f"{n_warned:,} of {len(rows):,} points {are} in doubt: the summary has the warnings."


def format_undefined(rows: pd.DataFrame) -> str:
    """The sentence on rows without an estimate or without a Monte Carlo error."""
    no_value = int((~np.isfinite(rows["estimate"].to_numpy(float))).sum())
    bare = int((rows["estimate"].notna() & (rows["lower"].isna() | rows["upper"].isna())).sum())
    return " ".join(
        [f"{no_value} of {len(rows)} estimates are not finite and not drawn."] * (no_value > 0)
        + [f"{bare} of {len(rows)} points have no Monte Carlo error to show."] * (bare > 0)
    )


def titles(
    *says: str, x: str | None = None, y: str | None = None, size: tuple[float, float] | None = None
) -> list[Any]:
    """Caption, axis titles and size that a study gives a figure.

    Parameters
    ----------
    *says
        Sentences of a caption instead of the figure's own.
    x, y
        Titles of the axes.
    size
        Width and height in inches, at most 6.5 by 9.
    """
    words = {"x": x, "y": y, "caption": caption(*says) or None}
    layers = [p9.labs(**{name: text for name, text in words.items() if text is not None})]
    if size is not None:
        layers.append(p9.theme(figure_size=size))
    return layers


def add_words(figure: Any, *sentences: str) -> Any:
    """A figure with more sentences at the end of its caption, such as its setting in words."""
    return figure + p9.labs(caption=caption(figure.labels.caption, *sentences))


def with_scale(figure: Any, scale: Any) -> Any:
    """Replace a scale of a figure, without plotnine's warning about it.

    Parameters
    ----------
    figure
        A plotnine ggplot; it is not changed.
    scale
        A plotnine scale, such as `scale_x_continuous(breaks=[1, 2])`.
    """
    made = figure + p9.labs()  # a copy
    taken = set(scale.aesthetics)
    made.scales[:] = [each for each in made.scales if not taken & set(each.aesthetics)]
    return made + scale


def caption_of(figure: Any) -> str:
    """Title and caption of a figure in one line; empty if it has neither.

    Parameters
    ----------
    figure
        A plotnine ggplot, a composition of them, whose texts are joined in order, or a matplotlib
        Figure, which has a title only.
    """
    sentences = (" ".join(str(text).split()) for text in _texts(figure) if text)
    ends = (".", "!", "?")
    return " ".join(t if t.endswith(ends) else f"{t}." for t in dict.fromkeys(sentences))


MAX_TOLD = 6  # levels that a description names


def describe_figure(figure: Any) -> str:
    """Describe a figure for readers who do not see it: axes, colours, panels.

    Parameters
    ----------
    figure
        A plotnine ggplot; of other figures the description is empty.
    """
    rows: Any = getattr(figure, "data", None)
    labels = getattr(figure, "labels", None)
    if labels is None or not hasattr(rows, "columns"):
        return ""
    x, y = (str(getattr(labels, at, None) or "") for at in ("x", "y"))
    parts = [f"{y or 'Estimates'} against {x}" if x else y]
    for role in ("color", "panel", "rows"):
        if role in rows:
            levels = [str(level) for level in dict.fromkeys(rows[role].dropna())]
            named = ", ".join(levels[:MAX_TOLD]) + ", ..." * (len(levels) > MAX_TOLD)
            color = getattr(labels, "color", None) or "colour"
            what = {"color": f"by {color}", "panel": "panels"}.get(role, role)
            parts.append(f"{what}: {named}")
    text = "; ".join(filter(None, parts))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _texts(figure: Any) -> list[Any]:
    if hasattr(figure, "items") and not callable(figure.items):  # a composition
        return [text for part in figure.items for text in _texts(part)]
    if hasattr(figure, "labels"):
        return [getattr(figure.labels, name, None) for name in ("title", "subtitle", "caption")]
    return [figure.get_suptitle()] if hasattr(figure, "get_suptitle") else []
