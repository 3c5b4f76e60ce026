"""What the document says of its test, against shares of checks that fail.

Where Monte Carlo error could turn a verdict there is none: the statement needs more replicates than
the run has, and none can hold, or differ, for want of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.accuracy_regression.figures import POINTS, TARGETS, like, same_prompts, sizes_of
from simstudy.analysis.result import Result
from simstudy.claims import (
    CLOSE_Z,
    Claim,
    Reproduced,
    binomial_error,
    cautious_binomial_error,
    chance_limit,
    decided,
    settled,
)
from simstudy.lazy.scipy import special
from simstudy.plan import factors_of
from simstudy.shapes import Float
from simstudy.stats.accuracy import design
from simstudy.trials.accuracy import LARGEST_SIGMA, METHODS, AccuracyCheck

PERCENT = 0.005  # half a unit of the last digit of "0.05"
TENTH = 0.05  # of "0.2"
TWENTIETH = 0.05  # of a variance: it moves a level of 5% by less than half a percent
PAIRED = ("mcnemar", "mcnemar_mid_p", "paired_z", "paired_t")
Checks = Sequence[AccuracyCheck]
PerCheck = Float[np.ndarray, " check"]


# ---------------------------------------------------------------- what was found
def asked(result: Result, **where: float) -> list[AccuracyCheck]:
    """The scenarios with these factors and the document's levels."""
    return like(result, alpha=0.05, beta=0.2, **where)


def one_half(result: Result, effect: float = 0.0) -> AccuracyCheck:
    """Where the formulas should be at their best: most prompts, and σ = 1/2 is true."""
    chosen = asked(result, effect=effect, accuracy=0.5, correlation=0.0, quantile=0.0)
    return max(chosen, key=lambda check: check.n)


def far_from_one_half(result: Result, effect: float = 0.0) -> AccuracyCheck:
    """The most prompts at an accuracy of 0.9."""
    chosen = asked(result, effect=effect, accuracy=0.9, correlation=0.0, quantile=0.0)
    return max(chosen, key=lambda check: check.n)


def of_same_prompts(result: Result, effect: float = 0.0) -> AccuracyCheck:
    """Prompts whose answers correlate by 0.6, at an accuracy of one half, where σ = 1/2 is true."""
    return asked(result, effect=effect, accuracy=0.5, correlation=0.6)[0]


def of_one_reference(result: Result, quantile: float) -> AccuracyCheck:
    """One reference at a quantile of its binomial, with the most prompts."""
    return max(asked(result, effect=0.0, quantile=quantile), key=lambda check: check.n)


def failing(
    result: Result, choose: Callable[[Result], AccuracyCheck], method: str = "document"
) -> Reproduced:
    """The share of checks that fail."""
    row = _row(result, choose(result), "rejection_rate", method=method)
    error = cautious_binomial_error(row["estimate"], row["n_rep"])
    return Reproduced(
        row["estimate"], float(error), f"exactly {row['exact']:.4f}", float(row["n_rep"])
    )


def passing(result: Result, choose: Callable[[Result], AccuracyCheck]) -> Reproduced:
    """The share of checks that the document's test lets pass."""
    found = failing(result, choose)
    exact = _row(result, choose(result), "rejection_rate", method="document")["exact"]
    return Reproduced(1 - found.value, found.mcse, f"exactly {1 - exact:.4f}", found.n_rep)


def _row(result: Result, check: AccuracyCheck, measure: str, **where: str) -> Any:
    return result.value(measure, **where, **factors_of(check))


def _shares(result: Result, checks: Checks, method: str) -> tuple[PerCheck, PerCheck]:
    """The shares that fail, and how far chance reaches from each."""
    rows = [_row(result, check, "rejection_rate", method=method) for check in checks]
    share, n_rep = (np.array([row[name] for row in rows], float) for name in ("estimate", "n_rep"))
    return share, chance_limit(len(rows)) * cautious_binomial_error(share, n_rep)


# ---------------------------------------------------------------- what decides
def number(
    name: str,
    statement: str,
    source: str,
    reproduce: Callable[[Result], Reproduced],
    published: float,
    rounding: float,
    expected: str = "reproduced",
    note: str = "",
) -> Claim:
    """A claim of a number, with a verdict only where replicates are enough for it."""

    def sure(result: Result) -> Reproduced:
        return settled(reproduce(result), published, rounding)

    return Claim(name, statement, source, sure, published, rounding, expected=expected, note=note)


