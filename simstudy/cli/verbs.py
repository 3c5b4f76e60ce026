"""The verbs of the command line: what each does, and how it is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from simstudy.cli.endings import FAILED, REFUSED, STOPPED, no_garbage
from simstudy.cli.experiments import FOLDER, experiment_names
from simstudy.cli.flags import SEVERAL
from simstudy.cli.parts import ALL, group_names, in_no_group, members
from simstudy.cli.project import Project
from simstudy.errors import ConfigError, SimstudyError, nearest
from simstudy.option_types import shown

if TYPE_CHECKING:
    from simstudy.cli.inventory import StatusLine
    from simstudy.cli.request import Request

SIGNS_OF_AN_OVERRIDE = ("-", "+", "~")  # beside the = that most have


@dataclass(frozen=True)
class Asked:
    """What a user typed after the verb.

    Parameters
    ----------
    is_program
        Whether this process does nothing else.
    """

    project: Project
    arguments: Sequence[str]
    is_program: bool = False


class Verb(NamedTuple):
    """What may be asked for."""

    carry_out: Callable[[Asked], int]
    usage: str
    help: str


def split_verb(project: Project, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The verb, empty where none is given, and the rest.

    Raises
    ------
    ConfigError
        Where the first word is no verb.
    """
    if not arguments or not is_word(arguments[0]):
        return "", list(arguments)
    word, *rest = arguments
    if word in VERBS:
        return word, rest
    if word == ALL and not is_an_experiment(project, ALL):
        return "run", list(arguments)
    raise ConfigError(f"{shown(word)} is no verb; {_meant(project, word)}")


def is_word(argument: str) -> bool:
    """Whether an argument is neither an override nor a flag."""
    return "=" not in argument and not argument.startswith(SIGNS_OF_AN_OVERRIDE)


def _meant(project: Project, word: str) -> str:
    """The nearest verb, or the command for an experiment of that name."""
    if is_an_experiment(project, word):
        return f"did you mean '{project.runs} experiment={word}'?"
    return nearest(word, VERBS)


# ---------------------------------------------------------------- one study, or a sweep
def run(asked: Asked) -> int:
    """Carry out a study, or a sweep of them."""
    meant = with_all(asked)
    refuse_words(meant)
    refuse_deletions(meant)
    with no_garbage(to_the_end=asked.is_program):
        from simstudy.cli.carry_out import carry_out
        from simstudy.cli.compose import (
            Absent,
            call_hydra,
            is_plain,
            needs_hydra,
            read_points,
            refuse_one_folder,
        )
        from simstudy.cli.overrides import is_multirun, readable
        from simstudy.cli.sweep import run_sweep

        overrides = readable(meant.arguments, asked.project)
        points = read_points(overrides, asked.project)
        requests = [point for point in points if not isinstance(point, Absent)]
        refuse_one_folder(requests)
    typed = asked.arguments
    if is_plain(overrides):
        return carry_out(requests[0], asked.project, typed)
    if not needs_hydra(overrides, requests):
        return run_sweep(points, typed)

    def one_of_several(request: "Request") -> int:
        if is_multirun(overrides):
            print(f"-- {' '.join(request.overrides)}", flush=True)
        return carry_out(request, asked.project, typed)

    return call_hydra(overrides, requests, one_of_several, last=STOPPED)


def with_all(asked: Asked) -> Asked:
    """The same with what the word `all` stands for, where no experiment has that name.

    Raises
    ------
    ConfigError
        Where experiments are named beside it.
    """
    words = [text for text in asked.arguments if text == ALL]
    if not words or is_an_experiment(asked.project, ALL):
        return asked
    rest = [text for text in asked.arguments if text not in (*words, *SEVERAL)]
    named = [text for text in rest if text.lstrip("+").startswith("experiment=")]
    if named:
        raise ConfigError(f"{ALL} is every experiment, and {named[0]} names some: leave out one")
    return replace(asked, arguments=["experiment=glob(*)", *rest, SEVERAL[0]])


def is_an_experiment(project: Project, word: str) -> bool:
    """Whether an experiment of the project has a name."""
    return (project.root / FOLDER).is_dir() and word in experiment_names(project.root)


