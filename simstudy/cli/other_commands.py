"""All commands but `run`, declared with Typer."""

import importlib.metadata
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from simstudy.cli.project import Project
from simstudy.errors import ConfigError

ENTRY_POINTS = "simstudy.commands"
"""Group of entry points that add commands: each names a Typer application."""

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="Overrides of Hydra, such as experiment=NAME n_rep=1000.", show_default=False
    ),
]
app = typer.Typer(
    name="simstudy",
    no_args_is_help=True,
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


def _run(context: typer.Context, overrides: list[str] | None) -> Any:
    """Compose the study of a command; bare words name experiments."""
    from simstudy.cli.composition import compose_run

    project: Project = context.obj
    words = [f"experiment={text}" if text in _names(project) else text for text in overrides or []]
    return compose_run(project, words)


def _names(project: Project) -> list[str]:
    return project.options("experiment")


@app.command(name="run", context_settings={"ignore_unknown_options": True})
def run_study(context: typer.Context, overrides: Overrides = None) -> int:
    """Draw what is missing; summarise, draw figures, check claims, report."""
    from simstudy.cli.application import run_application

    return run_application(context.obj, overrides or [])


@app.command()
def new(name: str) -> None:
    """Create a project with one study."""
    from simstudy.cli.project import lay_out

    print(lay_out(name))


@app.command(name="list")
def list_studies(context: typer.Context) -> None:
    """List the experiments and their questions."""
    from simstudy.cli.status import list_experiments

    print("\n".join(list_experiments(context.obj)))


@app.command()
def status(context: typer.Context, overrides: Overrides = None) -> int:
    """Show what is stored, published and missing; without a study: of all."""
    from simstudy.cli import commands
    from simstudy.cli.status import status_of_all

    words = overrides or []
    if any(text.startswith("experiment=") or text in _names(context.obj) for text in words):
        return commands.status(_run(context, words))
    lines, ended = status_of_all(context.obj, [text for text in words if text != "all"])
    print("\n".join(lines))
    return ended


@app.command()
def plan(context: typer.Context, overrides: Overrides = None) -> int:
    """Show what a run would draw, or what precision.MEASURE=... costs."""
    from simstudy.cli import commands

    return commands.plan(_run(context, overrides))


@app.command()
def why(context: typer.Context, overrides: Overrides = None) -> None:
    """Show what a study's numbers depend on."""
    print(_run(context, overrides).study.depends_on())


@app.command()
def summarize(context: typer.Context, overrides: Overrides = None) -> int:
    """Publish the stored blocks of a study, or a file of replicates."""
    from simstudy.cli import commands
    from simstudy.cli.file_commands import names_file, summarize_file

    if names_file(overrides or []):
        return summarize_file(overrides or [])
    return commands.summarize(_run(context, overrides))


@app.command()
def replay(context: typer.Context, address: str, overrides: Overrides = None) -> int:
    """Draw one replicate again and raise its error."""
    from simstudy.cli import commands

    return commands.replay(_run(context, overrides), address)


@app.command()
def merge(context: typer.Context, folder: str, overrides: Overrides = None) -> int:
    """Copy blocks that the same code drew elsewhere."""
    from simstudy.cli import commands

    return commands.merge(_run(context, overrides), folder)


@app.command()
def batch(context: typer.Context, overrides: Overrides = None) -> None:
    """Print a Slurm script: an array of shares, and a job that joins them."""
    from simstudy.cli.batch import batch_script

    print(batch_script(context.obj, overrides or []), end="")


@app.command()
def index(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Argument(help="Folder of results.")] = None,
) -> None:
    """Write the index page of a folder of results."""
    from simstudy.cli.status import write_index_of
    from simstudy.output.formatting import relative_to_cwd

    print(relative_to_cwd(write_index_of(context.obj, [str(folder)] if folder else [])))


@app.command()
def protocol(context: typer.Context, overrides: Overrides = None) -> int:
    """Write a preregistration, before any data are drawn."""
    from simstudy.cli import commands

    return commands.protocol(_run(context, overrides))


@app.command()
def clean(
    context: typer.Context,
    overrides: Overrides = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int:
    """Delete blocks that no run of a study uses."""
    from simstudy.cli import commands

    def confirm(text: str) -> bool:
        return yes or typer.confirm(f"Delete {text}?")

    return commands.clean(_run(context, overrides), confirm)
