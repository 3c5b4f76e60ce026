"""Results of `two_sample` about such tests, compared with theory and with limits.

A statement holds or fails if the simulation decides it, with the Monte Carlo margin of
`simstudy.claims.mc_limit`. Otherwise it needs more replicates than the run has; no statement holds
because replicates are few.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.two_sample.figures import DGPS
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import (
    Finding,
    average,
    cautious_binomial_error,
    decide,
    mc_limit,
    mc_margin,
    shares_match,
)
from simstudy.design.plan import factors_of
from simstudy.documents.scenarios.two_sample import ComparedSamples
from simstudy.documents.stats.two_sample import theory

LIBERAL = 0.5
"""Share of alpha within which a size is kept: Bradley (1978), Br. J. Math. Stat. Psychol. 31."""

UNEQUAL = 9.0  # ratio of variances
EXACT_WITHIN = 0.1  # share of alpha, for shares of many cells together
SYMMETRIC, SKEWED = ("normal", "student_t"), ("exponential", "lognormal")
Cells = Sequence[ComparedSamples]
PerCell = Float[np.ndarray, " cell"]


class Sizes(NamedTuple):
    """Shares of replicates that reject, or miss on one side, and the replicates of each."""

    share: PerCell
    n_rep: PerCell


# ---------------------------------------------------------------- what was found
def cells(
    result: Result,
    *,
    dgps: Sequence[str] = tuple(DGPS),
    largest: bool = False,
    keep: Callable[[ComparedSamples], bool] = lambda _: True,
) -> list[ComparedSamples]:
    """Scenarios with equal means for these data; optionally only those of the largest total."""
    wanted = [DGPS[name] for name in dgps]
    most = max(trial.n1 + trial.n2 for trial in result.plan.scenarios)
    found = [
        trial
        for trial in result.plan.scenarios
        if trial.effect == 0
        and trial.dgp in wanted
        and (not largest or trial.n1 + trial.n2 == most)
        and keep(trial)
    ]
    if not found:
        raise LookupError(f"equal means of {', '.join(dgps)} as this statement needs them")
    return found


def sizes(result: Result, trials: Cells, method: str, measure: str = "type_1_error") -> Sizes:
    """One measure of one method in each of the scenarios."""
    rows = [_row(result, trial, method, measure) for trial in trials]
    return Sizes(*(np.array([row[name] for row in rows]) for name in ("estimate", "n_rep")))


def _row(result: Result, trial: ComparedSamples, method: str, measure: str) -> Any:
    return result.row(measure, method=method, **factors_of(trial))


# ---------------------------------------------------------------- what decides
def near_theory(found: Sizes, known: PerCell, margin: PerCell) -> Finding:
    """Whether each share is within a margin of its known value."""
    return shares_match(found.share, known, found.n_rep, margin=margin)


def _reach(found: Sizes) -> PerCell:
    """The Monte Carlo margin of each cell."""
    error = cautious_binomial_error(found.share, found.n_rep)
    return np.asarray(mc_limit(len(found.share)) * error)


# ---------------------------------------------------------------- derived from theory
def exact_t_tests(result: Result, method: str, drawn: str = "") -> Finding:
    """Compare a test's rejection rates for normal data with theory; `drawn` is a rival test."""
    trials = cells(result, dgps=["normal"])
    rate = {"student": theory.student_rejection, "welch": theory.welch_rejection}[method]
    known = [rate(t.n1, t.n2, t.variance_ratio, alpha=t.alpha) for t in trials]
    return near_theory(sizes(result, trials, drawn or method), *_with_margin(trials, known))


def exact_under_equality(result: Result, method: str, ratio: float = 1.0) -> Finding:
    """Compare the mean over all cells with equal distributions, which has a small error.

    Another ratio of variances, with the same theory, is a rival.
    """
    trials = cells(result, keep=lambda trial: trial.variance_ratio == ratio)
    found = sizes(result, trials, method)
    equal = [dataclasses.replace(trial, variance_ratio=1.0) for trial in trials]
    known = np.array([_own_theory(trial, method) for trial in equal])
    together = Sizes(*(np.array([value]) for value in _pooled(found)))
    mean = np.array([np.average(known, weights=found.n_rep)])
    return near_theory(together, mean, np.array([EXACT_WITHIN * trials[0].alpha]))


def _pooled(found: Sizes) -> tuple[float, float]:
    return float(np.average(found.share, weights=found.n_rep)), float(found.n_rep.sum())


def _own_theory(trial: ComparedSamples, method: str) -> float:
    from simstudy.documents.scenarios.two_sample import METHODS

    return float(trial.exact()["type_1_error"][list(METHODS).index(method)])


def large_sample_size(
    result: Result, method: str, size: Callable[..., float], dgps: Sequence[str]
) -> Finding:
    trials = cells(result, dgps=dgps, largest=True)
    known = [size(t.n1, t.n2, t.variance_ratio, alpha=t.alpha) for t in trials]
    return near_theory(sizes(result, trials, method), *_with_margin(trials, known))


def nominal(n1: int, n2: int, variance_ratio: float, *, alpha: float) -> float:
    """The size that a test claims, whatever the samples are."""
    del n1, n2, variance_ratio
    return alpha


