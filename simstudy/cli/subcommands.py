"""The table of commands."""

import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from simstudy.cli.experiment_groups import ALL
from simstudy.cli.project import FOLDER, Project, experiment_names
from simstudy.errors import ConfigError, nearest

if TYPE_CHECKING:
    from simstudy.cli.resolved_config import ResolvedConfig

SEVERAL = ("-m", "--multirun")
SIZE = ("scale", "n_rep", "precision.MEASURE", "seed")


@dataclass(frozen=True)
class CommandLine:
    """A command as typed.

    Parameters
    ----------
    arguments
        What follows the verb, without flags.
    is_sweep
        Whether several runs are asked for.
    is_program
        Whether this process does nothing else.
    """

    project: Project
    verb: str
    arguments: tuple[str, ...]
    is_sweep: bool = False
    shows_config: bool = False
    is_program: bool = False

    @property
    def typed(self) -> list[str]:
        """The arguments after the command."""
        return [*self.arguments, *SEVERAL[:1] * self.is_sweep]

    @property
    def words(self) -> list[str]:
        """The arguments that are not settings: experiments, files, an address."""
        return [text for text in self.arguments if is_word(text)]


class Verb(NamedTuple):
    """A command of the command line.

    Parameters
    ----------
    settings
        Names of the settings that its help lists.
    """

    run: Callable[[CommandLine], int]
    usage: str
    help: str
    settings: tuple[str, ...] = ()


def is_word(argument: str) -> bool:
    """Whether an argument is not a setting."""
    return "=" not in argument and not argument.startswith(("+", "~"))


def is_experiment(project: Project, word: str) -> bool:
    """Whether the project has an experiment with this name."""
    return (project.root / FOLDER).is_dir() and word in experiment_names(project.root)


# ---------------------------------------------------------------- studies
def run_study(line: CommandLine) -> int:
    """Run a command on a study, or on a sweep of studies."""
    settings = with_experiments(line)
    with _no_garbage(to_the_end=line.is_program):
        if line.shows_config:
            from simstudy.cli.hydra_compose import compose_text

            print(compose_text(settings.arguments, line.project), end="")
            return 0
        from simstudy.cli.commands import carry_out

        if not settings.is_sweep:
            config = _compose_one(settings)
        else:
            from simstudy.cli.hydra_compose import compose_runs

            runs = compose_runs(settings.arguments, line.project, line.verb, is_sweep=True)
    if not settings.is_sweep:
        return carry_out(config, line.typed)
    from simstudy.cli.sweep import check_folders_differ, launch_sweep, launches_jobs, run_sweep

    if line.verb in ("run", "summarize"):
        check_folders_differ(runs)
    if launches_jobs(settings.arguments):
        return launch_sweep(runs, settings.arguments, line.project)
    return run_sweep(runs, line.typed)


def _compose_one(line: CommandLine) -> "ResolvedConfig":
    """Compose a single run; imports Hydra only if needed."""
    from simstudy.cli.plain_compose import compose_plain

    plain = compose_plain(line.arguments, line.project, line.verb)
    if plain is not None:
        return plain
    from simstudy.cli.hydra_compose import compose_one

    return compose_one(line.arguments, line.project, line.verb)


def with_experiments(line: CommandLine) -> CommandLine:
    """Turn words into `experiment=`, and `all` into every experiment.

    Raises
    ------
    ConfigError
        For a word that names none, and for a folder without experiments.
    """
    names, settings = line.words, [text for text in line.arguments if not is_word(text)]
    known = experiment_names(line.project.root)
    for name in names:
        if name not in known and name != ALL:
            raise ConfigError(f"no such experiment {name!r}; {nearest(name, known)}")
    if not names:
        return line
    typed = [text for text in settings if text.lstrip("+").startswith("experiment=")]
    if typed or (ALL in names and len(names) > 1):
        raise ConfigError(f"{' '.join([*names, *typed])} names experiments twice: leave out one")
    is_all = names == [ALL] and ALL not in known
    chosen = "experiment=glob(*)" if is_all else f"experiment={','.join(names)}"
    is_sweep = line.is_sweep or is_all or len(names) > 1
    return replace(line, arguments=(chosen, *settings), is_sweep=is_sweep)


@contextlib.contextmanager
def _no_garbage(*, to_the_end: bool) -> Iterator[None]:
    """Context without garbage collection during imports, which saves a seventh of a short run.

    Parameters
    ----------
    to_the_end
        Whether what is there afterwards stays until the process ends, as a program may say of
        itself, but not of another that calls it.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if to_the_end:
            gc.freeze()


def run_with_operand(line: CommandLine, *, expected: str) -> int:
    """Run a command that takes one more word, such as an address.

    Parameters
    ----------
    expected
        What the word is, for a refusal.

    Raises
    ------
    ConfigError
        Where it names none, or several.
    """
    operands = [word for word in line.words if not is_experiment(line.project, word)]
    if len(operands) != 1 or line.is_sweep:
        raise ConfigError(
            f"{line.verb} takes {expected}, and was given {' '.join(operands) or 'none'}: "
            f"{VERBS[line.verb].usage}"
        )
    from simstudy.cli.commands import carry_out

    rest = tuple(text for text in line.arguments if text not in operands)
    settings = with_experiments(replace(line, arguments=rest))
    config = _compose_one(settings)
    return carry_out(replace(config, operand=operands[0]), line.typed)


def summarize(line: CommandLine) -> int:
    """Publish an experiment's stored blocks, or a file of replicates."""
    from simstudy.cli.file_commands import names_file, summarize_file

    return summarize_file(line.arguments) if names_file(line.arguments) else run_study(line)


