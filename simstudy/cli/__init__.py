"""The command line: `simstudy run experiment=two_stage`, or a project's `python run.py`."""

from simstudy.cli.command import main

__all__ = ["main"]
