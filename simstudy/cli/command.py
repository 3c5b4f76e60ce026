"""A command: its verb, what is asked of it, and the exit status that tells how it went."""

import contextlib
import errno
import importlib.metadata
import os
import shlex
import sys
from collections.abc import Sequence

from simstudy.cli.endings import (
    DEFECT,
    interrupted,
    interrupts_given_back,
    refuse,
    termination_interrupts,
)
from simstudy.cli.flags import HELP, VERSION, read_flags
from simstudy.cli.project import OF_A_SCRIPT, PROGRAM, Project
from simstudy.cli.verbs import VERBS, Asked, split_verb
from simstudy.errors import SimstudyError

BROKEN_PIPE = 141  # as a shell says of a program that SIGPIPE ends


def main(argv: Sequence[str] | None = None, *, script: str | None = None) -> int:
    """Do what the arguments say.

    Parameters
    ----------
    argv
        The arguments; those of the process, if None.
    script
        A project's `run.py`: its folder is the project's. None takes the current folder.

    Returns
    -------
    int
        0 all is well; 1 a defect, with its traceback, or an output that cannot be written;
        2 refused before any work; 3 some replicates
        failed or a figure could not be drawn; 130 interrupted; 141 nobody reads the output any
        more; 143 terminated.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    is_program = argv is None
    with contextlib.nullcontext() if is_program else interrupts_given_back():
        try:
            with termination_interrupts():
                status = _carried_out(script, arguments, is_program=is_program)
                sys.stdout.flush()  # here, where what goes wrong can still be said
                return status
        except SimstudyError as error:
            return refuse(error)
        except KeyboardInterrupt as stop:
            program = PROGRAM if script is None else OF_A_SCRIPT
            return interrupted(stop, shlex.join([*program.split(), *arguments]))
        except BrokenPipeError:
            _say_no_more()
            return BROKEN_PIPE
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            _say_no_more()
            print(f"cannot write to the standard output: {error.strerror}", file=sys.stderr)
            return DEFECT


def _say_no_more() -> None:
    """Whoever reads the output has gone: what waits to be written must not fail again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _carried_out(script: str | None, given: Sequence[str], *, is_program: bool) -> int:
    """The verb's own status; where help or the version is wanted, that."""
    arguments = read_flags(given)
    if VERSION in arguments:
        print(f"simstudy {importlib.metadata.version('simstudy')}")
        return 0
    project = Project.of(script)
    wants_help = any(argument in HELP for argument in arguments)
    verb, rest = split_verb(project, [text for text in arguments if text not in HELP])
    if wants_help:
        from simstudy.cli.help import help_for

        print(help_for(project, verb, rest))
        return 0
    return VERBS[verb or "run"].carry_out(Asked(project, rest, is_program))
