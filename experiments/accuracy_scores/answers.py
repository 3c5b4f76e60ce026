"""Checks of rates of failure, for the claims of `accuracy_scores`.

A rate is kept if it is within a tenth of the nominal alpha or beta (the stringent limits of Bradley
1978), or within half of it (his liberal limits) if the statement is only about an order of
magnitude. If theory gives the rate, the margin depends on its size (`margin_about`). Two powers are
about equal if a tenth more prompts would make a larger difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.accuracy_scores.figures import SCORES, WORDS, saved_from
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import Finding, cautious_binomial_error, decide, mc_limit
from simstudy.design import PlainFactor
from simstudy.design.plan import factors_of
from simstudy.documents.scenarios.score_checks import LIBERAL, ScoreCheck
from simstudy.documents.stats.accuracy.design import (
    detectable_effect,
    level_given_reference,
    power,
    rejection_probability,
    standard_error,
)
from simstudy.lazy import special

STRINGENT = 0.1  # share of alpha, or of beta: Bradley (1978), Br. J. Math. Stat. Psychol. 31
RARE = 0.001  # rates below it count as equal
MOST_MISLED = 0.05  # allowed share of pilot runs that move the level too far
ALL = tuple(SCORES)

Checks = Sequence[ScoreCheck]
PerCheck = Float[np.ndarray, " check"]
Keep = Callable[[ScoreCheck], bool]
Choice = Callable[[list[int]], int]
Law = Callable[[ScoreCheck], float]


class Rates(NamedTuple):
    """Shares of replicates and numbers of replicates, for each scenario."""

    share: PerCheck
    n_rep: PerCheck

    @property
    def reach(self) -> PerCheck:
        """The Monte Carlo margin of each; above 0 even for a share of 0."""
        error = cautious_binomial_error(self.share, self.n_rep)
        return np.asarray(mc_limit(len(self.share)) * error)


# ---------------------------------------------------------------- what was found
def checks(result: Result, scores: Sequence[str], keep: Keep, what: str) -> list[ScoreCheck]:
    """Scenarios of these scores; LookupError with their description if there are none."""
    wanted = [SCORES[name] for name in scores]
    found = [each for each in result.plan.scenarios if each.scores in wanted and keep(each)]
    if not found:
        raise LookupError(what)
    return found


def rates(
    result: Result, trials: Checks, method: str | None = None, measure: str = "rejection_rate"
) -> Rates:
    """The rate at which these checks fail by a method, or another measure."""
    by = {} if method is None else {"method": method}
    rows = [result.row(measure, **_place(each), **by) for each in trials]
    return Rates(*(np.array([row[name] for row in rows]) for name in ("estimate", "n_rep")))


def _place(check: ScoreCheck) -> dict[str, PlainFactor]:
    """The factors of a check that have a value."""
    return {name: value for name, value in factors_of(check).items() if value is not None}


def redrawn(
    result: Result, scores: Sequence[str], *, worse: bool, related: bool = False
) -> list[ScoreCheck]:
    """Checks with a new reference in each replicate, with the detectable effect or without."""

    def keep(each: ScoreCheck) -> bool:
        effect = each.detectable_at == (each.n if worse else 0)
        return each.reference is None and effect and (each.correlation > 0) == related

    return checks(result, scores, keep, "checks of these scores with a reference drawn for each")


def with_n(trials: Checks, choice: Choice) -> list[ScoreCheck]:
    """The checks with the chosen n."""
    n = choice([each.n for each in trials])
    return [each for each in trials if each.n == n]


def sized_as_saved(result: Result, trials: Checks) -> list[ScoreCheck]:
    """The checks with as many scores as the z test that serves as baseline for savings."""
    found = [each for each in trials if each.n == saved_from(result)]
    if not found:
        raise LookupError("checks of as many prompts as are saved from")
    return found


# ---------------------------------------------------------------- verdicts
def near(found: Rates, trials: Checks, known: PerCheck, margin: PerCheck) -> Finding:
    """Whether each rate is within a margin of its known value."""
    gap = np.abs(found.share - known)
    worst = int((gap - margin).argmax())
    detail = (
        f"furthest of {len(known)}: {found.share[worst]:.4f} for {known[worst]:.4f}, "
        f"{_said(trials[worst])}"
    )
    return decide(margin - gap, found.reach, everywhere=True, detail=detail)


def margin_about(known: PerCheck, alpha: PerCheck) -> PerCheck:
    """The allowed distance of a level from its theoretical value.

    It is a tenth of the value if that is at least alpha, and else half of it. Values below one in a
    thousand only have to stay below.
    """
    order = np.where(known >= alpha, STRINGENT * known, LIBERAL * known)
    return np.where(known < RARE, RARE - known, order)


def _said(check: ScoreCheck) -> str:
    words = {scores: WORDS[name] for name, scores in SCORES.items()}
    related = f", correlation {check.correlation:g}" if check.correlation else ""
    fixed = f", reference at {check.reference:g}" if check.reference is not None else ""
    return f"{words[check.scores]}, n = {check.n}{related}{fixed}"


def _level_kept(result: Result, trials: Checks, method: str, share: float) -> Finding:
    alpha = np.array([each.alpha for each in trials])
    return near(rates(result, trials, method), trials, alpha, share * alpha)


def _power_kept(result: Result, trials: Checks, method: str) -> Finding:
    beta = np.array([each.beta for each in trials])
    return near(rates(result, trials, method), trials, 1 - beta, STRINGENT * beta)


# ---------------------------------------------------------------- the test as it is described
def level_at(result: Result, scores: Sequence[str], choice: Choice, method: str = "z") -> Finding:
    """Whether alpha is kept with the chosen n."""
    trials = with_n(redrawn(result, scores, worse=False), choice)
    return _level_kept(result, trials, method, STRINGENT)


def power_at(result: Result, scores: Sequence[str], choice: Choice, method: str = "z") -> Finding:
    """Whether beta is kept with the chosen n."""
    return _power_kept(result, with_n(redrawn(result, scores, worse=True), choice), method)


# ---------------------------------------------------------------- what σ is taken to be
def level_by(result: Result, scores: Sequence[str], method: str, share: float) -> Finding:
    """Whether the level is within a share of alpha, for every n."""
    return _level_kept(result, redrawn(result, scores, worse=False), method, share)


def safe_side(result: Result, method: str = "z_sigma_large") -> Finding:
    """Whether levels are below alpha and powers below 1 - beta, in every cell."""
    level, power = (redrawn(result, ALL, worse=worse) for worse in (False, True))
    low, high = (rates(result, trials, method) for trials in (level, power))
    both = Rates(*(np.concatenate(pair) for pair in zip(low, high, strict=True)))
    limits = np.array([each.alpha for each in level] + [1 - each.beta for each in power])
    detail = f"largest level {low.share.max():.4f}, largest power {high.share.max():.4f}"
    return decide(limits - both.share, both.reach, everywhere=True, detail=detail)


def pilot_trusted(result: Result, scores: Sequence[str], measure: str = "misled_by_256") -> Finding:
    """Whether few pilot runs move the level of the z test far."""
    trials = redrawn(result, scores, worse=False)
    found = rates(result, trials, measure=measure)
    detail = f"largest share of {len(trials)}: {found.share.max():.4f}"
    return decide(MOST_MISLED - found.share, found.reach, everywhere=True, detail=detail)


# ---------------------------------------------------------------- the same prompts
def _related(result: Result, scores: Sequence[str]) -> list[ScoreCheck]:
    return sized_as_saved(result, redrawn(result, scores, worse=False, related=True))


def level_on_the_same(result: Result, scores: Sequence[str], method: str) -> Finding:
    """Whether alpha is kept on the same prompts."""
    return _level_kept(result, _related(result, scores), method, STRINGENT)


def normal_level(check: ScoreCheck) -> float:
    """Level of the z test whose standard error ignores the correlation."""
    assumed = standard_error(1.0, check.n)
    true = standard_error(1.0, check.n, correlation=check.correlation)
    return float(rejection_probability(check.alpha, assumed, true))


def without_root(check: ScoreCheck) -> float:
    """The same level, with the effect of the correlation on a variance used for an error."""
    return float(special.ndtr(special.ndtri(check.alpha) / (1 - check.correlation)))


def level_as_derived(result: Result, law: Law = normal_level) -> Finding:
    """Whether the level agrees with normal theory, at the baseline n for savings."""
    return _as_normal(result, _related(result, ALL), law)


def level_as_derived_of_few(result: Result) -> Finding:
    """Whether the level agrees with normal theory at the least n."""
    related = redrawn(result, ALL, worse=False, related=True)
    least = min(each.n for each in redrawn(result, ALL, worse=False))
    return _as_normal(result, [each for each in related if each.n == least], normal_level)


def _as_normal(result: Result, trials: Checks, law: Law) -> Finding:
    known = np.array([law(each) for each in trials])
    alpha = np.array([each.alpha for each in trials])
    return near(rates(result, trials, "z"), trials, known, margin_about(known, alpha))


def saved(result: Result, scores: Sequence[str], method: str = "paired_z") -> Finding:
    """Whether a test with few prompts has the power of the z test with many others."""
    few = _with_fewer(result, scores)
    paired = rates(result, few, method)
    full = sized_as_saved(result, redrawn(result, scores, worse=True))
    unpaired = rates(result, full, "z")
    gap = np.abs(paired.share - unpaired.share)
    margin = np.array([_worth_of_prompts(each) for each in few])
    worst = int(gap.argmax())
    detail = f"{paired.share[worst]:.4f} for {unpaired.share[0]:.4f}, {_said(few[worst])}"
    reach = np.hypot(paired.reach, unpaired.reach)
    return decide(margin - gap, reach, everywhere=True, detail=detail)


def _worth_of_prompts(check: ScoreCheck, share: float = STRINGENT) -> float:
    """The increase of a power of 1 - beta by a share more prompts."""
    effect = detectable_effect(check.alpha, check.beta, 1.0, check.n)
    more = power(np.sqrt(1 + share) * effect, check.alpha, 1.0, check.n)  # errors shrink
    return float(more) - (1 - check.beta)


def _with_fewer(result: Result, scores: Sequence[str]) -> list[ScoreCheck]:
    n_full = saved_from(result)
    return checks(
        result,
        scores,
        lambda each: each.detectable_at == n_full and each.n < n_full and each.correlation > 0,
        "paired tests with fewer prompts",
    )


# ---------------------------------------------------------------- the reference that one has
def _fixed(result: Result, scores: Sequence[str]) -> list[ScoreCheck]:
    return checks(
        result, scores, lambda each: each.reference is not None, "references that are fixed"
    )


def level_given_any(result: Result) -> Finding:
    """Whether the level is within half of alpha for every reference."""
    return _level_kept(result, _fixed(result, ["normal"]), "z", LIBERAL)


def as_luck_says(
    result: Result, scores: Sequence[str], law: Callable[..., Any] = level_given_reference
) -> Finding:
    """Whether the rate of false alarms agrees with the luck of the reference."""
    trials = _fixed(result, scores)
    alpha = np.array([each.alpha for each in trials])
    known = np.asarray(law(alpha, np.array([each.luck for each in trials])))
    return near(rates(result, trials, "z"), trials, known, margin_about(known, alpha))
