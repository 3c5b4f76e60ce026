"""Stored blocks of other code or versions: what no longer counts, and what a sample shows equal."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simstudy.design.plan import Plan, base_scenario, method_of
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import RunProvenance
from simstudy.engine.second_draw import different_columns
from simstudy.engine.tasks import BlockId
from simstudy.errors import first_few
from simstudy.provenance.scenario_id import short_hash
from simstudy.store import runs
from simstudy.store.arrow_schema import rows_with_error
from simstudy.store.blocks import Store
from simstudy.store.provenance import OWN_VALUES, Provenance
from simstudy.store.runs import StudyFolder, read_records
from simstudy.study.run_options import RunOptions

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
        The files, as a store that has these blocks in place of the current ones.
    blocks
        Numbers of the stored blocks, by key.
    """

    plan: Plan
    provenance: Provenance
    store: Store
    blocks: Mapping[str, np.ndarray]

    @property
    def n_blocks(self) -> int:
        """The number of stored blocks."""
        return sum(map(len, self.blocks.values()))

    def changes(self, current: Provenance) -> str:
        """Name what changed: "method z: critical_value has changed"."""
        by_part: dict[str, dict[str, None]] = defaultdict(dict)
        for key in self.blocks:
            part = "method " * bool(method_of(self.plan.keys[key])) + part_of(self.plan, key)
            by_part[part] |= dict.fromkeys(self.provenance.differences(current, key))
        return first_few([f"{part}: {first_few([*lines])}" for part, lines in by_part.items()])


def part_of(plan: Plan, key: str) -> str:
    """The method of a unit, or the class of its scenario without methods."""
    drawn = plan.keys[key]
    return method_of(drawn) or type(base_scenario(drawn)).__name__


def _blocks_made_by(plan: Plan, store: Store, made_by: Mapping[str, Provenance]) -> OtherBlocks:
    """The stored blocks of other provenances, by key."""
    own = store.provenance
    values = {key: each.values[key] for key, each in made_by.items()}
    codes = {key: each.codes[key] for key, each in made_by.items()}
    both = replace(own, values={**own.values, **values}, codes={**own.codes, **codes})
    accepted = {key: origins for key, origins in store.accepted.items() if key not in codes}
    stored = store.reopened(provenance=both, accepted=accepted)
    blocks = {key: stored.block_numbers(key) for key in codes}
    return OtherBlocks(plan, Provenance(own.settings, values, codes), stored, blocks)


