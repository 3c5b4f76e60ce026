"""Verification of a published folder: what follows from what, and a sample drawn again.

The summary must follow from the estimates of groups of blocks (`groups.parquet`), and the estimates
of groups that are chosen at random must follow from blocks that are drawn here.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from simstudy import errors
from simstudy.analysis.estimates import names_read
from simstudy.analysis.replicates import Replicates, StoredReplicates
from simstudy.analysis.result import Result, ResultParts
from simstudy.analysis.summary import factor_names, scenarios_with
from simstudy.claims.claim import check_claims
from simstudy.design.plan import Plan, base_scenario, factors_in
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import RunProvenance, compute_provenance
from simstudy.engine.tasks import BlockId
from simstudy.engine.workers import Workers
from simstudy.lazy import pd
from simstudy.measures import Measure
from simstudy.measures.intervals import critical_value
from simstudy.output.formatting import counted, format_time
from simstudy.output.groups import AVERAGES, COUNTS, GROUPS, Group, group_estimates
from simstudy.output.manifest import library_versions
from simstudy.places import Place, place_of, write_json
from simstudy.store import runs
from simstudy.store.blocks import Store

if TYPE_CHECKING:
    from simstudy.study import Study

REPORT = "verification.json"
RTOL = 1e-9  # tolerance relative to |estimate| + MCSE √n, for arithmetic on another machine
FALSIFIED = 0.1  # share of groups of which the answer says how probably none was drawn
MIN_SIZE = 30  # replicates of a group from which a measure that is no mean is compared
MIN_GROUPS = 30  # groups to draw at least
MAX_DEVIATION = 5.0  # standard errors between a summary's number and its groups
MCSE_FACTOR = 4.0  # between a summary's error and the spread of its groups
LEVEL = 0.95  # of the limits
MIN_FOR_ERROR = 10  # groups from whose spread an error is checked
NEEDED = ("summary.parquet", GROUPS, "claims.parquet")  # files without which little can be checked
MAX_TIED = 0.01  # share of the drawn groups that may differ by a tie
AGREES, DIFFERS, NOT_COMPARABLE = 0, 1, 2
SETTINGS = ("share", "budget", "seed", "n_jobs")  # arguments that are no factors
NOT_HERE = "replicates, which are not here"


@dataclass
class Verification:
    """The result of a verification.

    Parameters
    ----------
    status
        0 if nothing disagrees, 1 if something does, 2 if numbers differ and so do the versions of
        the libraries.
    seed
        Seed of the choice of groups, to repeat it.
    wrong
        Disagreements, each with both values.
    said
        Lines on what was checked.
    n_groups, n_drawn
        Groups of the folder, and those drawn again.
    unchecked
        Names of what was not checked, each with the reason.
    """

    folder: Place
    seed: int
    status: int = AGREES
    wrong: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    n_groups: int = 0
    n_drawn: int = 0
    missed: float = 1.0

    def __str__(self) -> str:
        """The lines of the answer."""
        verdict = {
            AGREES: "everything that was checked agrees",
            DIFFERS: f"{counted(len(self.wrong), 'number disagrees', 'numbers disagree')}",
            NOT_COMPARABLE: "numbers differ, and so do the libraries: not comparable here",
        }[self.status]
        wrong = [f"  wrong: {text}" for text in self.wrong[:20]]
        wrong += [f"  and {len(self.wrong) - 20:,} more"] * (len(self.wrong) > 20)
        unchecked = [f"  not checked: {text}" for text in self.unchecked]
        return "\n".join([f"{self.folder}: {verdict}", *self.said, *wrong, *unchecked])


def verify(
    folder: str | os.PathLike[str] | Place,
    study: Study | None = None,
    *,
    share: float = 0.01,
    budget: float = 300.0,
    seed: int | None = None,
    n_jobs: int | None = None,
    **where: Any,
) -> Verification:
    """Check that a published folder holds what it says.

    Its files must have the hashes of its manifest. Its summary must follow from the estimates of
    groups of blocks, and its claims from the summary. With the study's code, groups chosen at
    random are drawn again, and must have the same estimates. No code is run but that of `study`.

    Parameters
    ----------
    folder
        Published folder, such as `results/two_stage`, or its URL.
    study
        The study, with the settings of the folder. Default: nothing is drawn.
    share
        Share of the groups to draw again, at least one of each class of scenario and 30 in all.
    budget
        Time in seconds after which no further group is begun.
    seed
        Seed of the choice of groups. Default: a fresh one, which the answer states.
    n_jobs
        Number of workers, as for `Study.run`.
    **where
        Factors and axes of a number whose groups are all drawn.

    Returns
    -------
    Verification
        The answer, as text by `print`; `status` is 0, 1 or 2. It is also written to
        `verification.json` in the folder, if that can be written.

    Raises
    ------
    StoreError
        If the folder holds no results.

    Examples
    --------
    The study is that of the example of `Study`.

    >>> from simstudy import publish, verify
    >>> result = study.run(n_rep=200, out="results")
    >>> verify(publish(result, figures=False).folder, study).status
    0
    """
    place = place_of(folder)
    manifest = runs.read_manifest(place)
    if manifest is None or "study" not in manifest:
        raise errors.StoreError(f"{place} holds no {runs.MANIFEST}: name a folder of results")
    made = Verification(place, secrets.randbits(32) if seed is None else seed)
    _check_files(made, runs.listed_files(manifest, place))
    summary, groups = _table(place, "summary"), _table(place, "groups")
    if summary is None:
        raise errors.StoreError(f"{place} holds no summary: publish the study again.")
    if groups is None:
        made.unchecked.append(f"the numbers of the summary: there is no {GROUPS}")
    elif not groups["row"].between(0, len(summary) - 1).all():
        made.wrong.append(f"{GROUPS} has rows that the summary lacks")
        groups = None
    else:
        averages = manifest.get(AVERAGES, [])
        if study is not None:
            averages = [measure.name for measure in study.measures if measure.averages]
        _check_summary(made, summary, groups, averages)
    if study is not None:
        study = _with_methods_of(study, summary)
        plan = study.plan(int(manifest["seed"]))
        provenance = compute_provenance(plan)
        _check_code(made, manifest, provenance)
        light = _without_replicates(study, plan, manifest, summary)
        _check_claims(made, study, light, _table(place, "claims"))
        if groups is not None:
            try:
                drawn = _Drawn(light, provenance, groups, Workers(n_jobs=n_jobs))
            except errors.StudyError as error:
                if not made.wrong:  # otherwise the summary may have been edited
                    raise
                made.unchecked.append(f"draws: {error}")
            else:
                _check_draws(made, drawn, share=share, budget=budget, where=where)
    if made.wrong:
        moved = study is not None and _other_versions(manifest)
        only_draws = all("drawn here" in text for text in made.wrong)
        made.status = NOT_COMPARABLE if moved and only_draws else DIFFERS
        made.said += [f"versions differ: {moved}"] * bool(moved)
    _write(made)
    return made


# Files ----------------------------------------------------------------
def _table(folder: Place, name: str) -> pd.DataFrame | None:
    """A table of the folder; None if it is not there.

    Raises
    ------
    StoreError
        If it cannot be read.
    """
    path = folder / f"{name}.parquet"
    if not path.exists():
        return None
    try:
        return pd.read_parquet(BytesIO(path.read_bytes()))
    except Exception as error:  # a file may hold anything
        raise errors.StoreError(f"{path} is damaged ({errors.describe(error)}).") from None


def _check_files(made: Verification, listed: Mapping[str, str]) -> None:
    """Compare each listed file with its hash; pages that are made again may be absent."""
    found = {name: runs.file_hash(made.folder / name) for name in listed}
    absent = [name for name, digest in found.items() if not digest]
    made.wrong += [f"{name} is listed and not here" for name in absent if name in NEEDED]
    edited = [name for name, digest in found.items() if digest not in ("", listed[name])]
    made.wrong += [f"{n}: its hash is {found[n]}, in the manifest {listed[n]}" for n in edited]
    n_here = len(listed) - len(absent)
    made.said.append(f"files: {n_here:,} of {len(listed):,} are here, with hashes")
    made.unchecked += [f"files that are not here: {errors.first_few(absent)}"] * bool(absent)


# The summary from the groups ------------------------------------------
def _check_summary(
    made: Verification, summary: pd.DataFrame, groups: pd.DataFrame, averages: Sequence[str]
) -> None:
    """Compare each row of the summary with the mean of its groups."""
    weighted, size = groups["estimate"] * groups["n_given"], groups["estimate"].abs()
    by_row = groups.assign(weighted=weighted, size=size).groupby("row", sort=True)
    sums = by_row[[*COUNTS, "weighted"]].sum(min_count=1)
    means = by_row[["estimate", "size"]].mean()
    std, count = by_row["estimate"].std(), by_row["estimate"].count()
    rows = summary.set_axis(range(len(summary))).loc[sums.index]
    names = list(summary.columns[: list(summary.columns).index("measure") + 1])
    _tell(made, summary[summary.astype(dict.fromkeys(names, str)).duplicated(names)], "twice")
    inside = RTOL * summary["estimate"].abs()
    is_out = summary["lower"] > summary["estimate"] + inside
    is_out |= summary["upper"] < summary["estimate"] - inside
    _tell(made, summary[is_out], "beyond its limits")
    apart = np.fmax(summary["upper"] - summary["estimate"], summary["estimate"] - summary["lower"])
    times = apart / (critical_value(LEVEL) * summary["mcse"])
    is_known = (summary["mcse"] > 0) & np.isfinite(apart) & (summary["n_given"] >= MIN_SIZE)
    is_odd = is_known & ~times.between(1 / MCSE_FACTOR, MCSE_FACTOR)
    text = "the error is {:.3g}, and a limit is {:.3g} away"
    _tell(made, summary[is_odd], text, summary["mcse"], pd.Series(apart))
    for name in COUNTS:
        is_other = rows[name] != sums[name]
        _tell(made, rows[is_other], f"{name} is {{}}, its groups have {{}}", rows[name], sums[name])
    is_average = rows["measure"].isin(averages)
    mean = means["estimate"].where(~is_average, sums["weighted"] / sums["n_given"])
    by_rounding = RTOL * (_unit(rows) + means["size"]) + 1e-15
    allowed = by_rounding.where(is_average, _allowed(rows, mean, std, count))
    is_large = np.isfinite(rows["estimate"]) & (count > 2) & (rows["n_given"] >= MIN_SIZE * count)
    is_checked = is_average | is_large
    is_far = is_checked & _far(rows["estimate"], mean, allowed)
    text = "the summary has {:.10g}, the mean of its groups is {:.10g}"
    _tell(made, rows[is_far], text, rows["estimate"], mean)
    by_groups: pd.Series = std / np.sqrt(count)
    is_known = (count >= MIN_FOR_ERROR) & (by_groups > RTOL * rows["estimate"].abs().clip(1e-300))
    is_near: pd.Series = (rows["mcse"] / by_groups).between(1 / MCSE_FACTOR, MCSE_FACTOR)
    text = "the error is {:.3g}, by its groups about {:.3g}"
    _tell(made, rows[is_average & is_known & ~is_near], text, rows["mcse"], by_groups)
    n_exact, n_near = (is_average & ~is_far).sum(), (is_large & ~is_average & ~is_far).sum()
    said = f"summary: {n_exact:,} of {len(summary):,} numbers are the means of their groups"
    made.said.append(said + f", {n_near:,} lie near them" * bool(n_near))
    if n_small := int((~is_checked).sum()):
        small = f"of few groups or groups of fewer than {MIN_SIZE} replicates"
        made.unchecked.append(f"{n_small:,} numbers that are no means, {small}")
    if n_few := int((is_average & (count < MIN_FOR_ERROR)).sum()):
        made.unchecked.append(f"errors of {n_few:,} numbers of fewer than {MIN_FOR_ERROR} groups")
    n_without = len(summary) - len(rows)
    made.unchecked += [f"{n_without:,} rows of the summary without groups"] * bool(n_without)


def _tell(made: Verification, rows: pd.DataFrame, text: str, *numbers: pd.Series) -> None:
    """Add rows to what is wrong, each with its numbers."""
    for at, row in zip(rows.index, rows.to_dict("records"), strict=True):
        made.wrong.append(f"{_place(row)}: {text.format(*(each[at] for each in numbers))}")


def _allowed(rows: pd.DataFrame, mean: pd.Series, std: pd.Series, count: pd.Series) -> Any:
    """How far measures that are no means may lie from the means of their groups.

    The bias of one in a group of n replicates is of the order of its standard error there over √n.
    That error is the groups' spread, or the one that the summary's error implies if that is more:
    few groups of few replicates may be alike.
    """
    implied = _finite(rows["mcse"]) * np.sqrt(count)
    error, size = np.fmax(std, implied), (rows["n_given"] / count).clip(1)
    chance = MAX_DEVIATION * error / np.sqrt(count)
    return chance + 3 * error / np.sqrt(size) + RTOL * (_unit(rows) + mean.abs())


def _unit(rows: Any) -> Any:
    """|estimate| + MCSE √n of a row or of several: the size of a replicate's part in a number."""
    return abs(rows["estimate"]) + _finite(rows["mcse"]) * np.sqrt(np.maximum(rows["n_given"], 1))


