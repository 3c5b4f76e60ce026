"""What a run found, read from its store.

What reads it is imported by those who ask: a run that has nothing to do asks for nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simstudy.analysis.summary_access import SUMMARY, SummaryAccess
from simstudy.design import Scenario, scenario_key
from simstudy.design.plan import Plan
from simstudy.design.reprs import names_in_short, shown
from simstudy.engine.run_stats import RunStats
from simstudy.errors import FigureError, StudyError, TableError, nearest
from simstudy.lazy import pd
from simstudy.store.arrow_schema import CONVERGED, ERROR
from simstudy.store.study_folder import FOLDERS

if TYPE_CHECKING:
    from simstudy.analysis.comparisons import Comparisons
    from simstudy.analysis.estimates import Estimator, Prepare
    from simstudy.analysis.precision import Target
    from simstudy.analysis.result_columns import ResultColumns
    from simstudy.claims import Claim
    from simstudy.measures import Estimates, Measure
    from simstudy.measures.contrasts import Scale
    from simstudy.remote.paths import Place
    from simstudy.store.blocks import Store
    from simstudy.store.run_records import BlockTimings, RunRecord, Times
    from simstudy.tables.table import Table

Figure = Callable[["Result"], Any]
MakesTable = Callable[["Result"], "Table"]


@dataclass(repr=False)
class Result(SummaryAccess):
    """The result of a study.

    Parameters
    ----------
    plan
        What was drawn.
    store
        Where its blocks are.
    n_rep
        Replicates used of each scenario, by its key.
    declared
        The measures that the study declares.
    figures
        Functions that draw the study's figures, by name.
    claimed
        The claims of the study.
    worst
        Values that failures count as, by column.
    moments_only
        Whether only moments of blocks were kept (`keep="summary"`).
    level
        Coverage of the intervals in the summary, in (0, 1).
    folder
        Folder of the study; None for a temporary one.
    outcome
        What the run did: blocks, failures and times.
    targets
        Monte Carlo standard errors that the run was to reach.
    n_left
        Blocks that a time budget has left undrawn.
    n_pilot
        Replicates of each scenario in the pilot that fixed the number of replicates; 0 without
        one.
    design
        Keys of all scenarios of the study, where this result has only some; else empty.
    keep_alive
        An object that must live as long as the result, such as a temporary folder.
    tables
        Functions that make the study's tables, by name.
    readings
        Words for values of factors in figures and tables, by factor and value.
    labels
        Words for factors and axes in figures and tables.
    given
        Python code that gives the result again, where its replicates were not drawn here; else
        empty.
    group_size
        So many replicates, one after the other, may depend on each other; groups do not.

    Attributes
    ----------
    summary
        One row per scenario, cell of the axes, and measure, each number with its MCSE.
    replicates
        One row per scenario, replicate, and cell of the axes.
    failures
        One row per failed replicate and cell, with its error and its address.
    warnings
        One row per text of a warning and cell of the axes, with the number of replicates.
    claims
        One row per claim of the document.
    seconds
        One row per scenario and method: what drawing took.
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
    folder: Place | None = None
    outcome: RunStats = field(default_factory=RunStats)
    targets: Sequence[Target] = ()
    n_left: int = 0  # blocks that a time budget has left undrawn
    n_pilot: int = 0  # replicates of each scenario in the pilot that fixed how many there are
    design: tuple[str, ...] = ()  # keys of all scenarios of the study, where some are left out
    keep_alive: object = field(default=None, repr=False)
    tables: Mapping[str, MakesTable] = field(default_factory=dict)
    readings: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    given: str = ""
    group_size: int = 1

    @property
    def name(self) -> str:
        """Of the study."""
        return self.plan.name

    def _in_short(self) -> str:
        least, most = min(self.n_rep.values()), max(self.n_rep.values())
        each = f"{least:,}" + f" to {most:,}" * (most > least)
        return shown(
            f"Result of {self.plan.name}",
            self.plan.scenarios,
            "; ".join(f"{axis}: {names_in_short(at)}" for axis, at in self.plan.axes.items()),
            f"measures: {names_in_short(measure.name for measure in self.declared)}",
            f"{each} replicates of each scenario, {self.n_failed or 'none'} failed; seed "
            f"{self.plan.seed}",
            f"out of time: {self.n_left:,} blocks are to go" if self.n_left else "",
        )

    @cached_property
    def summary(self) -> pd.DataFrame:
        from simstudy.analysis.summary import summarize

        return summarize(self.plan, self.measures, self._estimator(self.measures))

    @cached_property
    def summary_all_methods(self) -> pd.DataFrame:
        """Summary of the replicates in which every method succeeded.

        Raises
        ------
        StudyError
            If the study has no axes, or only moments of blocks were kept.
        """
        from simstudy.analysis.summary import summarize
        from simstudy.measures import all_methods

        self._refuse_moments("replicates")
        if not self.plan.axes:
            raise StudyError(f"{self.plan.name} has no axis of methods to hold together.")
        axis = self.plan.methods_axis or "method"
        place = list(self.plan.axes).index(axis) if axis in self.plan.axes else 0
        watch = functools.partial(all_methods, axis=place)
        return summarize(self.plan, self.declared, self._estimator(self.declared, watch))

    @cached_property
    def measures(self) -> Sequence[Measure]:
        """The study's measures, and the convergence rate where any replicate failed."""
        from simstudy.measures import convergence_rate

        names = {measure.name for measure in self.declared}
        if not self.any_failed or "convergence_rate" in names:
            return self.declared
        return [*self.declared, convergence_rate(CONVERGED).of_groups(self.group_size)]

    @cached_property
    def remarks(self) -> list[str]:
        """What speaks against estimates of measures that take less work, each measure's at once."""
        if not any(measure.remarks for measure in self.declared):
            return []
        from simstudy.analysis.summary import factor_names, format_remarks

        return format_remarks(self.summary, [*factor_names(self.plan), *self.plan.axes])

    @cached_property
    def any_failed(self) -> bool:
        """Whether any of this result's replicates failed, whatever else is stored beside them."""
        from simstudy.analysis.frames import any_failure

        return any_failure(self.plan.drawn, self.store, self.drawn_sizes)

    @property
    def drawn_sizes(self) -> dict[str, int]:
        """Replicates used, by the key under which they are stored: a method's, if there are any."""
        return self.plan.drawn_sizes(self.n_rep)

    @property
    def seconds_by_method(self) -> dict[str, float]:
        """Seconds per replicate of each method that this run drew, without drawing its data."""
        from simstudy.analysis.result_columns import seconds_by_method

        return seconds_by_method(self.plan, self.outcome.seconds_per_block)

    @cached_property
    def seconds(self) -> pd.DataFrame:
        """What drawing took, on one core, in all runs that drew any of what is stored.

        Returns
        -------
        DataFrame
            One row per scenario, and of a study with methods per method, beside one for the data
            that they analyse (`(data)`): the factors, `seconds_per_replicate`, `seconds` in all,
            and `replicates_timed`. Whole blocks count, also beyond the replicates that are used;
            what was drawn twice counts twice; the last half minute of a run that was killed, and
            blocks of earlier versions, were not timed.
        """
        from simstudy.analysis.frames import run_time

        return run_time(self.plan, self.spent)

    @cached_property
    def spent(self) -> Mapping[str, BlockTimings]:
        """What blocks took, by the key of what was drawn."""
        return self.outcome.spent if self.folder is None else self._record.spent

    @property
    def times(self) -> Times | None:
        """When its blocks were drawn, by all runs; None where nothing says so."""
        return None if self.folder is None else self._record.times

    @property
    def _record(self) -> RunRecord:
        from simstudy.store.run_records import read_records

        return read_records(self._blocks_folder, self.store.provenance)

    @property
    def _blocks_folder(self) -> Place:
        if self.folder is None:
            raise StudyError("this result lives in memory only, and has no folder of blocks.")
        return self.folder / FOLDERS["summary" if self.moments_only else "replicates"]

    def estimates(self, measures: Sequence[Measure]) -> dict[tuple[str, str], Estimates]:
        """Compute measures in every scenario.

        Parameters
        ----------
        measures
            Any measures of columns that the replicates have.

        Returns
        -------
        dict[tuple[str, str], Estimates]
            Estimates over the axes, by scenario key and measure name.
        """
        estimator = self._estimator(measures)
        return {
            (key, measure.name): estimator(scenario, measure)
            for key, scenario in self.plan.keys.items()
            for measure in measures
        }

    def anytime(self, measure: str, *, planned: float | None = None) -> pd.DataFrame:
        """Summarize a measure with limits that hold however often somebody looks at the run.

        Parameters
        ----------
        measure
            The name of a share, or of a mean of one value per replicate.
        planned
            Of means, the replicates at which limits are to be closest together: the same number at
            every look.

        Returns
        -------
        pd.DataFrame
            The rows of the summary, with these limits as `lower` and `upper`.

        Raises
        ------
        StudyError
            For a measure that is neither, and for a mean without `planned`.
        """
        from simstudy.analysis.summary import MEASURE, with_anytime_limits

        known = self._measure(measure)
        rows = self.summary[self.summary[MEASURE] == known.name]
        return with_anytime_limits(rows, known, self.level, planned)

    def contrast(
        self, measure: str, *, axis: str, first: str, second: str, scale: Scale = "difference"
    ) -> pd.DataFrame:
        """Compare a measure of one method with that of another, on the replicates they share.

        Parameters
        ----------
        measure
            Name of a measure of the study.
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
        return self._comparisons.methods(self._measure(measure), axis, first, second, scale)

    def contrast_scenarios(
        self, measure: str, first: Scenario, second: Scenario, *, scale: Scale = "difference"
    ) -> pd.DataFrame:
        """Compare a measure in two scenarios: in pairs if they share random numbers.

        Parameters
        ----------
        measure
            Name of a measure of the study.
        first, second
            Scenarios of this run.
        scale
            `difference` (first - second) or `ratio` (first/second).

        Returns
        -------
        pd.DataFrame
            A row per cell of the axes.
        """
        return self._comparisons.scenarios(self._measure(measure), first, second, scale)

    @property
    def _comparisons(self) -> Comparisons:
        from simstudy.analysis.comparisons import Comparisons
        from simstudy.store.columns import imputed

        def read(scenario: Scenario, measure: Measure) -> Mapping[str, np.ndarray]:
            return imputed(self.columns(scenario, *measure.reads), self.worst)

        return Comparisons(self.plan, read, self.level)

    def _measure(self, name: str) -> Measure:
        known = {measure.name: measure for measure in self.measures}
        if name not in known:
            raise StudyError(f"{self.plan.name} has no measure {name!r}; {nearest(name, known)}")
        return known[name]

    def _estimator(self, measures: Sequence[Measure], prepare: Prepare | None = None) -> Estimator:
        from simstudy.analysis.estimates import FromMoments, FromRows
        from simstudy.store.columns import imputed

        if self.moments_only:
            return FromMoments(self.plan, self.store, measures, self.n_rep, self.level)
        if prepare is None and self.worst:
            prepare = functools.partial(imputed, worst=self.worst)
        return FromRows(self.plan, self.store, measures, self.n_rep, prepare, self.level)

    @cached_property
    def claims(self) -> pd.DataFrame:
        from simstudy.claims import check_claims

        return check_claims(self.claimed, self)

    @cached_property
    def n_failed(self) -> int:
        """Replicates that failed, in any cell."""
        if not self.any_failed:
            return 0
        from simstudy.analysis.summary import factor_names

        return len(self.failures[[*factor_names(self.plan), "rep"]].drop_duplicates())

    @property
    def replicates(self) -> pd.DataFrame:
        return self.rows()

    def rows(self, *scenarios: Scenario, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the replicates of some scenarios as one tidy frame.

        Parameters
        ----------
        scenarios
            Scenarios of this run; all, if none is named.
        columns
            Those that `simulate` returned; all, if None.

        Returns
        -------
        pd.DataFrame
            A row per scenario, replicate and cell of the axes.
        """
        self._refuse_moments("replicates")
        chosen = scenarios or self.plan.scenarios
        frames = [self._frame(scenario, columns) for scenario in chosen]
        return pd.concat(frames, ignore_index=True)

    def columns(self, scenario: Scenario, *names: str) -> dict[str, np.ndarray]:
        """Return columns of one scenario as arrays.

        Parameters
        ----------
        scenario
            A scenario of this run.
        names
            Names of columns.

        Returns
        -------
        dict[str, np.ndarray]
            Arrays `(rep,)` or `(rep, *axes)`, by name.
        """
        self._refuse_moments("replicates")
        key = self._known_key(scenario)
        return self._rows.columns(key, names)

    def first_block(self, scenario: Scenario, *names: str) -> dict[str, np.ndarray]:
        """Return columns of a scenario's first block, whole even if fewer replicates were asked.

        For a figure or table that shows the replicates of one block, and so is the same in every
        run.

        Parameters
        ----------
        scenario
            A scenario of this run.
        names
            Names of columns.

        Returns
        -------
        dict[str, np.ndarray]
            Arrays `(rep,)` or `(rep, *axes)`, by name.
        """
        self._refuse_moments("replicates")
        key = self._known_key(scenario)
        return self._rows.columns(key, names, self.plan.block_size)

    def figure(self, name: str, *, width: float | None = None) -> Any:
        """Draw a figure of the study.

        Parameters
        ----------
        name
            Its name in the study.
        width
            Inches of the page for which it is laid out, such as 3.5 for one column of a journal;
            that of a page's text, unless given.

        Returns
        -------
        Any
            The figure, of plotnine or matplotlib.

        Raises
        ------
        FigureError
            If the study has no figure of this name.
        """
        if name not in self.figures:
            raise FigureError(
                f"no figure {name!r} in {self.plan.name}; {nearest(name, self.figures)}"
            )
        from simstudy.figures.page import laid_out_for

        with laid_out_for(width) if width is not None else nullcontext(), self._lent_summary():
            return _labelled(self.figures[name](self), self.labels)

    def table(self, name: str = SUMMARY, *, columns: str | None = None) -> Table:
        """Make a table of the study; every study has the one called `summary`.

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
            Where there is no such table, and for `columns` of another table than the summary's.
        """
        if columns is not None or (name == SUMMARY and name not in self.tables):
            return self._summary_table(name, columns)
        if name not in self.tables:
            known = {SUMMARY, *self.tables}
            raise TableError(f"no table {name!r} in {self.plan.name}; {nearest(name, known)}")
        with self._lent_summary():
            return self.tables[name](self)

    def publish(self, folder: str | os.PathLike[str] | Place, *, replace: bool = False) -> Place:
        """Write frames, tables, figures and the report into a folder of the study below this one.

        Parameters
        ----------
        folder
            Folder such as `results`, or a URL; the files lie in `results/NAME`. It may be the
            `out` of the run. Replicates lie where the run stored them.
        replace
            Whether files that other settings, or a longer run, published there may be replaced.

        Returns
        -------
        path
            The folder that was written.

        Raises
        ------
        StoreError
            Where the files may not be replaced, or the disk cannot be written.
        """
        from simstudy.output.folder import publish
        from simstudy.remote.paths import place_of

        target = place_of(folder) / self.plan.name
        target.mkdir(parents=True, exist_ok=True)
        publish(dataclasses.replace(self, folder=target), replace=replace)
        return target

    def save_report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report alone: one HTML page, with its figures inside.

        Parameters
        ----------
        path
            Path of the file.

        Returns
        -------
        Path
            The path.
        """
        from simstudy.atomic_files import write_bytes
        from simstudy.remote.paths import place_of

        target = Path(path)
        with tempfile.TemporaryDirectory() as folder:
            page = self.publish(folder) / "report.html"
            write_bytes(place_of(target), page.read_bytes())
        return target

    @contextmanager
    def _lent_summary(self) -> Iterator[None]:
        """Lend a copy of the summary: what a figure changes in it, nothing else shows."""
        kept = self.summary
        self.summary = kept.copy()
        try:
            yield
        finally:
            self.summary = kept

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
            Where there is none (it names the nearest), or more than one.
        """
        from simstudy.analysis.lookup import scenario_with

        return scenario_with(self.plan.scenarios, where)

    def values(self, column: str, **factors: Any) -> np.ndarray:
        """A column of the replicates of one scenario, at one position of each axis.

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
            Where it is open which scenario or position is meant, or there is none.
        """
        from simstudy.analysis.lookup import place_on_axes

        of_axes = {name: at for name, at in factors.items() if name in self.plan.axes}
        rest = {name: value for name, value in factors.items() if name not in of_axes}
        found = self.columns(self.scenario(**rest), column)[column]
        place: tuple[Any, ...] = place_on_axes(self.plan.axes, of_axes) if found.ndim > 1 else ()
        return np.asarray(found[:, *place])

    @cached_property
    def failures(self) -> pd.DataFrame:
        from simstudy.analysis.frames import failure_frame, no_failures
        from simstudy.analysis.summary import factor_names

        if not self.any_failed:
            return no_failures()
        found = failure_frame(self.plan.drawn, self.store, self.drawn_sizes)
        names = [*factor_names(self.plan), "block", "rep", *self.plan.axes, ERROR, "address"]
        return found[names]

    @cached_property
    def warnings(self) -> pd.DataFrame:
        """How many replicates warned of what, by method and other axes."""
        from simstudy.analysis.frames import warning_counts

        return warning_counts(self.plan.drawn, self.store, self.drawn_sizes, [*self.plan.axes])

    def _frame(self, scenario: Scenario, names: Sequence[str] | None) -> pd.DataFrame:
        from simstudy.analysis.frames import replicate_frame

        self._known_key(scenario)
        return replicate_frame(self._rows, scenario, names)

    @cached_property
    def _rows(self) -> ResultColumns:
        from simstudy.analysis.result_columns import ResultColumns

        return ResultColumns(self.plan, self.store, self.n_rep)

    def _known_key(self, scenario: Scenario) -> str:
        key = scenario_key(scenario)
        if key not in self.n_rep:
            raise LookupError(f"scenario {scenario} is not in this run")
        return key

    def _refuse_moments(self, what: str) -> None:
        if self.moments_only:
            raise StudyError(
                f"this run kept no {what}, only its summary. Run it with keep=replicates."
            )


def _labelled(figure: Any, labels: Mapping[str, str]) -> Any:
    """A ggplot with the labels of the names by which its axes and legends are titled."""
    mapping = getattr(figure, "mapping", None)
    if not labels or mapping is None:
        return figure
    from simstudy.lazy import p9

    titles = {at: getattr(figure.labels, at, None) or str(name) for at, name in mapping.items()}
    return figure + p9.labs(**{at: labels[t] for at, t in titles.items() if t in labels})
