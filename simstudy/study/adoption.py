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

COMPARED = 0.02  # part of the stored blocks that is drawn again, spread over all of them
LEAST_COMPARED = 2  # blocks of each scenario and method: the first and the last one
MOST_FAILING = 20  # blocks with failures of each scenario and method


def blocks_of_other_code(plan: Plan, store: Store) -> Provenance:
    """Find the stored blocks of scenarios and methods without blocks of the current code.

    Of several provenances of one scenario it is the one with the fewest differences. Blocks of
    other settings are left out.
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
    """The same files, read with blocks of other code where there are none of the current code."""
    own = store.provenance
    both = replace(own, values={**own.values, **other.values}, codes={**own.codes, **other.codes})
    return Store(store.files, store.rows_per_block, both)


def adopt_equal_blocks(
    plan: Plan, home: StudyFolder, other: Provenance, provenance: RunProvenance, workers: Workers
) -> str:
    """Adopt blocks of other code if those that are compared equal ones drawn anew.

    Compared are blocks spread over the stored ones, the first and the last among them, and blocks
    with failures.

    Parameters
    ----------
    other
        What made the stored blocks.
    provenance
        Of the current code.

    Returns
    -------
    str
        What was compared.

    Raises
    ------
    StoreError
        Naming those that differ; then nothing is adopted.
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
            f"adopt=true: the current code draws other numbers in a block of "
            f"{first_few([*differing])}, so it was not only rewritten. Nothing in {home.path} was "
            "adopted. Draw anew what changed with redraw=changed, or undo the change."
        )
    adopt_blocks(home.store, other)
    return (
        f"adopted: {len(compared):,} of {sum(stored_blocks.values()):,} stored blocks were drawn "
        "again with the current code, and all bits agree. The others were not compared; "
        "redraw=changed draws them again"
    )


def _to_compare(plan: Plan, stored: Store, n_blocks: dict[str, int]) -> Iterator[BlockId]:
    changed = plan.only([plan.keys[key] for key in n_blocks])
    failing = blocks_with_failures(changed, n_blocks, stored).chosen
    for key, n in n_blocks.items():
        n_spread = min(n, max(LEAST_COMPARED, round(COMPARED * n)))
        spread = np.linspace(0, n - 1, n_spread).round().astype(int)
        failed = np.flatnonzero(failing[key])
        some = failed[:: max(1, -(-len(failed) // MOST_FAILING))]
        for number in sorted({*spread.tolist(), *some.tolist()}):
            yield BlockId(plan.keys[key], number, key)


def _rows(store: Store, block: BlockId) -> str:
    """The rows of a block as exact text."""
    rows = store.gather(store.index.between(block.key, block.block, block.block + 1))
    columns: pa.Table = rows
    named = {name: columns.column(name).to_pylist() for name in sorted(columns.column_names)}
    empty = [None] * len(columns)
    return repr({name: values for name, values in named.items() if values != empty})
