"""Parses the arguments and calls the command."""

import sys
from collections.abc import Sequence

from simstudy.cli.experiment_groups import ALL
from simstudy.cli.project import Project
from simstudy.cli.subcommands import SEVERAL, VERBS, CommandLine, is_experiment, is_word
from simstudy.errors import ConfigError, nearest

HELP, VERSION = ("--help", "-h"), "--version"
AVAILABLE = "available: --help, -m, --cfg job, -sc install=bash, --version"
WITH_VALUE = {"--cfg": "--cfg", "-c": "--cfg", "-sc": "-sc", "--shell-completion": "-sc"}


def run_command(words: Sequence[str], script: str | None, *, is_program: bool) -> int:
    """Run a command; returns the exit status."""
    _check_encoding(words)
    flags, arguments = read_flags(words)
    if VERSION in flags:
        import importlib.metadata

        print(f"simstudy {importlib.metadata.version('simstudy')}")
        return 0
    project = Project.of(script)
    completion = [flag.partition("=")[2] for flag in flags if flag.startswith("-sc")]
    if completion:
        from simstudy.cli.help import shell_completion

        print(shell_completion(completion[-1], project), end="")
        return 0
    wants_help = bool(set(HELP).intersection(flags)) or not words
    verb, rest = split_verb(project, arguments) if arguments else ("", [])
    if wants_help:
        from simstudy.cli.help import help_text

        print(help_text(project, verb, rest))
        return 0
    line = CommandLine(
        project,
        verb or "run",
        tuple(rest),
        is_sweep=bool(set(SEVERAL).intersection(flags)),
        shows_config="--cfg=job" in flags,
        is_program=is_program,
    )
    return VERBS[line.verb].run(line)


def read_flags(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments into flags and the rest.

    Raises
    ------
    ConfigError
        For a flag that there is not.
    """
    flags, others, rest = list[str](), list[str](), iter(arguments)
    for text in rest:
        name, sign, value = text.partition("=")
        if name in WITH_VALUE:
            flags.append(f"{WITH_VALUE[name]}={value if sign else next(rest, '')}")
        else:
            (flags if text.startswith("-") else others).append(text)
    for flag in flags:
        name, sign, value = flag.partition("=")
        if name == "--cfg" and value != "job":
            raise ConfigError(f"{flag}: write --cfg job, which shows the settings of a run")
        if name not in (*HELP, *SEVERAL, VERSION, *WITH_VALUE.values()):
            other = f"did you mean '{flag.lstrip('-')}'?" if sign else AVAILABLE
            raise ConfigError(f"no such flag {flag}; {other}")
    if "--cfg=job" in flags and set(SEVERAL).intersection(flags):
        raise ConfigError("--cfg job shows the settings of one run: leave out -m")
    return flags, others


def split_verb(project: Project, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Split arguments into the command (empty if none) and the rest.

    Raises
    ------
    ConfigError
        Where the first word is no verb.
    """
    word, *rest = arguments
    if not is_word(word):
        return "", list(arguments)
    if word in VERBS:
        return word, rest
    if word == ALL and not is_experiment(project, ALL):
        return "run", list(arguments)
    if is_experiment(project, word):
        named = word if project.script is None else f"experiment={word}"
        raise ConfigError(
            f"no such command {word!r}; did you mean '{project.command('run')} {named}'?"
        )
    raise ConfigError(f"no such command {word!r}; {nearest(word, VERBS)}")


def _check_encoding(texts: Sequence[str]) -> None:
    """Refuse bytes that are not valid text."""
    if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
        raise ConfigError(
            f"{' '.join(texts)} has letters that the locale's encoding, "
            f"{sys.getfilesystemencoding()}, does not know: type LC_ALL=C.UTF-8, or PYTHONUTF8=1, "
            "before the command"
        )
