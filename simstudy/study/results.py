"""Makes the result of a study from its stored blocks, all or those drawn so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simstudy.analysis.details import Details
from simstudy.analysis.result import Result
from simstudy.design.plan import Plan
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.run_stats import RunStats
from simstudy.remote.paths import place_of
from simstudy.store.blocks import Store
from simstudy.store.moments import MomentStorage, StoragePolicy
from simstudy.store.provenance import Provenance
from simstudy.store.run_records import read_records
from simstudy.store.study_folder import StudyFolder, no_blocks_error
from simstudy.study.run_options import RunOptions, check_keep
from simstudy.study.spec import StudySpec
from simstudy.study.validation import check_n_rep, check_whole_groups


def result_of(
    study: StudySpec,
    plan: Plan,
    home: StudyFolder,
    outcome: RunStats,
    keep: StoragePolicy,
    sizes: Mapping[str, int],
) -> Result:
    """Make the result of some stored replicates."""
    details = Details(
        plan=plan,
        store=home.store,
        n_rep=dict(sizes),
        declared=study.bound_measures(plan.seed),
        figures=study.figures,
        tables=study.tables,
        value_labels=study.value_labels,
        labels=study.labels,
        claimed=study.claims,
        worst=study.worst,
        moments_only=isinstance(keep, MomentStorage),
        folder=home.path,
        outcome=outcome,
        keep_alive=home.temporary,
        group_size=study.group_size,
    )
    return Result(details)


def provenance_of(study: StudySpec, plan: Plan, keep: StoragePolicy) -> Provenance:
    """The provenance of a plan's blocks."""
    return compute_provenance(plan, keep.measures, study.worst).of_blocks


def blocks_of_each(plan: Plan, store: Store) -> dict[str, int]:
    """By scenario key, the number of first blocks that all methods have."""
    return {
        key: min(store.n_blocks(drawn) for drawn in of_each_method)
        for key, of_each_method in plan.drawn_keys.items()
    }


# ---------------------------------------------------------------- the blocks stored so far
def partial_result(study: StudySpec, options: RunOptions) -> Result:
    """Return the result of the stored blocks among those asked for.

    Raises
    ------
    StoreError
        Where no block is stored.
    """
    check_n_rep(options.n_rep)
    check_whole_groups(study.group_size, options.n_rep)
    check_keep(options.keep, options.n_rep, study.block_size, study.group_size)
    n_analysed = options.analysed_of(study)
    plan, kept = (
        study.plan(options.seed, options.keep, n_analysed),
        study.storage_policy(options.keep),
    )
    folder = place_of(options.out or "") / study.name
    if not (folder / kept.folder).exists():
        raise no_blocks_error(folder, options.keep)
    provenance = provenance_of(study, plan, kept)
    home = StudyFolder.open(plan.work_units, options.out, provenance, kept)
    blocks = blocks_of_each(plan, home.store)
    stored = {key: min(n * study.block_size, options.n_rep) for key, n in blocks.items()}
    begun = plan.only(scenario for key, scenario in plan.keys.items() if stored[key])
    if not begun.scenarios:
        raise no_blocks_error(folder, options.keep)
    sizes = {key: stored[key] for key in begun.keys}
    known = list(read_records(folder / kept.folder, provenance).first_warnings.values())
    result = result_of(study, begun, home, RunStats(noticed=known), kept, sizes)
    return Result(replace(result.details, design=tuple(plan.work_units.keys)))
