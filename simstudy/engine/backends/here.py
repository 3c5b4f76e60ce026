"""A task in the process that the user started: which it is not to end, or else to be found by."""

from simstudy.engine.exits import exits_raise
from simstudy.engine.journal import noted
from simstudy.engine.tasks import Receipt, Task, compute


def compute_here(task: Task) -> Receipt:
    """The work of a task; where that kills the process, the next run knows what it was."""
    with noted(task), exits_raise():
        return compute(task)
