"""The stored, published and missing parts of each study.

For one study, its blocks are counted as a run would find them. For all studies, only the files
in their folders are read: no experiment is imported, and no network is used.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from simstudy.cli.exit_status import FAILED
from simstudy.cli.project import (
    ALL,
    Project,
    experiment_files,
    members,
    question_of,
    read_settings,
)
from simstudy.cli.settings import PUBLISHED, read_scale
from simstudy.errors import ConfigError, IncompleteError, StoreError
from simstudy.remote import Place, place_of

if TYPE_CHECKING:
    from simstudy.cli.composition import Run
    from simstudy.design.plan import Plan
    from simstudy.engine.tasks import BlockSet

RESULTS = "results"
MANIFEST = "manifest.json"
RUNS = "runs"
HEADER = f"{'experiment':28} {'blocks':>15} {'failed':>7} {'missing':>8}  published"
ELSEWHERE = "; replicates not in this copy"
SCRIPT = "SIMSTUDY_SCRIPT"  # a variable in which the script of an array says where it lies
ROUNDING = 1e-9


# ---------------------------------------------------------------- all studies, from their files
def list_experiments(project: Project) -> Iterator[str]:
    """List the experiments: name, what is published, question."""
    files = experiment_files(project.root)
    width, room = max(map(len, files), default=0), shutil.get_terminal_size().columns
    for name in sorted(files):
        manifest = _manifest(project.root / RESULTS / name)
        published = f"{_count(manifest, 'replicates'):,} replicates" if manifest else "–"
        line = f"{name:{width}}  {published:>21}  {question_of(files[name])}"
        is_cut = sys.stdout.isatty() and len(line) > room
        yield f"{line[: room - 1]}…" if is_cut else line


def status_of_all(project: Project, arguments: Sequence[str]) -> tuple[list[str], int]:
    """One line per experiment, from its folder; and the exit status.

    Raises
    ------
    ConfigError
        For settings that say more than which folder and which group.
    """
    given = dict(text.partition("=")[::2] for text in arguments)
    if odd := given.keys() - {"out", "scale", "group"}:
        raise ConfigError(
            f"status of all studies takes out=, scale= and group=, and was given "
            f"{', '.join(sorted(odd))}: name a study, as in simstudy status NAME"
        )
    scale = given.get("scale", PUBLISHED)
    if scale not in project.options("scale"):
        raise ConfigError(f"scale={scale}: no such scale")
    own = read_settings(project.conf / "scale" / f"{scale}.yaml")
    out = place_of(given.get("out") or str(read_scale(own, scale).out))
    names = members(given.get("group", ALL), project)
    width = max(map(len, names), default=0)
    any_failed = any(_count(_manifest(out / name), "failed_replicates") for name in names)
    lines = [f"{name:{width}}  {_state(out / name)}" for name in names]
    return lines, FAILED * any_failed


def _state(folder: Place) -> str:
    """The state of a study, from its folder."""
    from simstudy.store.runs import read_manifest

    try:
        read_manifest(folder)
    except StoreError as damaged:
        return str(damaged)
    has_blocks = any((folder / "replicates").glob("*.parquet"))
    if _manifest(folder):
        return _published(folder) + ("" if has_blocks else ELSEWHERE)
    return "not published; replicates are stored" if has_blocks else "nothing"


def _manifest(folder: Place) -> dict[str, Any]:
    """The manifest of a folder; empty if it is missing or damaged."""
    from simstudy.store.runs import read_manifest

    try:
        return read_manifest(folder) or {}
    except StoreError:
        return {}


def _count(manifest: Mapping[str, Any], name: str) -> int:
    """A count in a manifest; 0 if it is missing or invalid."""
    value = manifest.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _published(folder: Place) -> str:
    """The published outputs, from the manifest."""
    manifest = _manifest(folder)
    if not manifest:
        return "nothing"
    n_failed = _count(manifest, "failed_replicates")
    failed = f", {n_failed:,} of them failed" if n_failed else ""
    n_scenarios = _count(manifest, "scenarios")
    return (
        f"published: {_count(manifest, 'replicates'):,} replicates in "
        f"{n_scenarios:,} scenario{'s' * (n_scenarios != 1)}{failed}"
    )


# ---------------------------------------------------------------- one study, by its blocks
class Inventory(NamedTuple):
    """The blocks of a study or share: stored, failed, missing.

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
        keys = [key for key, drawn in units if True in redraw or method_of(drawn) in redraw]
        return sum(int((~self.missing.chosen[key]).sum()) for key in keys)

    def of_shard(self, shard: tuple[int, int] | None) -> "Inventory":
        """The inventory of one share."""
        from simstudy.engine.tasks import blocks_of_shard

        if shard is None:
            return self
        every, missing, failed = (
            blocks_of_shard(self.plan, blocks, shard)
            for blocks in (self.every, self.missing, self.failed)
        )
        return Inventory(self.plan, every, missing, failed, self.changed)

    def gaps(self, n_shares: int) -> tuple[list[int], float]:
        """The shares with missing blocks, and how many whole shares of work are missing."""
        from simstudy.engine.tasks import n_blocks_by_shard

        wanted = n_blocks_by_shard(self.plan, self.every, n_shares)
        missing = n_blocks_by_shard(self.plan, self.missing, n_shares)
        return sorted(missing), sum(n / wanted[index] for index, n in missing.items())


