"""The result of a run, read from its store."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from simstudy.analysis.estimates import Estimator, Prepare, Target
from simstudy.analysis.frames import failure_frame, replicate_frame, run_time, warning_counts
from simstudy.analysis.replicates import Replicates
from simstudy.analysis.summary import (
    Comparisons,
    factor_names,
    factor_rows,
    format_doubts,
    known_rows_with,
    one_with,
    place_on_axes,
    rows_with,
    scenarios_with,
    summarize,
    warned_measures,
)
from simstudy.claims.claim import Claim, check_claims
from simstudy.design import Scenario
from simstudy.design.plan import Plan
from simstudy.design.reprs import format_names, from_to, shown
from simstudy.engine.run_monitor import RunStats
from simstudy.errors import FigureError, SimstudyError, StudyError, TableError, nearest
from simstudy.lazy import pd
from simstudy.measures import Estimates, Measure, MeasureContext, all_methods, convergence_rate
from simstudy.measures.contrasts import Scale
from simstudy.measures.core import bind
from simstudy.places import Place
from simstudy.store.arrow_schema import CONVERGED, ERROR, SCENARIO
from simstudy.store.blocks import Store
from simstudy.store.files import REPLICATES
from simstudy.store.provenance import Provenance
from simstudy.store.runs import BlockTimings, RunRecord, Times, read_records, study_folder
from simstudy.tables.summary import MAX_TABLE_ROWS, format_head, summary_table
from simstudy.tables.table import Table

Figure = Callable[["Result"], Any]
MakesTable = Callable[["Result"], "Table"]

SUMMARY = "summary"  # the table that every study has


def measure_context(plan: Plan) -> MeasureContext:
    """Facts about a study that its measures may need."""
    return MeasureContext(plan.axes, plan.name, plan.seed, plan.rules.group_size)


@dataclass(frozen=True)
class ResultParts:
    """The parts of a result; readers use `Result`.

    Parameters
    ----------
    replicates
        The replicates, with their plan.
    declared
        The study's measures.
    n_left
        Number of blocks that were not drawn when the time budget was spent.
    repeat_command
        Command or call that repeats a result of other software; empty for a study that was drawn.
    answer
        The study's function that answers its question.
    manifest
        The manifest of a folder that was loaded without the study's code; None for other results.
    read_table
        Function from the name of a table to what was written under it. Default: tables are made
        from the replicates.
    """

    replicates: Replicates
    declared: Sequence[Measure]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    claimed: Sequence[Claim] = ()
    level: float = 0.95
    folder: Place | None = None
    outcome: RunStats = field(default_factory=RunStats)
    targets: Sequence[Target] = ()
    n_left: int = 0
    keep_alive: object = field(default=None, repr=False)
    tables: Mapping[str, MakesTable] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    repeat_command: str = ""
    answer: Callable[[Result], str | Sequence[str]] | None = None
    manifest: Mapping[str, Any] | None = None
    read_table: Callable[[str], pd.DataFrame] | None = None

    @property
    def plan(self) -> Plan:
        """The plan of what was drawn."""
        return self.replicates.plan

    @property
    def n_rep(self) -> Mapping[str, int]:
        """The number of replicates used of each scenario, by its key."""
        return self.replicates.n_rep

    # ---------------------------------------------------------------- measures
    @cached_property
    def measures(self) -> Sequence[Measure]:
        """The study's measures, and the convergence rate if any replicate failed."""
        names, rate = {measure.name for measure in self.declared}, convergence_rate()
        if not self.replicates.any_failed or "convergence_rate" in names:
            return self.declared
        return [*self.declared, bind(rate, measure_context(self.plan))]

    def measure(self, name: str | Measure) -> Measure:
        """The measure with this name; a measure for the axes and the seed of the study."""
        if isinstance(name, Measure):
            return bind(name, measure_context(self.plan))
        known = {measure.name: measure for measure in self.measures}
        if not self.declared:
            raise StudyError(
                f"contrast({name!r}): a loaded result knows no measures by name. Give one, such as "
                'simstudy.measures.bias("estimate", truth=0.0).'
            )
        if name not in known:
            raise StudyError(f"{self.plan.name} has no measure {name!r}; {nearest(name, known)}")
        return known[name]

    def estimates(self, measures: Sequence[Measure]) -> dict[tuple[str, str], Estimates]:
        """Estimates of some measures, by scenario key and measure name."""
        estimator = self.estimator(measures)
        return {
            (key, measure.name): estimator(scenario, measure)
            for key, scenario in self.plan.keys.items()
            for measure in measures
        }

    def estimator(self, measures: Sequence[Measure], prepare: Prepare | None = None) -> Estimator:
        """The estimator for some measures."""
        return Estimator(self.replicates, measures, prepare, self.level)

    # ---------------------------------------------------------------- where replicates come from
    @property
    def store(self) -> Store:
        """The store of the replicates."""
        if self.replicates.store is None:
            raise StudyError("these replicates are in memory: there is no store of blocks.")
        return self.replicates.store

    @property
    def provenance(self) -> Provenance:
        """The provenance of the replicates."""
        return self.replicates.provenance

    @property
    def unit_sizes(self) -> dict[str, int]:
        """The number of replicates used, by the key of the work unit."""
        return self.plan.unit_sizes(self.n_rep)

    # ---------------------------------------------------------------- seconds
    @cached_property
    def spent(self) -> Mapping[str, BlockTimings]:
        """Timings of blocks, by the key of the work unit."""
        return self.outcome.spent if self._record is None else self._record.spent

    @property
    def times(self) -> Times | None:
        """When the blocks were drawn, over all runs; None if unknown."""
        return None if self._record is None else self._record.times

    @property
    def _record(self) -> RunRecord | None:
        if self.folder is None or self.replicates.store is None:
            return None
        return read_records(study_folder(self.folder) / REPLICATES, self.provenance)