def _finite(numbers: Any) -> Any:
    return np.where(np.isfinite(numbers), numbers, 0.0)


def _far(first: Any, second: Any, allowed: Any) -> Any:
    return ~np.isclose(first, second, rtol=0.0, atol=_finite(allowed), equal_nan=True)


def _same_level(first: Any, second: Any) -> bool:
    """Whether two levels have one text, are the same number, or are both missing."""
    first, second = (None if each != each else each for each in (first, second))
    try:
        return str(first) == str(second) or math.isclose(float(first), float(second), rel_tol=RTOL)
    except (TypeError, ValueError):
        return False


def _place(row: Mapping[Any, Any]) -> str:
    """Measure and factors of a row of a summary."""
    names = list(row.keys())
    factors = [f"{n}={row[n]}" for n in names[: names.index("measure")] if row[n] is not None]
    return f"{row['measure']} at {', '.join(factors)}" if factors else str(row["measure"])


# Code and claims ------------------------------------------------------
def _check_code(made: Verification, manifest: Mapping[str, Any], current: RunProvenance) -> None:
    """Say whether the code here is that of the manifest; draws decide whether it matters."""
    listed, here = manifest.get(runs.INPUTS, {}).get("blocks", {}), current.of_blocks
    origins = [(origin, key) for origin, keys in listed.items() for key in keys]
    n_other = sum(key not in here.codes or here.origin(key) != old for old, key in origins)
    units = f"{n_other:,} of {len(here.codes):,} units"
    other = f"for {units} not the manifest's, or with other libraries: draws show what that moves"
    same = "that of the manifest, with the same libraries"
    made.said.append(f"code: {other if n_other else same}")


