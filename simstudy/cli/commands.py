"""All commands but `run`, declared with Typer."""

import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simstudy.cli.ending import BROKEN_PIPE
from simstudy.cli.project import Project, experiment_files, lay_out, load_experiment, question_of
from simstudy.design.reprs import from_to
from simstudy.errors import ConfigError, NotHereError, SimstudyError, StoreError
from simstudy.options import build, option
from simstudy.places import Place, place_of

if TYPE_CHECKING:
    from simstudy.cli.settings import Run

WORDS = "Settings NAME=VALUE, such as experiment=NAME; or names."
Words = Annotated[list[str] | None, typer.Argument(help=WORDS, show_default=False)]
app = typer.Typer(
    name="simstudy",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Monte Carlo simulation studies. `simstudy run experiment=NAME` runs one; "
    "`simstudy run --help` shows its settings.",
)


def run_other_command(project: Project, arguments: list[str]) -> int:
    """Run a command of the table; returns the exit status.

    Raises
    ------
    ConfigError
        In one line, for a wrong command line.
    """
    for entry in entry_points(group="simstudy.commands"):  # each names a Typer application
        if arguments[0] in (entry.name, "--help", "-h"):
            app.add_typer(entry.load(), name=entry.name)
    command = typer.main.get_command(app)
    try:
        ended = command.main(
            arguments, prog_name=project.command("").strip(), standalone_mode=False, obj=project
        )
    except typer.Exit as end:
        return int(end.exit_code)
    except SystemExit:  # the library's answer to a closed pipe
        return BROKEN_PIPE
    except typer.TyperException as error:
        raise ConfigError(error.format_message()) from None
    return int(ended or 0)


def _run(context: typer.Context, words: list[str] | None) -> "Run":
    """Compose the study of a command."""
    from simstudy.cli.settings import compose_run

    return compose_run(context.obj, words or [])


@app.command(name="run")  # Hydra's, listed here for the help
def run_study(words: Words = None) -> None:
    """Draw what is missing; summarise, draw figures, check claims, report."""


@app.command()
def new(name: str) -> None:
    """Create a project with one study."""
    print(lay_out(name))


@app.command(name="list")
def list_studies(context: typer.Context) -> None:
    """List the experiments and their questions."""
    files = experiment_files(context.obj.root)
    width = max(map(len, files), default=0)
    for name in sorted(files):
        print(f"{name:{width}}  {question_of(files[name])}")


@app.command()
def status(context: typer.Context, words: Words = None) -> int:
    """Show what is stored and missing of a study, and its runs."""
    from simstudy.cli.runs import print_blocks, print_runs

    run = _run(context, words)
    ended = print_blocks(run)
    print_runs(run)
    return ended


@app.command()
def plan(context: typer.Context, words: Words = None) -> None:
    """Show what a run would draw, or what precision.MEASURE=... costs."""
    from simstudy.cli.runs import print_blocks, print_cost

    run = _run(context, words)
    if run.settings.precision:
        print_cost(run)
    else:
        print_blocks(run)


@app.command()
def why(context: typer.Context, words: Words = None) -> None:
    """Show what a study's numbers depend on."""
    print(_run(context, words).study.depends_on().to_string())


@app.command()
def summarize(context: typer.Context, words: Words = None) -> int:
    """Publish and print the stored blocks of a study."""
    from simstudy.cli.runs import publish_run

    run = _run(context, words)
    with warnings.catch_warnings(action="ignore"):  # they are printed at the end
        result = run.study.partial_result(
            run.settings.n_rep, run.settings.seed, out=str(run.settings.out)
        )
    if min(result.n_rep.values()) < run.settings.size:
        stored = from_to(min(result.n_rep.values()), max(result.n_rep.values()))
        print(f"{stored} of n_rep={run.settings.size:,} replicates are stored in each scenario")
    return publish_run(run, result, in_full=True)


@app.command()
def verify(context: typer.Context, words: Words = None) -> int:
    """Check published folders: files, summaries, and a sample of the groups drawn again.

    Words are names of experiments or folders, share=1%, budget=5m, seed=N, n_jobs=N,
    and factors such as k=0.12, whose groups are all drawn.
    """
    return verify_folders(context.obj, words or [])


