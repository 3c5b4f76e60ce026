"""The command line: `simstudy run experiment=NAME`, or a project's `python run.py`."""

import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version

from simstudy.cli import ending


def main(argv: Sequence[str] | None = None, *, script: str | None = None) -> int:
    """Run the command line; exit statuses are in `ending.end_with_status`.

    Parameters
    ----------
    argv
        The arguments. Default: those of the process.
    script
        A project's `run.py`: its folder is the project's. Default: the current folder.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        program = ["simstudy"] if script is None else ["python", "run.py"]
        ending.listen(shlex.join([*program, *arguments]))
    from simstudy.cli.project import COMMANDS, Project

    project, first = Project.of(script), arguments[0] if arguments else ""
    verb, rest = (first, arguments[1:]) if first in COMMANDS else ("run", arguments)
    is_help = script is None and arguments in ([], ["--help"], ["-h"])

    def work() -> int:
        """Studies are run by the Hydra application, all other commands by Typer."""
        if first == "--version":
            print(f"simstudy {version('simstudy')}")
            return 0
        if verb != "run" or is_help:
            from simstudy.cli.commands import run_other_command

            return run_other_command(project, arguments or ["--help"])
        from simstudy.cli.application import run_application

        return run_application(project, rest)

    status = ending.end_with_status(work, project.resume_command(verb, rest))
    ending.stop_listening()
    return status


__all__ = ["main"]
