"""Theory's rows of a figure of curves: from the summary, or from a finer grid."""

from __future__ import annotations

from simstudy.errors import FigureError
from simstudy.figures.frame import need_columns, refuse_hidden
from simstudy.figures.panels import with_panels
from simstudy.lazy import pd


def theory_of(
    exact: bool | pd.DataFrame, drawn: pd.DataFrame, x: str, mapped: dict[str, str | None]
) -> pd.DataFrame:
    """Rows of the theory's line; none where there is no theory or it is not asked for."""
    if isinstance(exact, pd.DataFrame):
        return _finer_theory(exact, drawn, x, mapped)
    return drawn[drawn["exact"].notna() & exact]


def _finer_theory(
    exact: pd.DataFrame, drawn: pd.DataFrame, x: str, mapped: dict[str, str | None]
) -> pd.DataFrame:
    known = {role: c for role, c in mapped.items() if role != "color" or c in exact.columns}
    need_columns(exact, [x, "exact", *known.values()])
    refuse_hidden(exact, {"x": x, **known}, [str(c) for c in exact.columns if c != "exact"])
    line = with_panels(pd.DataFrame({"x": exact[x], "exact": exact["exact"]}), exact, known)
    for role, column in known.items():
        if column is not None and column != "measure":
            line[role] = _same_levels(line[role], drawn[role], column)
    return line


def staircase(theory: pd.DataFrame, x: str) -> pd.DataFrame:
    """Theory of whole numbers `x` as steps, each of which ends half-way to its neighbours."""
    almost_half = 0.5 - 1e-6  # two neighbours' ends stay two points, and an upright line between
    sides = [theory.assign(**{x: theory[x] + side}) for side in (-almost_half, almost_half)]
    return pd.concat(sides).sort_values(x, kind="stable")


def same_panels(
    theory: pd.DataFrame, drawn: pd.DataFrame, mapped: dict[str, str | None]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both with the panels of all measures, of which some are known without simulation."""
    role = next((role for role, column in mapped.items() if column == "measure"), None)
    if role is None or role not in theory:
        return theory, drawn
    both = [*drawn[role].cat.categories, *theory[role].cat.categories]
    levels = list(dict.fromkeys(both))
    return (
        theory.assign(**{role: theory[role].cat.set_categories(levels)}),
        drawn.assign(**{role: drawn[role].cat.set_categories(levels)}),
    )


def _same_levels(levels: pd.Series, drawn: pd.Series, column: str) -> pd.Series:
    strange = [c for c in levels.cat.categories if c not in drawn.cat.categories]
    if strange:
        raise FigureError(
            f"The theory has {column} at {', '.join(strange)}, where nothing was simulated, so it "
            "would be a line without its points. Leave those rows out of `exact`."
        )
    return levels.cat.set_categories(drawn.cat.categories)