def _other_versions(manifest: Mapping[str, Any]) -> str:
    """The libraries whose versions differ from the manifest's."""
    was, now = manifest.get("versions", {}), library_versions()
    others = [f"{n} {v} (here {now[n]})" for n, v in was.items() if now.get(n, v) != v]
    return errors.first_few(others)


@dataclass
class _NoReplicates:
    """Replicates that are not in a folder; reading them raises an error."""

    plan: Plan
    n_rep: Mapping[str, int]
    store: None = None
    any_failed: bool = False

    def __getattr__(self, name: str) -> Any:
        raise errors.StudyError(f"needs {NOT_HERE}")


def _without_replicates(
    study: Study, plan: Plan, manifest: Mapping[str, Any], summary: pd.DataFrame
) -> Result:
    """The study's result with the summary of a folder."""
    n_rep = manifest["replicates_per_scenario"]
    sizes = n_rep if isinstance(n_rep, dict) else dict.fromkeys(plan.keys, n_rep)
    any_failed = bool(manifest.get("failed_replicates"))
    details = ResultParts(
        replicates=cast(Replicates, _NoReplicates(plan, sizes, any_failed=any_failed)),
        declared=study.bound_measures(plan),
        value_labels=study.value_labels,
        labels=study.headings,
    )
    result = Result(details)
    result._frames["summary"] = summary
    return result


