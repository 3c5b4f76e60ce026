"""The command line: `simstudy run experiment=NAME`, or a project's `python run.py`."""

import shlex
import sys
from collections.abc import Sequence
from os import _exit

from simstudy.cli import signals


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
    program = "simstudy" if script is None else "python run.py"
    signals.resume_with(shlex.join([*program.split(), *arguments]))
    if argv is None:
        signals.listen(_end)
    from simstudy.cli.dispatch import run_command
    from simstudy.cli.exit_status import end_with_status, format_command
    from simstudy.cli.project import program_name

    command = format_command(program_name(script), arguments)
    signals.resume_with(command)
    status = end_with_status(lambda: run_command(arguments, script), arguments, command)
    signals.stop_listening()
    return status


def _end(status: int) -> None:
    """End the process now; half-written files are removed."""
    forget_own = getattr(sys.modules.get("simstudy.atomic_files"), "forget_own", None)
    if forget_own is not None:  # a module that is still loading has written nothing
        forget_own()
    signals.write_line(signals.interruption())
    _exit(status)  # a study's code cannot stop this


__all__ = ["main"]
