"""What theory and the literature say of such tests, against what `two_sample` finds.

A statement holds or fails where the simulation decides it: Monte Carlo error at
`simstudy.claims.chance_limit` is added to what is held against a limit. Where it does not, the
statement needs more replicates than the run has, and none can hold for want of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from experiments.two_sample.figures import DGPS
from simstudy.analysis.result import Result
from simstudy.claims import (
    Claim,
    Reproduced,
    average,
    binomial_error,
    cautious_binomial_error,
    chance_limit,
    decided,
)
from simstudy.plan import factors_of
from simstudy.shapes import Float
from simstudy.stats.two_sample import theory
from simstudy.trials.two_sample import ComparedSamples

LIBERAL = 0.5
"""Share of alpha within which a size is kept: Bradley (1978), Br. J. Math. Stat. Psychol. 31."""

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
    """Scenarios with equal means of these data; of the largest total alone, if asked."""
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
    return result.value(measure, method=method, **factors_of(trial))


# ---------------------------------------------------------------- what decides
def _near_theory(found: Sizes, known: PerCell, margin: PerCell) -> Reproduced:
    """Whether each share is within a margin of what is known of it."""
    distance = np.abs(found.share - known)
    error = binomial_error(known, found.n_rep)
    worst = int(distance.argmax())
    said = f"largest distance of {len(known)} cells {distance[worst]:.4f}, {found.share[worst]:.4f}"
    detail = f"{said} for {known[worst]:.4f}; largest {(distance / error).max():.1f} MCSE"
    reach = chance_limit(len(known)) * error
    return decided(margin - distance, reach, everywhere=True, detail=detail)


def _reach(found: Sizes) -> PerCell:
    """How far chance reaches in each cell."""
    error = cautious_binomial_error(found.share, found.n_rep)
    return np.asarray(chance_limit(len(found.share)) * error)


# ---------------------------------------------------------------- derived from theory
def _exact_t_tests(result: Result, method: str) -> Reproduced:
    trials = cells(result, dgps=["normal"])
    rate = {"student": theory.student_rejection, "welch": theory.welch_rejection}[method]
    known = [rate(t.n1, t.n2, t.variance_ratio, alpha=t.alpha) for t in trials]
    return _near_theory(sizes(result, trials, method), *_with_margin(trials, known))


def _exact_under_equality(result: Result, method: str) -> Reproduced:
    """All cells with equal distributions together, so that their mean is sharp."""
    trials = cells(result, keep=lambda trial: trial.variance_ratio == 1)
    found = sizes(result, trials, method)
    known = np.array([_own_theory(trial, method) for trial in trials])
    together = Sizes(*(np.array([value]) for value in _pooled(found)))
    mean = np.array([np.average(known, weights=found.n_rep)])
    return _near_theory(together, mean, np.array([EXACT_WITHIN * trials[0].alpha]))


def _pooled(found: Sizes) -> tuple[float, float]:
    return float(np.average(found.share, weights=found.n_rep)), float(found.n_rep.sum())


def _own_theory(trial: ComparedSamples, method: str) -> float:
    from simstudy.trials.two_sample import METHODS

    return float(trial.exact()["type_1_error"][list(METHODS).index(method)])


def _large_sample_size(
    result: Result, method: str, size: Callable[..., float], dgps: Sequence[str]
) -> Reproduced:
    trials = cells(result, dgps=dgps, largest=True)
    known = [size(t.n1, t.n2, t.variance_ratio, alpha=t.alpha) for t in trials]
    return _near_theory(sizes(result, trials, method), *_with_margin(trials, known))


def _keeps_level(result: Result, method: str, dgps: Sequence[str]) -> Reproduced:
    trials = cells(result, dgps=dgps, largest=True)
    known = [trial.alpha for trial in trials]
    return _near_theory(sizes(result, trials, method), *_with_margin(trials, known))


def _with_margin(trials: Cells, known: Sequence[float]) -> tuple[PerCell, PerCell]:
    """What is known of each size, and half of alpha, or of that size where it is the larger."""
    size = np.array(known)
    return size, np.maximum(_liberal(trials), LIBERAL * size)


def _liberal(trials: Cells) -> float:
    return LIBERAL * trials[0].alpha


def _one_sided_misses(result: Result) -> Reproduced:
    """Whether the bootstrap t halves the imbalance of Welch's misses, paired by replicate."""
    trials = cells(
        result, dgps=["exponential"], largest=True, keep=lambda trial: _side_missed(trial) != 0
    )
    welch, bootstrap = (
        [_signed_misses(result, trial, method) for trial in trials]
        for method in ("welch", "bootstrap_t")
    )
    means = [float(np.mean([cell.mean() for cell in each])) for each in (welch, bootstrap)]
    side = np.sign(means[1])
    gaps = [average(w / 2 - side * b) for w, b in zip(welch, bootstrap, strict=True)]
    excess = np.array([np.mean([gap.value for gap in gaps])])
    reach = chance_limit() * np.linalg.norm([[gap.mcse for gap in gaps]], axis=1) / len(gaps)
    detail = f"one side less the other: Welch {means[0]:.4f}, bootstrap {means[1]:.4f}"
    return decided(excess, reach, everywhere=True, detail=detail)


