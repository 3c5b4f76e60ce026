"""The texts of `--help`, and completion in bash."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from simstudy.cli.project import FOLDER, Project, experiment_names, question_of
from simstudy.cli.settings import Settings
from simstudy.cli.subcommands import SIZE, VERBS
from simstudy.errors import ConfigError
from simstudy.options import option_help

NARROWEST = 40  # a text that is wrapped to less is no easier to read
GROUPS = {
    "how much": (*SIZE, "max_rep", "stop_by", "budget", "group"),
    "where": ("out", "replace", "restart"),
    "workers": ("n_jobs", "backend", "backend.OPTION", "shard", "join", "block_seconds"),
    "failures": ("retry", "debug"),
    "new code": ("redraw", "adopt"),
    "output": ("figures", "pdf", "report", "progress"),
}
FLAGS = {
    "-h, --help": "this text; after a command: what it takes; --help all: every setting",
    "-m, --multirun": "several runs, one for each value: seed=1,2 or 'experiment=glob(*)'",
    "--cfg job": "print all settings of a run without running it",
    "-sc install=bash": 'completion: eval "$(simstudy -sc install=bash)"',
    "--version": "the version of simstudy",
}


def help_text(project: Project, verb: str, arguments: Sequence[str]) -> str:
    """The help text for a command line."""
    words = [text.removeprefix("experiment=") for text in arguments]
    known = project.options("experiment") if (project.root / FOLDER).is_dir() else []
    experiment = next((word for word in words if word in known), "")
    if "all" in words and experiment != "all":
        return "\n".join([*_head(verb or "run"), *_settings(project, None)])
    if not verb and not experiment:
        return "\n".join(_overview(project))
    lines = _head(verb or "run")
    if experiment:
        lines += _experiment(project, experiment)
    if verb == "apply":
        lines += _methods(arguments)
    if verb == "batch":
        lines += _job()
    lines += _settings(project, VERBS[verb or "run"].settings)
    if verb == "summarize":
        lines += _file()
    return "\n".join(lines).rstrip()


def _head(verb: str) -> list[str]:
    return [VERBS[verb].usage, f"{VERBS[verb].help}.", ""]


def _overview(project: Project) -> list[str]:
    """The commands and the most common settings."""
    return [
        "simstudy COMMAND [NAME] [SETTING=VALUE ...]",
        "Monte Carlo simulation studies: NAME is a file or folder of experiments/ (simstudy list).",
        "",
        *_columns((name, verb.help) for name, verb in VERBS.items()),
        "",
        *_settings(project, VERBS["run"].settings),
        "",
        *_columns(FLAGS.items()),
    ]


def _settings(project: Project, names: Sequence[str] | None) -> list[str]:
    """Settings by group, with ranges and defaults."""
    texts = {
        "scale": f"size of the study  [{'|'.join(project.options('scale'))}]  default: paper",
        "precision.MEASURE": "draw until the Monte Carlo error is this small: 0.005, or 2%",
        "backend.OPTION": "an option of the backend, as in backend.address=tcp://HOST:8786",
        **dict(option_help(Settings)),
    }
    backends = "|".join([*project.options("backend"), "module:Class"])
    texts["backend"] = f"what computes blocks  [{backends}]  default: auto"
    lines: list[str] = []
    width = max((len(name) for name in names or texts), default=0)
    for group, members in GROUPS.items():
        label = group
        for name in members:
            if names is None or name in names:
                lines += _row(f"  {label:9} {name:{width}}  ", texts[name])
                label = ""
    return lines


def _experiment(project: Project, name: str) -> list[str]:
    """An experiment's question and options."""
    from simstudy.cli.project import experiment_files, in_own_code, load_experiment

    module = load_experiment(name, project.root)
    with in_own_code(module, "Config", project.root):
        published = module.Config()
        values = {field.name: getattr(published, field.name) for field in fields(published)}
        described = option_help(module.Config, values)
    options = ((f"experiment.{key}", text) for key, text in described)
    return [f"{name}: {question_of(experiment_files(project.root)[name])}", *_columns(options), ""]


def _methods(arguments: Sequence[str]) -> Iterator[str]:
    """The methods of `apply` with their settings, or one of them."""
    from simstudy.cli.file_commands import METHODS

    named = {name: METHODS[name] for name in arguments if name in METHODS} or METHODS
    for name, method in named.items():
        yield from (f"{name}: {method.help}", f"  {method.example}")
        yield from (*_columns(option_help(method.settings)), "")


def _job() -> list[str]:
    """The settings of `batch`."""
    from simstudy.cli.batch import BatchJob

    return ["of Slurm", *_columns(option_help(BatchJob)), "", "of the run"]


def _file() -> list[str]:
    """The settings of `summarize FILE`."""
    from simstudy.cli.file_commands import HELP, USAGE, FileSettings

    return ["", f"FILE: {HELP}", f"  {USAGE}", *_columns(option_help(FileSettings))]


def _columns(described: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(described)
    width = max((len(name) for name, _ in rows), default=0)
    return [line for name, text in rows for line in _row(f"  {name:{width}}  ", text)]


def _row(name: str, text: str) -> Iterator[str]:
    """A name and its text, wrapped to the terminal."""
    wide = shutil.get_terminal_size().columns - len(name)
    if not sys.stdout.isatty() or wide < NARROWEST:
        yield name + text
        return
    first, *others = textwrap.wrap(text, wide, break_long_words=False) or [""]
    yield name + first
    yield from (" " * len(name) + line for line in others)


# ---------------------------------------------------------------- completion in a shell
SCRIPT = """\
_simstudy_complete() {
  mapfile -t COMPREPLY < <(compgen -W "$(simstudy -sc query=bash 2>/dev/null)" -- "$2")
  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o bashdefault -o default -F _simstudy_complete simstudy
"""


def shell_completion(argument: str, project: Project) -> str:
    """The output of `-sc`: the script or, for `query=bash`, the words that it completes.

    These are the commands, the studies, the settings and their values. bash takes what follows `=`
    for a word of its own.

    Raises
    ------
    ConfigError
        For another shell.
    """
    if argument == "install=bash":
        return SCRIPT
    if argument != "query=bash":
        raise ConfigError(
            f"-sc {argument}: completion is there for bash, as in "
            'eval "$(simstudy -sc install=bash)"'
        )
    words = {*VERBS, *project.options("scale"), *project.options("backend"), "experiment="}
    words |= {*(experiment_names(project.root) if (project.root / FOLDER).is_dir() else ())}
    for each in fields(Settings):
        words |= {f"{each.name}=", *getattr(each.metadata.get("option"), "one_of", ())}
    return "\n".join([*sorted(words), ""])
