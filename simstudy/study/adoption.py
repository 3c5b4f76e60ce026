"""Adopts stored blocks for rewritten code, after a comparison of some of them with new draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import RunProvenance
from simstudy.engine.work_queue import BlockId, blocks_with_failures
from simstudy.engine.workers import Workers
from simstudy.errors import StoreError, first_few
from simstudy.store.blocks import Store
from simstudy.store.compaction import adopt_blocks
from simstudy.store.provenance import Provenance
from simstudy.store.study_folder import StudyFolder

SHARE_COMPARED = 0.02  # proportion of stored blocks to draw again, spread over all of them
MIN_COMPARED = 2  # blocks per scenario and method: the first and the last one
MAX_FAILED_BLOCKS = 20  # blocks with failures to compare, per scenario and method


def blocks_of_other_code(plan: Plan, store: Store) -> Provenance:
    """Find blocks of other code, for scenarios and methods without blocks of the current code.

    If a scenario has blocks of several provenances, the one with the fewest differences is taken.
    Blocks of other settings are left out.
    """
    wanted = store.provenance
    found: dict[str, Provenance] = {}
    for key in plan.keys:
        made_by = [each for each in store.others.get(key, ()) if each.settings == wanted.settings]
        if made_by and not store.n_blocks(key):
            found[key] = min(made_by, key=lambda each: len(each.differences(wanted, key)))
    return Provenance(
        wanted.settings,
        {key: made_by.values[key] for key, made_by in found.items()},
        {key: made_by.codes[key] for key, made_by in found.items()},
    )


def with_blocks_of_other_code(store: Store, other: Provenance) -> Store:
    """Open the same files as a store that also has the given blocks of other code."""
    own = store.provenance
    both = replace(own, values={**own.values, **other.values}, codes={**own.codes, **other.codes})
    return Store(store.files, store.rows_per_block, both)


def adopt_equal_blocks(
    plan: Plan, home: StudyFolder, other: Provenance, provenance: RunProvenance, workers: Workers
) -> str:
    """Adopt blocks of other code if the current code draws some of them again without a difference.

    The compared blocks are spread over the stored ones, from the first to the last. Some blocks
    with failures are compared as well.

    Parameters
    ----------
    other
        Provenance of the stored blocks.
    provenance
        Provenance of the current code.

    Returns
    -------
    str
        A remark with the number of compared blocks.

    Raises
    ------
    StoreError
        If a compared block differs; then nothing is adopted.
    """
    stored = with_blocks_of_other_code(home.store, other)
    stored_blocks = {key: stored.n_blocks(key) for key in other.codes}
    compared = [*_to_compare(plan, stored, stored_blocks)]
    drawn = StudyFolder.open(plan, None, provenance.of_blocks)
    Loop(plan, drawn.store, workers, Silent(), provenance=provenance).draw_blocks(compared)
    differing = dict.fromkeys(
        repr(plan.keys[block.key])
        for block in compared
        if _rows(stored, block) != _rows(drawn.store, block)
    )
    if differing:
        raise StoreError(
            f"adopt=True: the current code draws different numbers in a block of "
            f"{first_few([*differing])}, so it was not only rewritten. Nothing in {home.path} was "
            'adopted. Use redraw="changed" to draw the changed parts again, or undo the change.'
        )
    adopt_blocks(home.store, other)
    return (
        f"adopted: {len(compared):,} of {sum(stored_blocks.values()):,} stored blocks were drawn "
        "again with the current code, and all bits agree. The others were not compared; "
        'redraw="changed" draws them again'
    )


def _to_compare(plan: Plan, stored: Store, n_blocks: dict[str, int]) -> Iterator[BlockId]:
    changed = plan.only([plan.keys[key] for key in n_blocks])
    failing = blocks_with_failures(changed, n_blocks, stored).chosen
    for key, n in n_blocks.items():
        n_spread = min(n, max(MIN_COMPARED, round(SHARE_COMPARED * n)))
        spread = np.linspace(0, n - 1, n_spread).round().astype(int)
        failed = np.flatnonzero(failing[key])
        some = failed[:: max(1, -(-len(failed) // MAX_FAILED_BLOCKS))]
        for number in sorted({*spread.tolist(), *some.tolist()}):
            yield BlockId(plan.keys[key], number, key)


def _rows(store: Store, block: BlockId) -> str:
    """The rows of a block as exact text, without empty columns."""
    rows = store.gather(store.index.between(block.key, block.block, block.block + 1))
    columns: pa.Table = rows
    named = {name: columns.column(name).to_pylist() for name in sorted(columns.column_names)}
    empty = [None] * len(columns)
    return repr({name: values for name, values in named.items() if values != empty})
