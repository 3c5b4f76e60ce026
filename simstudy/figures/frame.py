"""Preparation of the rows of a summary, or of replicates, for a figure.

All figures follow the same steps. An unknown column or measure is refused, with the nearest name
that exists. Rows that would be drawn at the same position are refused. The figure uses a new frame
whose columns are named by their role (`x`, `color`, `panel`, `rows`), so that plotnine never
evaluates a column's name as code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.design.plan import factors_of as shown_factors
from simstudy.errors import FigureError, nearest
from simstudy.lazy import pd

MEASURED = (
    *("measure", "estimate", "mcse", "lower", "upper"),
    *("exact", "n_rep", "n_failed", "n_given", "reason", "warning"),
)
OPTIONAL = ("variance_reduction", "n_effective")  # columns that some measures have


def need_columns(frame: pd.DataFrame, names: Iterable[str | None]) -> None:
    """Refuse a name that is not a column, and suggest the nearest; None passes."""
    columns = [str(column) for column in frame.columns]
    for name in names:
        if name is not None and name not in columns:
            raise FigureError(
                f"There is no column {name!r} to draw: {nearest(name, columns)} "
                "Name a column of the frame, or add one."
            )


def rows_of(summary: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """The rows of some measures, as a copy with every column of `MEASURED`."""
    need_columns(summary, ["measure", "estimate", "mcse"])
    available = [str(name) for name in summary["measure"].unique()]
    for name in measures:
        if name not in available:
            raise FigureError(
                f"There is no measure {name!r} in this summary: {nearest(name, available)} "
                "Draw one that the study declares, or add it to the study's measures."
            )
    rows = summary[summary["measure"].isin(list(measures))].reset_index(drop=True)
    lacking = [name for name in MEASURED if name not in rows.columns]
    return rows.assign(**{name: "" if name == "warning" else np.nan for name in lacking})


def factors_of(summary: pd.DataFrame) -> list[str]:
    """The columns that identify the scenario and the axis values of a row."""
    return [str(column) for column in summary.columns if column not in (*MEASURED, *OPTIONAL)]


def rows_like(rows: pd.DataFrame, scenario: Any, *factors: str) -> pd.DataFrame:
    """Select the rows that share some factors with a scenario.

    Parameters
    ----------
    rows
        Rows of a summary.
    scenario
        A scenario of the same study.
    factors
        Names of the factors that must be equal.

    Returns
    -------
    pd.DataFrame
        The selected rows.
    """
    for name in factors:
        rows = rows[rows[name] == shown_factors(scenario)[name]]
    return rows


def with_labels(
    rows: pd.DataFrame, scenarios: Iterable[Any], **labels: Mapping[Any, str]
) -> pd.DataFrame:
    """Replace parts of scenarios by labels, as ordered categories.

    Parameters
    ----------
    rows
        Rows of a summary.
    scenarios
        Scenarios of the result, to find the part behind each text of the summary.
    **labels
        Label for each part, by factor, such as `dgp={Gaussian(): "normal"}`.

    Returns
    -------
    pd.DataFrame
        The rows, with labels in the columns of these factors.

    Raises
    ------
    KeyError
        If a part has no label.
    """
    for name, words in labels.items():
        parts = {shown_factors(scenario)[name]: getattr(scenario, name) for scenario in scenarios}
        shown = [words[parts[text]] for text in rows[name]]
        levels = [word for word in dict.fromkeys(words.values()) if word in shown]
        rows = rows.assign(**{name: pd.Categorical(shown, levels, ordered=True)})
    return rows


def in_order(names: Iterable[Any], words: Mapping[Any, str]) -> Any:
    """Make an ordered category of labels for names.

    Parameters
    ----------
    names
        Names, one per row.
    words
        Label for each name, in the order of the category.

    Returns
    -------
    Any
        A pandas `Categorical` of the labels.
    """
    return pd.Categorical([words[name] for name in names], list(words.values()), ordered=True)


def check_no_hidden_rows(
    frame: pd.DataFrame, fixed: Mapping[str, str | None], factors: Sequence[str]
) -> None:
    """Refuse rows that would be drawn at the same position.

    Parameters
    ----------
    frame
        The rows to be drawn.
    fixed
        Mapped columns by the name of the argument; None if an argument is not used.
    factors
        Columns that may explain repeated rows.
    """
    keys = list(dict.fromkeys(column for column in fixed.values() if column is not None))
    hidden = int(frame.duplicated(keys).sum() if keys else max(len(frame) - 1, 0))
    if not hidden:
        return
    there = frame.groupby(keys, dropna=False, observed=True) if keys else frame.groupby(lambda _: 0)
    levels = {c: frame[c].nunique(dropna=False) for c in factors if c not in keys}
    differing = [
        f"{c} ({n} levels)" for c, n in levels.items() if (there[c].nunique(dropna=False) > 1).any()
    ]
    given = ", ".join(f"{role}={c!r}" for role, c in fixed.items() if c is not None) or "nothing"
    why = f"rows are repeated with {given}, and no factor distinguishes them. Drop them first."
    if differing:
        why = (
            f"rows still differ in {' and '.join(differing)} once {given} are fixed. Filter to one "
            "level, or map that factor too (color, panel or rows where the figure has them)."
        )
    raise FigureError(f"{hidden} point{'s' * (hidden > 1)} would be drawn over others: {why}")


def is_number(values: pd.Series) -> bool:
    """Whether a column is numeric, and not boolean or categorical."""
    values = values.infer_objects()
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def ordered_levels(values: pd.Series) -> list[Any]:
    """The levels present: numbers sorted, categories in their order, others as they appear."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        present = set(values.dropna().unique())
        levels = [level for level in values.cat.categories if level in present]
    else:
        levels = list(values.dropna().unique())
    if is_number(values):
        levels = sorted(levels)
    return levels + [None] * bool(values.isna().any())