def _signed_misses(
    result: Result, trial: ComparedSamples, method: str
) -> Float[np.ndarray, " rep"]:
    """1 where an interval misses on the side that skewness makes the longer, -1 on the other."""
    at = result.plan.axes["method"].index(method)
    found = result.columns(trial, "lower", "upper")
    above, below = (
        found["lower"][:, at] > trial.difference,
        found["upper"][:, at] < trial.difference,
    )
    return _side_missed(trial) * (above.astype(float) - below)


def _side_missed(trial: ComparedSamples) -> float:
    """1 where shapes skewed to the right make intervals lie above the difference, -1 where below.

    The third moment of the difference of means decides. Where it is positive the estimate and its
    standard error move together, so that intervals too far down are too narrow as well.
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


def _inflated_though_balanced(result: Result) -> Reproduced:
    trials = _unequal_but_balanced(result)
    found = sizes(result, trials, "rank_sum")
    limit = trials[0].alpha + _liberal(trials)
    return decided(found.share - limit, _reach(found), everywhere=True, detail=_said(trials, found))


def _grows_with_n(result: Result) -> Reproduced:
    """Rank sum, larger total less smaller, for each shape."""
    trials = _unequal_but_balanced(result)
    totals = sorted({trial.n1 for trial in trials})
    if len(totals) < 2:
        raise LookupError("two total sizes with balanced samples")
    few, many = ([t for t in trials if t.n1 == n] for n in (totals[0], totals[-1]))
    small, large = (sizes(result, some, "rank_sum") for some in (few, many))
    reach = np.hypot(_reach(small), _reach(large))
    detail = f"{_said(few, small)}; {_said(many, large)}"
    return decided(large.share - small.share, reach, everywhere=True, detail=detail)


def _worse_after_ranking(result: Result) -> Reproduced:
    trials = _unequal_but_balanced(result)
    ranks, means = (sizes(result, trials, method) for method in ("rank_sum", "student"))
    reach = np.hypot(_reach(ranks), _reach(means))
    detail = f"ranks {_said(trials, ranks)}; means {_said(trials, means)}"
    return decided(ranks.share - means.share, reach, everywhere=True, detail=detail)


def _no_omnibus_test(result: Result) -> Reproduced:
    trials = cells(result, dgps=SKEWED)
    found = sizes(result, trials, "welch")
    worst = int(found.share.argmax())
    limit = trials[0].alpha + _liberal(trials)
    detail = f"largest {_said([trials[worst]], Sizes(found.share[[worst]], found.n_rep))}"
    return decided(found.share - limit, _reach(found), everywhere=False, detail=detail)


def _said(trials: Cells, found: Sizes) -> str:
    words = {dgp: name for name, dgp in DGPS.items()}
    return ", ".join(
        f"{share:.3f} {words[t.dgp]} {t.n1} + {t.n2}"
        for t, share in zip(trials, found.share, strict=True)
    )


DERIVED = "Derived, and not read off a table: the study's own theory."
ZIMMERMAN = "Zimmerman (2004), Psicologica 25, 103-133, abstract"
BEYOND = "Substantial is taken as beyond Bradley's liberal limit, half of alpha above it."

CLAIMS = (
    *(
        Claim(
            f"exact size, {method}",
            f"For normal data {words} has the size that a one-dimensional integral gives",
            "Wang (1971), J. Am. Stat. Assoc. 66, 605-608",
            partial(_exact_t_tests, method=method),
            published=True,
            note=DERIVED,
        )
        for method, words in {"student": "Student's t", "welch": "Welch's t"}.items()
    ),
    *(
        Claim(
            f"exact level, {method}",
            f"For equal distributions {words} is exact, whatever they are",
            source,
            partial(_exact_under_equality, method=method),
            published=True,
            note=DERIVED + " Strictly below alpha there are 49 of 1000 p-values, and of ranks what "
            "their law allows.",
        )
        for method, words, source in (
            (
                "permutation",
                "the studentized permutation test",
                "Janssen (1997), Stat. Probab. Lett. 36, 9-21",
            ),
            (
                "plain_permutation",
                "the plain permutation test",
                "Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9(1), 39",
            ),
            (
                "rank_sum",
                "the rank-sum test",
                "Mann & Whitney (1947), Ann. Math. Statist. 18, 50-60",
            ),
        )
    ),
    Claim(
        "rank-sum size",
        "Unequal variances move the rank-sum test's size for normal data however large the samples",
        "Pratt (1964), J. Am. Stat. Assoc. 59, 665-680",
        partial(
            _large_sample_size,
            method="rank_sum",
            size=theory.rank_sum_size_for_normals,
            dgps=["normal"],
        ),
        published=True,
        note=DERIVED,
    ),
    Claim(
        "plain permutation size",
        "The plain permutation test has the wrong variance unless sizes or variances are equal",
        "Romano (1990), J. Am. Stat. Assoc. 85, 686-692",
        partial(
            _large_sample_size,
            method="plain_permutation",
            size=theory.pooled_size,
            dgps=SYMMETRIC,
        ),
        published=True,
        note=DERIVED,
    ),
    Claim(
        "studentized permutation size",
        "The studentized permutation test keeps its level under unequal variances in large samples",
        "Janssen (1997); Chung & Romano (2013), Ann. Statist. 41, 484-507, abstract",
        partial(_keeps_level, method="permutation", dgps=SYMMETRIC),
        published=True,
        note="Kept is taken as Bradley's liberal limits, half of alpha either side.",
    ),
    Claim(
        "one-sided misses",
        "The bootstrap t corrects for skewness: its intervals miss on both sides alike",
        "Hall (1988), Ann. Statist. 16, 927-953",
        _one_sided_misses,
        published=True,
        note="Of an order smaller is taken as less than half of the imbalance of Welch's misses.",
    ),
    Claim(
        "inflated though balanced",
        "For skewed data unequal variances inflate the rank-sum test's size even in equal samples",
        ZIMMERMAN,
        _inflated_though_balanced,
        published=True,
        note=BEYOND,
    ),
    Claim(
        "inflation grows",
        "That inflation grows with the sample size",
        ZIMMERMAN,
        _grows_with_n,
        published=True,
    ),
    Claim(
        "worse after ranking",
        "That distortion is greater after transformation to ranks than it is for Student's t",
        ZIMMERMAN,
        _worse_after_ranking,
        published=True,
    ),
    Claim(
        "no omnibus test",
        "Welch's test cannot be relied on for all skewed data with unequal variances",
        "Fagerland & Sandvik (2009), Contemp. Clin. Trials 30, 490-496, abstract",
        _no_omnibus_test,
        published=True,
        note=BEYOND,
    ),
)
