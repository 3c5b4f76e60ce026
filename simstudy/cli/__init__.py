"""The command line: `simstudy run experiment=two_stage`, or a project's `python run.py`."""

import shlex
import sys
from collections.abc import Sequence
from os import _exit

from simstudy.cli import stops


def main(argv: Sequence[str] | None = None, *, script: str | None = None) -> int:
    """Do what the arguments say; `simstudy.cli.command.main` says which status tells what.

    Parameters
    ----------
    argv
        The arguments; those of the process, if None.
    script
        A project's `run.py`: its folder is the project's. None takes the current folder.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    program = stops.PROGRAM if script is None else stops.OF_A_SCRIPT
    typed = shlex.join([*program.split(), *arguments])
    if argv is None:
        stops.listen(lambda status: _end(status, typed))
    from simstudy.cli.command import main as carry_out

    status = carry_out(arguments, script=script, is_program=argv is None, typed=typed)
    stops.listen_no_more()
    return status


def _end(status: int, typed: str) -> None:
    """End now: what is half written is nothing, and everything else is kept."""
    forget_own = getattr(sys.modules.get("simstudy.atomic_files"), "forget_own", None)
    if forget_own is not None:  # a module that is still loading has written nothing
        forget_own()
    stops.say(stops.interruption(typed))
    _exit(status)  # which a study's code cannot be kept from while it is published


__all__ = ["main"]
