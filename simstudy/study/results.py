"""Makes the result of a study from its stored blocks."""

from __future__ import annotations

from collections.abc import Mapping

from simstudy.analysis.details import Details
from simstudy.analysis.result import Result
from simstudy.design.plan import Plan
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.run_stats import RunStats
from simstudy.store.arrow_schema import StoragePolicy
from simstudy.store.blocks import Store
from simstudy.store.moments import MomentStorage
from simstudy.store.provenance import Provenance
from simstudy.store.study_folder import StudyFolder
from simstudy.study.spec import StudySpec


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
