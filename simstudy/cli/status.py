"""The stored, published and missing parts of each study.

For one study, its blocks are counted as a run would find them. For all studies, only the files
in their folders are read: no experiment is imported, and no network is used.
"""

import os
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from simstudy.cli.exit_status import FAILED
from simstudy.cli.project import ALL, RESULTS, Project, experiment_files, members, question_of
from simstudy.cli.settings import parse_words
from simstudy.errors import ConfigError, IncompleteError, StoreError, first_few
from simstudy.remote import Place, place_of

if TYPE_CHECKING:
    from simstudy.cli.settings import Run
    from simstudy.design.plan import Plan
    from simstudy.engine.tasks import BlockSet

MANIFEST = "manifest.json"
RUNS = "runs"
HEADER = f"{'experiment':28} {'blocks':>15} {'failed':>7} {'missing':>8}  published"
ELSEWHERE = "; replicates not in this copy"
SCRIPT = "SIMSTUDY_SCRIPT"  # a variable in which the script of an array says where it lies
ROUNDING = 1e-9


# ---------------------------------------------------------------- all studies, from their files
def list_experiments(project: Project) -> list[str]:
    """List the experiments and their questions."""
    files = experiment_files(project.root)
    width = max(map(len, files), default=0)
    return [f"{name:{width}}  {question_of(files[name])}" for name in sorted(files)]


def status_of_all(project: Project, arguments: Sequence[str]) -> tuple[list[str], int]:
    """One line per experiment, from its folder; and the exit status.

    Raises
    ------
    ConfigError
        For settings that say more than which folder and which group.
    """
    given = parse_words(arguments)
    if odd := sorted(given.keys() - {"out", "group"}):
        raise ConfigError(
            f"status of all studies takes out= and group=, and was given {', '.join(odd)}: name a "
            "study, as in simstudy status NAME"
        )
    out = place_of(given.get("out", RESULTS))
    names = members(given.get("group", ALL), project)
    width = max(map(len, names), default=0)
    any_failed = any(_manifest(out / name).get("failed_replicates") for name in names)
    return [f"{name:{width}}  {_state(out / name)}" for name in names], FAILED * any_failed


def _state(folder: Place) -> str:
    """The state of a study, from its folder."""
    from simstudy.store.runs import read_manifest

    try:
        published = read_manifest(folder)
    except StoreError as damaged:
        return str(damaged)
    has_blocks = any((folder / "replicates").glob("*.parquet"))
    others = [path.parent.name for path in sorted((folder / RUNS).glob(f"*/{MANIFEST}"))]
    more = f"; other settings: {first_few(others)}" if others else ""
    if published:
        return _published(published) + ("" if has_blocks else ELSEWHERE) + more
    if others:
        return f"not with the published settings{more}"
    return "not published; replicates are stored" if has_blocks else "nothing"


def _manifest(folder: Place) -> dict[str, Any]:
    """The manifest of a folder; empty if it is missing or damaged."""
    from simstudy.store.runs import read_manifest

    try:
        return read_manifest(folder) or {}
    except StoreError:
        return {}


def _published(manifest: Mapping[str, Any]) -> str:
    """The published outputs, from the manifest."""
    if not manifest:
        return "nothing"
    n_failed, n_scenarios = (manifest.get(n, 0) for n in ("failed_replicates", "scenarios"))
    failed = f", {n_failed:,} of them failed" if n_failed else ""
    absent = [*manifest.get("figures_not_drawn", {}), *manifest.get("tables_not_made", {})]
    without = f", without {first_few(absent)}" if absent else ""
    made = f", {manifest['made']}" if manifest.get("made") else ""
    return (
        f"published: {manifest.get('replicates', 0):,} replicates in "
        f"{n_scenarios:,} scenario{'s' * (n_scenarios != 1)}{failed}{without}{made}"
    )


