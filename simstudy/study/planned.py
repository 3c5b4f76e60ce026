"""A study as a preregistration: what it knows of itself before anything of it is drawn."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simstudy.analysis.precision import read_targets, seed_of_pilot
from simstudy.analysis.result import Result
from simstudy.design import Scenario
from simstudy.engine.ownership import ownership_of
from simstudy.engine.refusals import check_n_rep, check_pilot, check_precision
from simstudy.engine.workers import Workers
from simstudy.plan import Plan
from simstudy.remote.paths import Place, place_of
from simstudy.store.blocks import Store
from simstudy.store.files import files_at
from simstudy.store.home import FOLDERS
from simstudy.study.asked import Asked, Out
from simstudy.study.declared import Declared
from simstudy.study.results import owner_of
from simstudy.study.run import run, warn_of

if TYPE_CHECKING:
    from simstudy.output.protocol.intent import Intent
    from simstudy.output.protocol.made import Protocol


@dataclass(frozen=True)
class Intended:
    """What is asked of `Study.protocol`, which says what each is."""

    n_rep: int | None
    seed: int
    precision: Mapping[str, Any] | None
    pilot: int | None
    out: Out
    about: str | None
    command: str
    source: str | None
    workers: Workers | None
    replace: bool


def protocol(study: Declared, asked: Intended) -> Protocol:
    """The protocol, written where a folder is given.

    Raises
    ------
    ConfigError
        For a precision of which nobody knows how many replicates it takes.
    StoreError
        Where the folder holds the protocol of another plan.
    """
    from simstudy.identity.source_files import source_files
    from simstudy.output.environment import environment, program
    from simstudy.output.protocol.made import protocol_of
    from simstudy.output.protocol.replicates import refuse_unknown

    intent = _intent(study, asked)
    if asked.n_rep is None:
        refuse_unknown(intent.needs, piloted=asked.pilot is not None)
    folder = None if asked.out is None else place_of(asked.out) / study.name
    n_drawn = 0 if folder is None else _n_drawn(study, intent.plan, folder)
    libraries = ownership_of(intent.plan).owner.libraries
    files = source_files(asked.source) if asked.source else None
    made_with = environment(files, libraries) if files else program(libraries)
    made = protocol_of(intent, n_drawn=n_drawn, made_with=made_with)
    return made if folder is None else made.write(folder, replace=asked.replace)


def _intent(study: Declared, asked: Intended) -> Intent:
    """What the study knows of itself, and what was said beside."""
    from simstudy.output.protocol.intent import Intent

    if asked.n_rep is not None:
        check_n_rep(asked.n_rep)
    check_precision(asked.precision)
    plan = study.plan(asked.seed)
    return Intent(
        plan=plan,
        measures=study.measures_within(plan.seed),
        n_rep=asked.n_rep,
        usual_n_rep=study.n_rep,
        targets=read_targets(asked.precision or {}, study.measures),
        pilot=_pilot(study, asked),
        about=docstring_behind(study.scenarios) if asked.about is None else asked.about,
        command=asked.command,
        worst=study.worst,
        claims=study.claims,
        block_seconds=study.block_seconds,
    )


def _pilot(study: Declared, asked: Intended) -> Result | None:
    """Some replicates of other random numbers than those of this seed, in no folder."""
    if asked.pilot is None:
        return None
    check_pilot(asked.pilot)
    seed = seed_of_pilot(asked.seed)
    of_pilot = Asked(asked.pilot, seed, workers=asked.workers, whole_blocks=False)
    pilot = run(study, of_pilot)
    warn_of(pilot, of_pilot, stacklevel=5)  # whoever called Study.protocol
    return pilot


def _n_drawn(study: Declared, plan: Plan, folder: Place) -> int:
    """Blocks of this study that lie in its folder, whatever is kept of them."""
    n_blocks = 0
    for keep, below in FOLDERS.items():
        if (folder / below).exists():
            kept = study.kept(keep)
            files = files_at(folder / kept.folder, at_once=False)
            store = Store(files, kept.rows_per_block(plan.drawn), owner_of(study, plan, kept))
            n_blocks += sum(store.n_blocks(key) for key in plan.drawn.keys)
    return n_blocks


def docstring_behind(scenarios: Sequence[Scenario]) -> str:
    """The docstring of the module of some scenarios, if it has one of the five headings."""
    from simstudy.output.headings import headings_of

    text = getattr(sys.modules.get(type(scenarios[0]).__module__), "__doc__", None) or ""
    return text if headings_of(text).parts else ""
