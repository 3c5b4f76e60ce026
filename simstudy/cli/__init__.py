"""The command line: `simstudy run experiment=NAME`, or a project's `python run.py`."""

import shlex
import sys
from collections.abc import Sequence
from os import _exit
from typing import TYPE_CHECKING

from simstudy.cli import signals

if TYPE_CHECKING:
    from simstudy.cli.project import Project

OWN_FLAGS = ("--version", "--install-completion", "--show-completion")
"""Flags of Typer; all others are Hydra's."""


def main(argv: Sequence[str] | None = None, *, script: str | None = None) -> int:
    """Run the command line; exit statuses are in `exit_status.end_with_status`.

    Parameters
    ----------
    argv
        The arguments. Default: those of the process.
    script
        A project's `run.py`: its folder is the project's. Default: the current folder.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    program = ["simstudy"] if script is None else ["python", "run.py"]
    signals.resume_with(shlex.join([*program, *arguments]))
    if argv is None:
        signals.listen(_end)
    from simstudy.cli.exit_status import end_with_status, resume_command
    from simstudy.cli.project import COMMANDS, Project

    project = Project.of(script)
    is_named = bool(arguments) and arguments[0] in COMMANDS
    verb, rest = (arguments[0], arguments[1:]) if is_named else ("run", arguments)
    command = resume_command(project, verb, rest)
    signals.resume_with(command)
    status = end_with_status(lambda: _run_command(project, arguments), command)
    signals.stop_listening()
    return status


def _run_command(project: "Project", arguments: Sequence[str]) -> int:
    """Run a command: studies are run by the Hydra application, all others by Typer."""
    from simstudy.cli.project import COMMANDS, check_encoding

    check_encoding(arguments)
    first = arguments[0] if arguments else ""
    is_help = first in ("", "--help", "-h") and len(arguments) < 2 and project.script is None
    if first != "run" and (first in COMMANDS or first in OWN_FLAGS or is_help):
        from simstudy.cli.commands import run_other_command

        return run_other_command(project, list(arguments) or ["--help"])
    from simstudy.cli.application import run_application

    return run_application(project, arguments[first == "run" :])


def _end(status: int) -> None:
    """End the process now; half-written files are removed."""
    forget_own = getattr(sys.modules.get("simstudy.atomic_files"), "forget_own", None)
    if forget_own is not None:  # a module that is still loading has written nothing
        forget_own()
    signals.write_line(signals.interruption())
    _exit(status)  # a study's code cannot stop this


__all__ = ["main"]
