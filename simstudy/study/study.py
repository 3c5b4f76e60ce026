"""The class `Study`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simstudy.analysis.estimates import read_targets
from simstudy.analysis.result import Result
from simstudy.design import Scenario
from simstudy.engine.provenance import compute_provenance
from simstudy.lazy import pd
from simstudy.places import Place, place_of
from simstudy.provenance.scenario_id import with_factor
from simstudy.store.files import REPLICATES
from simstudy.store.runs import RUNS
from simstudy.study.run import partial_result, run, warn_of
from simstudy.study.run_options import PILOT_REP, RunOptions, check_by_name
from simstudy.study.spec import StudySpec
from simstudy.validation import check_whole

if TYPE_CHECKING:
    from simstudy.analysis.solve import Solution
    from simstudy.engine.block import Address
    from simstudy.measures import Measure
    from simstudy.output.protocol import Protocol


class Study(StudySpec):
    """A simulation study: scenarios, methods, measures, figures, claims.

    Parameters
    ----------
    name
        Name of the results folder; also part of the address of every random stream.
    scenarios
        Points of the design, from `grid`.
    measures
        Quantities to estimate in each scenario: the rows of the summary.
    methods
        Functions that analyse the data that scenarios draw, by name (see the notes). Empty if the
        scenarios have `simulate`.
    axes
        Axes of the columns after the replicate, each with the names of its positions, such as
        `{"term": ("intercept", "slope")}`. The axis of the methods is added in front and is called
        `method`. For another name, declare an axis whose positions have the methods' names.
    derived
        Columns computed from other columns, by name. Each is a function whose parameters name the
        columns and factors (or the `scenario`) it needs; arrays are those of a block,
        `(rep, *axes)`, with the axis of a vector last. It may read derived columns named before it.
        NaN counts as missing. The column is computed from stored blocks when it is first used, and
        kept until the function's code changes; no replicate is drawn again.
    block_size
        Replicates drawn in one vectorized call: part of the study's identity, so changing it
        changes every number. Default: 50 if a method is `each_replicate`, otherwise 1000.
    n_rep
        Default number of replicates per scenario for runs: the published number.
    figures
        Functions of the result, by the figures' names in the document. Default: each of the first
        measures over the first factor with more than two levels; `{}` for none.
    tables
        Functions of the result that return a `simstudy.tables.Table`, by name. A table `summary` is
        added unless the study has one.
    claims
        Statements of the document, to compare with the results.
    labels
        Headings in tables and titles in figures, by name of a factor, axis or measure, such as
        `{"null_share": "share of true nulls"}`. For a factor also the texts shown for its values,
        such as `{"n_boot": {0: "∞"}}`, or both as `(heading, texts)`.
    answer
        A function of the result that returns the answer to the study's question: a sentence, or a
        list of them.
    rules
        `Rules` for replicates: which may fail or depend on each other.

    Notes
    -----
    A scenario has either `simulate`, which draws and analyses a block in one call, or `draw`, which
    returns data for the study's `methods`. Methods are independent: the results of each are drawn,
    stored and timed separately, and if one fails, the others do not. If a method is added, edited
    or removed, nothing of the others is drawn again, and none of their numbers changes.

    A method is a function of a whole block, or `each_replicate(function)` of one replicate. Its
    parameters name its arguments: data that `draw` returned, factors of the scenario, the
    `scenario` itself, and `streams` (for one replicate: `rng`), the method's own random numbers.
    The data are read-only.

    A method of a block returns a dict of columns of shape `(rep,)` or `(rep, *axes)`. A method of
    one replicate returns a number (or an array over the axes) for each column. Booleans are stored
    as 0 and 1. Every method must return the columns that the measures read.

    Measures can read three kinds of values: the methods' columns; numbers that `draw` returned for
    each replicate, such as a `truth`; and numeric factors and properties of the scenario.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from scipy import stats
    >>> from simstudy import Study, each_replicate, grid
    >>> from simstudy.measures import rejection_rate

    >>> @dataclass(frozen=True)
    ... class TwoSample:
    ...     n1: int
    ...     n2: int
    ...     alpha: float = 0.05
    ...
    ...     def draw(self, streams, n_rep):
    ...         rng = streams("data")
    ...         return {
    ...             "x": rng.normal(size=(n_rep, self.n1)),
    ...             "y": rng.normal(scale=3.0, size=(n_rep, self.n2)),
    ...         }

    >>> def welch(x, y, alpha):
    ...     p = stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue
    ...     return {"p": p, "reject": p <= alpha}

    >>> def permuted(x, y, alpha, rng):  # one replicate
    ...     both = stats.permutation_test(
    ...         (x, y), lambda x, y: x.mean() - y.mean(), n_resamples=99, random_state=rng
    ...     )
    ...     return {"p": both.pvalue, "reject": both.pvalue <= alpha}

    >>> study = Study(
    ...     "two_sample_tests",
    ...     grid(TwoSample, n1=20, n2=5),
    ...     measures=[rejection_rate("reject", name="type_1_error")],
    ...     methods={"welch": welch, "permuted": each_replicate(permuted)},
    ...     block_size=100,
    ... )
    >>> result = study.run(n_rep=200)
    >>> result.summary[["n1", "n2", "method", "measure", "n_rep"]]
       n1  n2    method       measure  n_rep
    0  20   5     welch  type_1_error    200
    1  20   5  permuted  type_1_error    200
    >>> paired = result.contrast(
    ...     "type_1_error", axis="method", first="permuted", second="welch"
    ... )
    >>> bool(paired["estimate"].item() > 0)  # under unequal variances the small sample misleads it
    True
    """

    def run(self, n_rep: int | None = None, seed: int = 1, **options: Any) -> Result:
        """Draw missing replicates and return the result.

        With `out`, the blocks and a manifest are stored; `publish(result)` writes the summary,
        figures, tables and a report.

        Parameters
        ----------
        n_rep
            Replicates per scenario: the first `n_rep` of an endless sequence. Default: the study's
            `n_rep`.
        seed
            Seed of the sequence of random numbers.
        **options
            The fields of `RunOptions`, such as `n_jobs`, `out`, `precision` and `backend`.

        Returns
        -------
        Result
            The result, with its summary, figures, tables and claims.

        Raises
        ------
        ConfigError, StoreError
            If a setting is not allowed, or the folder cannot be used.
        OutOfTime
            If the budget is spent before every scenario has a block.
        """
        asked = RunOptions.read(self, {"n_rep": n_rep, "seed": seed, **options})
        result = run(self, asked)
        warn_of(result, asked, stacklevel=2)
        if asked.is_all and result.folder is not None:
            from simstudy.output.manifest import write_unpublished

            write_unpublished(result)
        return result

    def partial_result(
        self,
        n_rep: int | None = None,
        seed: int = 1,
        *,
        out: str | os.PathLike[str] | Place,
    ) -> Result:
        """Return the result of the blocks stored so far.

        A run draws the first block of every scenario, then the second of every scenario, and so on,
        so this is the whole study with fewer replicates. Scenarios are left out that have no block
        of some method. Blocks of other code count if there are none of the present code. A warning
        says so.

        Parameters
        ----------
        n_rep
            Maximum number of replicates per scenario. Default: all of the stored blocks, which may
            be more than a run asked for.
        seed
            Seed of the run.
        out
            The run's `out`.

        Returns
        -------
        Result
            The result so far.

        Raises
        ------
        StoreError
            If no block is stored.
        """
        asked = {"n_rep": n_rep, "seed": seed, "out": out}
        options = RunOptions.read(self, asked)
        result = partial_result(self, options, n_rep=n_rep)
        warn_of(result, options, stacklevel=2)
        return result

    def forecast(
        self,
        precision: Mapping[str, Any],
        n_rep: int | None = None,
        seed: int = 1,
    ) -> pd.DataFrame:
        """Predict the cost of a precision in each scenario, from a pilot run.

        Parameters
        ----------
        precision
            Monte Carlo standard errors to reach, by measure, as for `run`.
        n_rep
            Replicates of the pilot per scenario. Default: two blocks. At most `PILOT_REP`, or two
            blocks if that is more, are drawn, so that the pilot costs less than the run.
        seed
            Seed of the pilot.

        Returns
        -------
        DataFrame
            One row per scenario: `n_rep` in whole blocks, how many replicates are `needed`,
            `seconds` on one core, and `bytes`.
        """
        from simstudy.analysis.precision import forecast

        check_by_name(precision=precision)
        targets = read_targets(precision, self.measures)
        two_blocks = 2 * self.block_size
        size = min(n_rep or two_blocks, max(two_blocks, PILOT_REP))
        pilot = self.run(size, seed, backend="inline", n_jobs=1)
        return forecast(pilot, targets)

    def protocol(
        self,
        n_rep: int | None = None,
        seed: int = 1,
        *,
        precision: Mapping[str, Any] | None = None,
        out: str | os.PathLike[str] | Place | None = None,
        about: str | None = None,
        run: str = "",
        command: str = "",
        source: str | None = None,
    ) -> Protocol:
        """Write the study as a preregistration (ADEMP-PreReg), before any data are drawn.

        The text is filled in as far as the study declares it. Places for the rest begin with
        `[to fill in`.

        Parameters
        ----------
        n_rep
            Replicates per scenario. Default: the study's `n_rep`.
        seed
            Seed of the run.
        precision
            Monte Carlo standard errors to reach, by measure, as for `run`; `forecast` predicts how
            many replicates they need.
        out
            The run's `out`. `protocol.md` and `protocol.json` are written to the study's folder in
            it, and the report of the results lists deviations. Default: nothing is written.
        about
            Text with the five headings of a protocol. Default: the docstring of the scenarios'
            module, if it has any of them.
        run
            Name of the run's folder below `runs/`. Default: the study's own folder.
        command
            Command that draws the study. Default: the call in Python.
        source
            The study's file, whose commit the protocol names. Default: no commit is named.

        Returns
        -------
        Protocol
            The protocol, which prints as Markdown.

        Raises
        ------
        ConfigError
            For a measure that the study does not have.
        StoreError
            If `out` holds the protocol of another plan.
        """
        from simstudy.output.manifest import environment
        from simstudy.output.protocol import headings_of, protocol_of

        size = self.n_rep if n_rep is None else n_rep
        check_whole("n_rep", size, least=1, usual=1000)
        check_by_name(precision=precision)
        plan = self.plan(seed)
        stored = None if out is None else place_of(out) / self.name
        libraries = compute_provenance(plan).of_blocks.libraries
        module = sys.modules.get(type(self.scenarios[0]).__module__)
        text = getattr(module, "__doc__", None) or ""
        made = protocol_of(
            plan,
            self.bound_measures(plan),
            size,
            targets=read_targets(precision or {}, self.measures),
            claims=self.claims,
            about=about if about is not None else text if headings_of(text).parts else "",
            command=command or f"study.run({size}, seed={seed})",
            was_drawn=stored is not None and (stored / REPLICATES).exists(),
            made_with=environment(source, libraries),
        )
        if stored is None:
            return made
        return made.write(stored / RUNS / run if run else stored)

    def solve(
        self,
        scenario: Scenario,
        factor: str,
        *,
        measure: Measure | str,
        target: float,
        low: float,
        high: float,
        tolerance: float | None = None,
        where: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Solution:
        """Find the least value of a factor at which a measure reaches a target, by bisection.

        For example `study.solve(trial, "n2", measure="power", target=0.8, low=50, high=1000)`. All
        values share random numbers (`common_random_numbers`), as far as the scenario draws the same
        numbers for each.

        Parameters
        ----------
        scenario
            Scenario in which the factor is varied.
        factor
            Name of the factor.
        measure
            Name of one of the study's measures, or a measure. It may rise or fall with the factor.
        target
            In units of the measure.
        low, high
            Values with the answer between them. If both are integers, only integers are tried.
        tolerance
            Distance of two values of the factor at which bisection ends. Default: 1 for integers,
            otherwise a thousandth of `high - low`.
        where
            Labels of the cell to solve for, by axis, where the measure has several.
        **options
            Arguments of `run`, such as `n_rep` (at each value), `seed`, `n_jobs` and `out`, which
            stores the blocks.

        Returns
        -------
        Solution
            The `value` with its interval (`lower`, `upper`), the replicates at each value
            (`n_rep`), and the summary at each value that was tried (`trace`).

        Raises
        ------
        ConfigError
            For an unknown factor, measure or option, and values that are not allowed.
        StudyError
            If the measure is on one side of the target at `low` and `high`, with its values there.
        """
        from simstudy.analysis.solve import Search, check_factor, measure_named

        check_factor(scenario, factor)
        chosen = measure_named(measure, {each.name: each for each in self.measures})
        cell = dict(where or {})
        only = str(cell.get(self.methods_axis)) if chosen.by_cell else ""
        methods = {only: self.methods[only]} if only in self.methods else self.methods
        rules = replace(
            self.rules,
            common_random_numbers=tuple(dict.fromkeys((*self.rules.common_random_numbers, factor))),
            across_replicates=tuple(n for n in self.rules.across_replicates if n in methods),
        )
        bare = replace(
            self, scenarios=[scenario], measures=[chosen], methods=methods, rules=rules,
            figures={}, tables={}, claims=(),
        )  # fmt: skip

        def run_at(value: float) -> Result:
            one = replace(bare, scenarios=[with_factor(scenario, factor, value)])
            asked = RunOptions.read(one, options)
            result = run(one, asked)
            warn_of(result, asked, stacklevel=1)
            return result

        return Search(run_at, factor, chosen.name, target, low, high, tolerance, cell).solve()

    def depends_on(self) -> pd.DataFrame:
        """List the code, constants and libraries that the study's numbers depend on.

        Returns
        -------
        pandas.DataFrame
            One row for each definition, constant and library, with `of` (the scenario class or the
            method that uses it), `name` and `version` (a hash if it is code).
        """
        parts = compute_provenance(self.plan(1)).by_part.items()
        rows = [(of, name, text) for of, entries in parts for name, text in entries.items()]
        return pd.DataFrame(rows, columns=["of", "name", "version"])

    def check(self, seed: int = 1) -> list[str]:
        """Draw two blocks of each scenario and method, and again in another process.

        A run does so for as many scenarios as 5% of its time allow. This takes as long as it needs.

        Parameters
        ----------
        seed
            Seed of the replicates.

        Returns
        -------
        list[str]
            Warnings, for example of numbers that another process draws otherwise, of rows that
            depend on each other, or of factors that nothing reads. Empty if all is well.
        """
        from simstudy.engine.progress import Silent

        asked = {"n_rep": 2 * self.block_size, "seed": seed, "progress": Silent()}
        return run(self, RunOptions.read(self, asked), in_full=True).outcome.warnings

    def data(self, scenario: Scenario, rep: int = 0, seed: int = 1) -> dict[str, Any]:
        """Draw the data of one replicate, as the methods get them.

        Parameters
        ----------
        scenario
            One of the study's scenarios.
        rep
            Number of the replicate in the scenario, from 0: the column `rep` of `replicates`.
        seed
            Seed of the run.

        Returns
        -------
        dict
            The values that `draw` or `draw_one` returned for this replicate, by name.
        """
        from simstudy.engine.block import data_of

        check_whole("rep", rep, least=0, counts="the number of a replicate, from 0", usual=0)
        return data_of(self.plan(seed), scenario, int(rep))

    def replay(self, address: Address | str, seed: int = 1) -> dict[str, Any]:
        """Draw one replicate again, with its whole block.

        If the replicate failed, its error is raised and not recorded.

        Parameters
        ----------
        address
            Address of the replicate, as text from a table of failures or as an `Address`.
        seed
            Seed of the run that the address is from.

        Returns
        -------
        dict
            The replicate's columns by name: a number, or an array over the axes.
        """
        from simstudy.engine.block import Address, replicate_at

        return replicate_at(self.plan(seed), Address.parse(str(address)))
