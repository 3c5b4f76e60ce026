"""Results from stored blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from simstudy.analysis.replicates import StoredReplicates
from simstudy.analysis.result import Details, Result
from simstudy.atomic_files import read_json
from simstudy.design.plan import Plan
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.run_monitor import RunStats
from simstudy.errors import first_few
from simstudy.remote import place_of
from simstudy.store.blocks import Store
from simstudy.store.files import REPLICATES
from simstudy.store.run_records import read_records
from simstudy.store.runs import MANIFEST, StudyFolder, no_blocks_error
from simstudy.study.run_options import RunOptions
from simstudy.study.spec import StudySpec
from simstudy.study.stored_blocks import other_code, with_blocks_of


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
        folder=home.path,
        outcome=outcome,
        keep_alive=home.temporary,
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
    home = StudyFolder.open(plan.work_units, options.out, provenance)
    other = other_code(plan.work_units, home.store, versions=True)
    if other:
        home = replace(home, store=with_blocks_of(home.store, other.provenance))
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
    known = [*records.first_warnings.values()]
    if other:
        known.append(
            f"stored blocks are of other code or libraries: {other.changes(provenance)}. A run "
            "draws them again"
        )
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
