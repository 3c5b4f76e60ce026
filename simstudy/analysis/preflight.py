"""A check before the run: every measure is computed from a first block."""

import warnings
from collections.abc import Sequence

import numpy as np

from simstudy.analysis.result import Result
from simstudy.errors import SimstudyError, StudyError, describe
from simstudy.measures import Measure


def try_measures(result: Result) -> None:
    """Compute every measure from a few replicates, as it will be computed from all.

    Raises
    ------
    StudyError
        Where a measure, or a derived column that it reads, cannot be taken.
    """
    if result.n_failed == sum(result.n_rep.values()):  # which says nothing of a measure
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of few replicates, which say nothing of many
        try:
            result.details.estimates(result.details.declared)
        except Exception as error:
            raise _of_its_measure(result, error) from error


def _of_its_measure(result: Result, error: Exception) -> SimstudyError:
    """An error's text with the name of its measure."""
    if isinstance(error, SimstudyError):
        return error
    (scenario,) = result.plan.scenarios
    name = next((m.name for m in result.details.declared if _fails(result, [m])), "")
    return StudyError(
        f"{scenario!r}: measure {name!r} cannot be taken of the first block: {describe(error)}. "
        "It would be the same when all is drawn, so nothing more was. Mend what the measure is "
        "given (its columns, its truth, worst=...) to have the shape and type of what is returned."
    )


def _fails(result: Result, measures: Sequence[Measure]) -> bool:
    try:
        result.details.estimates(measures)
    except Exception:  # the same as before, of whichever measure
        return True
    return False
