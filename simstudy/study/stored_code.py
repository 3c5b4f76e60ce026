"""Stored blocks of other code: what no longer counts, and what is kept because it agrees."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan, base_scenario, method_of
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import OWN_VALUES, RunProvenance
from simstudy.engine.work_queue import BlockId
from simstudy.engine.workers import Workers
from simstudy.errors import first_few
from simstudy.provenance.scenario_id import short_hash
from simstudy.store.blocks import Store
from simstudy.store.columns import MESSAGE_COLUMNS, rows_with_error
from simstudy.store.compaction import adopt_blocks
from simstudy.store.provenance import Provenance
from simstudy.store.run_records import adopt_records, read_records
from simstudy.store.study_folder import StudyFolder

SHARE_COMPARED = 0.02  # proportion of the stored blocks to draw again, chosen at random
RTOL = 1e-9  # relative difference of equal numbers
ATOL = 1e-12  # absolute difference of equal numbers, as a multiple of the column's median
UNIT_INTERVAL_ATOL = 1e-12  # absolute difference of equal numbers within [0, 1]
NOT_COMPARED = frozenset(itertools.chain.from_iterable(MESSAGE_COLUMNS.values()))
"""Columns that are not compared: texts of errors and warnings."""


# ---------------------------------------------------------------- what changed
@dataclass(frozen=True)
class OtherCode:
    """Stored blocks of other code, of units without blocks of the current code.

    Parameters
    ----------
    plan
        Plan of the work units.
    provenance
        Provenance of these blocks: for each key the one most like the current.
    blocks
        Numbers of the stored blocks, by key.
    """

    plan: Plan
    provenance: Provenance
    blocks: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.provenance.codes)

    @property
    def keys(self) -> list[str]:
        """The keys of the units."""
        return [*self.provenance.codes]

    def only(self, keys: Sequence[str]) -> OtherCode:
        """Restrict to some units."""
        blocks = {key: self.blocks[key] for key in keys}
        return replace(self, provenance=self.provenance.only(keys), blocks=blocks)

    @property
    def n_blocks(self) -> int:
        """The number of stored blocks."""
        return sum(map(len, self.blocks.values()))

    def changes(self, current: Provenance) -> str:
        """Name what changed: "method z: critical_value has changed"."""
        by_part: dict[str, dict[str, None]] = {}
        for key in self.keys:
            drawn = self.plan.keys[key]
            method = method_of(drawn)
            part = f"method {method}" if method else type(base_scenario(drawn)).__name__
            lines = dict.fromkeys(self.provenance.differences(current, key))
            by_part[part] = by_part.get(part, {}) | lines
        return first_few([f"{part}: {first_few([*lines])}" for part, lines in by_part.items()])


def other_code(
    plan: Plan, store: Store, *, versions: bool = False, data: bool = False
) -> OtherCode:
    """Find stored blocks of other code, with the options of the current study.

    Blocks of other options, such as those of the other jobs of a sweep, are left out.

    Parameters
    ----------
    plan
        Plan of the work units.
    versions
        Whether to include blocks of the current code by other versions of libraries.
    data
        Whether to include blocks of other data, or of other defaults of a scenario's fields.
    """
    wanted = store.provenance
    found: dict[str, Provenance] = {}
    for key in plan.keys:
        if store.n_blocks(key):
            continue
        made_by = [
            each
            for each in store.others.get(key, ())
            if _same_options(each, wanted, key)
            and (data or each.values.get(key) == wanted.values.get(key))
            and (versions or not each.same_code(wanted, key))
        ]
        if made_by:
            found[key] = min(made_by, key=lambda each: len(each.differences(wanted, key)))
    values = {key: made_by.values[key] for key, made_by in found.items()}
    codes = {key: made_by.codes[key] for key, made_by in found.items()}
    provenance = Provenance(wanted.settings, values, codes)
    if not codes:
        return OtherCode(plan, provenance)
    stored = with_other_code(store, provenance)
    return OtherCode(plan, provenance, {key: stored.block_numbers(key) for key in codes})


def _same_options(stored: Provenance, current: Provenance, key: str) -> bool:
    """Whether blocks are of the same settings, and of the same values that a method holds."""
    was, now = stored.codes.get(key, {}), current.codes.get(key, {})
    return stored.settings == current.settings and was.get(OWN_VALUES) == now.get(OWN_VALUES)


def with_other_code(store: Store, other: Provenance) -> Store:
    """Open the same files as a store that also has the given blocks of other code."""
    own = store.provenance
    both = replace(own, values={**own.values, **other.values}, codes={**own.codes, **other.codes})
    return store.reopened(provenance=both)


def describe_other_code(other: OtherCode, home: StudyFolder) -> str:
    """Say in one line what changed, and how much stored work no longer counts."""
    seconds = 0.0
    if home.blocks is not None:
        spent = read_records(home.blocks, other.provenance).spent.values()
        seconds = sum(each.own + each.data for each in spent)
    work = f" ({seconds:,.1f} core-seconds)" if seconds >= 0.05 else ""
    blocks = (
        "a stored block was" if other.n_blocks == 1 else f"{other.n_blocks:,} stored blocks were"
    )
    return (
        f"changed since {blocks} drawn: {other.changes(home.store.provenance)}. Stored work of "
        f"other code{work} does not count, and is drawn again. If the code was only rewritten, "
        "adopt=true compares a sample and keeps it"
    )


# ---------------------------------------------------------------- adoption
def adopt(other: OtherCode, home: StudyFolder, provenance: RunProvenance, workers: Workers) -> str:
    """Keep stored blocks of other code if the current code draws a sample of them again equally.

    The sample are 2% of each unit's blocks at random, at least one, and all with failures. If a
    block differs, no block of its method (or of its class of scenarios) is kept.

    Returns
    -------
    str
        One line on what was compared and kept.
    """
    stored = with_other_code(home.store, other.provenance)
    blocks = [*_to_compare(other, stored)]
    differing = compare_blocks(other.plan, stored, blocks, provenance, workers)
    parts = {part_of(other.plan, key) for key in differing}
    kept = other.only([key for key in other.keys if part_of(other.plan, key) not in parts])
    if kept:
        adopt_blocks(home.store, kept.provenance)
        if home.blocks is not None:
            adopt_records(home.blocks, kept.provenance, home.store.provenance)
    said = (
        f"adopt: {len(blocks):,} of {other.n_blocks:,} stored blocks of other code were drawn again"
    )
    if not differing:
        return (
            f"{said} and agree, so all are kept (changed: {other.changes(home.store.provenance)})"
        )
    names = first_few([f"{other.plan.keys[key]!r} ({what})" for key, what in differing.items()])
    return f"{said}; different in {names}, so these methods or scenarios are drawn again"


def part_of(plan: Plan, key: str) -> str:
    """The method of a unit, or the class of its scenario without methods."""
    drawn = plan.keys[key]
    return method_of(drawn) or type(base_scenario(drawn)).__name__


def _to_compare(other: OtherCode, stored: Store) -> Iterator[BlockId]:
    for key, blocks in other.blocks.items():
        numbers = blocks.tolist()
        failed = rows_with_error(stored.gather(stored.index.of(key)))
        failing = blocks[np.flatnonzero(failed) // stored.rows_per_block].tolist()
        at_random = sorted(numbers, key=lambda number: short_hash(f"{key} {number}"))
        some = at_random[: max(1, math.ceil(SHARE_COMPARED * len(numbers)))]
        for number in sorted({*some, *failing}):
            yield BlockId(other.plan.keys[key], number, key)


# ---------------------------------------------------------------- comparison
def compare_blocks(
    plan: Plan,
    stored: Store,
    blocks: Sequence[BlockId],
    provenance: RunProvenance,
    workers: Workers,
) -> dict[str, str]:
    """Draw blocks again with the current code, and compare them with the stored ones.

    Returns
    -------
    dict[str, str]
        Columns that differ with the largest difference, by key of the unit; empty if all agree.
    """
    drawn = StudyFolder.open(plan, None, provenance.of_blocks)
    Loop(plan, drawn.store, workers, Silent(), provenance=provenance).draw_blocks(blocks)
    return differences(stored, drawn.store, blocks, plan.unrepeatable)


def repeated(plan: Plan, before: Store, after: Store, blocks: Collection[BlockId]) -> str:
    """Say whether blocks that were drawn again repeat the rows that they replace."""
    said = f"redraw: {len(blocks):,} stored blocks were drawn again"
    differing = differences(before, after, blocks, plan.unrepeatable)
    if not differing:
        return f"{said}, with the same numbers"
    names = [f"{plan.keys[key]!r} ({what})" for key, what in differing.items()]
    return f"{said}; other numbers in {first_few(names)}, which replace the stored ones"


def differences(
    first: Store, second: Store, blocks: Iterable[BlockId], without: Collection[str] = ()
) -> dict[str, str]:
    """Columns in which blocks of two stores differ, by key of the unit; empty if all agree."""
    differing: dict[str, dict[str, float]] = defaultdict(dict)
    for block in blocks:
        pair = (_without(rows_of(store, block), without) for store in (first, second))
        for name, difference in different_columns(*pair).items():
            known = differing[block.key].get(name, 0.0)
            differing[block.key][name] = max(known, difference)
    return {key: describe_differences(columns) for key, columns in differing.items()}


def _without(rows: pa.Table, names: Collection[str]) -> pa.Table:
    return rows.drop_columns([name for name in names if name in rows.column_names])


def describe_differences(columns: Mapping[str, float]) -> str:
    """Name columns with their largest relative differences."""
    each = (name + f" by {most:.1e}" * math.isfinite(most) for name, most in columns.items())
    return ", ".join(sorted(each))


def rows_of(store: Store, block: BlockId) -> pa.Table:
    """Read the rows of a stored block."""
    return store.gather(store.index.between(block.key, block.block, block.block + 1))


def different_columns(first: pa.Table, second: pa.Table) -> dict[str, float]:
    """Compare two blocks, and return the columns that differ with the largest difference.

    Whole numbers, booleans and texts are equal if they are the same; floating-point numbers up to
    `RTOL`; texts of errors and warnings are not compared, but whether there is one.

    Returns
    -------
    dict[str, float]
        Largest relative difference by column; infinite where no difference can be computed.
    """
    names = dict.fromkeys([*first.column_names, *second.column_names])
    pairs = ((name, _values(first, name), _values(second, name)) for name in names)
    found = ((name, _difference(name, *pair)) for name, *pair in pairs)
    return {name: difference for name, difference in found if difference}


def _values(rows: pa.Table, name: str) -> np.ndarray:
    """A column with the values of lists side by side; missing where the table lacks it."""
    if name not in rows.column_names:
        return np.full(len(rows), None)
    column = rows.column(name).combine_chunks()
    while pa.types.is_list(column.type):
        column = column.flatten()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _difference(name: str, first: np.ndarray, second: np.ndarray) -> float:
    if first.shape != second.shape:
        return math.inf
    if name in NOT_COMPARED:
        first, second = (np.array([text is None for text in each]) for each in (first, second))
    if first.dtype.kind == second.dtype.kind == "f":
        return _difference_of_floats(first, second)
    is_missing = [np.array([each is None or each != each for each in v]) for v in (first, second)]
    same = (is_missing[0] & is_missing[1]) | (first == second)
    return 0.0 if np.all(same) else math.inf


def _difference_of_floats(first: np.ndarray, second: np.ndarray) -> float:
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    if same.all():
        return 0.0
    finite = np.isfinite(first) & np.isfinite(second)
    if not (same | finite).all():
        return math.inf
    size = np.abs(second[finite & (second != 0)])
    tolerance = RTOL * np.abs(second) + ATOL * (np.median(size) if size.size else 0.0)
    if np.all((second[finite] >= 0) & (second[finite] <= 1)):
        tolerance = np.maximum(tolerance, UNIT_INTERVAL_ATOL)
    with np.errstate(invalid="ignore"):
        difference = np.abs(first - second)
    far = ~same & (difference > tolerance)
    if not far.any():
        return 0.0
    return float((difference[far] / np.maximum(np.abs(second[far]), 1e-300)).max())
