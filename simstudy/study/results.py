"""The result of what is stored of a study, and how much that is."""

from __future__ import annotations

from collections.abc import Mapping

from simstudy.analysis.result import Result
from simstudy.design.plan import Plan
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import ownership_of
from simstudy.store.blocks import Store
from simstudy.store.home import Home
from simstudy.store.layout import Keep
from simstudy.store.moments import KeepMoments
from simstudy.store.owner import Owner
from simstudy.study.declared import Declared


def result_of(
    study: Declared,
    plan: Plan,
    home: Home,
    outcome: Outcome,
    keep: Keep,
    sizes: Mapping[str, int],
) -> Result:
    """What so many replicates of each scenario, stored in a folder, say."""
    return Result(
        plan=plan,
        store=home.store,
        n_rep=dict(sizes),
        declared=study.measures_within(plan.seed),
        figures=study.figures,
        tables=study.tables,
        readings=study.readings,
        claimed=study.claims,
        worst=study.worst,
        moments_only=isinstance(keep, KeepMoments),
        folder=home.path,
        outcome=outcome,
        keep_alive=home.temporary,
        group_size=study.group_size,
    )


def owner_of(study: Declared, plan: Plan, keep: Keep) -> Owner:
    """Whose the blocks of a plan are."""
    return ownership_of(plan, keep.measures, study.worst).owner


def blocks_of_each(plan: Plan, store: Store) -> dict[str, int]:
    """By scenario key, the blocks from the first on that all methods have."""
    return {
        key: min(store.n_blocks(drawn) for drawn in of_each_method)
        for key, of_each_method in plan.drawn_keys.items()
    }
