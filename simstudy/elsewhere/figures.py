"""The figures that any table of replicates has: its rows themselves, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simstudy.analysis.result import Figure, Result
from simstudy.elsewhere.quantities import TRUTH
from simstudy.elsewhere.roles import Roles
from simstudy.errors import FigureError
from simstudy.figures import dots_plot, errors_plot, estimates_plot, measure_curves
from simstudy.lazy import pd

CELL = "cell"  # a column with the levels of all factors in words
SIZES = ("bias", "empirical_se", "model_se")  # in the units of the estimates
RATES = ("coverage", "bias_eliminated_coverage", "power")


def general_figures(roles: Roles, factors: Sequence[str], axis: str | None) -> dict[str, Figure]:
    """The figures of a table, by name, each with what it needs."""
    drawing = _Drawing(roles, tuple(factors), axis)
    figures: dict[str, Figure] = {"estimates": drawing.estimates}
    figures |= {"standard_errors": drawing.standard_errors} if roles.se else {}
    figures |= {"bias_and_errors": drawing.sizes}
    figures |= {"coverage_and_power": drawing.rates} if roles.has_limits or roles.p_value else {}
    return figures | ({"over_factor": drawing.curves} if factors else {})


@dataclass(frozen=True)
class _Drawing:
    """Figures of a result whose columns play these parts."""

    roles: Roles
    factors: tuple[str, ...]
    axis: str | None

    def estimates(self, result: Result) -> Any:
        """Every estimate, beside those of the other methods."""
        rows = self._with_cells(result.replicates)
        return estimates_plot(
            rows,
            estimate=self.roles.estimate,
            method=self.axis,
            truth=self._truth,
            panel=self._cell,
        )

    def standard_errors(self, result: Result) -> Any:
        """Standard errors against estimates."""
        rows = self._with_cells(result.replicates, ",\n")
        return errors_plot(
            rows,
            estimate=self.roles.estimate,
            std_error=str(self.roles.se),
            method=self.axis,
            truth=self._truth,
            rows=self._cell,
        )

    def sizes(self, result: Result) -> Any:
        """Bias beside empirical and model standard errors."""
        return self._dots(result, SIZES, {"bias": 0.0})

    def rates(self, result: Result) -> Any:
        """Coverage and power."""
        level = self.roles.level
        return self._dots(result, RATES, dict.fromkeys(RATES[:2], level))

    def curves(self, result: Result) -> Any:
        """What there is of bias and coverage over the last factor that is a quantity."""
        x = self._quantity(result.summary)
        others = [name for name in self.factors if name != x]
        if len(others) > 1:
            raise FigureError(
                f"{len(self.factors)} factors are more than panels can tell apart: draw some of "
                "them with simstudy.figures.measure_curves."
            )
        known = _there(result.summary, ("bias", "coverage", "power"))
        return measure_curves(
            result.summary,
            x=x,
            y=known,
            color=self.axis,
            panel=others[0] if others else None,
            nominal=_those({"bias": 0.0, "coverage": self.roles.level}, known),
        )

    def _dots(self, result: Result, names: Sequence[str], nominal: Mapping[str, float]) -> Any:
        known = _there(result.summary, names)
        has_rows = self.axis is not None and self._cell is not None
        summary = self._with_cells(result.summary, ",\n" if has_rows else ", ")
        return dots_plot(
            summary,
            measure=known,
            y=self.axis or CELL,
            rows=CELL if has_rows else None,
            nominal=_those(nominal, known),
        )

    def _quantity(self, summary: pd.DataFrame) -> str:
        numbers = [n for n in self.factors if pd.api.types.is_numeric_dtype(summary[n])]
        several = [name for name in numbers if summary[name].nunique() > 1]
        if not several:
            raise FigureError("no factor is a quantity with several values, to draw curves over.")
        return several[-1]

    def _with_cells(self, frame: pd.DataFrame, between: str = ", ") -> pd.DataFrame:
        """With the levels of all factors in one column; rows of panels have room for one a line."""
        words = pd.Series("", index=frame.index)
        for at, name in enumerate(self.factors):
            words += between * (at > 0) + f"{name} = " + frame[name].map(_shown)
        return frame.assign(**{CELL: words.astype(object)})

    @property
    def _cell(self) -> str | None:
        return CELL if self.factors else None

    @property
    def _truth(self) -> Any:
        return TRUTH if isinstance(self.roles.truth, Mapping) else self.roles.truth


def _shown(level: object) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def _there(summary: pd.DataFrame, names: Sequence[str]) -> list[str]:
    known = {*summary["measure"]}
    found = [name for name in names if name in known]
    if not found:
        raise FigureError(f"the summary has none of {', '.join(names)}.")
    return found


def _those(nominal: Mapping[str, float], known: Sequence[str]) -> dict[str, float] | None:
    return {name: level for name, level in nominal.items() if name in known} or None