def refuse_deletions(asked: Asked) -> None:
    """Refuse `~NAME`, which Hydra reads as taking a setting away."""
    for text in asked.arguments:
        if text.startswith("~"):
            raise ConfigError(
                f"{text} takes a setting away, and a run needs them all: leave it out for what it "
                f"is by itself, or say {text.lstrip('~').partition('=')[0]}=VALUE"
            )


def refuse_words(asked: Asked) -> None:
    """Refuse what is no setting, before Hydra is loaded: a verb stands first, and there is one.

    Raises
    ------
    ConfigError
        Here also for a folder without experiments.
    """
    from simstudy.cli.experiments import experiment_files

    known = experiment_files(asked.project.root)
    for word in filter(is_word, asked.arguments):
        if word in VERBS:
            raise ConfigError(
                f"{word} stands in the wrong place: a command has one verb, before everything "
                f"else, as in {VERBS[word].usage}"
            )
        meant = f"experiment={word}" if word in known else f"{word}=VALUE"
        raise ConfigError(f"{shown(word)} is no setting; did you mean '{meant}'?")


def with_setting(asked: Asked, setting: str) -> int:
    """Run with one setting more."""
    return run(Asked(asked.project, [*asked.arguments, setting], asked.is_program))


def plan(asked: Asked) -> int:
    """Say what a run would do."""
    return with_setting(asked, "plan=true")


def protocol(asked: Asked) -> int:
    """Write a study as a preregistration."""
    return with_setting(asked, "protocol=true")


def crate(asked: Asked) -> int:
    """Describe finished results as a research object."""
    return with_setting(asked, "crate=true")


def summarize(asked: Asked) -> int:
    """Publish what is there by now: of an experiment's blocks, or of a file from elsewhere."""
    from simstudy.cli.summarize_file import names_file, summarize_file

    if names_file(asked.arguments):
        return summarize_file(asked.arguments)
    return with_setting(asked, "summarize=true")


def replay(asked: Asked) -> int:
    """Draw one replicate again."""
    words = [text for text in asked.arguments if is_word(text)]
    rest = [text for text in asked.arguments if text not in words]
    if len(words) == 1:
        return with_setting(Asked(asked.project, rest, asked.is_program), f"replay={words[0]}")
    if not words and any(text.startswith("replay=") for text in rest):
        return run(asked)
    raise ConfigError(
        f"replay takes the address of one replicate, and was given {' '.join(words) or 'none'}: "
        f"{VERBS['replay'].usage}; failures.parquet has the addresses of those that failed"
    )


# ---------------------------------------------------------------- the whole project
def status(asked: Asked) -> int:
    """Say what is done, failed and missing; of every experiment, if none is named."""
    from simstudy.cli.inventory import HEADER, status_lines
    from simstudy.cli.overrides import readable

    refuse_words(asked)
    given = readable(asked.arguments, asked.project)
    is_named = any(text.startswith("experiment=") for text in given)
    lines = status_lines(asked.project, given) if is_named else _status_of_all(asked, given)
    details = [line.details for line in lines if is_named and line.details]
    print("\n".join([HEADER, *(line.text for line in lines), *details]))
    if any(line.is_refused for line in lines):
        return REFUSED
    return FAILED if any(line.any_failed for line in lines) else 0


def _status_of_all(asked: Asked, given: Sequence[str]) -> "list[StatusLine]":
    """Of every experiment, or of a group that is named."""
    from simstudy.cli.chosen import asked_group
    from simstudy.cli.inventory import refused_line, status_lines

    project = asked.project
    lines: list[StatusLine] = []
    for name in members(asked_group(asked.arguments, project) or ALL, project):
        try:
            lines += status_lines(project, [f'experiment="{name}"', *given])
        except SimstudyError as error:
            lines.append(refused_line(name, error))
    return lines