@app.command()
def replay(context: typer.Context, address: str, words: Words = None) -> None:
    """Draw one replicate again and raise its error."""
    if "=" in address:
        raise ConfigError(f"replay names no replicate: write its address before {address}")
    run = _run(context, words)
    for name, value in run.study.replay(address, run.settings.seed).items():
        print(f"{name:24} {value}")


@app.command(context_settings={"ignore_unknown_options": True})
def batch(context: typer.Context, words: Words = None) -> None:
    """Print a Slurm script: an array of shares, and a job that joins them."""
    print(batch_script(context.obj, words or []), end="")


@app.command()
def index(
    context: typer.Context,
    folder: Annotated[str | None, typer.Argument(help="Folder of results.")] = None,
) -> None:
    """Write the index page of a folder of results."""
    from simstudy.output.formatting import relative_to_cwd
    from simstudy.output.report import write_index

    results = place_of(folder) if folder else context.obj.root / "results"
    if not results.is_dir() or (results / "manifest.json").exists():
        raise ConfigError(f"{results} is not a folder with the results of several studies")
    print(relative_to_cwd(write_index(results)))


@app.command()
def protocol(context: typer.Context, words: Words = None) -> None:
    """Write a preregistration, before any data are drawn."""
    from simstudy.output.formatting import relative_to_cwd
    from simstudy.output.protocol import TEXT

    run = _run(context, words)
    made = run.study.protocol(
        run.settings.n_rep,
        run.settings.seed,
        precision=run.settings.precision,
        out=run.settings.out,
        run="" if run.is_published else run.run_folder.name,
        about=run.module.__doc__ or "",
        command=run.project.resume_command("run", run.overrides),
        source=run.module.__file__,
    )
    print(f"{made!r}: {relative_to_cwd(run.run_folder / TEXT)}")


@app.command()
def clean(context: typer.Context, words: Words = None) -> None:
    """Count blocks that no run of a study uses; delete=true deletes those older than 7 days."""
    from simstudy.store.compaction import clean as remove_unused

    deletes, rest = _taken("delete", words or ())
    folder = _run(context, rest).folder
    unused = remove_unused(folder, dry_run=True, older_than=0.0)
    old = remove_unused(folder, dry_run=deletes != "true")
    told = "deleted" if deletes == "true" else "older than 7 days (delete=true deletes these)"
    for what, found in (("used by no run", unused), (told, old)):
        print(f"{what}: {found.n_blocks:,} blocks ({found.n_bytes / 1e6:,.1f} MB)")


def _taken(name: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """The last value of a setting among some words, and the other words."""
    own = [word for word in words if word.startswith(f"{name}=")]
    return "".join(own[-1:]).partition("=")[2], [word for word in words if word not in own]


# ---------------------------------------------------------------- a Slurm script
SBATCH = ("--time=1:00:00", "--mem=4G", "--cpus-per-task=1")  # where the command has no others


def batch_script(project: Project, arguments: Sequence[str]) -> str:
    """Make the text of a Slurm script.

    Parameters
    ----------
    arguments
        The arguments as typed: `shares=N`, options of `sbatch`, and settings of the run.

    Raises
    ------
    ConfigError
        If the number of jobs is missing, or the settings of the run are not allowed.
    """
    from simstudy.cli.settings import compose_run

    n_shares, rest = _taken("shares", arguments)
    sbatch = [text for text in rest if text.startswith("--")]
    rest = [text for text in rest if text not in sbatch]
    if not re.fullmatch("[1-9][0-9]*", n_shares or ""):
        given = f"shares={n_shares} is not allowed: " if n_shares else ""
        raise ConfigError(f"{given}batch needs the number of jobs: write shares=N")
    run = compose_run(project, [*rest, f"join={n_shares}"])  # mistakes show before it is run
    program = [str(project.root / "run.py")] if project.script else ["-m", "simstudy", "run"]
    values = {
        "name": run.name,
        "made_by": f"{project.command('batch')} {shlex.join(arguments)}",
        "folder": shlex.quote(str(Path.cwd())),
        "command": shlex.join([sys.executable, *program, *rest]),
        "shares": n_shares,
        "asked": shlex.join([*SBATCH, *sbatch]),  # of two, the last counts
    }
    text = (Path(__file__).parent / "slurm.sh").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda name: values[name[1]], text)


