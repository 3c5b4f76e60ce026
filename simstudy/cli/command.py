"""A command: its verb, what is asked of it, and the exit status that tells how it went."""

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Sequence

from simstudy.cli import stops
from simstudy.cli.endings import DEFECT, interrupted, is_of_output, refuse, warnings_heard
from simstudy.cli.flags import COMPLETION, HELP, VERSION, read_flags
from simstudy.cli.project import Project
from simstudy.cli.standard_streams import any_character, complain, mute, open_what_is_closed
from simstudy.cli.verbs import VERBS, Asked, split_verb
from simstudy.errors import ConfigError, SimstudyError

BROKEN_PIPE = 141  # as a shell says of a program that SIGPIPE ends


def main(arguments: Sequence[str], *, script: str | None, is_program: bool, typed: str) -> int:
    """Do what the arguments say.

    Parameters
    ----------
    script
        A project's `run.py`: its folder is the project's. None takes the current folder.
    is_program
        Whether this process does nothing else.
    typed
        The whole command.

    Returns
    -------
    int
        0 all is well; 1 a defect, with its traceback, or an output that cannot be written;
        2 refused before any work; 3 some replicates failed or drawing a figure raised an error;
        75 warned by SIGUSR1 that the time is nearly up, and some blocks are to go; 129 hung up;
        130 interrupted; 141 nobody reads the output any more; 143 terminated.
    """
    if is_program:
        open_what_is_closed()
    with any_character():
        try:
            with contextlib.nullcontext() if is_program else stops.heard_by_a_guest():
                with warnings_heard():
                    status = _carried_out(script, arguments, is_program=is_program)
                sys.stdout.flush()  # here, where what goes wrong can still be said
                return status
        except SimstudyError as error:
            return refuse(error)
        except KeyboardInterrupt as stop:
            return interrupted(stop, typed)
        except BrokenPipeError:
            mute(sys.stdout)
            return BROKEN_PIPE
        except OSError as error:
            if not is_of_output(error):
                raise
            mute(sys.stdout)
            complain(f"cannot write to the standard output: {error.strerror}")
            return DEFECT


def _carried_out(script: str | None, given: Sequence[str], *, is_program: bool) -> int:
    """The verb's own status; where help or the version is wanted, that."""
    _refuse_unread(given)
    arguments = read_flags(given)
    if VERSION in arguments:
        print(f"simstudy {importlib.metadata.version('simstudy')}")
        return 0
    project = Project.of(script)
    _refuse_unread([str(project.root)])
    asked = [text.partition("=")[2] for text in arguments if text.startswith(COMPLETION)]
    if asked:
        from simstudy.cli.completion import shell_completion

        print(shell_completion(asked[-1], project, os.environ), end="")
        return 0
    wants_help = any(argument in HELP for argument in arguments)
    verb, rest = split_verb(project, [text for text in arguments if text not in HELP])
    if wants_help:
        from simstudy.cli.help import help_for

        print(help_for(project, verb, rest))
        return 0
    return VERBS[verb or "run"].carry_out(Asked(project, rest, is_program))


def _refuse_unread(texts: Sequence[str]) -> None:
    """Refuse letters that Python could not read, and a file system would take for others."""
    for text in texts:
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ConfigError(
                f"{text} has letters that the locale's encoding, {sys.getfilesystemencoding()}, "
                "does not know: say LC_ALL=C.UTF-8, or PYTHONUTF8=1, before the command"
            )