# ---------------------------------------------------------------- one study, by its blocks
class Inventory(NamedTuple):
    """The blocks of a study or shard: stored, failed, missing.

    Attributes
    ----------
    plan
        The units of work: scenarios, or pairs of scenario and method.
    every
        All blocks of the settings.
    missing
        Blocks that are not stored, or were drawn by other code or settings.
    failed
        Stored blocks with a failed replicate.
    changed
        Line on the changes since stored blocks were drawn; empty if there are none.
    """

    plan: "Plan"
    every: "BlockSet"
    missing: "BlockSet"
    failed: "BlockSet"
    changed: str = ""

    @property
    def n_stored(self) -> int:
        """The number of stored blocks."""
        return len(self.every) - len(self.missing)

    def n_stored_of(self, redraw: Collection[str | bool]) -> int:
        """The number of stored blocks that `redraw` names."""
        from simstudy.design.plan import method_of

        units = self.plan.keys.items()
        keys = [key for key, unit in units if True in redraw or method_of(unit) in redraw]
        return sum(int((~self.missing.chosen[key]).sum()) for key in keys)

    def of_shard(self, shard: tuple[int, int] | None) -> "Inventory":
        """The inventory of one shard."""
        from simstudy.engine.tasks import blocks_of_shard

        if shard is None:
            return self
        every, missing, failed = (
            blocks_of_shard(self.plan, blocks, shard)
            for blocks in (self.every, self.missing, self.failed)
        )
        return Inventory(self.plan, every, missing, failed, self.changed)

    def gaps(self, n_shards: int) -> tuple[list[int], float]:
        """The shards with missing blocks, and how many whole shards of work are missing."""
        from simstudy.engine.tasks import n_blocks_by_shard

        wanted = n_blocks_by_shard(self.plan, self.every, n_shards)
        missing = n_blocks_by_shard(self.plan, self.missing, n_shards)
        return sorted(missing), sum(n / wanted[index] for index, n in missing.items())


def take_inventory(run: "Run", *, compares: bool = False) -> Inventory:
    """Read a study's folder as a run would, without drawing missing blocks.

    Parameters
    ----------
    compares
        Whether a sample of blocks of other versions is drawn again, if no run has compared them.
        Otherwise they count as stored, and `changed` says that they are to be compared.

    Raises
    ------
    StoreError
        If the folder is of another study.
    """
    from simstudy.engine.provenance import compute_provenance
    from simstudy.engine.tasks import all_blocks, blocks_with_failures, missing_blocks
    from simstudy.store.files import REPLICATES
    from simstudy.store.runs import StudyFolder
    from simstudy.study.stored_blocks import (
        count_other_versions,
        describe_other_code,
        other_code,
        uncompared_versions,
    )

    plan = run.study.plan(run.settings.seed).work_units
    provenance = compute_provenance(plan)
    out = run.out if (run.folder / REPLICATES).is_dir() else None
    folder = StudyFolder.open(plan, out, provenance.of_blocks, at_once=False)
    if compares:
        for text in count_other_versions(plan, folder, provenance, run.settings, is_all=True):
            print(text, file=sys.stderr)
    store, pending = uncompared_versions(plan, folder)
    other = other_code(plan, store, data=True)
    code = describe_other_code(other, folder, adopts=run.settings.adopt) if other else ""
    wanted = dict.fromkeys(plan.keys, plan.n_blocks(run.n_rep))
    return Inventory(
        plan,
        all_blocks(plan, wanted),
        missing_blocks(plan, wanted, store),
        blocks_with_failures(plan, wanted, store),
        "; ".join(filter(None, [pending, code])),
    )


