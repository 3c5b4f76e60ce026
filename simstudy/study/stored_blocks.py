"""Stored blocks of other code or versions: what no longer counts, and what a sample shows equal."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simstudy.design.plan import Plan, base_scenario, method_of
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import RunProvenance
from simstudy.engine.second_draw import different_columns
from simstudy.engine.tasks import BlockId
from simstudy.engine.workers import Workers
from simstudy.errors import first_few
from simstudy.provenance.scenario_id import short_hash
from simstudy.store import run_records
from simstudy.store.blocks import Store
from simstudy.store.columns import rows_with_error
from simstudy.store.provenance import OWN_VALUES, Provenance
from simstudy.store.run_records import read_records
from simstudy.store.runs import StudyFolder

SHARE_COMPARED = 0.02  # proportion of the blocks of other code to draw again, chosen at random
PART_COMPARED = 10  # divisor: at most a tenth of the blocks of other versions is drawn again


# ---------------------------------------------------------------- what changed
@dataclass(frozen=True)
class OtherBlocks:
    """Stored blocks of other code or versions.

    Parameters
    ----------
    plan
        Plan of the work units.
    provenance
        Provenance of these blocks, by key of the unit.
    store
        The files, as a store that has these blocks.
    blocks
        Numbers of the stored blocks, by key.
    """

    plan: Plan
    provenance: Provenance
    store: Store
    blocks: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.provenance.codes)

    @property
    def keys(self) -> list[str]:
        """The keys of the units."""
        return [*self.provenance.codes]

    def only(self, keys: Sequence[str]) -> OtherBlocks:
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
            part = part_of(self.plan, key)
            part = f"method {part}" if method_of(self.plan.keys[key]) else part
            lines = dict.fromkeys(self.provenance.differences(current, key))
            by_part[part] = by_part.get(part, {}) | lines
        return first_few([f"{part}: {first_few([*lines])}" for part, lines in by_part.items()])


def part_of(plan: Plan, key: str) -> str:
    """The method of a unit, or the class of its scenario without methods."""
    drawn = plan.keys[key]
    return method_of(drawn) or type(base_scenario(drawn)).__name__


def _blocks_made_by(plan: Plan, store: Store, made_by: Mapping[str, Provenance]) -> OtherBlocks:
    """The stored blocks of other provenances, by key."""
    values = {key: each.values[key] for key, each in made_by.items()}
    codes = {key: each.codes[key] for key, each in made_by.items()}
    provenance = Provenance(store.provenance.settings, values, codes)
    stored = with_blocks_of(store, provenance, accepted={}) if codes else store
    blocks = {key: stored.block_numbers(key) for key in codes}
    return OtherBlocks(plan, provenance, stored, blocks)


def with_blocks_of(store: Store, other: Provenance, **changes: Any) -> Store:
    """Open the same files as a store that has blocks of another provenance in some units."""
    own = store.provenance
    both = replace(own, values={**own.values, **other.values}, codes={**own.codes, **other.codes})
    return store.reopened(provenance=both, **changes)


def other_code(
    plan: Plan,
    store: Store,
    *,
    versions: bool = False,
    data: bool = False,
    without: Collection[tuple[str, str]] = (),
) -> OtherBlocks:
    """Find stored blocks of other code, with the options of the current study.

    They are of units without blocks of the current code; of several codes, the most similar counts.
    Blocks of other options, such as those of the other jobs of a sweep, are left out.

    Parameters
    ----------
    plan
        Plan of the work units.
    versions
        Whether to include blocks of the current code by other versions of libraries.
    data
        Whether to include blocks of other data, or of other defaults of a scenario's fields.
    without
        Keys and origins of blocks to leave out.
    """
    wanted = store.provenance
    found: dict[str, Provenance] = {}
    for key in plan.keys:
        if store.n_blocks(key):
            continue
        made_by = [
            each
            for each in store.others.get(key, ())
            if (key, each.origin(key)) not in without
            and _same_options(each, wanted, key)
            and (data or each.values.get(key) == wanted.values.get(key))
            and (versions or not each.same_code(wanted, key))
        ]
        if made_by:
            found[key] = min(made_by, key=lambda each: len(each.differences(wanted, key)))
    return _blocks_made_by(plan, store, found)


def _same_options(stored: Provenance, current: Provenance, key: str) -> bool:
    """Whether blocks are of the same settings, and of the same values that a method holds."""
    was, now = stored.codes.get(key, {}), current.codes.get(key, {})
    return stored.settings == current.settings and was.get(OWN_VALUES) == now.get(OWN_VALUES)


def describe_other_code(other: OtherBlocks, folder: StudyFolder, *, adopts: bool = False) -> str:
    """Say in one line what changed, and how much stored work no longer counts."""
    seconds = 0.0
    if folder.blocks is not None:
        spent = read_records(folder.blocks, other.provenance).spent.values()
        seconds = sum(each.own + each.data for each in spent)
    time = f"{seconds / 3600:,.1f} core hours" if seconds > 3600 else f"{seconds:,.1f} core-seconds"
    work = f" ({time})" if seconds >= 0.05 else ""
    blocks = (
        "a stored block was" if other.n_blocks == 1 else f"{other.n_blocks:,} stored blocks were"
    )
    changed = f"changed since {blocks} drawn: {other.changes(folder.store.provenance)}. "
    if adopts:
        return f"{changed}A sample of this work{work} is compared first, and what agrees is kept"
    return (
        f"{changed}Stored work of other code{work} does not count, and is drawn again. If the code "
        "was only rewritten, adopt=true compares a sample and keeps it"
    )


# ---------------------------------------------------------------- adoption
def adopt(
    other: OtherBlocks, folder: StudyFolder, provenance: RunProvenance, workers: Workers
) -> str:
    """Keep stored blocks of other code if the current code draws a sample of them again equally.

    The sample are 2% of each unit's blocks at random, at least one, and all with failures. If a
    block differs, no block of its method (or of its class of scenarios) is kept.

    Returns
    -------
    str
        One line on what was compared and kept.
    """
    blocks = [*_to_compare(other)]
    differing = compare_blocks(other, blocks, provenance, workers)
    parts = {part_of(other.plan, key) for key in differing}
    kept = other.only([key for key in other.keys if part_of(other.plan, key) not in parts])
    changed = other.changes(folder.store.provenance)
    if kept and folder.blocks is not None:
        folder.record(_verdicts(kept, folder.store.provenance, blocks, {}, changed))
        run_records.adopt_records(folder.blocks, kept.provenance, folder.store.provenance)
    said = (
        f"adopt: {len(blocks):,} of {other.n_blocks:,} stored blocks of other code were drawn again"
    )
    if not differing:
        return f"{said} and agree, so all are kept (changed: {changed})"
    names = _name_differing(other.plan, differing)
    return f"{said}; different in {names}, so they do not count for these methods or scenarios"


def _to_compare(other: OtherBlocks) -> Iterator[BlockId]:
    for key, blocks in other.blocks.items():
        numbers = blocks.tolist()
        end = int(blocks.max(initial=-1)) + 1
        failed = rows_with_error(other.store.rows_between(key, 0, end))
        failing = blocks[np.flatnonzero(failed) // other.store.rows_per_block].tolist()
        at_random = sorted(numbers, key=lambda number: short_hash(f"{key} {number}"))
        some = at_random[: max(1, math.ceil(SHARE_COMPARED * len(numbers)))]
        for number in sorted({*some, *failing}):
            yield BlockId(other.plan.keys[key], number, key)


# ---------------------------------------------------------------- other versions
def count_other_versions(
    plan: Plan, folder: StudyFolder, provenance: RunProvenance, workers: Workers, *, is_all: bool
) -> list[str]:
    """Have blocks of other versions count if a sample of them, drawn again, agrees.

    Each set of versions is compared with the current one, once, so small drifts do not add up.

    Parameters
    ----------
    plan
        Plan of the work units.
    is_all
        Whether the run is not a share; a share compares one block of each method or class only.

    Returns
    -------
    list[str]
        One line on the comparison for each set of versions.
    """
    if folder.blocks is None:
        return []
    notes: list[str] = []
    new: run_records.Verdicts = {}
    for text, made_by in _not_compared(plan, folder):
        other = _blocks_made_by(plan, folder.store, made_by)
        sample = _sample(other, text, is_all=is_all)
        differing = compare_blocks(other, sample, provenance, workers)
        new |= _verdicts(other, folder.store.provenance, sample, differing, text)
        notes.append(_describe_versions(other, text, sample, differing))
    if new:
        folder.record(new)
    return notes


def uncompared_versions(plan: Plan, folder: StudyFolder) -> tuple[Store, str]:
    """The store with blocks of other versions that no run has compared yet, and a line on them."""
    accepted = {key: {*origins} for key, origins in folder.store.accepted.items()}
    texts = []
    for text, made_by in _not_compared(plan, folder):
        texts.append(f"{len(made_by):,} of {len(plan.keys):,} units have blocks of other versions")
        texts[-1] += f" ({text}), which count if a sample that the next run draws again agrees"
        for key, each in made_by.items():
            accepted.setdefault(key, set()).add(each.origin(key))
    return folder.store.reopened(accepted=accepted) if texts else folder.store, "; ".join(texts)


def _not_compared(plan: Plan, folder: StudyFolder) -> Iterator[tuple[str, dict[str, Provenance]]]:
    """Group stored blocks of the current code that have no verdict by their versions.

    Yields
    ------
    tuple[str, dict[str, Provenance]]
        The versions that differ, as text, and the provenance of the blocks by key.
    """
    current = folder.store.provenance
    groups: dict[str, dict[str, Provenance]] = {}
    for key in plan.keys:
        for each in folder.store.others.get(key, ()):
            pair = key, each.origin(key), current.origin(key)
            if pair not in folder.verdicts and each.same_code(current, key):
                at = json.dumps(each.versions(key), sort_keys=True)
                groups.setdefault(at, {}).setdefault(key, each)
    for found in groups.values():
        key, made_by = next(iter(found.items()))
        was, now = made_by.versions(key), current.versions(key)
        changed = [name for name in {**was, **now} if was.get(name) != now.get(name)]
        yield first_few([f"{n} was {was.get(n)} and is {now.get(n)}" for n in changed]), found


def _sample(other: OtherBlocks, versions: str, *, is_all: bool) -> list[BlockId]:
    """One block of each method or class of scenarios, then of each unit, up to a tenth of all."""
    plan, blocks = other.plan, other.blocks

    def order(key: str) -> str:
        return short_hash(f"{key} {versions} {plan.seed}")

    by_part: dict[str, list[str]] = defaultdict(list)
    for key in sorted(blocks, key=order):
        by_part[part_of(plan, key)].append(key)
    first = [keys[0] for keys in by_part.values()]
    others = [key for keys in by_part.values() for key in keys[1:]]
    most = max(len(first), other.n_blocks // PART_COMPARED) if is_all else len(first)
    return [
        BlockId(plan.keys[key], int(blocks[key][int(order(key), 16) % len(blocks[key])]), key)
        for key in (first + sorted(others, key=order))[:most]
    ]


def _verdicts(
    other: OtherBlocks,
    current: Provenance,
    sample: Sequence[BlockId],
    differing: Mapping[str, str],
    changed: str,
) -> run_records.Verdicts:
    """A verdict for each unit; one that was not compared has that of its method or class."""
    compared = Counter(block.key for block in sample)
    odd_parts = {part_of(other.plan, key) for key in differing}
    verdicts: run_records.Verdicts = {}
    for key in other.keys:
        is_odd = key in differing or (key not in compared and part_of(other.plan, key) in odd_parts)
        verdicts[key, other.provenance.origin(key), current.origin(key)] = {
            "verdict": run_records.DIFFERS if is_odd else run_records.AGREES,
            "blocks_compared": compared[key],
            "rows_compared": other.plan.block_size * compared[key],
            "differences": differing.get(key, ""),
            "changed": changed,
            "versions": other.provenance.versions(key),
            "rtol": dict(other.plan.rules.rtol),
        }
    return verdicts


def _describe_versions(
    other: OtherBlocks, text: str, sample: Sequence[BlockId], differing: Mapping[str, str]
) -> str:
    """Say in one line what was compared, and what counts."""
    said = (
        f"stored blocks of other versions ({text}): {len(sample):,} of {other.n_blocks:,} were "
        "drawn again and compared"
    )
    n_other = len({*other.keys} - {block.key for block in sample})
    rest = f"; {n_other:,} of {len(other.keys):,} units were not compared" if n_other else ""
    if not differing:
        own = "".join(f", {name} to {most:g}" for name, most in other.plan.rules.rtol.items())
        return f"{said}, and agree to 1e-9{own}, so all count{rest}"
    names = _name_differing(other.plan, differing)
    return f"{said}; different in {names}, which are drawn again{rest}"


# ---------------------------------------------------------------- comparison
def compare_blocks(
    other: OtherBlocks, blocks: Sequence[BlockId], provenance: RunProvenance, workers: Workers
) -> dict[str, str]:
    """Draw blocks again with the current code, and compare them with the stored ones.

    Returns
    -------
    dict[str, str]
        Columns that differ with the largest difference, by key of the unit; empty if all agree.
    """
    drawn = StudyFolder.open(other.plan, None, provenance.of_blocks)
    Loop(other.plan, drawn.store, workers, Silent(), provenance=provenance).draw_blocks(blocks)
    return differences(other.plan, other.store, drawn.store, blocks)


def _name_differing(plan: Plan, differing: Mapping[str, str]) -> str:
    return first_few([f"{plan.keys[key]!r} ({what})" for key, what in differing.items()])


def differences(
    plan: Plan, first: Store, second: Store, blocks: Iterable[BlockId]
) -> dict[str, str]:
    """Columns in which blocks of two stores differ, by key of the unit; empty if all agree."""
    differing: dict[str, dict[str, float]] = defaultdict(dict)
    for block in blocks:
        place = block.key, block.block, block.block + 1
        rows = first.rows_between(*place), second.rows_between(*place)
        for name, difference in different_columns(*rows, rtol=plan.rules.rtol).items():
            if name not in plan.rules.unrepeatable:
                known = differing[block.key].get(name, 0.0)
                differing[block.key][name] = max(known, difference)
    return {key: describe_differences(columns) for key, columns in differing.items()}


def describe_differences(columns: Mapping[str, float]) -> str:
    """Name columns with their largest relative differences."""
    each = (name + f" by {most:.1e}" * math.isfinite(most) for name, most in columns.items())
    return ", ".join(sorted(each))
