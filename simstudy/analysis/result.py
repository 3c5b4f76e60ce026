"""What a run found, read from its store."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.analysis.contrasts import Contrasts, Scale
from simstudy.analysis.lookup import scenario_with
from simstudy.analysis.summary import (
    CONVERGED,
    FromMoments,
    FromRows,
    factor_names,
    imputed,
    read_columns,
    summarize,
)
from simstudy.claims import Claim, check_claims
from simstudy.design import Plan, factors_of, scenario_key
from simstudy.errors import FigureError, StudyError, nearest
from simstudy.lazy.pandas import pd
from simstudy.measures import Estimates, Measure, all_methods, convergence_rate
from simstudy.store.blocks import Store
from simstudy.store.layout import ERROR, cell_name, columns_of, has_text, stored_columns

Figure = Callable[["Result"], Any]


@dataclass
class Result:
    """The result of a study.

    Attributes
    ----------
    summary
        One row per scenario, cell of the axes, and measure, each number with its MCSE.
    replicates
        One row per scenario, replicate, and cell of the axes.
    failures
        One row per failed replicate and cell, with its error and its address.
    claims
        One row per claim of the document.

    Parameters
    ----------
    plan
        What was drawn.
    n_rep
        Replicates used of each scenario, by its key.
    moments_only
        Whether only moments of blocks were kept (`keep="summary"`).
    """

    plan: Plan
    store: Store
    n_rep: Mapping[str, int]
    declared: Sequence[Measure]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    claimed: Sequence[Claim] = ()
    worst: Mapping[str, float] = field(default_factory=dict)
    moments_only: bool = False
    level: float = 0.95
    folder: Path | None = None
    outcome: Any = None
    targets: Sequence[Any] = ()
    design: tuple[str, ...] = ()  # keys of all scenarios of the study, where some are left out
    keep_alive: Any = field(default=None, repr=False)

    @cached_property
    def summary(self) -> pd.DataFrame:
        return summarize(self.plan, self.measures, self._estimator(self.measures))

    @cached_property
    def summary_all_methods(self) -> pd.DataFrame:
        """The summary of the replicates in which every method succeeded."""
        self._refuse_moments("replicates")
        if not self.plan.axes:
            raise StudyError(f"{self.plan.name} has no axis of methods to hold together.")
        axis = list(self.plan.axes).index("method") if "method" in self.plan.axes else 0
        watch = functools.partial(all_methods, axis=axis)
        return summarize(self.plan, self.declared, self._estimator(self.declared, watch))

    @cached_property
    def measures(self) -> Sequence[Measure]:
        """The study's measures, and the convergence rate where any replicate failed."""
        names = {measure.name for measure in self.declared}
        if self.moments_only or not self.any_failed or "convergence_rate" in names:
            return self.declared
        return [*self.declared, convergence_rate(CONVERGED)]

    @cached_property
    def any_failed(self) -> bool:
        """Whether any of this result's replicates failed, whatever else is stored beside them."""
        stored = () if self.moments_only else self.store.stored_names()
        names = [name for name in stored if name.split("[")[0] == ERROR]
        return bool(names) and any(self._has_failed(key, names) for key in self.plan.keys)

    def _has_failed(self, key: str, names: Sequence[str]) -> bool:
        table = self.store.read(key, self.n_rep[key], names)
        return any(column.null_count < len(column) for column in table.columns)

    def estimates(self, measures: Sequence[Measure]) -> dict[tuple[str, str], Estimates]:
        """Some measures of every scenario, by scenario key and measure name."""
        estimator = self._estimator(measures)
        return {
            (key, measure.name): estimator(one, measure)
            for key, one in self.plan.keys.items()
            for measure in measures
        }

    def contrast(
        self, measure: str, *, axis: str, first: str, second: str, scale: Scale = "difference"
    ) -> pd.DataFrame:
        """A measure of one method against another's, on the replicates they share.

        Parameters
        ----------
        axis, first, second
            Two positions on one of the study's axes, such as `axis="method", first="t",
            second="z"`.
        scale
            `difference` (first - second) or `ratio` (first/second).

        Returns
        -------
        DataFrame
            A row per scenario and cell of the other axes; the MCSE is that of the pairs.
        """
        return self._contrasts.methods(self._measure(measure), axis, first, second, scale)

    def contrast_scenarios(
        self, measure: str, first: Any, second: Any, *, scale: Scale = "difference"
    ) -> pd.DataFrame:
        """A measure in one scenario against another: paired if they share random numbers."""
        return self._contrasts.scenarios(self._measure(measure), first, second, scale)

    @property
    def _contrasts(self) -> Contrasts:
        def read(scenario: Any, measure: Measure) -> Mapping[str, np.ndarray]:
            return imputed(self.columns(scenario, *measure.reads), self.worst)

        return Contrasts(self.plan, read, self.level)

    def _measure(self, name: str) -> Measure:
        known = {measure.name: measure for measure in self.measures}
        if name not in known:
            raise StudyError(f"{self.plan.name} has no measure {name!r}; {nearest(name, known)}")
        return known[name]

    def _estimator(
        self, measures: Sequence[Measure], prepare: Callable[[Any], Any] | None = None
    ) -> FromRows | FromMoments:
        if self.moments_only:
            return FromMoments(self.plan, self.store, self.n_rep, self.level)
        if prepare is None and self.worst:
            prepare = functools.partial(imputed, worst=self.worst)
        return FromRows(self.plan, self.store, measures, self.n_rep, prepare, self.level)

    @cached_property
    def claims(self) -> pd.DataFrame:
        return check_claims(self.claimed, self)

    @cached_property
    def n_failed(self) -> int:
        """Replicates that failed, in any cell; of moments, the most that any measure misses."""
        if not self.moments_only:
            return int(self.failures["address"].nunique())
        rows = self.summary
        factors = [*factor_names(self.plan)]
        worst = rows.groupby(factors, dropna=False, sort=False)["n_failed"].max()
        return int(worst.sum())

    @property
    def replicates(self) -> pd.DataFrame:
        return self.rows()

    def rows(self, *scenarios: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Replicates of some scenarios (all, if none is named), as one tidy frame.

        Parameters
        ----------
        columns
            Those that `simulate` returned; all, if None.
        """
        self._refuse_moments("replicates")
        chosen = scenarios or self.plan.scenarios
        frames = [self._frame(one, columns) for one in chosen]
        return pd.concat(frames, ignore_index=True)

    def columns(self, scenario: Any, *names: str) -> dict[str, np.ndarray]:
        """Columns of one scenario as arrays `(rep,)` or `(rep, *axes)`."""
        self._refuse_moments("replicates")
        key = self._known_key(scenario)
        return read_columns(self.plan, self.store, key, self.n_rep[key], names)

    def figure(self, name: str) -> Any:
        """A figure of the study, by its name in the document."""
        if name not in self.figures:
            close = difflib.get_close_matches(name, self.figures, n=1, cutoff=0.0)
            raise FigureError(
                f"no figure {name!r} in {self.plan.name}; there is {', '.join(self.figures)}"
                + (f". Nearest: {close[0]!r}." if close else ".")
            )
        return self.figures[name](self)

    def scenario(self, **where: Any) -> Any:
        """The one scenario of this run with these factors.

        Raises
        ------
        LookupError
            Where there is none (it names the nearest), or more than one.
        """
        return scenario_with(self.plan.scenarios, where)

    def value(self, measure: str, **where: Any) -> pd.Series:
        """The one row of the summary with this measure and these factors.

        Raises
        ------
        LookupError
            Where there is none, or more than one.
        """
        rows = self.summary[self.summary["measure"] == measure]
        for name, wanted in where.items():
            near = rows[name] == wanted
            if isinstance(wanted, float):
                near = np.isclose(rows[name].astype(float), wanted)
            rows = rows[near]
        if len(rows) != 1:
            raise LookupError(f"{len(rows)} rows have measure {measure!r} and {where}")
        return rows.iloc[0]

    @cached_property
    def failures(self) -> pd.DataFrame:
        if not self.any_failed:
            return pd.DataFrame(columns=["address", "error"])
        found = [row for one in self.plan.scenarios for row in self._failures_of(one)]
        names = [*factor_names(self.plan), "block", "rep", *self.plan.axes, "error", "address"]
        return pd.DataFrame(found, columns=names)

    def _failures_of(self, scenario: Any) -> list[dict[str, Any]]:
        key = scenario_key(scenario)
        cells = list(self.plan.cells())
        names = ["error", *(cell_name("error", labels) for labels in cells)]
        table = self.store.read(key, self.n_rep[key], names)
        rows = []
        for name in table.column_names:
            texts = table.column(name).to_numpy()
            labels = (
                cells[names.index(name) - 1] if name != "error" else ("",) * len(self.plan.axes)
            )
            for rep in np.flatnonzero(has_text(texts)).tolist():
                place = {"block": rep // self.plan.block_size, "rep": rep}
                cell = dict(zip(self.plan.axes, labels, strict=True))
                error = {"error": texts[rep], "address": f"{key}/{rep}"}
                rows.append(factors_of(scenario) | place | cell | error)
        return rows

    def _frame(self, scenario: Any, names: Sequence[str] | None) -> pd.DataFrame:
        key = self._known_key(scenario)
        table = self.store.read(key, self.n_rep[key])
        wanted = tuple(names if names is not None else stored_columns(table.column_names))
        columns = columns_of(self.plan, table, wanted)
        return _tidy(self.plan, factors_of(scenario), table.column("rep").to_numpy(), columns)

    def _known_key(self, scenario: Any) -> str:
        key = scenario_key(scenario)
        if key not in self.n_rep:
            raise LookupError(f"scenario {scenario} is not in this run")
        return key

    def _refuse_moments(self, what: str) -> None:
        if self.moments_only:
            raise StudyError(
                f"this run kept no {what}, only its summary. Run it with keep=replicates."
            )


def _tidy(
    plan: Plan, factors: Mapping[str, Any], rep: np.ndarray, columns: Mapping[str, np.ndarray]
) -> pd.DataFrame:
    """Long in the axes, if any column has them."""
    with_axes = any(column.ndim > 1 for column in columns.values())
    cells = list(plan.cells()) if with_axes else [()]
    n_rows = len(rep) * len(cells)
    frame: dict[str, Any] = {name: [value] * n_rows for name, value in factors.items()}
    frame["rep"] = np.repeat(rep, len(cells))
    if with_axes:
        labels = np.array(cells, dtype=object)
        frame |= {axis: np.tile(labels[:, i], len(rep)) for i, axis in enumerate(plan.axes)}
    for name, column in columns.items():
        flat = column.reshape(len(rep), -1)
        frame[name] = np.broadcast_to(flat, (len(rep), len(cells))).ravel()
    return pd.DataFrame(frame)