def check_join(run: "Run") -> None:
    """Draw nothing here if the missing blocks are more work than one shard.

    Raises
    ------
    IncompleteError
        With what changed, and the shards to submit again.
    """
    n_shards = run.settings.join or 1
    stored = take_inventory(run, compares=True)
    gaps, n_missing = stored.gaps(n_shards)
    if n_missing > 1 + ROUNDING:
        changed = f"; {stored.changed}" if stored.changed else ""
        raise IncompleteError(
            f"join={n_shards}: {len(stored.missing):,} of {len(stored.every):,} blocks are missing,"
            f" in {len(gaps):,} of {n_shards:,} shards{changed}. That is more than one shard draws,"
            " so none is drawn here (draw=true draws them here). To draw them in an array: "
            f"{_array_command(gaps)}"
        )


def _array_command(shards: Iterable[int]) -> str:
    """The command that submits some shards to Slurm, by the script that `batch` wrote."""
    script = os.environ.get(SCRIPT, "SCRIPT")
    return f"bash {shlex.quote(script)} {format_ranges(shards)}"


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers as ranges: 1-3,7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def format_plan(run: "Run") -> str:
    """The plan of a run: blocks, time, results."""
    study, settings = run.study, run.settings
    stored = take_inventory(run).of_shard(settings.share)
    n_drawn = len(stored.missing) + (len(stored.failed) if settings.retry else 0)
    n_drawn += stored.n_stored_of(settings.redraw or ())
    shard = f" (shard {settings.shard})" if settings.shard else ""
    lines = [
        f"{study.name}: {len(study.scenarios):,} scenarios, {run.n_rep:,} replicates in each, "
        f"drawn in blocks of {study.block_size:,}",
        f"blocks   {len(stored.every):,}{shard}: {stored.n_stored:,} stored "
        f"({len(stored.failed):,} with failures), {len(stored.missing):,} missing",
        stored.changed,
        f"to draw  {n_drawn:,} blocks",
        f"time     {_format_time(run.folder, n_drawn)}",
        f"results  {run.run_folder}",
    ]
    return "\n".join(filter(None, lines))


def _format_time(folder: Place, n_blocks: int) -> str:
    """The time to draw some blocks, from the published run or the first other that drew blocks."""
    from simstudy.store.runs import list_runs

    if not n_blocks:
        return "none: every block is stored"
    for manifest in (each.manifest for each in list_runs(folder)):
        seconds, n_drawn = manifest.get("wall_seconds"), manifest.get("blocks_computed")
        if seconds and n_drawn:
            return f"about {n_blocks * seconds / n_drawn:,.1f} s, at the pace of the last run"
    return "not known: no run has drawn blocks into this folder yet"


def status_of_one(run: "Run") -> tuple[list[str], int]:
    """A study's line, its shards with gaps, and its runs; and the exit status."""
    shard, whole = run.settings.shard or "", take_inventory(run)
    stored = whole if "auto" in shard else whole.of_shard(run.settings.share)
    manifest = _manifest(run.run_folder)
    published = _published(manifest)
    status = FAILED if stored.failed or manifest.get("failed_replicates") else 0
    if manifest and not stored.n_stored and not whole.changed:
        return [f"{run.name:28} {published}{ELSEWHERE}"], status
    counts = f"{stored.n_stored:,} of {len(stored.every):,}"
    line = f"{run.name:28} {counts:>15} {len(stored.failed):7,} {len(stored.missing):8,}  "
    lines = [HEADER, f"{line}{published}", f"  {whole.changed}" if whole.changed else ""]
    if n_shards := int(shard.partition("/")[2] or 0):
        gaps, _ = whole.gaps(n_shards)
        again = f": {format_ranges(gaps)}. On Slurm: {_array_command(gaps)}" if gaps else ""
        lines.append(f"{len(gaps):,} of {n_shards:,} shards have gaps{again}")
    others = [run.folder, *(p.parent for p in sorted((run.folder / RUNS).glob(f"*/{MANIFEST}")))]
    for folder in others:
        if folder != run.run_folder and (manifest := _manifest(folder)):
            name = "published settings" if folder == run.folder else folder.name
            lines.append(f"  {name:40} {_published(manifest)}")
    return [each for each in lines if each], status
