"""Claims about the law of the two-stage statistic: conditional, by sizes, and in the limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from experiments.two_stage.figures import Statistics, statistics_by_state
from experiments.two_stage.trials import PROBABILITY, grid_of, reach
from simstudy.analysis.result import Result
from simstudy.claims import FALSE_ALARM, Claim, Finding, WrongValue, decide, matches
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.documents.stats.two_stage import cdf, unconditional_cdf
from simstudy.lazy import special

Law = Callable[[TwoStage, Statistics, bool], Statistics]
OFTEN_TRUE = 1.0  # largest k for which a sixth of the nulls or more are true


# ---------------------------------------------------------------- given the state of the null
def _conditional(trial: TwoStage, s2: Statistics, null_is_false: bool) -> Statistics:
    p: Statistics = cdf(s2, null_is_false, trial.k, trial.n1, trial.n2)
    return p


def _unconditional(trial: TwoStage, s2: Statistics, _: bool) -> Statistics:
    p: Statistics = unconditional_cdf(s2, trial.k, trial.n1, trial.n2)
    return p


def _from_uniform(p: Statistics) -> float:
    """Kolmogorov's distance of p-values from the uniform distribution."""
    # Imported on first use, since the import takes longer than planning a study.
    from simstudy.documents.stats.predictive import pit_distance

    return pit_distance(p)


def _follows(result: Result, law: Law) -> Finding:
    """Distance of the p-values by a law from uniform, for each k and state, all n2 together."""
    p: dict[tuple[float, bool], list[Statistics]] = {}
    for trial, s2, state in statistics_by_state(result):
        p.setdefault((trial.k, state), []).append(law(trial, s2, state))
    pooled = [np.concatenate(values) for values in p.values()]
    distance = np.array([_from_uniform(values) for values in pooled])
    said = f"largest distance {distance.max():.3f}, for {len(pooled)} pairs of k and state"
    return decide(PROBABILITY - distance, reach(map(len, pooled)), said)


def _comes_close(result: Result, null_is_false: bool = True) -> Finding:
    """Whether the unconditional law's distance falls from k to k, given the state of the null."""
    cells: dict[float, list[tuple[float, int]]] = {}
    for trial, s2, state in statistics_by_state(result):
        if state == null_is_false:
            distance = _from_uniform(_unconditional(trial, s2, state))
            cells.setdefault(trial.k, []).append((distance, len(s2)))
    if not cells:
        raise LookupError("two replicates in that state of the null")
    worst = np.array([max(distance for distance, _ in cells[k]) for k in sorted(cells)])
    chance = reach(min(n for _, n in cells[k]) for k in sorted(cells))
    said = ", ".join(f"{d:.3f} at k={k:g}" for d, k in zip(worst, sorted(cells), strict=True))
    excess = np.append(-np.diff(worst), PROBABILITY - worst[-1])
    reaches = np.append(chance[1:] + chance[:-1], chance[-1])
    return decide(excess, reaches, f"largest distance {said}")


# ---------------------------------------------------------------- by the sizes
class Pair(NamedTuple):
    """Two trials of one ratio n2/n1, in one state of the null."""

    trial: TwoStage
    other: TwoStage
    null_is_false: bool


def _ratio_alone(result: Result, next_ratio: int = 0) -> Finding:
    """Distance of the statistic's laws in trials of one ratio and other sizes, given the state.

    With `next_ratio`, the ratios of the trials are this many positions apart.
    """
    pairs = _pairs(result, next_ratio)
    samples = [[_given(result, t, p.null_is_false) for t in (p.trial, p.other)] for p in pairs]
    if not all(len(s2) for both in samples for s2 in both):
        raise LookupError("a replicate of each state in each trial")
    distance = np.array([distance_between(*both) for both in samples])
    pooled = np.array([1 / sum(1 / len(s2) for s2 in both) for both in samples])
    chance = special.kolmogi(FALSE_ALARM / len(pairs)) / np.sqrt(pooled)
    said = f"largest distance {distance.max():.3f}, of {len(pairs)} pairs of trials"
    return decide(PROBABILITY - distance, chance, said)


def _pairs(result: Result, next_ratio: int) -> list[Pair]:
    """Pairs of trials with a false null, and with a true one if enough nulls are true."""
    grid = {(trial.k, trial.n2 / trial.n1): trial for trial in grid_of(result)}
    small = [trial for trial in result.plan.scenarios if trial.n1 < grid_of(result)[0].n1]
    found = []
    for k in dict.fromkeys(trial.k for trial in small):
        others = [t for t in small if t.k == k and (k, t.n2 / t.n1) in grid]
        for place, other in enumerate(others):
            like = others[(place + next_ratio) % len(others)]
            states = (True, False) if k <= OFTEN_TRUE else (True,)
            found += [Pair(grid[k, like.n2 / like.n1], other, state) for state in states]
    if not found:
        raise LookupError("trials of one ratio n2/n1 and other sizes")
    return found