def status(line: CommandLine) -> int:
    """Print what is done, failed and missing: of named studies, or of all from their files."""
    from simstudy.cli.status import status_of_all

    named = with_experiments(line).arguments
    if line.words != [ALL] and any(text.startswith("experiment=") for text in named):
        return run_study(line)
    lines, ended = status_of_all(line.project, [text for text in line.arguments if text != ALL])
    print("\n".join(lines))
    return ended


def batch(line: CommandLine) -> int:
    """Print a Slurm script."""
    from simstudy.cli.batch import batch_script

    if line.is_sweep:
        raise ConfigError(
            "-m in a script of shares: its jobs draw shares of one study; leave it out"
        )
    print(batch_script(line.project, with_experiments(line).arguments), end="")
    return 0


# ---------------------------------------------------------------- the whole project
def list_studies(line: CommandLine) -> int:
    """Print the experiments with their questions."""
    from simstudy.cli.status import list_experiments

    if line.arguments:
        raise ConfigError(f"list takes no arguments, and was given {' '.join(line.arguments)}")
    print("\n".join(list_experiments(line.project)))
    return 0


def index(line: CommandLine) -> int:
    """Write the index of a results folder."""
    from simstudy.cli.status import write_index_of
    from simstudy.output.formatting import relative_to_cwd

    print(relative_to_cwd(write_index_of(line.project, line.arguments)))
    return 0


def new(line: CommandLine) -> int:
    """Create a project."""
    from simstudy.cli.project import lay_out

    if len(line.arguments) != 1:
        raise ConfigError(
            f"new takes the name of one project, and was given "
            f"{' '.join(line.arguments) or 'none'}: simstudy new my-study"
        )
    print(lay_out(line.arguments[0]))
    return 0


def apply(line: CommandLine) -> int:
    """Apply a method to a user's file."""
    from simstudy.cli.file_commands import apply_to_file

    apply_to_file(line.arguments)
    return 0


VERBS = {
    "run": Verb(
        run_study,
        "simstudy run NAME [SETTING=VALUE ...]",
        "draw what is missing; summarise, draw figures, check claims, report",
        (*SIZE, "out", "n_jobs", "backend", "retry", "figures", "report"),
    ),
    "plan": Verb(
        run_study,
        "simstudy plan NAME [precision.MEASURE=MCSE] [SETTING=VALUE ...]",
        "print what a run would draw, or what a precision costs; nothing is kept",
        (*SIZE, "stop_by", "max_rep", "out", "shard", "retry"),
    ),
    "protocol": Verb(
        run_study,
        "simstudy protocol NAME [precision.MEASURE=MCSE] [SETTING=VALUE ...]",
        "write the study as a preregistration (ADEMP-PreReg), before it is drawn",
        (*SIZE, "out"),
    ),
    "status": Verb(
        status,
        "simstudy status [NAME] [SETTING=VALUE ...]",
        "print what is done, failed and missing, of one study or of all",
        ("scale", "n_rep", "seed", "out", "shard", "group"),
    ),
    "list": Verb(list_studies, "simstudy list", "print the studies of this project, by document"),
    "summarize": Verb(
        summarize,
        "simstudy summarize NAME [SETTING=VALUE ...]",
        "publish what is drawn so far, or a FILE of replicates from other software",
        ("scale", "n_rep", "seed", "out", "figures", "report"),
    ),
    "replay": Verb(
        partial(
            run_with_operand,
            expected="the address of one replicate (failures.parquet has those that failed)",
        ),
        "simstudy replay ADDRESS NAME [debug=true] [SETTING=VALUE ...]",
        "draw one replicate again by its address in failures.parquet, and raise its error",
        ("seed", "debug"),
    ),
    "merge": Verb(
        partial(run_with_operand, expected="one folder of results"),
        "simstudy merge FOLDER NAME [SETTING=VALUE ...]",
        "copy blocks that the same code drew elsewhere, from a folder of results",
        ("scale", "n_rep", "seed", "out"),
    ),
    "batch": Verb(
        batch,
        "simstudy batch NAME shares=N [time=1:00:00] [SETTING=VALUE ...] > NAME.sh",
        "print a script that runs a study on Slurm: an array of shares, and a job that joins them",
        ("scale", "n_rep", "seed", "out", "retry"),
    ),
    "index": Verb(
        index,
        "simstudy index [FOLDER]",
        "write the index page of a folder of results (default: results/)",
    ),
    "apply": Verb(
        apply,
        "simstudy apply METHOD FILE [SETTING=VALUE ...]",
        "apply a published method to a file of your own: accuracy, thresholds",
    ),
    "new": Verb(new, "simstudy new NAME", "lay out a project with a first study"),
}