class Result:
    """The result of a study.

    Each table is a copy: what a reader writes into it changes no other reader's.

    Parameters
    ----------
    details
        The store, the declarations of the study, and how it was run.

    Attributes
    ----------
    summary : pd.DataFrame
        One row per scenario, cell of the axes, and measure, each number with its MCSE.
    replicates : pd.DataFrame
        One row per scenario, replicate, and cell of the axes.
    failures : pd.DataFrame
        One row per failed replicate and cell, with its error and its address.
    warnings : pd.DataFrame
        One row per text of a warning and cell of the axes, with the number of replicates.
    claims : pd.DataFrame
        One row per claim of the document.
    seconds : pd.DataFrame
        One row per scenario and method: what drawing took.
    """

    def __init__(self, details: ResultParts) -> None:
        self.details = details
        self._frames: dict[str, pd.DataFrame] = {}

    @property
    def plan(self) -> Plan:
        """The plan: scenarios, axes, seed."""
        return self.details.plan

    @property
    def n_rep(self) -> Mapping[str, int]:
        """The number of replicates used, by scenario key."""
        return dict(self.details.n_rep)

    @property
    def folder(self) -> Place | None:
        """The study's folder; None if nothing was stored."""
        return self.details.folder

    @property
    def outcome(self) -> RunStats:
        """Statistics of this run: blocks drawn, failures, seconds, warnings."""
        return self.details.outcome

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest of a folder that was loaded; empty for other results."""
        return copy.deepcopy(dict(self.details.manifest or {}))

    @property
    def _name(self) -> str:
        manifest = self.details.manifest
        return self.plan.name if manifest is None else str(manifest["study"])

    def _short_repr(self) -> str:
        if (manifest := self.details.manifest) is not None:
            failed = f" ({self.n_failed:,} failed)" if self.n_failed else ""
            size = f"{manifest['scenarios']:,} scenarios, {manifest['replicates']:,} replicates"
            return f"<{self._name}: {size}{failed}, in {self.folder}>"
        each = from_to(min(self.n_rep.values()), max(self.n_rep.values()))
        n_left = self.details.n_left
        return shown(
            f"Result of {self.plan.name}",
            self.plan.scenarios,
            "; ".join(f"{axis}: {format_names(at)}" for axis, at in self.plan.axes.items()),
            f"measures: {format_names(measure.name for measure in self.details.declared)}",
            f"{each} replicates of each scenario, {self.n_failed or 'none'} failed; seed "
            f"{self.plan.seed}",
            f"out of time: {n_left:,} blocks are to go" if n_left else "",
        )

    def __repr__(self) -> str:
        """The study, and the first rows of the summary, rounded to their errors."""
        try:
            rows = self._frame("summary").head(MAX_TABLE_ROWS)
        except SimstudyError:  # `summary` raises it again; a `repr` must not
            return self._short_repr()
        head = f"\n\n{format_head(self._table_of(rows))}" if len(rows) else ""
        return self._short_repr() + head

    def _table_of(self, summary: pd.DataFrame, axis: str | None = None) -> Table:
        labels = self.details.value_labels, self.details.labels
        return summary_table(summary, self._name, *labels, axis=axis)

    # ---------------------------------------------------------------- the summary
    def _frame(self, name: str) -> pd.DataFrame:
        """A table of this name, made once; readers outside get a copy, which they may change."""
        if name not in self._frames:
            read = self.details.read_table
            if read is not None and name != "factors":
                self._frames[name] = read(name)
            else:
                self._frames[name] = getattr(self, f"_make_{name}")()
        return self._frames[name]

    def summary_only(self) -> Result:
        """Copy the result with its summary, and without other tables that may be large.

        Returns
        -------
        Result
            The copy, as workers that draw figures get it.
        """
        light = Result(replace(self.details))
        light._frames["summary"] = self._frame("summary")
        return light

    @property
    def summary(self) -> pd.DataFrame:
        return self._frame("summary").copy()

    @property
    def scenarios(self) -> pd.DataFrame:
        """The scenarios, or pairs of scenario and method: their keys in the store, and factors."""
        return self._frame("scenarios").copy()

    def _make_scenarios(self) -> pd.DataFrame:
        units = self.plan.work_units
        keys = pd.DataFrame({SCENARIO: list(units.keys)})
        return pd.concat([keys, factor_rows(units, units.scenarios)], axis=1)

    def _make_factors(self) -> pd.DataFrame:
        return factor_rows(self.plan, self.plan.scenarios)

    def _make_summary(self) -> pd.DataFrame:
        measures, targets = self.details.measures, self.details.targets
        estimator = self.details.estimator(measures)
        return summarize(self.plan, measures, estimator, {each.measure for each in targets})

    def select(self, measure: str | Sequence[str] | None = None, **factors: Any) -> pd.DataFrame:
        """Select rows of the summary.

        Parameters
        ----------
        measure
            Name of a measure, or several. Default: all.
        **factors
            Values, or lists of values, of factors and axes. Floats are equal up to rounding.

        Returns
        -------
        pd.DataFrame
            The rows.

        Raises
        ------
        LookupError
            For a measure or a level that the summary does not have; KeyError for such a factor.

        Examples
        --------
        The result is that of the example of `Study`.

        >>> result.select("type_1_error", n2=5)["method"].tolist()
        ['welch', 'permuted']
        """
        rows = self._frame("summary")
        if measure is None:
            return known_rows_with(rows, factors)
        known = rows["measure"].unique()
        for name in [measure] if isinstance(measure, str) else measure:
            if name not in known:
                raise LookupError(f"there is no measure {name!r}; {nearest(name, known)}")
        return known_rows_with(rows, {"measure": measure} | factors)

    def row(self, measure: str, **factors: Any) -> pd.Series:
        """Select one row of the summary.

        Parameters
        ----------
        measure
            Name of the measure.
        **factors
            Values of factors and axes.

        Returns
        -------
        pd.Series
            The row.

        Raises
        ------
        LookupError
            If there is none, or more than one; KeyError for a factor that it does not have.

        Examples
        --------
        The result is that of the example of `Study`.

        >>> row = result.row("type_1_error", method="welch")
        >>> bool(row["lower"] < row["estimate"] < row["upper"])
        True
        """
        return one_with(self.select(measure), factors, f"rows of {measure!r}")

    @property
    def summary_all_methods(self) -> pd.DataFrame:
        """Summary of the replicates in which every method succeeded.

        Raises
        ------
        StudyError
            If the study has no axes.
        """
        return self._frame("summary_all_methods").copy()

    def _make_summary_all_methods(self) -> pd.DataFrame:
        if not self.plan.axes:
            raise StudyError(f"{self.plan.name} has no axis of methods to hold together.")
        axis = self.plan.methods_axis or "method"
        place = list(self.plan.axes).index(axis) if axis in self.plan.axes else 0
        watch = functools.partial(all_methods, axis=place, failed_by=CONVERGED)
        declared = self.details.declared
        return summarize(self.plan, declared, self.details.estimator(declared, watch))

    @property
    def seconds(self) -> pd.DataFrame:
        """Seconds of drawing, on one core, over all runs.

        Returns
        -------
        DataFrame
            One row per scenario; if the study has methods, one per method and one for the data
            that they analyse (`(data)`). Columns: the factors, `seconds_per_replicate`, `seconds`
            in all, and `replicates_timed`. Whole blocks count, also beyond the replicates that are
            used; what was drawn twice counts twice; the last half minute of a run that was killed,
            and blocks of earlier versions, were not timed.
        """
        return run_time(self.plan, self.details.spent)

    def contrast(
        self,
        measure: str | Measure,
        *,
        first: Any,
        second: Any,
        axis: str | None = None,
        scale: Scale = "difference",
        **factors: Any,
    ) -> pd.DataFrame:
        """Compare a measure between two methods, two levels of a factor, or two scenarios.

        Parameters
        ----------
        measure
            Name of a measure of the study, or a measure.
        first, second
            Two positions on one of the study's axes, such as `"t"` and `"z"` of the methods,
            compared on the replicates they share. Or two levels of a factor, or two scenarios,
            which are paired if they share random numbers.
        axis
            The axis or factor. Not needed for two scenarios, and if the study has only one axis.
        scale
            `difference` (first - second) or `ratio` (first/second).
        **factors
            Factors and other axes of the rows to keep, as of `select`; all, if none is named.

        Returns
        -------
        pd.DataFrame
            A row per scenario (or pair of scenarios) and cell of the other axes; the MCSE is that
            of the pairs.

        Raises
        ------
        StudyError
            If it is not clear on which axis `first` and `second` are, or a measure has no such
            contrast.

        Examples
        --------
        The result is that of the example of `Study`.

        >>> gap = result.contrast("type_1_error", axis="method", first="permuted", second="welch")
        >>> bool(gap["lower"].item() > 0)  # the permutation test rejects more often
        True
        """
        known, level = self.details.measure(measure), self.details.level
        compared = Comparisons(self.plan, self.columns, known, scale, level)
        return known_rows_with(compared.rows(axis, first, second), factors)

    @property
    def claims(self) -> pd.DataFrame:
        return self._frame("claims").copy()

    def _make_claims(self) -> pd.DataFrame:
        return check_claims(self.details.claimed, self)

    @cached_property
    def n_failed(self) -> int:
        """The number of replicates that failed in any cell."""
        if self.details.manifest is not None:
            return int(self.details.manifest.get("failed_replicates") or 0)
        if not self.details.replicates.any_failed:
            return 0
        return len(self._frame("failures")[[*factor_names(self.plan), "rep"]].drop_duplicates())

    @property
    def replicates(self) -> pd.DataFrame:
        return self.rows()

    def rows(
        self, *scenarios: Scenario, columns: Sequence[str] | None = None, **factors: Any
    ) -> pd.DataFrame:
        """Return the replicates of some scenarios as one tidy frame.

        Parameters
        ----------
        scenarios
            Scenarios of this run; all, if none is named.
        columns
            Columns that `simulate` returned. Default: all.
        **factors
            Factors and axes of the rows to keep, as of `select`. Other scenarios are not read.

        Returns
        -------
        pd.DataFrame
            A row per scenario, replicate and cell of the axes.

        Raises
        ------
        LookupError
            If no scenario has these factors.
        """
        for scenario in scenarios:
            self._known_key(scenario)
        chosen = scenarios_with(self.plan, scenarios or self.plan.scenarios, factors)
        frames = [replicate_frame(self.details.replicates, each, columns) for each in chosen]
        frame = pd.concat(frames, ignore_index=True)
        return rows_with(frame, factors).reset_index(drop=True) if factors else frame

    def columns(
        self, scenario: Scenario, *names: str, first_block: bool = False
    ) -> dict[str, np.ndarray]:
        """Return columns of one scenario as arrays.

        Parameters
        ----------
        scenario
            A scenario of this run.
        names
            Names of columns.
        first_block
            Whether to return the scenario's whole first block, even if fewer replicates were
            requested.

        Returns
        -------
        dict[str, np.ndarray]
            Arrays `(rep,)` or `(rep, *axes)`, by name.
        """
        rows, key = self.details.replicates, self._known_key(scenario)
        return rows.columns(key, names, self.plan.block_size if first_block else None)

    def figure(self, name: str) -> Any:
        """Draw a figure of the study.

        Parameters
        ----------
        name
            Its name in the study.

        Returns
        -------
        Any
            The figure, of plotnine or matplotlib.

        Raises
        ------
        FigureError
            If the study has no figure of this name, or its code was not loaded.
        """
        figures = self.details.figures
        if self.details.manifest is not None and self.folder is not None:
            raise FigureError(
                f"a loaded result cannot draw figure {name!r}, which needs the study's code: "
                f"{_run_again(self.details.manifest, self.folder)}.figure({name!r}) can, and draws "
                "no blocks that are stored."
            )
        if name not in figures:
            raise FigureError(f"no figure {name!r} in {self.plan.name}; {nearest(name, figures)}")
        return _labelled(figures[name](self), self.details.labels)

    def table(self, name: str = SUMMARY, *, columns: str | None = None) -> Table:
        """Make a table of the study; every study has one called `summary`.

        Parameters
        ----------
        name
            Its name in the study.
        columns
            For the table of the summary: the factor or axis whose values become columns, such as
            `method`. None makes a column of each measure.

        Returns
        -------
        Table
            The table, which prints as text and is written by `save_table`.

        Raises
        ------
        TableError
            If there is no such table, and for `columns` with another table than the summary.
        """
        tables = self.details.tables
        if name == SUMMARY and (columns is not None or name not in tables):
            return self._table_of(self._frame("summary"), columns)
        if columns is not None:
            raise TableError(
                f"columns={columns!r} with table {name!r}: only the table of the summary can be "
                "laid out by an axis. Leave out the name, or columns."
            )
        if name not in tables:
            known = {SUMMARY, *tables}
            raise TableError(f"no table {name!r} in {self._name}; {nearest(name, known)}")
        return tables[name](self)

    def scenario(self, **where: Any) -> Any:
        """Find the one scenario of this run with these factors.

        Parameters
        ----------
        where
            Values of factors, by name.

        Returns
        -------
        Any
            The scenario.

        Raises
        ------
        LookupError
            If there is none, or more than one.
        """
        place: Any = one_with(self._frame("factors"), where, "scenarios").name
        return self.plan.scenarios[place]

    def values(self, column: str, **factors: Any) -> np.ndarray:
        """Return a column of one scenario, at one position of each axis.

        Parameters
        ----------
        column
            A column that was drawn, or a derived one.
        **factors
            Factors that name the scenario, and labels of axes. A study of one scenario needs no
            factor, and an axis with one label no label.

        Returns
        -------
        array
            `(rep,)`; NaN where a replicate failed.

        Raises
        ------
        LookupError
            If several scenarios or positions fit, or none.

        Examples
        --------
        The result is that of the example of `Study`, which has one scenario.

        >>> result.values("p", method="welch").shape
        (200,)
        """
        of_axes = {name: at for name, at in factors.items() if name in self.plan.axes}
        rest = {name: value for name, value in factors.items() if name not in of_axes}
        found = self.columns(self.scenario(**rest), column)[column]
        place: tuple[Any, ...] = place_on_axes(self.plan.axes, of_axes) if found.ndim > 1 else ()
        return np.asarray(found[:, *place])

    @property
    def failures(self) -> pd.DataFrame:
        return self._frame("failures").copy()

    def _make_failures(self) -> pd.DataFrame:
        if not self.details.replicates.any_failed:
            return pd.DataFrame(columns=["address", ERROR])
        return failure_frame(self.details.replicates)

    @property
    def warnings(self) -> pd.DataFrame:
        """Count the replicates with each warning, by method and other axes."""
        return self._frame("warnings").copy()

    def _make_warnings(self) -> pd.DataFrame:
        return warning_counts(self.details.replicates)

    def _known_key(self, scenario: Scenario) -> str:
        key = self.plan.key_of(scenario)
        if key not in self.details.n_rep:
            raise LookupError(f"scenario {scenario} is not in this run")
        return key


def doubts_of(result: Result) -> str:
    """How many numbers of a result have a warning, and which, in one line; empty if none has."""
    return format_doubts(result.summary, [*factor_names(result.plan), *result.plan.axes])


def warnings_of_measures(result: Result) -> list[str]:
    """Warnings about variance-reduced estimates, by measure."""
    if not any(measure.warns for measure in result.details.declared):
        return []
    found = warned_measures(result.summary, [*factor_names(result.plan), *result.plan.axes])
    return [warned.sentence for warned in found]


def _run_again(manifest: Mapping[str, Any], folder: Place) -> str:
    """The Python call that reads the blocks of a loaded result."""
    asked = manifest["replicates_per_scenario"]
    n_rep = max(asked.values()) if isinstance(asked, Mapping) else asked
    out = str(study_folder(folder).parent)
    return f"study.run({n_rep}, seed={manifest['seed']}, out={out!r})"


def _labelled(figure: Any, labels: Mapping[str, str]) -> Any:
    """Set the titles of a plot's axes and legends, and the names of factors in its caption."""
    mapping = getattr(figure, "mapping", None)
    if not labels or mapping is None:
        return figure
    from simstudy.figures.captions import caption, format_name
    from simstudy.lazy import p9

    known = {format_name(name): text for name, text in labels.items()} | dict(labels)
    titles = {at: getattr(figure.labels, at, None) or str(name) for at, name in mapping.items()}
    words = {at: known[title] for at, title in titles.items() if title in known}
    if told := " ".join((figure.labels.get("caption", None) or "").split()):
        for name, text in known.items():  # the caption may name a setting, "n obs = 50."
            told = re.sub(rf"(?:^|(?<=[.,] )){re.escape(name)} = ", f"{text} = ", told)
        words["caption"] = caption(told)
    made = figure + p9.labs(**words)
    for scale in made.scales:  # the title of a legend
        if isinstance(scale.name, str):
            scale.name = known.get(scale.name, scale.name)
    return made
