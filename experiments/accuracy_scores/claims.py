"""What the document states of its test, and what theory says of it, against `accuracy_scores`.

A rate is kept where it is within a tenth of what is asked for, of alpha or of beta: Bradley's
(1978) stringent limits; where a statement is only of an order, within half of it, his liberal ones.
Where theory says what a rate is, "near" is by the size of what it says (`margin_about`).
Monte Carlo error counts against every verdict (`decided`): where it could turn one, the statement
needs more replicates than the run has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from experiments.accuracy_scores.figures import SCORES, WORDS, saved_from
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced, cautious_binomial_error, chance_limit, decided
from simstudy.design import PlainFactor
from simstudy.plan import factors_of
from simstudy.shapes import Float
from simstudy.stats.accuracy.design import (
    level_given_reference,
    rejection_probability,
    standard_error,
)
from simstudy.trials.score_checks import LIBERAL, ScoreCheck

STRINGENT = 0.1  # share of alpha, or of beta: Bradley (1978), Br. J. Math. Stat. Psychol. 31
RARE = 0.001  # below it a rate is not told from another, only from one that is not as rare
MOST_MISLED = 0.05  # share of pilot runs that may move the level further than asked
ALL = tuple(SCORES)

Checks = Sequence[ScoreCheck]
PerCheck = Float[np.ndarray, " check"]
Keep = Callable[[ScoreCheck], bool]


class Rates(NamedTuple):
    """Shares of replicates, and how many there are, of each scenario."""

    share: PerCheck
    n_rep: PerCheck

    @property
    def reach(self) -> PerCheck:
        """How far chance reaches in each; a share of 0 is not without error."""
        error = cautious_binomial_error(self.share, self.n_rep)
        return np.asarray(chance_limit(len(self.share)) * error)


# ---------------------------------------------------------------- what was found
def checks(result: Result, scores: Sequence[str], keep: Keep, what: str) -> list[ScoreCheck]:
    """Scenarios of these scores; LookupError, saying what is not there, where there are none."""
    wanted = [SCORES[name] for name in scores]
    found = [each for each in result.plan.scenarios if each.scores in wanted and keep(each)]
    if not found:
        raise LookupError(what)
    return found


def rates(
    result: Result, trials: Checks, method: str | None = None, measure: str = "rejection_rate"
) -> Rates:
    """How often these checks fail by a method, or another measure, which may be of no method."""
    by = {} if method is None else {"method": method}
    rows = [result.value(measure, **_place(each), **by) for each in trials]
    return Rates(*(np.array([row[name] for row in rows]) for name in ("estimate", "n_rep")))


def _place(check: ScoreCheck) -> dict[str, PlainFactor]:
    """Its factors, without those that have no value."""
    return {name: value for name, value in factors_of(check).items() if value is not None}


def redrawn(
    result: Result, scores: Sequence[str], *, worse: bool, related: bool = False
) -> list[ScoreCheck]:
    """Checks with another reference in each replicate, worse by what their n detects or not."""

    def keep(each: ScoreCheck) -> bool:
        effect = each.detectable_at == (each.n if worse else 0)
        return each.reference is None and effect and (each.correlation > 0) == related

    return checks(result, scores, keep, "checks of these scores with a reference drawn for each")


def with_n(trials: Checks, choice: Callable[[list[int]], int]) -> list[ScoreCheck]:
    """Those with the n that is chosen of all."""
    n = choice([each.n for each in trials])
    return [each for each in trials if each.n == n]


def sized_as_saved(result: Result, trials: Checks) -> list[ScoreCheck]:
    """Those with as many scores as the z test whose prompts are to be saved."""
    found = [each for each in trials if each.n == saved_from(result)]
    if not found:
        raise LookupError("checks of as many prompts as are saved from")
    return found


# ---------------------------------------------------------------- verdicts
def near(found: Rates, trials: Checks, known: PerCheck, margin: PerCheck) -> Reproduced:
    """Whether each rate is within a margin of what is said of it."""
    gap = np.abs(found.share - known)
    worst = int((gap - margin).argmax())
    detail = (
        f"furthest of {len(known)}: {found.share[worst]:.4f} for {known[worst]:.4f}, "
        f"{_said(trials[worst])}"
    )
    return decided(margin - gap, found.reach, everywhere=True, detail=detail)


def margin_about(known: PerCheck, alpha: PerCheck) -> PerCheck:
    """How far a level may be from what theory says of it.

    A tenth of it from alpha on; below, where it is said of what order it is, half of it; and of
    less than one in a thousand only that it is less.
    """
    order = np.where(known >= alpha, STRINGENT * known, LIBERAL * known)
    return np.where(known < RARE, RARE - known, order)


def _said(check: ScoreCheck) -> str:
    words = {scores: WORDS[name] for name, scores in SCORES.items()}
    related = f", correlation {check.correlation:g}" if check.correlation else ""
    fixed = f", reference at {check.reference:g}" if check.reference is not None else ""
    return f"{words[check.scores]}, n = {check.n}{related}{fixed}"


def _level_kept(result: Result, trials: Checks, method: str, share: float) -> Reproduced:
    alpha = np.array([each.alpha for each in trials])
    return near(rates(result, trials, method), trials, alpha, share * alpha)


def _power_kept(result: Result, trials: Checks, method: str) -> Reproduced:
    beta = np.array([each.beta for each in trials])
    return near(rates(result, trials, method), trials, 1 - beta, STRINGENT * beta)


# ---------------------------------------------------------------- the test as it is described
def _level_at(
    result: Result, scores: Sequence[str], choice: Callable[[list[int]], int]
) -> Reproduced:
    return _level_kept(result, with_n(redrawn(result, scores, worse=False), choice), "z", STRINGENT)


def _power_at(
    result: Result, scores: Sequence[str], choice: Callable[[list[int]], int]
) -> Reproduced:
    return _power_kept(result, with_n(redrawn(result, scores, worse=True), choice), "z")


# ---------------------------------------------------------------- what σ is taken to be
def _level_by(result: Result, scores: Sequence[str], method: str, share: float) -> Reproduced:
    return _level_kept(result, redrawn(result, scores, worse=False), method, share)


def _safe_side(result: Result) -> Reproduced:
    """Levels below alpha and powers below 1 - beta, in every cell."""
    level, power = (redrawn(result, ALL, worse=worse) for worse in (False, True))
    low, high = (rates(result, trials, "z_sigma_large") for trials in (level, power))
    both = Rates(*(np.concatenate(pair) for pair in zip(low, high, strict=True)))
    limits = np.array([each.alpha for each in level] + [1 - each.beta for each in power])
    detail = f"largest level {low.share.max():.4f}, largest power {high.share.max():.4f}"
    return decided(limits - both.share, both.reach, everywhere=True, detail=detail)


def _pilot_trusted(result: Result, scores: Sequence[str]) -> Reproduced:
    trials = redrawn(result, scores, worse=False)
    found = rates(result, trials, measure="misled_by_256")
    detail = f"largest share of {len(trials)}: {found.share.max():.4f}"
    return decided(MOST_MISLED - found.share, found.reach, everywhere=True, detail=detail)


# ---------------------------------------------------------------- the same prompts
def _related(result: Result, scores: Sequence[str]) -> list[ScoreCheck]:
    return sized_as_saved(result, redrawn(result, scores, worse=False, related=True))


def _level_on_the_same(result: Result, scores: Sequence[str], method: str) -> Reproduced:
    return _level_kept(result, _related(result, scores), method, STRINGENT)


def _level_as_derived(result: Result) -> Reproduced:
    return _as_normal(result, _related(result, ALL))


def _level_as_derived_of_few(result: Result) -> Reproduced:
    related = redrawn(result, ALL, worse=False, related=True)
    least = min(each.n for each in redrawn(result, ALL, worse=False))
    return _as_normal(result, [each for each in related if each.n == least])


def _as_normal(result: Result, trials: Checks) -> Reproduced:
    known = np.array([_normal_level(each) for each in trials])
    alpha = np.array([each.alpha for each in trials])
    return near(rates(result, trials, "z"), trials, known, margin_about(known, alpha))


def _normal_level(check: ScoreCheck) -> float:
    """Of the z test whose standard error leaves the correlation out."""
    assumed = standard_error(1.0, check.n)
    true = standard_error(1.0, check.n, correlation=check.correlation)
    return float(rejection_probability(check.alpha, assumed, true))


def _saved(result: Result, scores: Sequence[str]) -> Reproduced:
    """Power of the paired z test with few prompts, beside that of z with many others."""
    few = _with_fewer(result, scores)
    paired = rates(result, few, "paired_z")
    full = sized_as_saved(result, redrawn(result, scores, worse=True))
    unpaired = rates(result, full, "z")
    gap = np.abs(paired.share - unpaired.share)
    margin = LIBERAL * np.array([each.beta for each in few])
    worst = int(gap.argmax())
    detail = f"{paired.share[worst]:.4f} for {unpaired.share[0]:.4f}, {_said(few[worst])}"
    reach = np.hypot(paired.reach, unpaired.reach)
    return decided(margin - gap, reach, everywhere=True, detail=detail)


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


def _level_given_any(result: Result) -> Reproduced:
    return _level_kept(result, _fixed(result, ["normal"]), "z", LIBERAL)


def _as_luck_says(result: Result, scores: Sequence[str]) -> Reproduced:
    trials = _fixed(result, scores)
    alpha = np.array([each.alpha for each in trials])
    known = np.asarray(level_given_reference(alpha, np.array([each.luck for each in trials])))
    return near(rates(result, trials, "z"), trials, known, margin_about(known, alpha))


# ---------------------------------------------------------------- claims
DERIVED = "Derived, and not in the document."
LATTICE = "Scores of 0 and 1 have few means at small n, and none of them is at the threshold."
SPREAD = "The worse run has another standard deviation, which the formula does not know."
TAIL = "Most pilots miss the tail that makes up σ."

CLAIMS = (
    *(
        Claim(
            f"level at the least n, {WORDS[name]}",
            "The statistic is close to standard normal, whatever the scores: alpha is kept",
            "two-sample t-test",
            partial(_level_at, scores=[name], choice=min),
            published=True,
            expected="differs" if name == "binary" else "reproduced",
            note=LATTICE if name == "binary" else "",
        )
        for name in ALL
    ),
    *(
        Claim(
            f"power at the least n, {WORDS[name]}",
            "A check that is worse by the detectable effect fails with probability 1 - beta",
            "two-sample t-test",
            partial(_power_at, scores=[name], choice=min),
            published=True,
            expected="reproduced" if name == "normal" else "differs",
            note="" if name == "normal" else SPREAD,
        )
        for name in ALL
    ),
    Claim(
        "level at the largest n",
        "The statistic converges to a standard normal: alpha is kept for all scores",
        "two-sample t-test",
        partial(_level_at, scores=ALL, choice=max),
        published=True,
    ),
    Claim(
        "power at the largest n",
        "So is beta",
        "two-sample t-test",
        partial(_power_at, scores=ALL, choice=max),
        published=True,
    ),
    Claim(
        "a two-sample t-test",
        "The test is a t-test: it keeps alpha also where σ is a fifth too small",
        "two-sample t-test",
        partial(_level_by, scores=["normal"], method="z_sigma_small", share=STRINGENT),
        published=True,
        expected="differs",
        note="It is a z test, and takes what σ it is given.",
    ),
    Claim(
        "Student's t",
        "A test that estimates one σ from both runs (pooled) keeps alpha for all scores and n",
        "theory",
        partial(_level_by, scores=ALL, method="t", share=STRINGENT),
        published=True,
        note=DERIVED,
    ),
    Claim(
        "a large σ is safe",
        "A σ that is a quarter too large costs power and no false alarms",
        "theory",
        _safe_side,
        published=True,
        note=DERIVED,
    ),
    *(
        Claim(
            f"σ of a pilot of 32, {WORDS[name]}",
            "σ can be estimated beforehand: on average over pilots alpha is kept to half of it",
            "steps to add accuracy tests",
            partial(_level_by, scores=[name], method="z_pilot_32", share=LIBERAL),
            published=True,
            expected="differs" if name == "perplexity" else "reproduced",
            note=TAIL if name == "perplexity" else "",
        )
        for name in ALL
    ),
    *(
        Claim(
            f"σ of one pilot of 256, {WORDS[name]}",
            "σ can be estimated once: 19 of 20 pilots leave alpha within half of itself",
            "steps to add accuracy tests",
            partial(_pilot_trusted, scores=[name]),
            published=True,
            expected="differs" if name == "perplexity" else "reproduced",
            note=TAIL if name == "perplexity" else "",
        )
        for name in ALL
    ),
    Claim(
        "the same prompts",
        "alpha is kept when the check evaluates the prompts of the reference",
        "null hypothesis and alternative hypothesis",
        partial(_level_on_the_same, scores=ALL, method="z"),
        published=True,
        expected="differs",
        note="The runs are paired: the difference varies less than independent runs would have it.",
    ),
    Claim(
        "their level",
        "It is then Φ(Φ⁻¹(alpha)/√(1 - correlation))",
        "theory",
        _level_as_derived,
        published=True,
        note=f"{DERIVED} Of less than 0.001 only that it is less.",
    ),
    Claim(
        "their level at the least n",
        "So it is for all scores already at the least n",
        "theory",
        _level_as_derived_of_few,
        published=True,
        expected="differs",
        note="Of heavy tails a mean of few has a far tail that is not normal.",
    ),
    Claim(
        "paired t",
        "A paired t test keeps alpha on the same prompts",
        "theory",
        partial(_level_on_the_same, scores=ALL, method="paired_t"),
        published=True,
        note=DERIVED,
    ),
    *(
        Claim(
            f"prompts saved, {WORDS[name]}",
            "A paired test needs 1 - correlation of the prompts for as much power",
            "theory",
            partial(_saved, scores=[name]),
            published=True,
            expected="differs" if name == "binary" else "reproduced",
            note="A worse accuracy means prompts that are lost: what is correlated where nothing "
            "has changed is less so then."
            if name == "binary"
            else DERIVED,
        )
        for name in ALL
    ),
    Claim(
        "level given the reference",
        "alpha is the rate of false alarms against the reference that is on record",
        "two-sample t-test",
        _level_given_any,
        published=True,
        expected="differs",
        note="It is the average over references; of one it depends on how lucky that was.",
    ),
    Claim(
        "luck of the reference, normal",
        "It is Φ(√2 Φ⁻¹(alpha) + δ) with a reference δ of its standard errors above the truth",
        "theory",
        partial(_as_luck_says, scores=["normal"]),
        published=True,
        note=DERIVED,
    ),
    *(
        Claim(
            f"luck of the reference, {WORDS[name]}",
            "So it is of these scores, already at the least n",
            "theory",
            partial(_as_luck_says, scores=[name]),
            published=True,
            expected="differs",
            note="Between two redrawn runs skewness cancels; against a fixed one it does not.",
        )
        for name in ("binary", "perplexity")
    ),
)
