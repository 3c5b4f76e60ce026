"""All commands but `run`, declared with Typer."""

import importlib.metadata
import inspect
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simstudy.cli.exit_status import REFUSED, resume_command
from simstudy.cli.project import RESULTS, Project, lay_out
from simstudy.cli.settings import parse_words
from simstudy.errors import ConfigError, StoreError, nearest
from simstudy.remote import place_of

if TYPE_CHECKING:
    from simstudy.cli.settings import Run
    from simstudy.store.compaction import Removed

ENTRY_POINTS = "simstudy.commands"
"""Group of entry points that add commands: each names a Typer application."""

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="Overrides of Hydra, such as experiment=NAME n_rep=1000.", show_default=False
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(help="Names or folders, and settings NAME=VALUE.", show_default=False),
]
app = typer.Typer(
    name="simstudy",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
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
    _add_commands(arguments[0] if arguments else "--help")
    command = typer.main.get_command(app)
    try:
        ended = command.main(
            arguments, prog_name=project.command("").strip(), standalone_mode=False, obj=project
        )
    except typer.Exit as ending:
        return int(ending.exit_code)
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # which the library replaces
            raise ending.__context__ from None
        raise
    except typer.TyperException as error:
        raise ConfigError(error.format_message()) from None
    return int(ended or 0)


def _add_commands(first: str) -> None:
    """Add the commands of entry points that the command line may name.

    Raises
    ------
    ConfigError
        If the named command cannot be imported.
    """
    for entry in entry_points(group=ENTRY_POINTS):
        if first in (entry.name, "--help", "-h"):
            try:
                app.add_typer(entry.load(), name=entry.name)
            except ImportError as error:
                if first == entry.name:
                    raise ConfigError(f"{entry.name} cannot be imported: {error}") from None


def _version(asked: bool) -> None:
    if asked:
        print(f"simstudy {importlib.metadata.version('simstudy')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Keep the help text of the application."""


def _run(context: typer.Context, overrides: list[str] | None) -> "Run":
    """Compose the study of a command."""
    from simstudy.cli.composition import compose_run

    return compose_run(context.obj, overrides or [])


@app.command(name="run", context_settings={"ignore_unknown_options": True})
def run_study(context: typer.Context, overrides: Overrides = None) -> int:
    """Draw what is missing; summarise, draw figures, check claims, report."""
    from simstudy.cli.application import run_application

    return run_application(context.obj, overrides or [])


@app.command()
def new(name: str) -> None:
    """Create a project with one study."""
    print(lay_out(name))


@app.command(name="list")
def list_studies(context: typer.Context) -> None:
    """List the experiments and their questions."""
    from simstudy.cli.status import list_experiments

    print("\n".join(list_experiments(context.obj)))


@app.command()
def status(context: typer.Context, overrides: Overrides = None) -> int:
    """Show what is stored, published and missing; without a study: of all."""
    from simstudy.cli.composition import is_word
    from simstudy.cli.status import status_of_all, status_of_one

    words = [text for text in overrides or [] if text != "all"]
    if any(text.startswith("experiment=") or is_word(text) for text in words):
        lines, ended = status_of_one(_run(context, words))
    else:
        lines, ended = status_of_all(context.obj, words)
    print("\n".join(lines))
    return ended


@app.command()
def plan(context: typer.Context, overrides: Overrides = None) -> int:
    """Show what a run would draw, or what precision.MEASURE=... costs."""
    from simstudy.cli.status import format_plan
    from simstudy.output.terminal import print_cost

    run = _run(context, overrides)
    settings = run.settings
    if not settings.precision:
        try:
            print(format_plan(run))
        except StoreError as error:  # a plan also shows why a run would be refused
            print(f"refused  {error}")
            return REFUSED
        return 0
    cost = run.study.forecast(settings.precision, settings.n_rep, settings.seed)
    print_cost(cost)
    n_over = int((cost["needed"] > settings.max_rep).sum())
    if n_over:
        print(
            f"max_rep={settings.max_rep} ends {n_over} of these scenarios before they are so "
            "precise; allow more with max_rep=..."
        )
    return 0


@app.command()
def why(context: typer.Context, overrides: Overrides = None) -> None:
    """Show what a study's numbers depend on."""
    print(_run(context, overrides).study.depends_on().to_string())


@app.command()
def summarize(context: typer.Context, overrides: Overrides = None) -> int:
    """Publish and print the stored blocks of a study, or a file of replicates."""
    from simstudy.cli.runs import publish_run

    if names_file(overrides or [], context.obj):
        return summarize_file(overrides or [])
    run = _run(context, overrides)
    with warnings.catch_warnings(action="ignore"):  # they are printed at the end
        result = run.study.partial_result(run.n_rep, run.settings.seed, out=run.out)
    return publish_run(run, result, in_full=True)


@app.command()
def verify(context: typer.Context, words: Words = None) -> int:
    """Check published folders: files, summaries, and a sample of the groups drawn again.

    Words are names of experiments or folders, share=1%, budget=5m, seed=N, n_jobs=N, figures=false,
    and factors such as k=0.12, whose groups are all drawn.
    """
    from simstudy.cli.verification import verify_folders

    return verify_folders(context.obj, words or [])


@app.command()
def replay(context: typer.Context, address: str, overrides: Overrides = None) -> None:
    """Draw one replicate again and raise its error."""
    from simstudy.engine.block import Address

    if "=" in address:
        raise ConfigError(
            f"replay names no replicate: write its address, as failures.parquet has it, before "
            f"{address}"
        )
    run = _run(context, overrides)
    row = run.study.replay(Address.parse(address), run.settings.seed)
    for name, value in row.items():
        print(f"{name:24} {value}")


@app.command(context_settings={"ignore_unknown_options": True})
def batch(context: typer.Context, overrides: Overrides = None) -> None:
    """Print a Slurm script: an array of shares, and a job that joins them."""
    print(batch_script(context.obj, overrides or []), end="")


@app.command()
def index(
    context: typer.Context,
    folder: Annotated[str | None, typer.Argument(help="Folder of results.")] = None,
) -> None:
    """Write the index page of a folder of results."""
    from simstudy.output.formatting import relative_to_cwd
    from simstudy.output.report import write_index
    from simstudy.store.files import translate_io_errors

    results = place_of(folder) if folder else context.obj.root / RESULTS
    if not results.is_dir() or (results / "manifest.json").exists():
        raise ConfigError(
            f"{results} is not a folder with the results of several studies. Name one, as in "
            f"simstudy index {RESULTS}"
        )
    with translate_io_errors(results):
        print(relative_to_cwd(write_index(results)))


@app.command()
def protocol(context: typer.Context, overrides: Overrides = None) -> None:
    """Write a preregistration, before any data are drawn."""
    from simstudy.output.formatting import relative_to_cwd
    from simstudy.output.protocol import TEXT

    run = _run(context, overrides)
    made = run.study.protocol(
        run.n_rep,
        run.settings.seed,
        precision=run.settings.precision,
        out=run.out,
        run="" if run.is_published else run.run_folder.name,
        about=run.module.__doc__ or "",
        command=resume_command(run.project, "run", run.overrides),
        source=run.module.__file__,
    )
    print(f"{made!r}: {relative_to_cwd(run.run_folder / TEXT)}")


@app.command()
def clean(context: typer.Context, overrides: Overrides = None) -> None:
    """Count blocks that no run of a study uses; delete=true deletes those older than 7 days."""
    from simstudy.store.compaction import clean as remove_unused

    words = [word for word in overrides or () if not word.startswith("delete=")]
    deletes = {word for word in overrides or () if word not in words}
    if deletes - {"delete=true", "delete=false"}:
        raise ConfigError(f"{min(deletes)} is not allowed: delete must be true or false")
    folder = _run(context, words).folder
    unused = remove_unused(folder, dry_run=True, older_than=0.0)
    if not unused.n_blocks:
        print(f"nothing to delete: a run uses every block in {folder}")
        return
    print(f"used by no run: {_size_of(unused)} in {folder}")
    old = remove_unused(folder, dry_run="delete=true" not in deletes)
    if "delete=true" in deletes:
        print(f"deleted: {_size_of(old)}, which were older than 7 days")
    else:
        print(f"older than 7 days: {_size_of(old)}; delete=true deletes these")


def _size_of(removed: "Removed") -> str:
    return f"{removed.n_blocks:,} blocks ({removed.n_bytes / 1e6:,.1f} MB)"


# ---------------------------------------------------------------- a Slurm script
SCRIPT = Path(__file__).parent / "slurm.sh"
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
    from simstudy.cli.composition import compose_run

    given = [text for text in arguments if text.startswith("shares=")]
    sbatch = [text for text in arguments if text.startswith("--")]
    rest = [text for text in arguments if text not in (*given, *sbatch)]
    if not given:
        raise ConfigError(
            "batch needs the number of jobs among which the blocks are shared out: shares=N, each "
            "of some minutes at least"
        )
    n_shares = given[-1].removeprefix("shares=")
    if not n_shares.isdecimal() or int(n_shares) < 1:
        raise ConfigError(f"shares={n_shares} is not allowed: write a number of jobs, 1 or more")
    run = compose_run(project, [*rest, f"join={n_shares}"])  # mistakes show before it is run
    made_by = f"{project.command('batch')} {shlex.join(arguments)}"
    is_script = project.script is not None
    program = [str(project.root / "run.py")] if is_script else ["-m", "simstudy", "run"]
    values = {
        "name": run.name,
        "made_by": " ".join(made_by.splitlines()),  # one line: it stands in a comment
        "folder": shlex.quote(str(Path.cwd())),
        "command": shlex.join([sys.executable, *program, *rest]),
        "shares": n_shares,
        "asked": shlex.join([*SBATCH, *sbatch]),  # of two, the last counts
    }
    text = SCRIPT.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda name: values[name[1]], text)


# ---------------------------------------------------------------- replicates in files
USAGE = "simstudy summarize FILE estimate=COLUMN [se=COLUMN method=COLUMN by=[COLUMN]]"
SWITCHES = ("figures", "report")
VALUES = ("truth", "df", "level", *SWITCHES)
"""Settings that may be numbers or switches; all others are names, or lists of names."""


def names_file(arguments: Sequence[str], project: Project) -> bool:
    """Whether the arguments of `summarize` name a file, and no experiment."""
    return any(_is_file(text) and text not in project.experiments() for text in arguments)


def _is_file(text: str) -> bool:
    return "=" not in text and (Path(text).exists() or bool(Path(text).suffix))


def summarize_file(arguments: Sequence[str]) -> int:
    """Summarize the replicates in a file, and publish below `out`; returns the exit status.

    Raises
    ------
    SimstudyError
        In a line, for anything that makes no sense.
    """
    from simstudy.analysis.result import Result
    from simstudy.cli.runs import publish_and_print
    from simstudy.external.from_frame import from_file

    (file, *others), settings = read_arguments(arguments)
    if others:
        raise ConfigError(f"{others[0]} is a second file: put all rows into one. {USAGE}")
    if not settings.get("estimate"):
        raise ConfigError(f"estimate= is not given, so nothing can be summarised: {USAGE}")
    outputs = {name: settings.pop(name, True) for name in SWITCHES}
    config = {"file": file, "measures": "all", **settings}
    config = {name: value for name, value in config.items() if name not in ("out", "name")}
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # printed at the end
        result = from_file(file, **{"out": RESULTS, **settings})
    command = f"simstudy summarize {shlex.join(arguments)}"
    result = Result(replace(result.details, repeat_command=command))
    return publish_and_print(result, result.folder, config=config, **outputs)


def read_arguments(arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Parse the names of files and the arguments of `from_frame`.

    Raises
    ------
    ConfigError
        For an unknown setting, or one without a value.
    """
    from simstudy.cli.composition import parse_overrides
    from simstudy.external.from_frame import from_frame

    files = [text for text in arguments if _is_file(text)]
    settings: dict[str, Any] = dict(parse_words([t for t in arguments if t not in files]))
    known = [*list(inspect.signature(from_frame).parameters)[1:], *SWITCHES]
    for name, text in settings.items():
        if name not in known:
            raise ConfigError(f"{name} is not a setting; {nearest(name, known)}")
        if text[0] in "[{" or name in VALUES:
            value = parse_overrides([f"{name}={text}"])[0].value()
            settings[name] = list(map(str, value)) if isinstance(value, list) else value
    return files, settings
