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

from simstudy.cli.ending import BROKEN_PIPE
from simstudy.cli.project import Project, experiment_files, lay_out, parse_words, question_of
from simstudy.errors import ConfigError, nearest
from simstudy.places import place_of

if TYPE_CHECKING:
    from simstudy.cli.settings import Run

Words = Annotated[
    list[str] | None,
    typer.Argument(
        help="Settings NAME=VALUE, such as experiment=NAME; or names.", show_default=False
    ),
]
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
    from simstudy.cli.status import format_status

    text, ended = format_status(_run(context, words))
    print(text)
    return ended


@app.command()
def plan(context: typer.Context, words: Words = None) -> None:
    """Show what a run would draw, or what precision.MEASURE=... costs."""
    from simstudy.cli.status import format_plan
    from simstudy.output.terminal import print_cost

    run = _run(context, words)
    settings = run.settings
    if not settings.precision:
        print(format_plan(run))
        return
    cost = run.study.forecast(settings.precision, settings.n_rep, settings.seed)
    print_cost(cost)
    n_over = int((cost["needed"] > settings.max_rep).sum())
    if n_over:
        print(f"max_rep={settings.max_rep} ends {n_over} of these scenarios before")


@app.command()
def why(context: typer.Context, words: Words = None) -> None:
    """Show what a study's numbers depend on."""
    print(_run(context, words).study.depends_on().to_string())


@app.command()
def summarize(context: typer.Context, words: Words = None) -> int:
    """Publish and print the stored blocks of a study, or a file of replicates."""
    from simstudy.cli.runs import publish_run

    if any(map(is_file, words or [])):
        return summarize_file(words or [])
    run = _run(context, words)
    with warnings.catch_warnings(action="ignore"):  # they are printed at the end
        result = run.study.partial_result(run.n_rep, run.settings.seed, out=run.out)
    return publish_run(run, result, in_full=True)


@app.command()
def verify(context: typer.Context, words: Words = None) -> int:
    """Check published folders: files, summaries, and a sample of the groups drawn again.

    Words are names of experiments or folders, share=1%, budget=5m, seed=N, n_jobs=N,
    and factors such as k=0.12, whose groups are all drawn.
    """
    from simstudy.cli.verification import verify_folders

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
        run.n_rep,
        run.settings.seed,
        precision=run.settings.precision,
        out=run.out,
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
    text = SCRIPT.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda name: values[name[1]], text)


# ---------------------------------------------------------------- replicates in files
USAGE = "simstudy summarize FILE estimate=COLUMN [se=COLUMN method=COLUMN by=[COLUMN]]"
SWITCHES = ("figures", "report")
VALUES = ("truth", "df", "level", *SWITCHES)
"""Settings that may be numbers or switches; all others are names, or lists of names."""


def is_file(text: str) -> bool:
    """Whether a word of `summarize` names a file of replicates."""
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
        result = from_file(file, **{"out": "results", **settings})
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
    from simstudy.cli.settings import parse_override
    from simstudy.external.from_frame import from_frame

    files = [text for text in arguments if is_file(text)]
    settings: dict[str, Any] = dict(parse_words([t for t in arguments if t not in files]))
    known = [*list(inspect.signature(from_frame).parameters)[1:], *SWITCHES]
    for name, text in settings.items():
        if name not in known:
            raise ConfigError(f"{name} is not a setting; {nearest(name, known)}")
        if text[0] in "[{" or name in VALUES:
            value = parse_override(f"{name}={text}").value()
            settings[name] = list(map(str, value)) if isinstance(value, list) else value
    return files, settings
