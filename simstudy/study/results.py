"""Results from stored blocks, and copies of blocks from another folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from io import BufferedRandom

from simstudy.analysis.details import Details
from simstudy.analysis.result import Result
from simstudy.analysis.stored_replicates import StoredReplicates
from simstudy.atomic_files import read_json, write_bytes
from simstudy.design.plan import Plan
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.run_monitor import RunStats
from simstudy.errors import StoreError, first_few
from simstudy.remote.paths import Place, place_of
from simstudy.store.block_files import provenance_of_files
from simstudy.store.blocks import Store, files_at
from simstudy.store.files import REPLICATES, Folder, name_by_content
from simstudy.store.provenance import Provenance
from simstudy.store.run_records import FOLDER, read_records, record_files
from simstudy.store.runs import MANIFEST
from simstudy.store.study_folder import StudyFolder, no_blocks_error
from simstudy.study.adoption import blocks_of_other_code, with_blocks_of_other_code
from simstudy.study.run_options import Out, RunOptions
from simstudy.study.spec import StudySpec


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


# ---------------------------------------------------------------- blocks from another folder
def merge(study: StudySpec, options: RunOptions, source: Out) -> int:
    """Copy the blocks of a study from another results folder and return how many are new.

    Raises
    ------
    StoreError
        If the source has no blocks, or any was made from other code, settings or seed.
    """
    plan = options.planned(study)
    blocks: Place = place_of(source or "") / study.name / REPLICATES
    if not blocks.exists():
        raise no_blocks_error(blocks.parent)
    provenance = compute_provenance(plan).of_blocks
    theirs = Store(blocks, plan.block_size, provenance)
    if not theirs.n_files and not theirs.others:
        raise StoreError(
            f"nothing was merged: {blocks.parent} holds no block of these settings"
            f"{_settings_there(blocks, provenance)}. Draw them there with this study's code, "
            "settings and seed, or leave them out."
        )
    differing = [
        f"{drawn!r}: {first_few(each.differences(provenance, key))}"
        for key, drawn in plan.work_units.keys.items()
        for each in theirs.others.get(key, ())[:1]
        if not theirs.n_blocks(key)
    ]
    if differing:
        raise StoreError(
            f"nothing was merged: blocks in {blocks.parent} were made from other code than this "
            f"study's ({'; '.join(differing[:3])}), and these cannot be mixed. Draw them there "
            "with this study's code, settings and seed, or leave them out."
        )
    home = StudyFolder.open(plan.work_units, options.out, provenance)
    n_new = copy_blocks(theirs, home.store)
    if isinstance(home.store.files, Folder):
        copy_records(blocks, home.store.files.path)
    theirs.close()
    return n_new


def _settings_there(blocks: Place, provenance: Provenance) -> str:
    """The fewest differences between settings of stored blocks and ours; empty if unknown."""
    found = [p.setting_differences(provenance) for _, p in provenance_of_files(files_at(blocks))]
    return f" ({first_few(min(found, key=len))})" if found else ""


# ---------------------------------------------------------------- copying
def copy_blocks(source: Store, target: Store) -> int:
    """Copy files with blocks that the target lacks and return the number of these blocks.

    Parameters
    ----------
    source, target
        Stores with the same provenance.
    """
    names = {number: key for key, number in source.index.keys.items()}
    lacking: dict[int, int] = {}  # number of missing blocks by number of the source's file
    for piece in source.index.slices:
        end = int(piece["first"] + piece["n"])
        is_stored = target.has_blocks(names[piece["key"]], end)[int(piece["first"]) :]
        if not is_stored.all():
            number = int(piece["file"])
            lacking[number] = lacking.get(number, 0) + int((~is_stored).sum())
    for file in source.referenced_files:
        if file.number in lacking:
            with source.files.open(file.name) as stored:
                content = stored.read()
            target.files.write(partial(_fill, content))
    target.scan()
    return sum(lacking.values())


def _fill(content: bytes, file: BufferedRandom) -> str:
    file.write(content)
    return name_by_content(file)


def copy_records(source: Place, target: Place) -> None:
    """Copy the records of runs, such as timings."""
    for path in record_files(source):
        write_bytes(target / FOLDER / path.name, path.read_bytes())