def _check_claims(
    made: Verification, study: Study, result: Result, listed: pd.DataFrame | None
) -> None:
    """Check the study's claims by the summary; those that read replicates are not checked."""
    if listed is None or listed.empty:
        return
    ours = check_claims(study.claims, result)
    both = zip(listed.to_dict("records"), ours.to_dict("records"), strict=False)
    checked = [pair for pair in both if NOT_HERE not in str(pair[1]["detail"])]
    for was, now in checked:
        same = was["claim"] == now["claim"] and was["verdict"] == now["verdict"]
        unit = abs(now["reproduced"]) if math.isfinite(now["reproduced"]) else 1.0
        if not same or _far(was["reproduced"], now["reproduced"], RTOL * unit):
            made.wrong.append(
                f"claim {was['claim']!r}: {was['reproduced']:.10g} ({was['verdict']}), by the "
                f"summary {now['reproduced']:.10g} ({now['verdict']})"
            )
    made.said.append(f"claims: {len(checked):,} of {len(listed):,} follow from the summary")
    n_left = len(listed) - len(checked)
    made.unchecked += [f"{n_left:,} claims that read replicates"] * bool(n_left)


# Groups drawn again ---------------------------------------------------
def _with_methods_of(study: Study, summary: pd.DataFrame) -> Study:
    """The study with the methods of a summary, in its order: it may have others by now.

    Raises
    ------
    StudyError
        If the study lacks a method.
    """
    axis = study.methods_axis
    if not study.methods or axis not in summary:
        return study
    names = list(map(str, summary[axis].dropna().unique()))
    for name in names:
        if name not in study.methods:
            near = errors.nearest(name, study.methods)
            raise errors.StudyError(f"the study lacks the method {name!r} of the folder; {near}")
    return replace(study, methods={name: study.methods[name] for name in names})


