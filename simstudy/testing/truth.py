"""Comparison of `exact()` with estimates, with allowance for Monte Carlo error."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.result import Result
from simstudy.lazy import stats
from simstudy.measures import Measure
from simstudy.provenance.scenario_id import identity
from simstudy.study import Study

FALSE_ALARM = 1e-5  # chance to refuse a study whose exact() is right, for all values together
TRUTH_BLOCKS = 100  # greatest number of blocks drawn for the comparison, of all scenarios together


class Comparison(NamedTuple):
    """An estimate, its exact value, and the probability of such a deviation."""

    measure: str
    scenario: str
    estimate: float
    mcse: float
    exact: float
    p_value: float


def enough_for_truth(study: Study, smoke: Result) -> Result:
    """Result with enough replicates for the comparison: that of the smoke run, or a longer one.

    All scenarios together have at most `TRUTH_BLOCKS` blocks, but not fewer than the smoke run. The
    effort is bounded, and no number depends on a clock.
    """
    published = -(-study.n_rep // study.block_size)
    n_blocks = min(published, TRUTH_BLOCKS // len(study.scenarios))
    if n_blocks < 2 or not any(hasattr(each, "exact") for each in study.scenarios):
        return smoke
    return study.run(n_blocks * study.block_size, backend="inline", n_jobs=1)


def without_theory(study: Study) -> set[str]:
    """Measures for which `exact()` returns only NaN."""
    known: dict[str, bool] = {}
    for scenario in study.scenarios:
        for name, value in (scenario.exact() if hasattr(scenario, "exact") else {}).items():
            known[name] = known.get(name, False) or bool(np.isfinite(value).any())
    return {measure.name for measure in study.measures if not known.get(measure.name, True)}


def comparisons(result: Result) -> Iterator[Comparison]:
    """Compare every exact value of a scenario with its estimate."""
    for scenario in result.plan.scenarios:
        declared = scenario.exact() if hasattr(scenario, "exact") else {}
        for measure in result.details.declared:
            if measure.name in declared:
                columns = result.columns(scenario, *measure.reads)
                yield from _compared(measure, columns, declared[measure.name], identity(scenario))


def _compared(
    measure: Measure, columns: Mapping[str, np.ndarray], exact: Any, scenario: str
) -> Iterator[Comparison]:
    estimates, influence = measure.estimate(columns), measure.influence(columns)
    chances = _chance_of_proportion if measure.interval.is_proportion else _chance_of_mean
    n_rep = estimates.n_rep
    if estimates.variance_reduction is not None:  # n_rep is not the number of trials
        n = influence.n_independent  # replicates, groups or effective weights
        n = n if estimates.n_effective is None else np.minimum(n, estimates.n_effective)
        chances, n_rep = _chance_of_mean, np.ceil(n)
    cells = np.broadcast_arrays(estimates.estimate, estimates.mcse, exact, influence.trials, n_rep)
    for estimate, mcse, truth, trials, n_rep in zip(*map(np.ravel, cells), strict=True):
        p_value = chances(float(estimate), float(mcse), float(truth), float(trials), int(n_rep))
        if np.isfinite(p_value):
            yield Comparison(measure.name, scenario, estimate, mcse, truth, p_value)


def _chance_of_proportion(
    estimate: float, _mcse: float, exact: float, trials: float, _n_rep: int
) -> float:
    """The two-sided binomial p-value."""
    if not (np.isfinite(estimate) and np.isfinite(exact)):
        return np.nan
    successes, n = round(estimate * trials), round(trials)
    tails = stats.binom.cdf(successes, n, exact), stats.binom.sf(successes - 1, n, exact)
    return min(1.0, 2 * float(min(tails)))


def _chance_of_mean(
    estimate: float, mcse: float, exact: float, _trials: float, n_rep: int
) -> float:
    """The two-sided p-value of Student's t, since the MCSE is an estimate.

    If all replicates agree, the MCSE is 0. All of them may then have missed a rare event of size 1,
    which has probability (1 - |exact - estimate|)^n.
    """
    if not (np.isfinite(mcse) and np.isfinite(exact)):
        return np.nan
    rounding = n_rep * np.finfo(float).eps * max(abs(exact), abs(estimate))
    away = max(0.0, abs(estimate - exact) - rounding)
    if not mcse:
        return float(max(0.0, 1 - away) ** n_rep)
    return 2 * float(stats.t.sf(away / mcse, n_rep - 1))
