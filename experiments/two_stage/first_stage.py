"""Claims of the document about the first stage: it is unbiased, unless trials are filtered."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.two_stage.trials import SIZE, grid_of
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import Claim, Finding, WrongValue, average, decide, mc_margin, share
from simstudy.documents.stats.two_stage import critical_value
from simstudy.lazy import special

LEVEL = 0.05  # level of the filter, a test of a null that was set beforehand
MARGIN = 1.0  # standard errors by which the truth is better than that null
IN_ERRORS = 0.02  # standard errors; a smaller bias is negligible
A_TENTH = 0.1
SHIFT = 1.0  # shift in standard errors of the second mean


def _first_errors(result: Result) -> Float[np.ndarray, " rep"]:
    """Errors of the first means in standard errors, for one trial of each k, concatenated."""
    trials = {trial.k: trial for trial in grid_of(result)}.values()
    errors = [result.columns(trial, "distance")["distance"] - trial.k for trial in trials]
    return np.concatenate(errors)


def _passes(errors: Float[np.ndarray, " rep"]) -> Float[np.ndarray, " rep"]:
    """The errors of trials that pass the filter: they reject the null that was set beforehand."""
    return errors[errors < MARGIN + special.ndtri(LEVEL)]


def _bias(result: Result, filtered: bool = False) -> Finding:
    errors = _first_errors(result)
    return average(_passes(errors) if filtered else errors)


def _filter_flatters(result: Result, filtered: bool = True) -> Finding:
    """Whether first estimates are too good by a tenth of an error, and planned samples too small.

    The number of samples needed is proportional to one over the squared distance of the truth from
    the null, which is `MARGIN`. Plans by the estimated distance are then too small on average.
    """
    errors = _first_errors(result)
    chosen = _passes(errors) if filtered else errors[errors < MARGIN]
    bias = average(chosen)
    fewer = average(np.minimum((MARGIN / (MARGIN - chosen)) ** 2, 1 / A_TENTH))
    excess = [-A_TENTH - bias.value, 1 - A_TENTH - fewer.value]
    reach = mc_margin([bias.mcse, fewer.mcse], bias.n_rep, 2)
    said = f"mean error {bias.value:.3f} standard errors, {len(chosen):,} first samples pass; "
    return decide(excess, reach, said + f"samples asked over those needed {fewer.value:.2f}")


def _when_shifted(result: Result, shift: float = SHIFT) -> Finding:
    """Whether the type-I error differs from alpha if the second mean is shifted."""
    rejects = []
    for trial in grid_of(result):
        data = result.columns(trial, "s2", "null_is_true")
        limit = float(critical_value(trial.alpha, trial.k, trial.n1, trial.n2))
        rejects.append(data["s2"][data["null_is_true"].astype(bool)] < limit + shift)
    found = share(np.concatenate(rejects))
    reach = mc_margin(found.mcse, found.n_rep)
    said = f"type-I error {found.value:.4f} where second means are {shift:g} standard errors lower"
    return decide(abs(found.value - LEVEL) - SIZE, reach, said)


FIRST_STAGE = (
    Claim(
        "first stage unbiased",
        "Model performance is unbiased",
        "introduction",
        _bias,
        published=0.0,
        difference=IN_ERRORS,
        wrong_value=WrongValue("of trials that pass a filter", partial(_bias, filtered=True)),
        note="The mean error of the first estimate, in its standard errors.",
    ),
    Claim(
        "filter",
        "Trials only of algorithms that reject a null set beforehand have estimates that are too "
        "good, and sample sizes that are too small",
        "introduction",
        _filter_flatters,
        published=True,
        wrong_value=WrongValue("all first estimates", partial(_filter_flatters, filtered=False)),
        criterion="by a tenth or more",
        note="A null one standard error from the truth. Of sample sizes the largest are held at "
        "ten times the right one, which no mean of them would survive.",
    ),
    Claim(
        "other data",
        "None of the results holds if the test set is not like the data to come",
        "section 4, footnote 1",
        _when_shifted,
        published=True,
        wrong_value=WrongValue("data that are alike", partial(_when_shifted, shift=0.0)),
        criterion="by more than half a point",
        note="Tried by its type-I error, with second means that are a standard error lower.",
    ),
)
