"""Selection of the lists of p-values for a statement of the document."""

from collections.abc import Callable

from simstudy.analysis.result import Result
from simstudy.documents.scenarios.proportions import Proportion

DOCUMENT_N = 168


def scenarios(
    result: Result, keep: Callable[[Proportion], bool], n: int = DOCUMENT_N
) -> list[Proportion]:
    """The scenarios with this number of predictions; LookupError if there are none."""
    found = [trial for trial in result.plan.scenarios if trial.n_prediction == n and keep(trial)]
    if not found:
        raise LookupError(f"lists of {n} p-values as this statement needs them")
    return found


def independent(trial: Proportion) -> bool:
    return trial.correlation == 0


def perfect(trial: Proportion) -> bool:
    """Whether every prediction is compatible, independently."""
    return independent(trial) and trial.null_share == 1