def labelled(values: pd.Series, name: str = "") -> pd.Series:
    """The values as an ordered category of labels.

    Parameters
    ----------
    values
        Column of a factor; a missing level is labelled "none".
    name
        Prefix of levels that are not text, as in "n1 = 20".

    Returns
    -------
    pd.Series
        Categories in the order of `ordered_levels`. Levels with the same label are refused, since
        they would be drawn as one.
    """
    levels = ordered_levels(values)
    words = _distinct_words(levels)
    is_text = all(isinstance(level, str) for level in levels)
    prefix = f"{name} = " if name and not is_text else ""
    place = {level: i for i, level in enumerate(levels)}
    codes = [place[None if gone else v] for v, gone in zip(values, values.isna(), strict=True)]
    categories = pd.Index([prefix + word for word in words])
    drawn = pd.Categorical.from_codes(codes, categories=categories, ordered=True)
    return pd.Series(drawn, index=values.index)


def _distinct_words(levels: Sequence[Any]) -> list[str]:
    """The shortest labels that are distinct."""
    value_labels: tuple[Callable[[Any], str], ...] = (_word, str, repr)
    several = [[reading(level) for level in levels] for reading in value_labels]
    return next((words for words in several if len(set(words)) == len(words)), several[-1])


def _word(level: Any) -> str:
    if level is None:
        return "none"
    number = isinstance(level, (int, float, np.number)) and not isinstance(level, (bool, np.bool_))
    return f"{level:g}" if number else str(level)


def as_axis(values: pd.Series) -> pd.Series:
    """A column for a position axis: numbers unchanged, others as categories."""
    values = values.infer_objects()
    finite = is_number(values) and bool(np.isfinite(values.to_numpy(float)).all())
    return values if finite else labelled(values)


def with_interval(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with `lower` and `upper`, filled by 2 MCSE if missing."""
    return rows.assign(
        lower=rows["lower"].fillna(rows["estimate"] - 2 * rows["mcse"]),
        upper=rows["upper"].fillna(rows["estimate"] + 2 * rows["mcse"]),
    )


def nominal_levels(
    nominal: float | str | Mapping[str, float] | None, rows: pd.DataFrame
) -> pd.Series:
    """The nominal level of each row: one for all, a column's, or by measure; NaN for none."""
    if isinstance(nominal, str):
        return rows[nominal].astype(float)
    if not isinstance(nominal, Mapping):
        return pd.Series(np.nan if nominal is None else float(nominal), index=rows.index)
    drawn = [str(name) for name in rows["measure"].unique()]
    unknown = sorted(set(nominal) - set(drawn))
    if unknown:
        raise FigureError(
            f"nominal has a level for {unknown[0]!r}, which is not drawn here: the figure draws "
            f"{', '.join(drawn)}. Name one of these."
        )
    return rows["measure"].astype(str).map(dict(nominal)).astype(float)


def nominal_lines(rows: pd.DataFrame, levels: pd.Series) -> pd.DataFrame:
    """The nominal level of each panel; no rows if there is none."""
    where = [role for role in ("panel", "rows") if role in rows]
    found: pd.DataFrame = rows.assign(nominal=levels)[["nominal", *where]]
    return found.dropna(subset="nominal").drop_duplicates()


def drawable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a finite estimate; an error if there are none."""
    finite = np.isfinite(rows["estimate"].to_numpy(float))
    if not finite.any():
        raise FigureError(
            f"None of the {len(rows)} estimates to draw is finite, so the figure would be empty. "
            "Look at n_failed and at the errors among the replicates; a conditional measure also "
            "needs a replicate that meets its condition, so more replicates (n_rep) may do."
        )
    kept: pd.DataFrame = rows.loc[finite]
    return kept