# ---------------------------------------------------------------- the formulas
def _variance(result: Result, choose: Callable[[Result], AccuracyCheck]) -> Reproduced:
    """The variance of the difference over 2σ²/n with the true σ."""
    check = choose(result)
    sigma = np.sqrt(check.accuracy * (1 - check.accuracy))
    formula = float(design.standard_error(sigma, check.n)) ** 2
    found = _squared_spread(result, check)
    exact = _row(result, check, "empirical_se")["exact"] ** 2 / formula
    return found._replace(
        value=found.value / formula, mcse=found.mcse / formula, detail=f"exactly {exact:.4f}"
    )


def _sigma_in_points(result: Result) -> Reproduced:
    """The variance of one score, from that of the difference, in points squared."""
    check = one_half(result)
    found, each = _squared_spread(result, check), POINTS**2 * check.n / 2
    variance = each * found.value
    detail = f"and a standard deviation of {np.sqrt(variance):.2f}"
    return found._replace(value=variance, mcse=each * found.mcse, detail=detail)


def _squared_spread(result: Result, check: AccuracyCheck) -> Reproduced:
    """The variance of the difference of accuracies, with an error that few replicates leave large.

    The influence function's error is estimated from the same replicates, and is 0 of two of them;
    a normal difference's, √(2/(n - 1)) of the variance, is known and holds where it is larger.
    """
    row = _row(result, check, "empirical_se")
    spread, n_rep = row["estimate"], float(row["n_rep"])
    by_theory = spread / np.sqrt(2 * (n_rep - 1)) if n_rep > 1 else np.inf
    return Reproduced(spread**2, 2 * spread * max(row["mcse"], by_theory), n_rep=n_rep)


def _below_reference(result: Result) -> Reproduced:
    checks = {check.n: check for check in result.plan.scenarios}.values()
    margins = [design.threshold(0.0, c.alpha, LARGEST_SIGMA, c.n) for c in checks]
    said = ", ".join(f"{POINTS * m:.2f} at n = {c.n}" for m, c in zip(margins, checks, strict=True))
    return Reproduced(float(max(margins) < 0), detail=f"γ less x̄, in points: {said}")


def _is_t_test(result: Result) -> Reproduced:
    """Whether both tests fail the very same checks."""
    check = far_from_one_half(result)
    same = _same_decisions(check, "document", "estimated")
    found = [failing(result, far_from_one_half, method) for method in ("document", "estimated")]
    detail = "σ as assumed {:.4f}, estimated {:.4f}".format(*(share.value for share in found))
    return Reproduced(float(same), detail=f"share that fails at accuracy 0.9: {detail}")


def _same_decisions(check: AccuracyCheck, first: str, second: str) -> bool:
    """Whether two tests agree on every reference and check."""
    right = check.critical.right
    return bool((right[:, METHODS.index(first)] == right[:, METHODS.index(second)]).all())


def _at_or_below(result: Result, at: str, below: str) -> Reproduced:
    checks = like(result, effect=0.0, accuracy=0.5, correlation=0.0, quantile=0.0)
    same = all(_same_decisions(check, at, below) for check in checks)
    said = ", ".join(
        f"{_row(result, check, 'rejection_rate', method=at)['estimate']:.4f} and "
        f"{_row(result, check, 'rejection_rate', method=below)['estimate']:.4f} at n = {check.n}"
        for check in checks
    )
    return Reproduced(float(same), detail=f"share that fails at or below, and below: {said}")


def _least_size(result: Result) -> Reproduced:
    sizes = [sizes_of(target, result.plan.scenarios[0]) for target in TARGETS]
    said = "; ".join(size["words"] for size in sizes)
    same = all(size["least"] == size["doubled"] for size in sizes)
    return Reproduced(float(same), detail=f"in points: {said}")


# ---------------------------------------------------------------- statements about many scenarios
def _conservative(result: Result) -> Reproduced:
    """Whether α is kept with room to spare wherever the accuracy is 0.7 or more."""
    checks = [
        c for c in like(result, effect=0.0, correlation=0.0, quantile=0.0) if c.accuracy >= 0.7
    ]
    share, reach = _shares(result, checks, "document")
    excess = np.array([check.alpha for check in checks]) - share
    detail = f"largest of {len(checks)} shares {share.max():.4f}, smallest {share.min():.4f}"
    return decided(excess, reach, everywhere=True, detail=detail)


