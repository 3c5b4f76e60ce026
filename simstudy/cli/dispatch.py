"""Chooses between the Hydra application, which runs studies, and the other commands."""

import sys
from collections.abc import Sequence

from simstudy.cli.project import COMMANDS, Project
from simstudy.errors import ConfigError

OWN_FLAGS = ("--version", "--install-completion", "--show-completion")
"""Flags of Typer; all others are Hydra's."""


def run_command(arguments: Sequence[str], script: str | None) -> int:
    """Run a command; returns the exit status."""
    _check_encoding(arguments)
    project = Project.of(script)
    first = arguments[0] if arguments else ""
    if first == "run":
        return _run(project, arguments[1:])
    is_help = first in ("", "--help", "-h") and len(arguments) < 2 and script is None
    if first in COMMANDS or first in OWN_FLAGS or is_help:
        from simstudy.cli.other_commands import run_other_command

        return run_other_command(project, list(arguments) or ["--help"])
    return _run(project, arguments)


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
