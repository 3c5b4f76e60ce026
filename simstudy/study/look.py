"""An early look: the result of the blocks that are there by now."""

from __future__ import annotations

from dataclasses import replace

from simstudy.analysis.result import Result
from simstudy.engine.outcome import Outcome
from simstudy.engine.refusals import check_keep, check_n_rep, check_whole_groups
from simstudy.remote.paths import place_of
from simstudy.store.home import Home, nothing_to_look_at
from simstudy.store.remarks import remembered
from simstudy.study.asked import Asked
from simstudy.study.declared import Declared
from simstudy.study.results import blocks_of_each, owner_of, result_of


def look(study: Declared, asked: Asked) -> Result:
    """The result of what is stored of what is asked for.

    Raises
    ------
    StoreError
        Where nothing is.
    """
    check_n_rep(asked.n_rep)
    check_whole_groups(study.group_size, asked.n_rep)
    check_keep(asked.keep, asked.n_rep, study.block_size, study.group_size)
    n_analysed = asked.analysed_of(study)
    plan, kept = study.plan(asked.seed, asked.keep, n_analysed), study.kept(asked.keep)
    folder = place_of(asked.out or "") / study.name
    if not (folder / kept.folder).exists():
        raise nothing_to_look_at(folder, asked.keep)
    owner = owner_of(study, plan, kept)
    home = Home.open(plan.drawn, asked.out, owner, kept)
    blocks = blocks_of_each(plan, home.store)
    there = {key: min(n * study.block_size, asked.n_rep) for key, n in blocks.items()}
    begun = plan.only(scenario for key, scenario in plan.keys.items() if there[key])
    if not begun.scenarios:
        raise nothing_to_look_at(folder, asked.keep)
    sizes = {key: there[key] for key in begun.keys}
    known = list(remembered(folder / kept.folder, owner).values())
    result = result_of(study, begun, home, Outcome(noticed=known), kept, sizes)
    return replace(result, design=tuple(plan.drawn.keys))