def other_code(
    plan: Plan,
    store: Store,
    *,
    versions: bool = False,
    data: bool = False,
    without: Container[runs.Pair] = (),
) -> OtherBlocks | None:
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
        Comparisons: their blocks are left out.
    """
    wanted = store.provenance
    most_similar: dict[str, Provenance] = {}
    for key in plan.keys:
        if store.n_blocks(key):
            continue
        made_by = [
            each
            for each in store.others.get(key, ())
            if (key, each.origin(key), wanted.origin(key)) not in without
            and _same_options(each, wanted, key)
            and (data or each.values.get(key) == wanted.values.get(key))
            and (versions or not each.matches(wanted, key, versions=False))
        ]
        if made_by:
            most_similar[key] = min(made_by, key=lambda each: len(each.differences(wanted, key)))
    return _blocks_made_by(plan, store, most_similar) if most_similar else None


def _same_options(stored: Provenance, current: Provenance, key: str) -> bool:
    """Whether blocks are of the same settings, and of the same values that a method holds."""
    was, now = stored.codes.get(key, {}), current.codes.get(key, {})
    return stored.settings == current.settings and was.get(OWN_VALUES) == now.get(OWN_VALUES)


def describe_other_code(other: OtherBlocks, folder: StudyFolder, *, adopts: bool = False) -> str:
    """Say in one line what changed, and how much stored work no longer counts."""
    assert folder.blocks is not None  # a temporary folder has no other blocks
    spent = read_records(folder.blocks, other.provenance).spent.values()
    seconds = sum(each.own + each.data for each in spent)
    time = f"{seconds / 3600:,.1f} core hours" if seconds > 3600 else f"{seconds:,.1f} core-seconds"
    work = f" ({time})" if seconds >= 0.05 else ""
    n = other.n_blocks
    advice = "If the code was only rewritten, adopt=true compares a sample and keeps it"
    if adopts:
        advice = "adopt=true keeps blocks of other code, not of other fields, defaults or data"
    return (
        f"changed since {n:,} stored block{'s were' if n > 1 else ' was'} drawn: "
        f"{other.changes(folder.store.provenance)}. Stored work of other code{work} does not "
        f"count, and is drawn again. {advice}"
    )


# ---------------------------------------------------------------- adoption
def adopt_other_code(
    plan: Plan, folder: StudyFolder, code: RunProvenance, options: RunOptions
) -> Iterator[str]:
    """Keep stored blocks of other code if the current code draws a sample of them again equally.

    The sample are 2% of each unit's blocks at random, at least one, and all with failures.

    Yields
    ------
    str
        One line on what was compared and kept, for each other code.
    """
    while other := other_code(plan, folder.store, without=folder.verdicts):
        assert folder.blocks is not None
        current = folder.store.provenance
        changed = other.changes(current)
        note, kept = _compare(other, [*_to_compare(other)], changed, folder, code, options)
        runs.adopt_records(folder.blocks, other.provenance.only(kept), current)
        yield f"adopt: stored blocks of other code ({changed}): {note}"


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
    plan: Plan, folder: StudyFolder, code: RunProvenance, options: RunOptions
) -> Iterator[str]:
    """Have blocks of other versions count if a sample of them, drawn again, agrees.

    Each set of versions is compared with the current one, once, so small drifts do not add up.

    Yields
    ------
    str
        One line on the comparison for each set of versions.
    """
    for text, made_by in _not_compared(plan, folder).items():
        other = _blocks_made_by(plan, folder.store, made_by)
        sample = _sample(other, text, is_all=options.is_all)
        note, _ = _compare(other, sample, text, folder, code, options)
        yield f"stored blocks of other versions ({text}): {note}"


def uncompared_versions(plan: Plan, folder: StudyFolder) -> tuple[Store, str]:
    """The store with blocks of other versions that no run has compared yet, and a line on them."""
    accepted = {key: {*origins} for key, origins in folder.store.accepted.items()}
    texts = []
    for text, made_by in _not_compared(plan, folder).items():
        texts.append(f"{len(made_by):,} of {len(plan.keys):,} units have blocks of other versions")
        texts[-1] += f" ({text}), which count if a sample that the next run draws again agrees"
        for key, each in made_by.items():
            accepted.setdefault(key, set()).add(each.origin(key))
    return folder.store.reopened(accepted=accepted) if texts else folder.store, "; ".join(texts)


def _not_compared(plan: Plan, folder: StudyFolder) -> dict[str, dict[str, Provenance]]:
    """The provenance of stored blocks of the current code that have no verdict.

    Returns
    -------
    dict[str, dict[str, Provenance]]
        By the versions that differ, as text, and by key.
    """
    current = folder.store.provenance
    groups: dict[str, dict[str, Provenance]] = {}
    for key in plan.keys:
        now = current.versions(key)
        for each in folder.store.others.get(key, ()):
            pair = key, each.origin(key), current.origin(key)
            if pair not in folder.verdicts and each.matches(current, key, versions=False):
                was = each.versions(key)
                changed = [name for name in {**was, **now} if was.get(name) != now.get(name)]
                texts = [f"{n} was {was.get(n)} and is {now.get(n)}" for n in changed]
                groups.setdefault(first_few(texts), {}).setdefault(key, each)
    return groups


def _sample(other: OtherBlocks, versions: str, *, is_all: bool) -> list[BlockId]:
    """One block of each method or class of scenarios, then of each unit, up to a tenth of all.

    A shard compares one block of each method or class only.
    """
    plan, blocks = other.plan, other.blocks

    def order(key: str) -> str:
        return short_hash(f"{key} {versions} {plan.seed}")

    keys = sorted(blocks, key=order)
    first = {part_of(plan, key): key for key in reversed(keys)}.values()
    most = max(len(first), other.n_blocks // PART_COMPARED) if is_all else len(first)
    return [
        BlockId(plan.keys[key], int(blocks[key][int(order(key), 16) % len(blocks[key])]), key)
        for key in sorted(keys, key=lambda key: key not in first)[:most]
    ]


# ---------------------------------------------------------------- comparison
def _compare(
    other: OtherBlocks,
    sample: Sequence[BlockId],
    changed: str,
    folder: StudyFolder,
    code: RunProvenance,
    options: RunOptions,
) -> tuple[str, list[str]]:
    """Draw a sample of other blocks again, and record for each unit whether its blocks count.

    If a block differs, no block of its method (or of its class of scenarios) counts.

    Returns
    -------
    tuple[str, list[str]]
        Text on what was compared, and the units whose blocks count.
    """
    plan, current = other.plan, folder.store.provenance
    differing = compare_blocks(other, sample, code, options)
    odd_parts = {part_of(plan, key) for key in differing}
    kept = [key for key in other.blocks if part_of(plan, key) not in odd_parts]
    compared = Counter(block.key for block in sample)
    folder.record(
        {
            (key, other.provenance.origin(key), current.origin(key)): {
                "verdict": runs.AGREES if key in kept else runs.DIFFERS,
                "blocks_compared": compared[key],
                "rows_compared": plan.block_size * compared[key],
                "differences": differing.get(key, ""),
                "changed": changed,
                "versions": other.provenance.versions(key),
                "rtol": dict(plan.rules.rtol),
            }
            for key in other.blocks
        }
    )
    said = f"{len(sample):,} of {other.n_blocks:,} were drawn again and compared"
    n_other = len(other.blocks.keys() - compared.keys())
    rest = f"; {n_other:,} of {len(other.blocks):,} units were not compared" if n_other else ""
    if not differing:
        own = "".join(f", {name} to {most:g}" for name, most in plan.rules.rtol.items())
        return f"{said}, and agree to 1e-9{own}, so all count{rest}", kept
    names = first_few([f"{plan.keys[key]!r} ({what})" for key, what in differing.items()])
    again = "so all blocks of these methods or classes of scenarios are drawn again"
    return f"{said}; different in {names}, {again}{rest}", kept


def compare_blocks(
    other: OtherBlocks, blocks: Sequence[BlockId], code: RunProvenance, options: RunOptions
) -> dict[str, str]:
    """Draw blocks again with the current code, and compare them with the stored ones.

    Returns
    -------
    dict[str, str]
        Columns that differ with the largest difference, by key of the unit; empty if all agree.
    """
    plan = other.plan
    drawn = StudyFolder.open(plan, None, code.of_blocks)
    Loop(plan, drawn.store, options, Silent(), provenance=code).draw_blocks(blocks)
    differing: dict[str, dict[str, float]] = defaultdict(dict)
    for block in blocks:
        place = block.key, block.block, block.block + 1
        rows = other.store.rows_between(*place), drawn.store.rows_between(*place)
        for name, difference in different_columns(*rows, rtol=plan.rules.rtol).items():
            if name not in plan.rules.unrepeatable:
                known = differing[block.key].get(name, 0.0)
                differing[block.key][name] = max(known, difference)
    return {key: _describe_differences(columns) for key, columns in differing.items()}


def _describe_differences(columns: Mapping[str, float]) -> str:
    """Name columns with their largest relative differences."""
    each = (name + f" by {most:.1e}" * math.isfinite(most) for name, most in columns.items())
    return ", ".join(sorted(each))
