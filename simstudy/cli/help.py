"""What `--help` says: of the command, of a verb, and of an experiment's options."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from simstudy.cli.experiments import FOLDER, experiment_files, question_of
from simstudy.cli.flags import TOLD
from simstudy.cli.project import Project
from simstudy.cli.settings import Settings
from simstudy.cli.verbs import VERBS
from simstudy.options import in_words

WITHOUT_SETTINGS = ("list", "new", "index")
NARROWEST = 40  # a text that is wrapped to less is no easier to read

SEVERAL = (
    "Several values of a setting in one run: [1,2]. Several runs: -m and values without brackets,\n"
    "as in  -m experiment=a,b  or  -m 'experiment=glob(*)'."
)


def help_for(project: Project, verb: str, arguments: Sequence[str]) -> str:
    """The text for a command line that asks for help."""
    chosen = [text.partition("=")[2] for text in arguments if text.startswith("experiment=")]
    if chosen:
        told = [*_head(verb or "run"), *_experiment(project, chosen[-1]), "", *_settings(project)]
    elif verb == "apply":
        told = [*_head(verb), *_methods(arguments)]
    elif verb == "batch":
        told = [*_head(verb), *_of_batch(), *_settings(project)]
    elif verb == "summarize":
        told = [*_head(verb), *_settings(project), *_of_a_file()]
    elif verb in WITHOUT_SETTINGS:
        told = _head(verb)
    else:
        told = [*(_head(verb) if verb else _command()), *_settings(project), "", SEVERAL]
        told += _experiments(project)
    return "\n".join(told)


def _command() -> list[str]:
    told = ((verb.usage.split()[1], verb.help) for verb in VERBS.values())
    return [
        "simstudy [VERB] [experiment=NAME] [SETTING=VALUE ...]",
        "Monte Carlo simulation studies of the folder that one stands in: its experiments/ and",
        "conf/. In a project, python run.py does the same from anywhere. Without a verb: run.",
        "",
        "verbs (simstudy VERB --help)",
        *_columns(told),
        "",
        "flags",
        *_columns(TOLD.items()),
        "",
    ]


def _experiments(project: Project) -> list[str]:
    """Every study of the project with its question, where there are any."""
    if not (project.root / FOLDER).is_dir():
        return []
    files = sorted(experiment_files(project.root).items())
    told = ((name, question_of(path)) for name, path in files)
    return ["", f"experiments ({project.runs} experiment=NAME --help)", *_columns(told)]


def _head(verb: str) -> list[str]:
    return [VERBS[verb].usage, f"{VERBS[verb].help}.", ""]


def _methods(arguments: Sequence[str]) -> list[str]:
    """What may be applied to a file, each with its settings; only the one that is named."""
    from simstudy.cli.apply import METHODS

    named = {name: METHODS[name] for name in arguments if name in METHODS} or METHODS
    told: list[str] = []
    for name, method in named.items():
        told += [
            f"{name}: {method.help}",
            f"  {method.example}",
            *_columns(in_words(method.settings)),
            "",
        ]
    return told[:-1]


def _of_batch() -> list[str]:
    """What only a script for a cluster is asked for."""
    from simstudy.cli.batch import BatchJob

    return ["of Slurm", *_columns(in_words(BatchJob)), ""]


def _of_a_file() -> list[str]:
    """What is asked of a file of replicates."""
    from simstudy.cli.summarize_file import HELP, USAGE, FileSettings

    return ["", f"FILE: {HELP}", f"  {USAGE}", *_columns(in_words(FileSettings))]


def _settings(project: Project) -> list[str]:
    """Every key that is not an experiment's own, with its range and its default."""
    described = [("experiment", "which study; with it, --help shows the study's own options, too")]
    described += [("scale", _scales(project))]
    described += [("backend.OPTION", "what the backend is told beside, such as backend.address")]
    described += [
        ("precision.MEASURE", "run on until its Monte Carlo error is this small: 0.005, or 2%")
    ]
    described += [(name, text) for name, text in in_words(Settings) if name != "precision"]
    return ["settings", *_columns(described)]


def _scales(project: Project) -> str:
    names = ", ".join(project.options("scale"))
    return f"how much is drawn, and where it goes; one of {names} (paper)"


def _experiment(project: Project, name: str) -> list[str]:
    """An experiment's question, and its options with their published values."""
    from simstudy.cli.experiments import in_own_code, load_experiment

    module = load_experiment(name, project.root)
    question = (module.__doc__ or "").strip().partition("\n")[0]
    with in_own_code(module, "Config", project.root):
        published = module.Config()
        values = {field.name: getattr(published, field.name) for field in fields(published)}
        described = in_words(module.Config, values)
    options = ((f"experiment.{key}", text) for key, text in described)
    return [f"{name}: {question}", *_columns(options)]


def _columns(described: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(described)
    width = max((len(name) for name, _ in rows), default=0)
    return [line for name, text in rows for line in _row(f"  {name:{width}}  ", text)]


def _row(name: str, text: str) -> Iterator[str]:
    """A name, and beside it a text, in as many lines as a terminal needs for it."""
    wide = shutil.get_terminal_size().columns - len(name)
    if not sys.stdout.isatty() or wide < NARROWEST:
        yield name + text
        return
    first, *others = textwrap.wrap(text, wide, break_long_words=False) or [""]
    yield name + first
    yield from (" " * len(name) + line for line in others)