def take_inventory(config: "Run", *, compares: bool = False) -> Inventory:
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

    settings, study = config.settings, config.study
    plan = study.plan(settings.seed).work_units
    provenance = compute_provenance(plan)
    out = config.out if (config.folder / REPLICATES).is_dir() else None
    home = StudyFolder.open(plan, out, provenance.of_blocks, at_once=False)
    if compares:
        for note in count_other_versions(plan, home, provenance, settings.workers, is_all=True):
            print(note, file=sys.stderr)
    wanted = dict.fromkeys(plan.keys, plan.n_blocks(config.n_rep))
    store, pending = uncompared_versions(plan, home)
    other = other_code(plan, store, data=True)
    changed = [pending, describe_other_code(other, home, adopts=settings.adopt) if other else ""]
    return Inventory(
        plan,
        all_blocks(plan, wanted),
        missing_blocks(plan, wanted, store),
        blocks_with_failures(plan, wanted, store),
        "; ".join(filter(None, changed)),
    )


def check_join(config: "Run") -> None:
    """Draw nothing here if the missing blocks are more work than one share.

    Shares cost the same, so what is missing costs as many shares as the missing parts add up to.

    Raises
    ------
    IncompleteError
        With what changed, and the shares to submit again.
    """
    n_shares = config.settings.join or 1
    found = take_inventory(config, compares=True)
    gaps, n_missing = found.gaps(n_shares)
    if n_missing > 1 + ROUNDING:
        changed = f"; {found.changed}" if found.changed else ""
        raise IncompleteError(
            f"join={n_shares}: {len(found.missing):,} of {len(found.every):,} blocks are missing, "
            f"in {len(gaps):,} of {n_shares:,} shares{changed}. That is more than one share draws, "
            "so none is drawn here (draw=true draws them here). To draw them in an array: "
            f"{_array_command(gaps)}"
        )


def _array_command(shares: Iterable[int]) -> str:
    """The command that submits some shares to Slurm, by the script that `batch` wrote."""
    script = os.environ.get(SCRIPT, "SCRIPT")
    return f"bash {shlex.quote(script)} {format_ranges(shares)}"


def format_plan(config: "Run") -> str:
    """The plan of a run: blocks, time, results."""
    study, settings, size = config.study, config.settings, config.study.block_size
    found = take_inventory(config).of_shard(settings.share)
    n_drawn = len(found.missing) + (len(found.failed) if settings.retry else 0)
    n_drawn += found.n_stored_of(settings.redraw or ())
    shard = f" (shard {settings.shard})" if settings.shard else ""
    return "\n".join(
        (
            f"{study.name}: {len(study.scenarios):,} scenarios, {config.n_rep:,} replicates in "
            f"each, drawn in blocks of {size:,}",
            f"blocks   {len(found.every):,}{shard}: {found.n_stored:,} stored "
            f"({len(found.failed):,} with failures), {len(found.missing):,} missing",
            *([found.changed] if found.changed else []),
            f"to draw  {n_drawn:,} blocks",
            f"time     {_format_time(config.folder, n_drawn)}",
            f"results  {config.run_folder}",
        )
    )


def _format_time(folder: Place, n_blocks: int) -> str:
    """The time to draw some blocks, from the published run or the first other that drew blocks."""
    from simstudy.store.runs import list_runs

    if not n_blocks:
        return "none: every block is stored"
    for manifest in (run.manifest for run in list_runs(folder)):
        seconds, n_drawn = manifest.get("wall_seconds"), _count(manifest, "blocks_computed")
        if isinstance(seconds, int | float) and n_drawn:
            return f"about {n_blocks * seconds / n_drawn:,.1f} s, at the pace of the last run"
    return "not known: no run has drawn blocks into this folder yet"


def status_of_one(config: "Run") -> tuple[list[str], int]:
    """A study's line, its shares with gaps, and its runs; and the exit status."""
    shard, whole = config.settings.shard or "", take_inventory(config)
    found = whole if "auto" in shard else whole.of_shard(config.settings.share)
    manifest, published = _manifest(config.folder), _published(config.folder)
    status = FAILED if found.failed or _count(manifest, "failed_replicates") else 0
    if manifest and not found.n_stored and not whole.changed:
        return [f"{config.name:28} {published}{ELSEWHERE}"], status
    counts = f"{found.n_stored:,} of {len(found.every):,}"
    line = f"{config.name:28} {counts:>15} {len(found.failed):7,} {len(found.missing):8,}  "
    lines = [HEADER, f"{line}{published}", f"  {whole.changed}" if whole.changed else ""]
    if n_shares := int(shard.partition("/")[2] or 0):
        gaps, _ = whole.gaps(n_shares)
        again = f": {format_ranges(gaps)}. On Slurm: {_array_command(gaps)}" if gaps else ""
        lines.append(f"{len(gaps):,} of {n_shares:,} shares have gaps{again}")
    for path in sorted((config.folder / RUNS).glob(f"*/{MANIFEST}")):
        lines.append(f"  {path.parent.name:40} {_published(path.parent)}")
    return [each for each in lines if each], status


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers as ranges: 1-3,7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


# ---------------------------------------------------------------- the index of a folder
def write_index_of(project: Project, folder: str | None) -> Place:
    """Write the index page of a results folder (default: the project's); returns its path.

    Raises
    ------
    SimstudyError
        If the folder does not exist, belongs to one study, or cannot be read or written.
    """
    from simstudy.output.report import write_index
    from simstudy.store.files import translate_io_errors

    results = place_of(folder) if folder else project.root / RESULTS
    if not results.is_dir():
        raise ConfigError(
            f"{results} is not a folder, so it has no index. Name one that holds results, as in "
            f"simstudy index {RESULTS}, or make some: {project.command('run')} experiment=NAME"
        )
    if (results / MANIFEST).exists():
        raise ConfigError(
            f"{results} is the folder of one study; the index is that of the folder around it: "
            f"simstudy index {results.parent}"
        )
    with translate_io_errors(results):
        return write_index(results)
