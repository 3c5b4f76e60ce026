"""Results from stored blocks, and the adoption of blocks of rewritten code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from simstudy.analysis.replicates import StoredReplicates
from simstudy.analysis.result import Details, Result
from simstudy.atomic_files import read_json
from simstudy.design.plan import Plan
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import RunProvenance, compute_provenance
from simstudy.engine.run_monitor import RunStats
from simstudy.engine.work_queue import BlockId, blocks_with_failures
from simstudy.engine.workers import Workers
from simstudy.errors import StoreError, first_few
from simstudy.remote import place_of
from simstudy.store.blocks import Store
from simstudy.store.compaction import adopt_blocks
from simstudy.store.files import REPLICATES
from simstudy.store.provenance import Provenance
from simstudy.store.run_records import read_records
from simstudy.store.runs import MANIFEST
from simstudy.store.study_folder import StudyFolder, no_blocks_error
from simstudy.study.run_options import RunOptions
from simstudy.study.spec import StudySpec

SHARE_COMPARED = 0.02  # proportion of stored blocks to draw again, spread over all of them
MIN_COMPARED = 2  # blocks per scenario and method: the first and the last one
MAX_FAILED_BLOCKS = 20  # blocks with failures to compare, per scenario and method


def result_of(
    study: StudySpec,
    plan: Plan,
    home: StudyFolder,
    outcome: RunStats,
    sizes: Mapping[str, int],
) -> Result:
    """Make the result of some stored replicates."""
    details = Details(
        replicates=StoredReplicates(plan, home.store, dict(sizes)),
        declared=study.bound_measures(plan.seed),
        figures=study.figures,
        tables=study.tables,
        value_labels=study.value_labels,
        labels=study.headings,
        claimed=study.claims,
        answer=study.answer,
        worst=study.rules.worst,
        folder=home.path,
        outcome=outcome,
        keep_alive=home.temporary,
        group_size=study.rules.group_size,
    )
    return Result(details)


def blocks_of_each(plan: Plan, store: Store) -> dict[str, int]:
    """Count the first blocks of each scenario, by its key, that are stored for all methods."""
    return {
        key: min(store.n_blocks(drawn) for drawn in of_each_method)
        for key, of_each_method in plan.drawn_keys.items()
    }


# ---------------------------------------------------------------- the blocks stored so far
def partial_result(study: StudySpec, options: RunOptions, *, n_rep: int | None) -> Result:
    """Return the result of the stored blocks.

    Parameters
    ----------
    n_rep
        Maximum number of replicates per scenario; None for all stored ones. If the run ended
        within a block, the rest of that block is left out.

    Raises
    ------
    StoreError
        If no block is stored.
    """
    plan = options.planned(study)
    folder = place_of(options.out or "") / study.name
    if not (folder / REPLICATES).exists():
        raise no_blocks_error(folder)
    provenance = compute_provenance(plan).of_blocks
    home = StudyFolder.open(plan.work_units, options.out, provenance, adopt=True)
    other = blocks_of_other_code(plan.work_units, home.store)
    home = replace(home, store=with_blocks_of_other_code(home.store, other))
    drawn = _methods_with_blocks(plan, home.store)
    absent = [method.name for method in plan.methods if drawn and method.name not in drawn]
    plan = plan.of_methods(drawn) if absent else plan
    blocks = blocks_of_each(plan, home.store)
    published = (read_json(folder / MANIFEST) or {}).get("replicates_per_scenario") or {}
    requested = published if isinstance(published, dict) else dict.fromkeys(plan.keys, published)
    stored = {
        key: min(n * study.block_size, n_rep)
        if n_rep is not None
        else _replicates_of(plan, n, (requested.get(key, 0), options.size))
        for key, n in blocks.items()
    }
    begun = plan.only(scenario for key, scenario in plan.keys.items() if stored[key])
    if not begun.scenarios:
        raise no_blocks_error(folder)
    sizes = {key: stored[key] for key in begun.keys}
    records = read_records(folder / REPLICATES, home.store.provenance)
    known = [*records.first_warnings.values(), *_remarks_on_other_code(other, provenance)]
    if absent:
        known.append(f"not in this result, since no block is stored: method {first_few(absent)}")
    result = result_of(study, begun, home, RunStats(noticed=known), sizes)
    return Result(replace(result.details, design=tuple(plan.work_units.keys)))


def _methods_with_blocks(plan: Plan, store: Store) -> list[str]:
    """The names of the methods that have a block in any scenario."""
    by_method = zip(*plan.drawn_keys.values(), strict=True)
    return [
        method.name
        for method, keys in zip(plan.methods, by_method, strict=False)
        if any(map(store.n_blocks, keys))
    ]


def _replicates_of(plan: Plan, n_blocks: int, requested: Iterable[int]) -> int:
    """Count the replicates of stored blocks: a requested number if it ends in the last block."""
    ends_there = (n for n in requested if n and plan.n_blocks(n) == n_blocks)
    return next(ends_there, n_blocks * plan.block_size)


def _remarks_on_other_code(other: Provenance, current: Provenance) -> list[str]:
    """A remark if there are stored blocks of other code or libraries."""
    found = dict.fromkeys(line for key in other.codes for line in other.differences(current, key))
    if not found:
        return []
    return [
        f"stored blocks are of other code or libraries: {first_few([*found])}. A run draws them "
        'again with redraw="changed"'
    ]


# ---------------------------------------------------------------- blocks of other code
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