def keeps_level(result: Result, method: str, dgps: Sequence[str]) -> Finding:
    trials = cells(result, dgps=dgps, largest=True)
    known = [trial.alpha for trial in trials]
    return near_theory(sizes(result, trials, method), *_with_margin(trials, known))


def _with_margin(trials: Cells, known: Sequence[float]) -> tuple[PerCell, PerCell]:
    """The known sizes, and margins: half of alpha, or of the size if that is larger."""
    size = np.array(known)
    return size, np.maximum(_liberal(trials), LIBERAL * size)


def _liberal(trials: Cells) -> float:
    return LIBERAL * trials[0].alpha


def one_sided_misses(result: Result, method: str = "bootstrap_t") -> Finding:
    """Whether a method halves the imbalance of Welch's misses, paired by replicate."""
    trials = cells(
        result, dgps=["exponential"], largest=True, keep=lambda trial: _side_missed(trial) != 0
    )
    welch, other = (
        [_signed_misses(result, trial, name) for trial in trials] for name in ("welch", method)
    )
    means = [float(np.mean([cell.mean() for cell in each])) for each in (welch, other)]
    side = np.sign(means[1])
    gaps = [average(w / 2 - side * b) for w, b in zip(welch, other, strict=True)]
    excess = np.array([np.mean([gap.value for gap in gaps])])
    error = np.linalg.norm([gap.mcse for gap in gaps]) / len(gaps)
    reach = mc_margin(error, min(gap.n_rep for gap in gaps))
    detail = f"one side less the other: Welch {means[0]:.4f}, {method} {means[1]:.4f}"
    return decide(excess, reach, everywhere=True, detail=detail)


def _signed_misses(
    result: Result, trial: ComparedSamples, method: str
) -> Float[np.ndarray, " rep"]:
    """1 if an interval misses on the side of the longer tail, -1 on the other side."""
    at = result.plan.axes["method"].index(method)
    found = result.columns(trial, "lower", "upper")
    above, below = (
        found["lower"][:, at] > trial.difference,
        found["upper"][:, at] < trial.difference,
    )
    return _side_missed(trial) * (above.astype(float) - below)


def _side_missed(trial: ComparedSamples) -> float:
    """1 if right-skewed shapes make intervals lie above the difference, -1 if below.

    The sign is that of the third moment of the difference of means. If it is positive, the estimate
    and its standard error are positively correlated, so intervals that are too low are also too
    narrow.
    """
    sd1, sd2 = trial.sds
    return -float(np.sign(round(sd1**3 / trial.n1**2 - sd2**3 / trial.n2**2, 12)))


# ---------------------------------------------------------------- from the literature
def _unequal_but_balanced(result: Result) -> list[ComparedSamples]:
    most = max(trial.variance_ratio for trial in result.plan.scenarios)
    return cells(
        result,
        dgps=SKEWED,
        keep=lambda trial: trial.n1 == trial.n2 and trial.variance_ratio == most > 1,
    )


def inflated_though_balanced(result: Result, method: str = "rank_sum") -> Finding:
    trials = _unequal_but_balanced(result)
    found = sizes(result, trials, method)
    limit = trials[0].alpha + _liberal(trials)
    return decide(found.share - limit, _reach(found), everywhere=True, detail=_said(trials, found))


def grows_with_n(result: Result, method: str = "rank_sum") -> Finding:
    """Sizes of the larger total less those of the smaller, for each shape."""
    trials = _unequal_but_balanced(result)
    totals = sorted({trial.n1 for trial in trials})
    if len(totals) < 2:
        raise LookupError("two total sizes with balanced samples")
    few, many = ([t for t in trials if t.n1 == n] for n in (totals[0], totals[-1]))
    small, large = (sizes(result, some, method) for some in (few, many))
    reach = np.hypot(_reach(small), _reach(large))
    detail = f"{_said(few, small)}; {_said(many, large)}"
    return decide(large.share - small.share, reach, everywhere=True, detail=detail)


def worse_after_ranking(result: Result, method: str = "rank_sum") -> Finding:
    trials = _unequal_but_balanced(result)
    ranks, means = (sizes(result, trials, name) for name in (method, "student"))
    reach = np.hypot(_reach(ranks), _reach(means))
    detail = f"{method} {_said(trials, ranks)}; student {_said(trials, means)}"
    excess = ranks.share - means.share - _liberal(trials)
    return decide(excess, reach, everywhere=True, detail=detail)


def no_omnibus_test(result: Result, dgps: Sequence[str] = SKEWED) -> Finding:
    trials = cells(result, dgps=dgps)
    found = sizes(result, trials, "welch")
    worst = int(found.share.argmax())
    limit = trials[0].alpha + _liberal(trials)
    detail = f"largest {_said([trials[worst]], Sizes(found.share[[worst]], found.n_rep))}"
    return decide(found.share - limit, _reach(found), everywhere=False, detail=detail)


def _said(trials: Cells, found: Sizes) -> str:
    words = {dgp: name for name, dgp in DGPS.items()}
    return ", ".join(
        f"{share:.3f} {words[t.dgp]} {t.n1} + {t.n2}"
        for t, share in zip(trials, found.share, strict=True)
    )
