"""The standard figures for a table of replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simstudy.analysis.result import Figure, Result
from simstudy.errors import FigureError
from simstudy.external.column_roles import TRUTH, ColumnRoles
from simstudy.figures import dots_plot, errors_plot, estimates_plot, measure_curves
from simstudy.lazy import pd

CELL = "cell"  # a column with the levels of all factors in words


def general_figures(
    roles: ColumnRoles, factors: Sequence[str], axis: str | None
) -> dict[str, Figure]:
    """The figures that a table allows, by name."""
    drawing = _Drawing(roles, factors, axis)
    figures: dict[str, Figure] = {"estimates": drawing.estimates}
    figures |= {"standard_errors": drawing.standard_errors} if roles.se else {}
    figures |= {"bias_and_errors": drawing.sizes}
    figures |= {"coverage_and_power": drawing.rates} if roles.limits or roles.p_value else {}
    return figures | ({"over_factor": drawing.curves} if factors else {})


@dataclass(frozen=True)
class _Drawing:
    """Draws the figures, given the roles of the columns."""

    roles: ColumnRoles
    factors: Sequence[str]
    axis: str | None

    @property
    def _columns(self) -> dict[str, Any]:
        """The columns that figures of replicates show."""
        truth = TRUTH if isinstance(self.roles.truth, Mapping) else self.roles.truth
        return {"estimate": self.roles.estimate, "method": self.axis, "truth": truth}

    def estimates(self, result: Result) -> Any:
        """Estimates of all methods, side by side."""
        rows = self._with_cells(result.replicates)
        return estimates_plot(rows, panel=CELL if self.factors else None, **self._columns)

    def standard_errors(self, result: Result) -> Any:
        """Standard errors against estimates."""
        rows = self._with_cells(result.replicates, ",\n")
        cell = CELL if self.factors else None
        return errors_plot(rows, std_error=str(self.roles.se), rows=cell, **self._columns)

    def sizes(self, result: Result) -> Any:
        """Bias, empirical and model standard errors."""
        return self._dots(result, {"bias": 0.0, "empirical_se": None, "model_se": None})

    def rates(self, result: Result) -> Any:
        """Coverage and power."""
        level = self.roles.level
        nominal = {"coverage": level, "bias_eliminated_coverage": level, "power": None}
        return self._dots(result, nominal)

    def curves(self, result: Result) -> Any:
        """Bias and coverage over the last quantitative factor."""
        numbers = [n for n in self.factors if pd.api.types.is_numeric_dtype(result.summary[n])]
        several = [name for name in numbers if result.summary[name].nunique() > 1]
        if not several:
            raise FigureError("no factor is a quantity with several values, to draw curves over.")
        x = several[-1]
        others = [name for name in self.factors if name != x]
        panel = others[0] if others else None
        if len(others) > 1:
            raise FigureError(f"panels tell 2 factors apart, not {len(self.factors)}: draw a few.")
        lines = {"bias": 0.0, "coverage": self.roles.level, "power": None}
        known, nominal = _computed(result.summary, lines)
        return measure_curves(
            result.summary, x=x, y=known, color=self.axis, panel=panel, nominal=nominal
        )

    def _dots(self, result: Result, lines: Mapping[str, float | None]) -> Any:
        known, nominal = _computed(result.summary, lines)
        rows = CELL if self.axis and self.factors else None
        summary = self._with_cells(result.summary, ",\n" if rows else ", ")
        return dots_plot(summary, measure=known, y=self.axis or CELL, rows=rows, nominal=nominal)

    def _with_cells(self, frame: pd.DataFrame, between: str = ", ") -> pd.DataFrame:
        """Add a column that joins the levels of all factors."""
        words = pd.Series("", index=frame.index)
        for at, name in enumerate(self.factors):
            words += between * (at > 0) + f"{name} = " + frame[name].map(_text)
        return frame.assign(**{CELL: words.astype(object)})


def _text(level: object) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def _computed(
    summary: pd.DataFrame, lines: Mapping[str, float | None]
) -> tuple[list[str], dict[str, float] | None]:
    """The measures, among some, that a summary has, with nominal values."""
    found = {name: value for name, value in lines.items() if name in {*summary["measure"]}}
    if not found:
        raise FigureError(f"the summary has none of {', '.join(lines)}.")
    return [*found], {name: at for name, at in found.items() if at is not None} or None