def _by_luck(result: Result) -> Reproduced:
    """Whether the formula holds for every kept reference, to what the lattice can move it.

    The normal law has a threshold anywhere, the lattice one between two counts: at most half a
    right answer apart, which moves a share by φ(0)/(2σ√n) at most.
    """
    checks = [check for check in like(result, effect=0.0) if check.quantile]
    if not checks:
        raise LookupError("a reference that is used again")
    share, reach = _shares(result, checks, "document")
    luck, n = (np.array([getattr(check, name) for check in checks]) for name in ("luck", "n"))
    distance = np.abs(share - design.level_given_reference(checks[0].alpha, luck))
    moved = 1 / (2 * LARGEST_SIGMA * np.sqrt(2 * np.pi * n))
    said = ", ".join(f"{distance[n == size].max():.4f} at n = {size}" for size in np.unique(n))
    lowest, highest = share.min(), share.max()
    detail = f"shares from {lowest:.4f} to {highest:.4f}; largest distance {said}"
    return decided(moved - distance, reach, everywhere=True, detail=detail)


def _pairs_keep_level(result: Result) -> Reproduced:
    """Whether tests of pairs have at most half of alpha to spare on the same prompts."""
    checks = [check for check in same_prompts(result) if check.effect == 0]
    found = [_shares(result, checks, method) for method in PAIRED]
    share, reach = (np.concatenate(values) for values in zip(*found, strict=True))
    alpha = checks[0].alpha
    detail = f"{len(share)} shares from {share.min():.4f} to {share.max():.4f}"
    return decided(alpha / 2 - np.abs(share - alpha), reach, everywhere=True, detail=detail)


def _pairs_find_more(result: Result) -> Reproduced:
    """Whether McNemar's exact test finds θ on the same prompts more often, in each scenario."""
    checks = [check for check in same_prompts(result) if check.effect == 1]
    if not checks:
        raise LookupError("the same prompts with a check that is worse by θ")
    (exact, own), (document, other) = (
        _shares(result, checks, method) for method in ("mcnemar", "document")
    )
    gain = exact - document
    detail = f"between {gain.min():.4f} and {gain.max():.4f} more, in {len(checks)} scenarios"
    return decided(gain, np.hypot(own, other), everywhere=True, detail=detail)


def _as_enumerated(result: Result) -> Reproduced:
    """Whether the counts of checks that fail are what their exact probabilities allow."""
    rows = result.summary[result.summary["measure"] == "rejection_rate"]
    n, exact = rows["n_rep"].to_numpy(int), rows["exact"].to_numpy(float).clip(0, 1)
    if (CLOSE_Z * binomial_error(0.5, n)).max() > PERCENT:
        raise LookupError("replicates enough to tell shares half a percent apart")
    count = np.rint(rows["estimate"].to_numpy(float) * n)
    below = special.bdtr(count, n, exact)
    above = np.where(count > 0, special.bdtrc(np.maximum(count - 1, 0), n, exact), 1.0)
    rarest = float(np.minimum(below, above).min())
    limit = float(special.ndtr(-chance_limit(len(rows))))
    said = f"of {len(rows)} counts the rarest has a tail of {rarest:.1e}"
    return Reproduced(float(rarest > limit), detail=f"{said}; chance explains {limit:.1e}")


METHODOLOGY = "hypothesis testing methodology"
T_TEST = "two-sample t-test"
STEPS = "steps to add accuracy tests"
DERIVED = "Derived, and not stated by the document."

