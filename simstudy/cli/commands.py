"""All commands but `run`, declared with Typer."""

import importlib.metadata
import warnings
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated

import typer

from simstudy.cli.exit_status import REFUSED, resume_command
from simstudy.cli.project import Project, lay_out
from simstudy.errors import ConfigError, StoreError, nearest

if TYPE_CHECKING:
    from simstudy.cli.composition import Run

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


def _run(context: typer.Context, overrides: list[str] | None) -> "Run":
    """Compose the study of a command; bare words name experiments."""
    from simstudy.cli.composition import compose_run

    known = context.obj.options("experiment")
    words = [text for text in overrides or [] if _is_word(text)]
    for text in words:
        if text not in known:
            raise ConfigError(f"{text!r} is no experiment; {nearest(text, known)}")
    return compose_run(
        context.obj, [f"experiment={text}" if text in words else text for text in overrides or []]
    )


def _is_word(text: str) -> bool:
    return "=" not in text and not text.startswith("~")


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
    from simstudy.cli.status import status_of_all, status_of_one

    words = [text for text in overrides or [] if text != "all"]
    if any(text.startswith("experiment=") or _is_word(text) for text in words):
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
    print(_run(context, overrides).study.depends_on())


@app.command()
def summarize(context: typer.Context, overrides: Overrides = None) -> int:
    """Publish and print the stored blocks of a study, or a file of replicates."""
    from simstudy.cli.file_commands import names_file, summarize_file
    from simstudy.cli.runs import publish_run

    if names_file(overrides or []):
        return summarize_file(overrides or [])
    run = _run(context, overrides)
    with warnings.catch_warnings(action="ignore"):  # they are printed at the end
        result = run.study.partial_result(run.n_rep, run.settings.seed, out=run.out)
    return publish_run(run, result, in_full=True)


@app.command()
def replay(context: typer.Context, address: str, overrides: Overrides = None) -> None:
    """Draw one replicate again and raise its error."""
    from simstudy.engine.block import Address

    run = _run(context, overrides)
    row = run.study.replay(Address.parse(address), run.settings.seed)
    for name, value in row.items():
        print(f"{name:24} {value}")


@app.command()
def batch(context: typer.Context, overrides: Overrides = None) -> None:
    """Print a Slurm script: an array of shares, and a job that joins them."""
    from simstudy.cli.batch import batch_script

    print(batch_script(context.obj, overrides or []), end="")


@app.command()
def index(
    context: typer.Context,
    folder: Annotated[str | None, typer.Argument(help="Folder of results.")] = None,
) -> None:
    """Write the index page of a folder of results."""
    from simstudy.cli.status import write_index_of
    from simstudy.output.formatting import relative_to_cwd

    print(relative_to_cwd(write_index_of(context.obj, folder)))


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
def clean(
    context: typer.Context,
    overrides: Overrides = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete blocks that no run of a study uses."""
    from simstudy.store.runs import clean as remove_unused

    folder = _run(context, overrides).folder
    found = remove_unused(folder, dry_run=True)
    text = f"{found.n_blocks:,} blocks ({found.n_bytes / 1e6:,.1f} MB) in {folder}"
    if not found.n_blocks:
        print(f"nothing to delete: a run uses every block in {folder}")
    elif yes or typer.confirm(f"Delete {text}?"):
        remove_unused(folder)
        print(f"deleted: {text}")