class _Drawn:
    """The choice of groups, and the comparison of what is drawn."""

    def __init__(
        self, result: Result, provenance: RunProvenance, groups: pd.DataFrame, workers: Workers
    ) -> None:
        self.provenance, self.workers = provenance, workers
        self.plan, self.measures = result.plan, result.details.measures
        self.records: list[Any] = result.summary.to_dict("records")
        keys, known = list(self.plan.keys), {measure.name for measure in self.measures}
        self.n_each, rest = divmod(len(self.records), len(keys))  # rows of a scenario
        if rest or set(result.summary["measure"]) != known:
            text = "the summary has other scenarios or measures than the study"
            raise errors.StudyError(f"{text}: give the study with the settings of the folder")
        scenario = [keys[row // self.n_each] for row in groups["row"]]
        self.groups = groups.assign(key=scenario).set_index("row")
        found = self.groups[["key", *Group._fields]].drop_duplicates()
        self.units = [(key, Group(*map(int, each))) for key, *each in found.itertuples(index=False)]

    def draw(self, units: Sequence[tuple[str, Group]]) -> runs.StudyFolder:
        """Draw the blocks of some groups into a temporary store."""
        work = self.plan.work_units
        home = runs.StudyFolder.open(work, None, self.provenance.of_blocks)
        blocks = [
            BlockId(work.keys[drawn], block, drawn)
            for key, group in units
            for drawn in self.plan.unit_keys[key]
            for block in range(group.first_block, group.last_block + 1)
        ]
        loop = Loop(work, home.store, self.workers, Silent(), provenance=self.provenance)
        loop.draw_blocks(blocks)
        return home

    def compare(self, store: Store, key: str, group: Group) -> Iterator[tuple[str, bool]]:
        """Differences in a group as text, each with whether a tie explains it."""
        own = self.groups[(self.groups["key"] == key) & (self.groups["group"] == group.group)]
        size, n_blocks = self.plan.block_size, group.last_block - group.first_block + 1
        n_rep = min(int((own["n_rep"] + own["n_failed"]).max()), n_blocks * size)
        view: Any = _BlocksFrom(store, group.first_block)
        replicates = StoredReplicates(self.plan, view, {key: n_rep})
        columns = replicates.columns(key, names_read(self.measures))
        at = list(self.plan.keys).index(key) * self.n_each
        for measure in self.measures:
            values = group_estimates(measure, columns, [Group(0, 0, n_blocks - 1)], size)
            for cell in range(len(values["estimate"])):
                if at in own.index:
                    listed, row = own.loc[at], self.records[at]
                    found = {name: part[cell, 0] for name, part in values.items()}
                    if odd := self._other_place(measure, key, row, cell, len(values["estimate"])):
                        yield odd, False
                    yield from self._differing(measure, row, listed, found)
                at += 1

    def _other_place(
        self, measure: Measure, key: str, row: Mapping[str, Any], cell: int, n_cells: int
    ) -> str:
        """A text if a row of the summary has the labels of another place; empty otherwise."""
        wanted: dict[str, Any] = {"measure": measure.name}
        wanted |= factors_in(self.plan, self.plan.keys[key])
        axes = {**self.plan.axes, **{name: tuple(v) for name, v in measure.axes.items()}}
        if math.prod(map(len, axes.values())) == n_cells:
            labels = next(itertools.islice(itertools.product(*axes.values()), cell, None))
            wanted |= dict(zip(axes, labels, strict=True))
        odd = [n for n in wanted if n in row and not _same_level(row[n], wanted[n])]
        return f"{_place(row)}: {odd[0]} should be {wanted[odd[0]]}" if odd else ""

    def _differing(
        self, measure: Any, row: Any, listed: Any, found: Mapping[str, Any]
    ) -> Iterator[tuple[str, bool]]:
        where = f"{_place(row)}, blocks {listed['first_block']} to {listed['last_block']}"
        for name in COUNTS:
            if listed[name] != found[name]:
                yield f"{where}: {name} is {listed[name]:,.0f}, drawn here {found[name]:,}", False
                return
        rtol = max([RTOL, *(self.plan.rules.rtol.get(name, 0.0) for name in measure.reads)])
        if _far(listed["estimate"], found["estimate"], rtol * _unit(row)):
            hits = abs(listed["estimate"] - found["estimate"]) * found["n_given"]
            limit = max(1.0, found["n_given"] / 10_000)
            is_tied = measure.averages and abs(hits - round(hits)) < 1e-6 and hits <= limit + 1e-6
            text = f"{where}: {listed['estimate']:.10g}, drawn here {found['estimate']:.10g}"
            yield text, bool(is_tied)


@dataclass
class _BlocksFrom:
    """A store whose blocks are counted from another one."""

    store: Store
    first: int

    def read(self, key: str, n_rows: int, columns: Sequence[str] | None = None) -> Any:
        """Read a scenario's first rows from that block on."""
        end = self.first - (-n_rows // self.store.rows_per_block)
        table = self.store.rows_between(key, self.first, end)
        names = [name for name in table.column_names if columns is None or name in columns]
        return table.select(names or ["rep"]).slice(0, n_rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


def _check_draws(
    made: Verification, drawn: _Drawn, *, share: float, budget: float, where: Mapping[str, Any]
) -> None:
    """Draw groups again, and compare their estimates."""
    units = drawn.units
    order = _order(drawn.plan, units, made.seed)
    n_wanted = max(math.ceil(share * len(units)), min(MIN_GROUPS, len(units)))
    if where:
        keys = _keys_with(drawn.plan, where)
        order = [unit for unit in order if unit[0] in keys]
        n_wanted = len(order)
    begun, done, tied = time.monotonic(), 0, list[str]()
    size = max(len({type(base_scenario(each)) for each in drawn.plan.scenarios}), 1)
    while done < n_wanted and (not done or time.monotonic() - begun < budget):
        some = order[done : min(done + size, n_wanted)]
        try:
            home = drawn.draw(some)
        except errors.NotHereError as error:
            made.unchecked.append(f"{len(units):,} groups that would be drawn here: {error}")
            return
        for key, group in some:
            found = list(drawn.compare(home.store, key, group))
            made.wrong += [text for text, is_tied in found if not is_tied]
            tied += [text for text, is_tied in found if is_tied][:1]
        done += len(some)
        rate = (time.monotonic() - begun) / done
        size = max(1, min(2 * size, int((budget - (time.monotonic() - begun)) / max(rate, 1e-6))))
    made.n_groups, made.n_drawn, seconds = len(units), done, time.monotonic() - begun
    made.missed = 0.0 if done == len(units) else (1 - FALSIFIED) ** done
    if len(tied) > max(1, MAX_TIED * done):
        made.wrong += tied
    said = f"draws: {done:,} of {len(units):,} groups were drawn here in {format_time(seconds)} "
    at_random = (
        f"(seed of the choice: {made.seed}); if a tenth of the groups were falsified, none of "
        f"these would have been with probability {made.missed:.1g}"
    )
    made.said.append(said + ("(those that were named)" if where else at_random))
    if tied:
        made.said.append(f"ties: {len(tied):,} groups differ by a tie: {errors.first_few(tied)}")
    if done < n_wanted:
        made.unchecked.append(f"{n_wanted - done:,} groups past the budget of {budget:g} s")


def _keys_with(plan: Plan, where: Mapping[str, Any]) -> set[str]:
    """The keys of the scenarios with these factors.

    Raises
    ------
    ConfigError
        For an unknown factor, and if there is none.
    """
    factors = [*factor_names(plan), *plan.axes]
    for name in where:
        if name not in factors:
            raise errors.ConfigError(
                f"{name} is no factor or setting; {errors.nearest(name, [*factors, *SETTINGS])}"
            )
    try:
        return {plan.key_of(each) for each in scenarios_with(plan, plan.scenarios, where)}
    except LookupError as error:
        raise errors.ConfigError(f"{error} in this folder") from None


def _order(plan: Plan, units: Sequence[tuple[str, Group]], seed: int) -> list[tuple[str, Group]]:
    """A random order that begins with one group of each class of scenario."""
    shuffled = [units[at] for at in np.random.default_rng(seed).permutation(len(units))]
    kinds: dict[type, tuple[str, Group]] = {}
    for key, group in shuffled:
        kinds.setdefault(type(base_scenario(plan.keys[key])), (key, group))
    return list(dict.fromkeys([*kinds.values(), *shuffled]))


def _write(made: Verification) -> None:
    """Write the answer to the folder, if it can be written."""
    try:
        write_json(made.folder / REPORT, {**vars(made), "folder": str(made.folder)})
    except OSError:
        made.said.append(f"{REPORT} could not be written")
