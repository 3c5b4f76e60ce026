"""Checks of shares of failing checks, for the claims of `accuracy_regression`.

A rate differs if it is half a percent off, a variance if it is a twentieth off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.accuracy_regression.figures import POINTS, TARGETS, like, same_prompts, sizes_of
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import (
    Finding,
    cautious_binomial_error,
    decide,
    matches,
    mc_limit,
)
from simstudy.design.plan import factors_of
from simstudy.documents.scenarios.accuracy import (
    METHODS,
    SIGMA_LIMIT,
    AccuracyCheck,
    document_counts,
)
from simstudy.documents.stats.accuracy import design
from simstudy.lazy import special

HALF_A_PERCENT = 0.005  # share of checks: a tenth of α, Bradley's (1978) stringent limit
TWENTIETH = 0.05  # relative, for a variance: moves a level of 5% by less than half a percent
PAIRED = ("mcnemar", "mcnemar_mid_p", "paired_z", "paired_t")
Checks = Sequence[AccuracyCheck]
PerCheck = Float[np.ndarray, " check"]


# ---------------------------------------------------------------- what was found
def asked(result: Result, **where: float) -> list[AccuracyCheck]:
    """The scenarios with these factors and the document's levels."""
    return like(result, alpha=0.05, beta=0.2, **where)


def one_half(result: Result, effect: float = 0.0) -> AccuracyCheck:
    """The scenario most favourable to the formulas: most prompts, and σ = 1/2 is true."""
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
) -> Finding:
    """The share of checks that fail."""
    row = _row(result, choose(result), "rejection_rate", method=method)
    error = cautious_binomial_error(row["estimate"], row["n_rep"])
    return Finding(
        row["estimate"], float(error), f"exactly {row['exact']:.4f}", float(row["n_rep"])
    )


def passing(result: Result, choose: Callable[[Result], AccuracyCheck]) -> Finding:
    """The share of checks that the document's test lets pass."""
    found = failing(result, choose)
    exact = _row(result, choose(result), "rejection_rate", method="document")["exact"]
    return Finding(1 - found.value, found.mcse, f"exactly {1 - exact:.4f}", found.n_rep)


def _row(result: Result, check: AccuracyCheck, measure: str, **where: str) -> Any:
    return result.row(measure, **where, **factors_of(check))


def _shares(result: Result, checks: Checks, method: str) -> tuple[PerCheck, PerCheck]:
    """The shares that fail, and the Monte Carlo margin of each."""
    rows = [_row(result, check, "rejection_rate", method=method) for check in checks]
    share, n_rep = (np.array([row[name] for row in rows], float) for name in ("estimate", "n_rep"))
    return share, mc_limit(len(rows)) * cautious_binomial_error(share, n_rep)


# ---------------------------------------------------------------- the formulas
def variance(result: Result, choose: Callable[[Result], AccuracyCheck]) -> Finding:
    """The variance of the difference over 2σ²/n with the true σ."""
    check = choose(result)
    sigma = np.sqrt(check.accuracy * (1 - check.accuracy))
    formula = float(design.standard_error(sigma, check.n)) ** 2
    found = _squared_spread(result, check)
    exact = _row(result, check, "empirical_se")["exact"] ** 2 / formula
    return found._replace(
        value=found.value / formula, mcse=found.mcse / formula, detail=f"exactly {exact:.4f}"
    )


def variance_over_sigma(result: Result) -> Finding:
    """The variance of one score over the σ that √(2σ²/n) needs, both from the difference's."""
    check = one_half(result)
    found = _squared_spread(result, check)
    sigma = float(np.sqrt(found.value * check.n / 2))
    detail = f"a variance of {sigma**2:.4f} and a standard deviation of {sigma:.4f}"
    mcse = sigma * found.mcse / (2 * found.value)
    return found._replace(value=sigma, mcse=mcse, detail=detail)


