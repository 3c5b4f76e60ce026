"""Chooses between the Hydra application, which runs studies, and the other commands."""

import sys
from collections.abc import Sequence

from simstudy.cli.project import Project
from simstudy.errors import ConfigError, nearest

COMMANDS = (
    "run", "new", "list", "status", "plan", "why", "batch", "merge", "summarize", "replay",
    "protocol", "index", "clean", "apply",
)  # fmt: skip
"""Commands; `run` belongs to Hydra, all others to Typer."""


def run_command(arguments: Sequence[str], script: str | None) -> int:
    """Run a command; returns the exit status.

    Raises
    ------
    ConfigError
        If the first word is no command and no experiment.
    """
    _check_encoding(arguments)
    project = Project.of(script)
    first = arguments[0] if arguments else ""
    if first == "run":
        return _run(project, arguments[1:])
    is_hydras = bool(first) and script is not None
    if first in COMMANDS or first == "--version" or not (is_hydras or _is_setting(first)):
        if first and first not in COMMANDS and not first.startswith("-"):
            return _run(project, _known(project, arguments))
        from simstudy.cli.other_commands import run_other_command

        return run_other_command(project, list(arguments))
    return _run(project, _known(project, arguments))


def _known(project: Project, arguments: Sequence[str]) -> Sequence[str]:
    """The arguments, if their words are experiments; refuses any other word."""
    for word in arguments:
        if _is_word(word) and word not in (*project.options("experiment"), "all"):
            near = nearest(word, [*COMMANDS, *project.options("experiment")])
            raise ConfigError(f"{word!r} is no command and no experiment; {near}")
    return arguments


def _is_word(text: str) -> bool:
    return not _is_setting(text) and not text.startswith("-")


def _is_setting(text: str) -> bool:
    return "=" in text or text.startswith(("+", "~"))


def _run(project: Project, arguments: Sequence[str]) -> int:
    from simstudy.cli.application import run_application

    return run_application(project, arguments)


def _check_encoding(texts: Sequence[str]) -> None:
    """Refuse bytes that are not valid text."""
    if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
        raise ConfigError(
            f"{' '.join(texts)} has letters that the locale's encoding, "
            f"{sys.getfilesystemencoding()}, does not know: type LC_ALL=C.UTF-8, or PYTHONUTF8=1, "
            "before the command"
        )
