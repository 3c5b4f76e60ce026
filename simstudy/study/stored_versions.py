"""Stored blocks of other versions of Python or libraries, of which a sample is compared."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simstudy.design.plan import Plan
from simstudy.engine.provenance import RunProvenance
from simstudy.engine.work_queue import BlockId
from simstudy.engine.workers import Workers
from simstudy.errors import first_few
from simstudy.provenance.scenario_id import short_hash
from simstudy.store.blocks import Store
from simstudy.store.provenance import Provenance
from simstudy.store.run_records import (
    AGREES,
    DIFFERS,
    Pair,
    accepted_origins,
    read_verdicts,
    write_verdicts,
)
from simstudy.store.study_folder import StudyFolder
from simstudy.study.stored_code import compare_blocks, part_of

PART_COMPARED = 10  # divisor: at most a tenth of the stored blocks is drawn again


@dataclass(frozen=True)
class OtherVersions:
    """Stored blocks of the current code, drawn by one other set of versions.

    Parameters
    ----------
    provenance
        Provenance of these blocks, by key of the unit.
    text
        The versions that differ, as text.
    """

    provenance: Provenance
    text: str


def count_other_versions(
    plan: Plan, home: StudyFolder, provenance: RunProvenance, workers: Workers, *, is_all: bool
) -> list[str]:
    """Have blocks of other versions count if a sample of them, drawn again, agrees to 1e-9.

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
    if home.blocks is None or not home.store.others:
        return []
    verdicts = read_verdicts(home.blocks)
    notes: list[str] = []
    new: dict[Pair, dict[str, Any]] = {}
    for other in _by_versions(plan, home.store):
        unknown = [
            key for key in other.provenance.codes if _pair(home.store, other, key) not in verdicts
        ]
        if unknown:
            found, note = _compare(plan, home.store, other, unknown, provenance, workers, is_all)
            new |= found
            notes.append(note)
    if new:
        write_verdicts(home.blocks, new)
        home.store = home.store.reopened(
            accepted=accepted_origins(verdicts | new, home.store.provenance)
        )
    return notes


def _pair(store: Store, other: OtherVersions, key: str) -> Pair:
    return key, other.provenance.origin(key), store.provenance.origin(key)


def _by_versions(plan: Plan, store: Store) -> Iterator[OtherVersions]:
    """Group stored blocks of the current code by the versions that drew them."""
    groups: dict[str, tuple[dict[str, str], dict[str, Provenance]]] = {}
    for key in plan.keys:
        for each in store.others.get(key, ()):
            if each.same_code(store.provenance, key):
                versions = each.versions(key)
                at = json.dumps(versions, sort_keys=True)
                groups.setdefault(at, (versions, {}))[1].setdefault(key, each)
    for versions, found in groups.values():
        values = {key: each.values[key] for key, each in found.items()}
        codes = {key: each.codes[key] for key, each in found.items()}
        now = store.provenance.versions(next(iter(found)))
        text = [
            f"{name} was {versions.get(name)} and is {now.get(name)}"
            for name in {**versions, **now}
            if versions.get(name) != now.get(name)
        ]
        yield OtherVersions(Provenance(store.provenance.settings, values, codes), first_few(text))


def _compare(
    plan: Plan,
    store: Store,
    other: OtherVersions,
    keys: Sequence[str],
    provenance: RunProvenance,
    workers: Workers,
    is_all: bool,
) -> tuple[dict[Pair, dict[str, Any]], str]:
    """Draw a sample of blocks again; return a verdict for each unit, and a line."""
    own = store.provenance
    codes = {**own.codes, **other.provenance.codes}
    stored = Store(store.files, store.rows_per_block, replace(own, codes=codes))
    blocks = {key: stored.block_numbers(key) for key in keys}
    sample = _sample(plan, blocks, other.text, is_all=is_all)
    differing = compare_blocks(plan, stored, sample, provenance, workers)
    compared = {block.key for block in sample}
    odd_parts = {part_of(plan, key) for key in differing}
    verdicts = {}
    for key in blocks:
        is_odd = key in differing or (key not in compared and part_of(plan, key) in odd_parts)
        verdicts[_pair(store, other, key)] = {
            "verdict": DIFFERS if is_odd else AGREES,
            "blocks_compared": sum(block.key == key for block in sample),
            "rows_compared": plan.block_size * sum(block.key == key for block in sample),
            "differences": differing.get(key, ""),
            "versions": dict(other.provenance.versions(key)),
        }
    n_other = len(blocks.keys() - compared)
    said = (
        f"stored blocks of other versions ({other.text}): {len(sample):,} of "
        f"{sum(map(len, blocks.values())):,} were drawn again and compared"
    )
    rest = f"; {n_other:,} of {len(blocks):,} units were not compared" if n_other else ""
    if not differing:
        return verdicts, f"{said}, and agree to 1e-9, so all count{rest}"
    names = first_few([f"{plan.keys[key]!r} ({what})" for key, what in differing.items()])
    return verdicts, f"{said}; different in {names}, which are drawn again{rest}"


def _sample(
    plan: Plan, blocks: Mapping[str, np.ndarray], versions: str, *, is_all: bool
) -> list[BlockId]:
    """One block of each method or class of scenarios, then of each unit, up to a tenth of all."""

    def order(key: str) -> str:
        return short_hash(f"{key} {versions} {plan.seed}")

    by_part: dict[str, list[str]] = defaultdict(list)
    for key in sorted(blocks, key=order):
        by_part[part_of(plan, key)].append(key)
    first = [keys[0] for keys in by_part.values()]
    others = [key for keys in by_part.values() for key in keys[1:]]
    n_blocks = sum(map(len, blocks.values()))
    most = max(len(first), n_blocks // PART_COMPARED) if is_all else len(first)
    return [
        BlockId(plan.keys[key], int(blocks[key][int(order(key), 16) % len(blocks[key])]), key)
        for key in (first + sorted(others, key=order))[:most]
    ]