def list_experiments(asked: Asked) -> int:
    """Name the experiments with the question that each asks."""
    from simstudy.cli.experiments import experiment_files, misnamed_files, question_of

    _refuse_arguments("list", asked)
    files = experiment_files(asked.project.root)
    width = max(map(len, files), default=0)
    for name, path in sorted(files.items()):
        print(f"{name:{width}}  {question_of(path)}")
    for path in misnamed_files(asked.project.root):
        print(f"{path}: cannot be run; rename it with letters, digits and _")
    if outside := in_no_group(asked.project):
        print(f"in no group ({', '.join(group_names(asked.project))}): {', '.join(outside)}")
    return 0


def index(asked: Asked) -> int:
    """Write the index of a folder of results anew."""
    from simstudy.cli.index_of import write_index_of
    from simstudy.output.formatting import seen_from_here

    print(seen_from_here(write_index_of(asked.project, asked.arguments)))
    return 0


def new(asked: Asked) -> int:
    """Lay out a project."""
    from simstudy.cli.new import lay_out

    if len(asked.arguments) != 1:
        raise ConfigError(
            f"new takes the name of one project, and was given "
            f"{' '.join(asked.arguments) or 'none'}: simstudy new my-study"
        )
    print(lay_out(asked.arguments[0]))
    return 0


def batch(asked: Asked) -> int:
    """Print a script for a cluster."""
    from simstudy.cli.batch import batch_script

    refuse_words(asked)
    refuse_deletions(asked)
    print(batch_script(asked.project, asked.arguments), end="")
    return 0


def apply(asked: Asked) -> int:
    """Answer a question about a user's own file."""
    from simstudy.cli.apply import apply_to_file

    apply_to_file(asked.arguments)
    return 0


def _refuse_arguments(verb: str, asked: Asked) -> None:
    if asked.arguments:
        raise ConfigError(f"{verb} takes no arguments, and was given {' '.join(asked.arguments)}")


VERBS = {
    "run": Verb(
        run,
        "simstudy run experiment=NAME|all [SETTING=VALUE ...]",
        "draw what is missing; summarise, draw figures, check claims, report",
    ),
    "plan": Verb(
        plan,
        "simstudy plan experiment=NAME [precision.MEASURE=MCSE] [SETTING=VALUE ...]",
        "what a run would draw, or what a precision will cost, without keeping anything",
    ),
    "protocol": Verb(
        protocol,
        "simstudy protocol experiment=NAME [precision.MEASURE=MCSE] [pilot=N] [SETTING=VALUE ...]",
        "the study as a preregistration after ADEMP-PreReg, to be written before it is drawn; the "
        "report then says what was done otherwise",
    ),
    "status": Verb(
        status,
        "simstudy status [experiment=NAME] [SETTING=VALUE ...]",
        "what is done, failed and missing, of one experiment or of all",
    ),
    "summarize": Verb(
        summarize,
        "simstudy summarize experiment=NAME [SETTING=VALUE ...]",
        "an early look: publish the blocks that are there, of a run still going on; "
        "with FILE in place of experiment=NAME, results of other software",
    ),
    "crate": Verb(
        crate,
        "simstudy crate experiment=NAME [zip=true] [SETTING=VALUE ...]",
        "describe finished results as a research object (RO-Crate), to be deposited",
    ),
    "replay": Verb(
        replay,
        "simstudy replay ADDRESS experiment=NAME [debug=true] [SETTING=VALUE ...]",
        "draw one replicate again, by its address in failures.parquet, raising its error",
    ),
    "batch": Verb(
        batch,
        "simstudy batch experiment=NAME shares=N [time=1:00:00] [SETTING=VALUE ...] > NAME.sh",
        "a script that runs a study on Slurm, as an array of shares and a job that joins them",
    ),
    "list": Verb(list_experiments, "simstudy list", "the experiments of this project"),
    "index": Verb(
        index,
        "simstudy index [FOLDER]",
        "the page of all studies in a folder of results, by itself results/, written anew",
    ),
    "apply": Verb(
        apply,
        "simstudy apply METHOD FILE [SETTING=VALUE ...]",
        "a published method applied to a file of one's own: accuracy, thresholds",
    ),
    "new": Verb(new, "simstudy new NAME", "lay out a project with a first study"),
}