def _squared_spread(result: Result, check: AccuracyCheck) -> Finding:
    """The variance of the difference of accuracies, with an error that is large for few replicates.

    The error by the influence function is estimated from the same replicates, and is 0 for two of
    them. The error for a normal difference, √(2/(n - 1)) times the variance, is known. The larger
    of the two is used.
    """
    row = _row(result, check, "empirical_se")
    spread, n_rep = row["estimate"], float(row["n_rep"])
    by_theory = spread / np.sqrt(2 * (n_rep - 1)) if n_rep > 1 else np.inf
    return Finding(spread**2, 2 * spread * np.fmax(row["mcse"], by_theory), n_rep=n_rep)


def below_reference(result: Result, upper: bool = False) -> Finding:
    """Whether every reference passes a check that is as good; `upper` takes the other quantile."""
    checks = {check.n: check for check in result.plan.scenarios}.values()
    levels = {c.n: 1 - c.alpha if upper else c.alpha for c in checks}
    below = [(document_counts(n, alpha) < np.arange(n + 1)).all() for n, alpha in levels.items()]
    sigma = POINTS * SIGMA_LIMIT
    said = ", ".join(
        f"{design.threshold(0.0, alpha, design.standard_error(sigma, n)):.2f} at n = {n}"
        for n, alpha in levels.items()
    )
    return Finding(float(all(below)), detail=f"γ less x̄, in points: {said}")


def is_t_test(result: Result) -> Finding:
    """Whether both tests fail the very same checks."""
    check = far_from_one_half(result)
    same = _same_decisions(check, "document", "estimated")
    found = [failing(result, far_from_one_half, method) for method in ("document", "estimated")]
    detail = "σ as assumed {:.4f}, estimated {:.4f}".format(*(share.value for share in found))
    return Finding(float(same), detail=f"share that fails at accuracy 0.9: {detail}")


def _same_decisions(check: AccuracyCheck, first: str, second: str) -> bool:
    """Whether two tests agree on every reference and check."""
    right = check.critical.right
    return bool((right[:, METHODS.index(first)] == right[:, METHODS.index(second)]).all())


def at_or_below(result: Result, at: str, below: str) -> Finding:
    checks = like(result, effect=0.0, accuracy=0.5, correlation=0.0, quantile=0.0)
    same = all(_same_decisions(check, at, below) for check in checks)
    said = ", ".join(
        f"{_row(result, check, 'rejection_rate', method=at)['estimate']:.4f} and "
        f"{_row(result, check, 'rejection_rate', method=below)['estimate']:.4f} at n = {check.n}"
        for check in checks
    )
    return Finding(float(same), detail=f"share that fails at or below, and below: {said}")


def least_size(result: Result) -> Finding:
    sizes = [sizes_of(target, result.plan.scenarios[0]) for target in TARGETS]
    said = "; ".join(size["words"] for size in sizes)
    same = all(size["least"] == size["doubled"] for size in sizes)
    return Finding(float(same), detail=f"in points: {said}")


def least_of_all(_: Result, by: str = "least") -> Finding:
    """Whether a size is enough for θ and one prompt less is not, for each target."""
    asked = (0.05, 0.2, SIGMA_LIMIT)
    said, least = [], []
    for target in TARGETS:
        find = design.sample_size if by == "least" else design.doubled_sample_size
        n = int(find(target / POINTS, *asked))
        errors = [design.standard_error(SIGMA_LIMIT, size) for size in (n, n - 1)]
        effects = [float(design.detectable_effect(0.05, 0.2, error)) for error in errors]
        least.append(effects[0] <= target / POINTS < effects[1])
        said.append(f"{n:,} for {target:g}")
    return Finding(float(all(least)), detail=f"in points: {', '.join(said)}")


def all_of_theta(_: Result, turned: bool = False) -> Finding:
    """Largest relative distance of both printed forms from ours, and whether θ > 0, on a grid."""
    rates = np.array([0.01, 0.05, 0.2, 0.4])
    alpha, beta = (rate.ravel() for rate in np.meshgrid(rates, rates))
    error = np.sqrt(2 * 0.5**2 / 100)
    ours = np.asarray(design.detectable_effect(alpha, beta, error))
    lower = special.ndtri(1 - alpha if turned else alpha)
    forms = [(special.ndtri(1 - beta) - lower) * error, -(lower + special.ndtri(beta)) * error]
    off = max(float(np.abs(form / ours - 1).max()) for form in forms)
    least = min(float(form.min()) for form in forms)
    return decide([1e-9 - off, least], 0.0, f"largest distance {off:.1e}, least θ {least:.4f}")