def _given(result: Result, trial: TwoStage, null_is_false: bool) -> Statistics:
    data = result.columns(trial, "s2", "null_is_false")
    return np.sort(data["s2"][data["null_is_false"].astype(bool) == null_is_false])


def distance_between(first: Statistics, second: Statistics) -> float:
    """Kolmogorov's distance of the empirical distributions of two sorted samples."""
    both = np.concatenate([first, second])
    below = [np.searchsorted(s2, both, side="right") / len(s2) for s2 in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


def _standard_normal(result: Result, large: bool = True) -> Finding:
    """Distance of s2 from a standard normal, by k, with the largest first stage or the grid's."""
    first = result.plan.scenarios[0]
    beyond = [trial for trial in result.plan.scenarios if trial.n1 > first.n1]
    if not beyond:
        raise LookupError("a first stage that is larger than the grid's")
    size, n2 = (max(t.n1 for t in beyond) if large else first.n1), beyond[0].n2
    trials = [t for t in result.plan.scenarios if (t.n1, t.n2) == (size, n2)]
    s2 = [result.columns(trial, "s2")["s2"] for trial in trials]
    distance = np.array([_from_uniform(special.ndtr(values)) for values in s2])
    said = f"largest distance {distance.max():.3f} at n1={size:,}, n2={n2}"
    return decide(PROBABILITY - distance, reach(map(len, s2)), said)


def _whole_law(result: Result, spread: float | None = None) -> Finding:
    """Distance of s2 in both states from the normal law, for each trial of figure 1.

    `spread` replaces √(1 + n2/n1), for a rival.
    """
    parts: dict[TwoStage, list[Statistics]] = {}
    for trial, s2, _ in statistics_by_state(result):
        parts.setdefault(trial, []).append(s2)
    distance, sizes = [], []
    for trial, both in parts.items():
        s2 = np.concatenate(both)
        r = np.sqrt(trial.n2 / trial.n1)
        z = (s2 + r * trial.k) / (spread or np.sqrt(1 + r**2))
        distance.append(_from_uniform(np.sort(special.ndtr(z))))
        sizes.append(len(s2))
    said = f"largest distance {max(distance):.4f}, of {len(distance)} trials"
    return decide(PROBABILITY - np.array(distance), reach(sizes), said)


def _correlated(result: Result, printed: bool = True) -> Finding:
    """Correlation of s2 and the bound's distance from the truth, Y, against -r/√(1 + r²)."""
    trials = grid_of(result)
    r = np.sqrt([trial.n2 / trial.n1 for trial in trials])
    theory = -(r if printed else 1) / np.sqrt(1 + r**2)
    data = [result.columns(trial, "s2", "distance") for trial in trials]
    found = [np.corrcoef(columns["s2"], columns["distance"])[0, 1] for columns in data]
    n = np.array([len(columns["s2"]) for columns in data])
    return matches(found, theory, (1 - theory**2) / np.sqrt(n), margin=CORRELATION, n_rep=n)


CORRELATION = 0.02
APART = "5 points between distribution functions"
LAWS = (
    Claim(
        "law of s2",
        "s2 is normal with mean -k sqrt(n2/n1) and variance 1 + n2/n1",
        "section 1",
        _whole_law,
        published=True,
        wrong_value=WrongValue("a variance of 1", partial(_whole_law, spread=1.0)),
        criterion=APART,
    ),
    Claim(
        "joint law",
        "Beside the distance of the bound from the truth s2 is correlated by -r/sqrt(1 + r^2)",
        "section 1, equation 2",
        _correlated,
        published=True,
        wrong_value=WrongValue("-1/sqrt(1 + r^2)", partial(_correlated, printed=False)),
        criterion="0.02",
        note="r is the root of n2/n1.",
    ),
    Claim(
        "conditional law",
        "The conditional cdf describes the statistic in both states of the null",
        "figure 1",
        partial(_follows, law=_conditional),
        published=True,
        wrong_value=WrongValue("the unconditional law", partial(_follows, law=_unconditional)),
        criterion=APART,
    ),
    Claim(
        "unconditional law",
        "Given a false null, the unconditional law comes close for larger k",
        "figure 1",
        _comes_close,
        published=True,
        wrong_value=WrongValue("given a true null", partial(_comes_close, null_is_false=False)),
        criterion=APART,
    ),
    Claim(
        "ratio of the sizes",
        "Given the state of the null, the statistic depends on the sizes by n2/n1 alone",
        "section 4",
        _ratio_alone,
        published=True,
        wrong_value=WrongValue(
            "beside a trial of another ratio", partial(_ratio_alone, next_ratio=1)
        ),
        criterion=APART,
    ),
    Claim(
        "many in the first stage",
        "For a given n2, as n1 grows, s2 tends to N(0, 1)",
        "section 1",
        _standard_normal,
        published=True,
        wrong_value=WrongValue("the grid's first stage", partial(_standard_normal, large=False)),
        criterion=APART,
        note="Slowly: its mean is -k sqrt(n2/n1), so n1 is to be some thousand times n2.",
    ),
)
