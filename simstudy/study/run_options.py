"""The options of a run: the arguments of `Study.run`, checked against the study."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from simstudy.analysis.precision import PILOT, SEQUENTIAL, STOPS_BY, Target, read_targets
from simstudy.design import Scenario, scenario_key
from simstudy.design.plan import Plan, factors_of
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, nearest
from simstudy.remote.paths import Place
from simstudy.store.study_folder import CHANGED
from simstudy.study.spec import StudySpec
from simstudy.study.validation import check_n_rep, check_whole_groups
from simstudy.validation import as_whole, check_one_of, check_whole, is_whole

Out = str | os.PathLike[str] | Place | None
Replicates = int | Mapping[str, int] | Callable[[Any], int] | None
"""Replicates per scenario: one number, or numbers by factors or by a function of the scenario."""
MAX_BLOCKS, MAX_SHARES = 10**9, 10**6
PILOT_REP = 10_000  # replicates that estimate an MCSE to within about 1%


@dataclass
class RunOptions:
    """The arguments of `Study.run`, the most common ones first.

    The dataclass is not frozen and has plain types, so that Hydra can use it as a schema.

    Parameters
    ----------
    n_rep
        Replicates per scenario: the first `n_rep` of an endless sequence. Default: the study's
        `n_rep`. For numbers that differ by scenario, a function of the scenario, or a mapping such
        as `{"n=20": 5000, "n=50, effect=0": 2000}`: of the entries that fit a scenario, the one
        with the most factors counts. A scenario that none fits has the study's `n_rep`.
    seed
        Seed of the sequence of random numbers.
    n_jobs
        Number of workers. Default, and -1: one per core. It changes no number.
    out
        Parent of the study's folder, as a path or a URL such as `s3://bucket/folder`. Default: a
        temporary folder, deleted with the result.
    progress
        Whether progress is shown. Default: only in a terminal or a notebook. An object with
        `begin`, `advance` and `note` is called instead.
    precision
        Monte Carlo standard errors to reach, by measure: `{"power": 0.005}`, or `"2%"` of the
        estimate. After `n_rep` replicates each scenario continues until it has reached them, up to
        `max_rep` replicates; the replicates are still the first of the same sequence.
    max_rep
        Largest number of replicates of a scenario with `precision`.
    stop_by
        Rule that decides that a precision is reached. `sequential`: the scenario's own error. It
        has a small bias, since a scenario stops when its error happens to be small: rates of rare
        outcomes come out low by about one hit. `pilot`: the error in a pilot run with other random
        numbers, of `n_rep` replicates or `PILOT_REP`, stored next to the blocks. It has no bias.
    budget
        Time in seconds after which no more blocks are begun. The result then has the same number
        of replicates for every scenario (with `precision`, all that each has), and
        `details.n_left` is the number of missing blocks. A second run continues.
    redraw
        Methods to draw again because their code has changed since their blocks were stored; no
        other method is drawn again. `changed` means all scenarios and methods whose code changed.
        The old blocks stay in the folder.
    adopt
        Whether to accept stored blocks of other code, if code was only rewritten, moved or
        renamed. Some of these blocks are drawn again: 2%, spread over all, and those with
        failures. If every bit agrees, all of them count as the new code's; otherwise nothing is
        adopted. Blocks that were not compared may still differ: `redraw` is safer.
    retry
        Blocks to draw again: `failed` for those with recorded failures, whose new rows replace the
        old ones. Blocks whose worker process died are always drawn again.
    restart
        Whether to delete the stored blocks of these settings first: those of the run's scenarios,
        seed and replicates, of any code.
    shard
        Share `(i, n)` of the blocks: every n-th one, beginning with the i-th. Default: all blocks.
    backend
        Kind of workers: `auto` (this process for less than about a second of work, otherwise
        loky), `loky` (processes), `threads`, `inline` (this process, for a debugger), `dask` (a
        cluster), or your own backend as `module:Class`.
    backend_options
        Further arguments of the backend, by name.
    block_seconds
        Time limit for drawing a block, in seconds; a block that takes longer has failed. Default:
        the limit in the study's rules.
    explain
        Whether to write files that `simstudy.load` can read without the study's code: scenarios,
        summary, failures and a manifest. Published files are not replaced.
    """

    n_rep: Any = None
    seed: int = 1
    n_jobs: int | None = None
    out: Any = None
    progress: Any = None
    precision: dict[str, Any] | None = None
    max_rep: int = 1_000_000
    stop_by: str = SEQUENTIAL
    budget: float | None = None
    redraw: Any = ()
    adopt: bool = False
    retry: str | None = None
    restart: bool = False
    shard: Any = None
    backend: str = "auto"
    backend_options: dict[str, Any] | None = None
    block_seconds: float | None = None
    explain: bool = True

    @classmethod
    def read(cls, study: StudySpec, arguments: Mapping[str, Any]) -> RunOptions:
        """Make the options of a run from arguments; `n_rep=None` is the study's own number.

        Raises
        ------
        ConfigError
            For an unknown name, or a value that is not allowed.
        """
        known = [field.name for field in fields(cls)]
        for name in arguments:
            if name not in known:
                raise ConfigError(f"{name}: a run has no such option; {nearest(name, known)}")
        given = dict(arguments)
        if given.get("n_rep") is None:
            given["n_rep"] = study.n_rep
        elif callable(given["n_rep"]) or isinstance(given["n_rep"], Mapping):
            given["n_rep"] = sizes_by_scenario(given["n_rep"], study)
        for name in {"n_rep", "max_rep"} & given.keys():
            given[name] = as_whole(given[name])
        options = cls(**given)
        options.check_options(study)
        if not isinstance(options.n_rep, dict):
            options.n_rep = int(options.size)  # NumPy's integers are no JSON
        return options

    @property
    def size(self) -> int:
        """The largest number of replicates of a scenario."""
        return max(self.n_rep.values()) if isinstance(self.n_rep, dict) else cast(int, self.n_rep)

    def sizes(self, plan: Plan) -> dict[str, int]:
        """Replicates by scenario key."""
        if isinstance(self.n_rep, dict):
            return {key: self.n_rep[key] for key in plan.keys}
        return dict.fromkeys(plan.keys, self.size)

    @property
    def workers(self) -> Workers:
        """The number and kind of workers."""
        return Workers(self.backend, self.n_jobs, self.backend_options or {}, self.block_seconds)

    def check_options(self, study: StudySpec) -> None:
        """Check the options, alone and together.

        Raises
        ------
        ConfigError
            For the first option that is not allowed, with an allowed value.
        """
        check_switches(
            restart=self.restart,
            adopt=self.adopt,
            explain=self.explain,
        )
        check_by_name(precision=self.precision, backend_options=self.backend_options)
        _ = self.workers  # checks its arguments
        check_budget(self.budget)
        by_scenario = isinstance(self.n_rep, dict)
        for n_rep in dict.fromkeys(self.n_rep.values()) if by_scenario else (self.n_rep,):
            check_n_rep(n_rep)
            check_n_blocks(n_rep, study.block_size)
            check_whole_groups(study.rules.group_size, n_rep)
        check_whole("max_rep", self.max_rep, least=1, usual=1_000_000)
        check_one_of("retry", self.retry, (None, "failed"))
        check_redraw(self.redraw, study.methods)
        check_stop_by(self.stop_by, self.precision)
        if by_scenario and self.stop_by == PILOT:
            raise ConfigError(
                "n_rep by scenario with stop_by='pilot': a pilot has the same number of replicates "
                "in each scenario. Give one number, such as n_rep=2000."
            )
        check_shard(self.shard, self.precision)
        self.targets(study)

    def targets(self, study: StudySpec) -> Sequence[Target]:
        """The precision targets."""
        return read_targets(self.precision or {}, study.measures)

    def ceiling(self, study: StudySpec) -> int:
        """The maximum number of replicates of a scenario, in whole groups."""
        return self.max_rep - self.max_rep % study.rules.group_size

    def planned(self, study: StudySpec) -> Plan:
        """The plan of the study."""
        return study.plan(self.seed)

    @property
    def most_rep(self) -> int:
        """The largest number of replicates per scenario that the run may draw."""
        return max(self.size, self.max_rep) if self.precision else self.size

    @property
    def is_all(self) -> bool:
        """Whether the run is not a share."""
        return self.shard is None


def sizes_by_scenario(n_rep: Any, study: StudySpec) -> dict[str, int]:
    """Compute replicates by scenario key from a function of the scenario or a mapping by factors.

    If several entries of a mapping fit a scenario, the one with the most factors decides.

    Raises
    ------
    ConfigError
        For an entry that fits no scenario, and for two equally specific ones that disagree.
    """
    if callable(n_rep):
        return {scenario_key(each): as_whole(n_rep(each)) for each in study.scenarios}
    found = dict[str, int]()
    n_named = dict[str, int]()  # factors in the entry that decided, by scenario
    for entry, number in n_rep.items():
        n = as_whole(number)
        fitting = [each for each in study.scenarios if _fits(each, str(entry))]
        if not fitting:
            known = dict.fromkeys(name for each in study.scenarios for name in factors_of(each))
            raise ConfigError(
                f"n_rep: no scenario has {entry!r}; an entry names values of factors, such as "
                f"'n=20' or 'n=20, effect=0'. The factors are {', '.join(known) or 'none'}."
            )
        for each in fitting:
            key, n_factors = scenario_key(each), str(entry).count("=")
            if n_factors == n_named.get(key) and found[key] != n:
                raise ConfigError(
                    f"n_rep: two entries give {each!r} {found[key]:,} and {n:,} replicates. Add an "
                    "entry that names more of its factors."
                )
            if n_factors > n_named.get(key, -1):
                found[key], n_named[key] = n, n_factors
    return {key: found.get(key, study.n_rep) for key in map(scenario_key, study.scenarios)}


def _fits(scenario: Scenario, entry: str) -> bool:
    """Whether a scenario has the values of factors that an entry names."""
    factors = {name: str(value) for name, value in factors_of(scenario).items()}
    for part in entry.split(","):
        name, _, value = (text.strip() for text in part.partition("="))
        if name not in factors or not _is_level(factors[name], value):
            return False
    return True


def _is_level(level: str, text: str) -> bool:
    """Whether a text is a level, or the same number."""
    try:
        return math.isclose(float(level), float(text), rel_tol=1e-9)
    except ValueError:
        return level == text


def pilot_rep(study: StudySpec, n_rep: int) -> int:
    """Count the replicates of a pilot: at most `PILOT_REP` or two blocks, in whole groups."""
    ceiling = max(2 * study.block_size, PILOT_REP)
    return min(n_rep, ceiling + -ceiling % study.rules.group_size)


# ---------------------------------------------------------------- one by one
def check_n_blocks(n_rep: int, block_size: int) -> None:
    """Refuse more blocks than a run can keep track of."""
    if n_rep > MAX_BLOCKS * block_size:
        raise ConfigError(
            f"n_rep={n_rep} is more than {MAX_BLOCKS:,} blocks of {block_size} replicates, the "
            f"most that a run can have. Use fewer, for example n_rep={1000 * block_size}"
        )


def check_shard(shard: Any, precision: Any) -> None:
    """Check `shard`; a run with a precision target cannot be split."""
    if shard is not None and not _is_share(shard):
        raise ConfigError(
            f"shard={shard!r}: must be (i, n), two whole numbers with 1 <= i <= n, for the "
            f"i-th of at most {MAX_SHARES:,} shares; nearest that works: shard=(1, 2)"
        )
    if shard and precision:
        raise ConfigError(
            "shard with precision: a share of the blocks cannot show when the whole study is "
            "precise enough. Run the shards with a fixed n_rep, then precision=... without shard."
        )


def _is_share(shard: Any) -> bool:
    if not isinstance(shard, tuple | list) or len(shard) != 2 or not all(map(is_whole, shard)):
        return False
    return bool(1 <= shard[0] <= shard[1] <= MAX_SHARES)


def check_by_name(**given: Any) -> None:
    """Refuse anything but mappings and None."""
    for name, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise ConfigError(
                f"{name}={value!r} has no names: give a dict, such as precision={{'power': 0.005}}."
            )


def check_budget(budget: Any) -> None:
    """Check `budget`, in seconds."""
    is_time = isinstance(budget, numbers.Real) and not isinstance(budget, bool)
    if budget is not None and not (is_time and 0 < budget < math.inf):
        raise ConfigError(
            f"budget={budget!r} is not allowed: must be a number of seconds above 0, or None for "
            "no limit."
        )


def check_stop_by(stop_by: Any, precision: Any) -> None:
    """Check `stop_by`: `sequential`, or `pilot` with a precision target."""
    check_one_of("stop_by", stop_by, STOPS_BY)
    if stop_by == PILOT and not precision:
        raise ConfigError(
            "stop_by=pilot without precision: a pilot estimates how many replicates a precision "
            "needs. Set one, for example precision.MEASURE=0.005"
        )


def check_switches(**switches: Any) -> None:
    """Check booleans: texts such as `"no"` would count as true."""
    for name, value in switches.items():
        check_one_of(name, value, (True, False))


def check_redraw(redraw: Any, methods: Collection[str]) -> tuple[str, ...]:
    """Check `redraw`: names of methods or `changed`, possibly in one text with commas."""
    names = redraw.strip("[]").split(",") if isinstance(redraw, str) else redraw
    names = [str(name).strip() for name in names]
    for name in names:
        if name not in (*methods, CHANGED):
            raise ConfigError(
                f"redraw={name}: the study has no such method; " + nearest(name, methods)
            )
    return tuple(names)