# ---------------------------------------------------------------- statements about many scenarios
def conservative(result: Result, method: str = "document") -> Finding:
    """Whether the rate is half a percent or more below α at each accuracy of 0.7 or more."""
    checks = [
        c for c in like(result, effect=0.0, correlation=0.0, quantile=0.0) if c.accuracy >= 0.7
    ]
    share, reach = _shares(result, checks, method)
    excess = np.array([check.alpha for check in checks]) - HALF_A_PERCENT - share
    detail = f"largest of {len(checks)} shares {share.max():.4f}, smallest {share.min():.4f}"
    return decide(excess, reach, everywhere=True, detail=detail)


def by_luck(result: Result, law: Callable[..., Any] = design.level_given_reference) -> Finding:
    """Whether the formula holds for every kept reference, up to the effect of the lattice.

    The threshold of the normal approximation and that between two counts differ by at most half an
    answer, which moves a share by φ(0)/(2σ√n) at most.
    """
    checks = [check for check in like(result, effect=0.0) if check.quantile]
    if not checks:
        raise LookupError("a reference that is used again")
    share, reach = _shares(result, checks, "document")
    luck, n = (np.array([getattr(check, name) for check in checks]) for name in ("luck", "n"))
    distance = np.abs(share - law(checks[0].alpha, luck))
    moved = 1 / (2 * SIGMA_LIMIT * np.sqrt(2 * np.pi * n))
    said = ", ".join(f"{distance[n == size].max():.4f} at n = {size}" for size in np.unique(n))
    lowest, highest = share.min(), share.max()
    detail = f"shares from {lowest:.4f} to {highest:.4f}; largest distance {said}"
    return decide(moved - distance, reach, everywhere=True, detail=detail)


def pairs_keep_level(result: Result, tests: Sequence[str] = PAIRED) -> Finding:
    """Whether levels of tests of pairs are within half of alpha on the same prompts."""
    checks = [check for check in same_prompts(result) if check.effect == 0]
    found = [_shares(result, checks, method) for method in tests]
    share, reach = (np.concatenate(values) for values in zip(*found, strict=True))
    alpha = checks[0].alpha
    detail = f"{len(share)} shares from {share.min():.4f} to {share.max():.4f}"
    return decide(alpha / 2 - np.abs(share - alpha), reach, everywhere=True, detail=detail)


def pairs_find_more(result: Result, test: str = "mcnemar") -> Finding:
    """Whether a test finds θ on the same prompts more often than the document's, everywhere."""
    checks = [check for check in same_prompts(result) if check.effect == 1]
    if not checks:
        raise LookupError("the same prompts with a check that is worse by θ")
    (exact, own), (document, other) = (
        _shares(result, checks, method) for method in (test, "document")
    )
    gain = exact - document
    detail = f"between {gain.min():.4f} and {gain.max():.4f} more, in {len(checks)} scenarios"
    return decide(gain, np.hypot(own, other), everywhere=True, detail=detail)


def as_enumerated(result: Result, shift: int = 0) -> Finding:
    """Whether shares equal the exact ones; `shift` moves the exact ones, for a rival.

    The margin is half a percent, a tenth of α; for shares above twice α it is one percent.
    """
    rows = result.summary[result.summary["measure"] == "rejection_rate"]
    share, n_rep, exact = (rows[name].to_numpy(float) for name in ("estimate", "n_rep", "exact"))
    margin = np.where(exact > 0.1, 2 * HALF_A_PERCENT, HALF_A_PERCENT)
    error = cautious_binomial_error(share, n_rep)
    return matches(share, np.roll(exact, shift), error, margin=np.roll(margin, shift))
