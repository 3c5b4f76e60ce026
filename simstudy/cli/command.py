"""A command: its verb, what is asked of it, and the exit status that tells how it went."""

import contextlib
import shlex
import sys
from collections.abc import Sequence

from simstudy.cli.endings import (
    interrupted,
    interrupts_given_back,
    refuse,
    termination_interrupts,
)
from simstudy.cli.project import Project
from simstudy.cli.verbs import VERBS, Asked, split_verb
from simstudy.errors import SimstudyError

HELP = ("--help", "-h")


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
        0 all is well; 1 a defect, with its traceback; 2 refused before any work; 3 some replicates
        failed or a figure could not be drawn; 130 interrupted; 143 terminated.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    project = Project.of(script)
    is_program = argv is None
    with contextlib.nullcontext() if is_program else interrupts_given_back():
        try:
            with termination_interrupts():
                return _carried_out(project, arguments, is_program=is_program)
        except SimstudyError as error:
            return refuse(error)
        except KeyboardInterrupt as stop:
            return interrupted(stop, shlex.join([*project.program.split(), *arguments]))


def _carried_out(project: Project, arguments: Sequence[str], *, is_program: bool) -> int:
    """The verb's own status; where help is wanted, that."""
    wants_help = any(argument in HELP for argument in arguments)
    verb, rest = split_verb(project, [text for text in arguments if text not in HELP])
    if wants_help:
        from simstudy.cli.help import help_for

        print(help_for(project, verb, rest))
        return 0
    return VERBS[verb or "run"].carry_out(Asked(project, rest, is_program))