# ---------------------------------------------------------------- published folders
NO_OPTIONS = ("experiment", "precision", "at_least")  # settings in a manifest


@dataclass
class Verify:
    """The settings of a verification."""

    share: float = option("share of the groups to draw again", default=0.01, above=0, at_most=1)
    budget: str = option("time after which no further group is begun", default="5m")
    seed: int | None = option("seed of the choice of groups (default: a fresh one)", at_least=0)
    n_jobs: int | None = option("number of workers")


def verify_folders(project: Project, words: Sequence[str]) -> int:
    """Verify folders, print the answers, and return the exit status.

    Raises
    ------
    ConfigError
        For a word that is neither a folder nor an experiment, or a setting that is not allowed.
    """
    import yaml

    from simstudy.output.verify import DIFFERS, verify
    from simstudy.study.run_options import read_seconds

    named = [word for word in words if "=" not in word or "/" in word.partition("=")[0]]
    given = dict(word.split("=", 1) for word in words if word not in named)
    own = {name: given.pop(name) for name in Verify.__dataclass_fields__ if name in given}
    if percent := re.fullmatch(r"(\d+\.?\d*)%", own.get("share", "")):
        own["share"] = f"{float(percent[1]) / 100}"
    settings = asdict(build(Verify, own))
    settings["budget"] = read_seconds(settings["budget"])
    where = {name: yaml.safe_load(text) for name, text in given.items()}  # factors of a number
    if not named:
        raise ConfigError("verify names no folder: write a name or a folder, as results/NAME")
    folders, ended = [each for word in named for each in _folders(project, word)], set[int]()
    for folder in folders:
        try:
            study, why_not = _study_of(project, folder)
            found = verify(folder, study, **settings, **where)
        except SimstudyError as error:
            if len(folders) == 1:
                raise
            print(f"{folder}: {error}", file=sys.stderr, flush=True)
            ended.add(DIFFERS)
            continue
        found.unchecked += [f"draws and claims: {why_not}"] * bool(why_not)
        print(found, flush=True)
        ended.add(found.status)
    return DIFFERS if DIFFERS in ended else max(ended)


def _folders(project: Project, word: str) -> list[Place]:
    """The folders that a word names: one of a study, all that stand in it, or an experiment's."""
    from simstudy.store.runs import MANIFEST

    named = place_of(word)
    if not isinstance(named, Path) or named.is_dir():
        inner = sorted(path.parent for path in named.glob(f"*/{MANIFEST}"))
        return [named] if (named / MANIFEST).exists() or not inner else inner
    published = project.root / "results" / word
    if word in project.options("experiment") or (published / MANIFEST).exists():
        return [place_of(published)]
    raise StoreError(f"{word}: there is no such folder, also not in results/, and no experiment")


def _study_of(project: Project, folder: Place) -> tuple[Any, str]:
    """The study of this project that a folder's manifest names, with its settings.

    It is None if there is none, or if a library is missing, with what is said then: the folder's
    files and its summary can be checked without it.
    """
    from simstudy.cli.settings import make_study
    from simstudy.store.runs import read_manifest

    manifest = read_manifest(folder) or {}
    config = dict(manifest.get("config", {}))
    name = str(config.get("experiment") or manifest.get("study", ""))
    if name not in project.options("experiment"):
        return None, ""
    options = {key: value for key, value in config.items() if key not in NO_OPTIONS}
    try:
        module = load_experiment(name, project.root)
        chosen = build(module.Config, options, prefix="experiment.")
        return make_study(module, chosen, project.root), ""
    except NotHereError as error:
        return None, str(error)
