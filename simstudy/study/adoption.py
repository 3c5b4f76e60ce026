"""Adopts stored blocks for rewritten code, if one block of each is reproduced exactly."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from simstudy.analysis.result import Result
from simstudy.design.plan import Plan, base_scenario, method_of
from simstudy.errors import StoreError, first_few
from simstudy.store.blocks import Store
from simstudy.store.compaction import adopt_blocks
from simstudy.store.provenance import Provenance
from simstudy.store.study_folder import StudyFolder
from simstudy.study.spec import StudySpec


def blocks_of_other_code(plan: Plan, store: Store) -> Provenance:
    """Find the stored blocks of scenarios and methods without blocks of the current code.

    Of several provenances of one scenario it is the one with the fewest differences. Blocks of
    other settings are left out: no draw could prove them equal.
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


def part_to_draw(study: StudySpec, plan: Plan, other: Provenance) -> StudySpec:
    """Restrict the study to scenarios and methods whose blocks are of other code."""
    changed = [drawn for key, drawn in plan.keys.items() if key in other.codes]
    scenarios = list({id(each): each for each in map(base_scenario, changed)}.values())
    names = {method_of(drawn) for drawn in changed}
    methods = {name: f for name, f in study.methods.items() if name in names}
    axes = {name: tuple(methods) if name == study.methods_axis else labels
            for name, labels in study.axes.items()}  # fmt: skip
    across = tuple(name for name in study.rules.across_replicates if name in names)
    rules = replace(study.rules, across_replicates=across)
    return replace(study, scenarios=scenarios, methods=methods, axes=axes, rules=rules)


def adopt_equal_blocks(plan: Plan, home: StudyFolder, other: Provenance, result: Result) -> None:
    """Adopt blocks of other code if the first of each equals one drawn anew.

    Parameters
    ----------
    other
        What made the stored blocks.
    result
        The first block of each of these scenarios and methods, drawn by the current code.

    Raises
    ------
    StoreError
        Naming those that differ; then nothing is adopted.
    """
    store = home.store
    stored = Store(store.files, store.rows_per_block, other)
    differing = [
        repr(plan.keys[key])
        for key in other.codes
        if _first_block(stored, key) != _first_block(result.details.store, key)
    ]
    if differing:
        raise StoreError(
            f"adopt=true: the current code draws other numbers in the first block of "
            f"{first_few(differing)}, so it was not only rewritten. Nothing in {home.path} was "
            "adopted. Draw anew what changed with redraw=changed, or undo the change."
        )
    adopt_blocks(store, other)


def _first_block(store: Store, key: str) -> str:
    """The rows of a first block as exact text."""
    columns: pa.Table = store.read(key, store.rows_per_block)
    named = {name: columns.column(name).to_pylist() for name in sorted(columns.column_names)}
    empty = [None] * len(columns)
    return repr({name: values for name, values in named.items() if values != empty})