CLAIMS = (
    # ------------------------------------------------------------ where the document is right
    number(
        "alpha", "A check of an unchanged model fails with probability 0.05", T_TEST,
        partial(failing, choose=one_half), published=0.05, rounding=PERCENT,
        note="Averaged over references, at an accuracy of one half and the largest n.",
    ),
    number(
        "beta", "A check of a model that is worse by θ passes with probability 0.2", T_TEST,
        partial(passing, choose=partial(one_half, effect=1.0)), published=0.2, rounding=TENTH,
        note="Averaged over references, at an accuracy of one half and the largest n.",
    ),
    number(
        "spread", "The difference has the variance 2σ²/n", T_TEST,
        partial(_variance, choose=one_half), published=1.0, rounding=TWENTIETH,
        note="Its variance over the formula's, on different prompts, to a twentieth.",
    ),
    Claim(
        "threshold", "γ lies below the reference", T_TEST, _below_reference, published=True,
    ),
    Claim(
        "at the threshold", "A check fails at γ or below, or only below: the two are one test",
        T_TEST, partial(_at_or_below, at="document", below="document_strict"), published=True,
        note="The document has P(x̄' ≤ γ), its code fails strictly below. As computed, γ is on no "
        "lattice: Φ⁻¹(α)·√(n/2) is never whole.",
    ),
    # ------------------------------------------------------------ where it is off
    Claim(
        "at a rounded threshold", "The same, with γ rounded to a number of right answers", T_TEST,
        partial(_at_or_below, at="rounded", below="rounded_strict"), published=True,
        expected="differs", note="So a threshold that is rounded must say which is meant.",
    ),
    number(
        "sigma", "The variance of a score is σ, which is 50 points", METHODOLOGY,
        _sigma_in_points, published=50.0, rounding=0.5, expected="differs",
        note="It is σ², and σ a standard deviation, as its own √(2σ²/n) has it.",
    ),
    Claim(
        "t test", "The test is the two-sample t test", T_TEST, _is_t_test, published=True,
        expected="differs", note="It is a z test with a known σ.",
    ),
    number(
        "alpha given the reference", "With the reference that is on record α is 0.05", T_TEST,
        partial(failing, choose=partial(of_one_reference, quantile=0.5)), published=0.05,
        rounding=PERCENT, expected="differs",
        note="α is an average over references. The reference is typical: at its truth.",
    ),
    number(
        "alpha given a lucky reference", "The same, where the reference is at its 95% quantile",
        T_TEST, partial(failing, choose=partial(of_one_reference, quantile=0.95)), published=0.05,
        rounding=PERCENT, expected="differs",
    ),
    number(
        "spread on the same prompts", "The variance is 2σ²/n on the same prompts too", STEPS,
        partial(_variance, choose=of_same_prompts), published=1.0, rounding=TWENTIETH,
        expected="differs", note="It is 2(1 - ρ)σ²/n. Drawn with a correlation ρ of 0.6.",
    ),
    number(
        "alpha on the same prompts", "α is 0.05 on the same prompts too", STEPS,
        partial(failing, choose=of_same_prompts), published=0.05, rounding=PERCENT,
        expected="differs", note="A correlation of 0.6, averaged over references.",
    ),
    number(
        "beta on the same prompts", "β is 0.2 at θ on the same prompts too", STEPS,
        partial(passing, choose=partial(of_same_prompts, effect=1.0)), published=0.2,
        rounding=TENTH, expected="differs", note="A correlation of 0.6: θ is pessimistic.",
    ),
    number(
        "alpha away from one half", "α is 0.05 with σ = 50 at an accuracy of 0.9", STEPS,
        partial(failing, choose=far_from_one_half), published=0.05, rounding=PERCENT,
        expected="differs", note="The true σ is 30 points there.",
    ),
    number(
        "beta away from one half", "β is 0.2 at θ with σ = 50 at an accuracy of 0.9", STEPS,
        partial(passing, choose=partial(far_from_one_half, effect=1.0)), published=0.2,
        rounding=TENTH, expected="differs",
    ),
    Claim(
        "least n", "Going from small n to large finds the least that is enough", STEPS,
        _least_size, published=True, expected="differs",
        note="Its code doubles n, from 32 on.",
    ),
    # ------------------------------------------------------------ beyond it
    Claim(
        "conservative", "σ = 50 keeps α with room to spare from an accuracy of 0.7 on", STEPS,
        _conservative, published=True, note=DERIVED,
    ),
    Claim(
        "by luck", "Given a reference α is Φ(√2 Φ⁻¹(α) + δ), to half a right answer", T_TEST,
        _by_luck, published=True, note=DERIVED,
    ),
    Claim(
        "pairs keep alpha", "Tests of pairs have 0.025 to 0.075 for α on the same prompts", STEPS,
        _pairs_keep_level, published=True,
        note=f"{DERIVED} The liberal limits of Bradley (1978), Br. J. Math. Stat. Psychol. 31.",
    ),
    Claim(
        "pairs find more", "On the same prompts McNemar's exact test finds θ more often", STEPS,
        _pairs_find_more, published=True, note=DERIVED,
    ),
    Claim(
        "as enumerated", "Simulated shares are those that enumeration gives", "all scenarios",
        _as_enumerated, published=True, note=DERIVED,
    ),
)  # fmt: skip
