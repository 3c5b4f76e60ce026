"""Formulas and statements about sample sizes that need no draws: as printed, and as meant."""

from __future__ import annotations

from functools import partial

import numpy as np

from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import Claim, Finding, WrongValue, decide
from simstudy.documents.stats.classifier_trial import normal_sample_size, trial_power, upper_tail
from simstudy.lazy import special

SENSITIVITIES, MARGINS, BETAS = (0.85, 0.9, 0.95), (0.01, 0.03, 0.05), (0.1, 0.15, 0.2)


def grid_of_sizes(
    sensitivities: tuple[float, ...] = SENSITIVITIES, powers: tuple[float, ...] = ()
) -> Float[np.ndarray, "k b beta"]:
    """The formula over the published grid, at size 0.05."""
    asked = powers or tuple(1 - beta for beta in BETAS)
    k, b, power = np.meshgrid(sensitivities, MARGINS, asked, indexing="ij")
    return np.asarray(normal_sample_size(k, b, power, 0.05))


def _infimum_as_printed(_: Result) -> Finding:
    """The least n with s_A(n) ≥ Φ⁻¹(β), which is the wrong way round: s_A falls with n."""
    sizes = np.arange(1, 1000)
    null, true = (np.sqrt(p * (1 - p)) for p in (0.9, 0.95))
    s_a = (np.sqrt(sizes) * (0.9 - 0.95) + null * special.ndtri(0.95)) / true
    reached = s_a >= special.ndtri(0.2)
    said = f"from n = {sizes[~reached].min()} on it is no longer so"
    return Finding(float(sizes[reached].min()), detail=said)


def _size_of_printed_bound(_: Result) -> Finding:
    """Size of a trial of 184 that rejects above l + σ_l Φ⁻¹(α), as the display begins."""
    bound = 0.9 + np.sqrt(0.9 * 0.1 / 184) * special.ndtri(0.05)
    count = int(np.floor(184 * bound)) + 1
    return Finding(float(upper_tail(count, 184, 0.9)), detail=f"{count} of 184 reject")


def _easier_with_margin(_: Result, *, by_power: bool = False) -> Finding:
    """Whether fewer cases reject a null further away; or, of the rival, for more power."""
    n = grid_of_sizes(powers=(0.8, 0.85, 0.9)) if by_power else grid_of_sizes()
    falls = np.diff(n, axis=2 if by_power else 1) < 0
    return Finding(float(falls.all()), detail=f"n at k = 0.95, beta = 0.1: {n[2, :, 0].round()}")


def _level_of_the_trial(_: Result) -> Finding:
    """Size of the test by the document's own code, which rejects where the p-value is below α."""
    return Finding(float(1 - special.ndtr(special.ndtri(0.95))), detail="α = 0.05")


def _size_against_s0(_: Result) -> Finding:
    """Size of a trial of 184 that holds s_0 itself against s*_0, in place of the share."""
    bound = 0.9 + np.sqrt(0.9 * 0.1 / 184) * special.ndtri(0.95)
    return Finding(float(special.ndtr(-bound)), detail=f"s_0 above {bound:.3f}")


def _most_by_margin(_: Result, factors: tuple[int, ...] = (0, 2)) -> Finding:
    """Whether b moves n by a larger factor, in every row of the grid, than others anywhere."""
    n = grid_of_sizes()
    by = [
        np.maximum(n.take(0, axis), n.take(-1, axis))
        / np.minimum(n.take(0, axis), n.take(-1, axis))
        for axis in range(3)
    ]
    (champion,) = {0, 1, 2} - set(factors)
    others = max(by[axis].max() for axis in factors)
    said = ", ".join(
        f"by {name} {factor.min():.1f} to {factor.max():.1f}"
        for name, factor in zip(("k", "b", "beta"), by, strict=True)
    )
    return decide(by[champion].min() - others, 0.0, said)


def _without_bound(_: Result, factor: float = 2.0) -> Finding:
    """Whether n grows nearly four times each time that b is divided by 2, or by `factor`."""
    margins = 0.01 / factor ** np.arange(8)
    n = np.asarray(normal_sample_size(0.95, margins, 0.8, 0.05))
    grows = n[1:] / n[:-1]
    said = f"n = {n[-1]:,.0f} at b = {margins[-1]:.6f}, {grows[-1]:.3f} times the one before"
    return decide(grows - 3.5, 0.0, said)


def _never_rejected(_: Result, null: float = 0.95) -> Finding:
    """Whether the share of rejections does not grow with n, where the truth is 95%."""
    sizes = np.array([100, 1000, 10_000, 100_000])
    powers = np.asarray(trial_power(sizes, 0.95, null, 0.05, rule="score").power)
    said = ", ".join(f"{value:.3f}" for value in powers)
    return decide(2 * 0.05 - powers.max(), 0.0, f"rejections of 100 to 100,000 cases: {said}")


def _in_the_end(_: Result, margin: float = 0.01) -> Finding:
    """Whether a trial of a million cases all but surely rejects, with a margin below k."""
    power = float(trial_power(1_000_000, 0.95, 0.95 - margin, 0.05, rule="score").power)
    return decide(power - 0.999, 0.0, f"power {power:.4f} with a million cases")


def _must_be_certain(_: Result) -> Finding:
    """Whether k - l = 95% leaves no k but 100%: whether 96% against 1% has no sample size."""
    n = float(normal_sample_size(0.96, 0.95, 0.8, 0.05))
    return Finding(float(not np.isfinite(n)), detail=f"96% against 1% takes {np.ceil(n):.0f}")


FORMULAS = (
    Claim(
        "infimum of n*", "n* is the least n for which s_A(n) is at least Φ⁻¹(β)", "section 3",
        _infimum_as_printed, published=184, expected="differs",
        misprint=True,
        note="It is the least n with s_A(n) at most that, as the closed form below it has it.",
    ),
    Claim(
        "critical value in the display",
        "The first line has the trial reject above l + σ_l Φ⁻¹(α), at size α", "section 3",
        _size_of_printed_bound, published=0.05, difference=0.02, expected="differs",
        misprint=True,
        note="The next line, and s*_0 before it, have Φ⁻¹(1 - α): that is meant.",
    ),
    Claim(
        "level of the test", "The trial rejects at the (1 - α)% level", "section 3",
        _level_of_the_trial, published=0.95, expected="differs", misprint=True,
        note="α = 5% is the level: the critical value has Φ⁻¹(1 - α).",
    ),
    Claim(
        "critical value of s_0", "s*_0 = l + σ_l Φ⁻¹(1 - α) is the value at which s_0 rejects",
        "section 3", _size_against_s0, published=0.05, difference=0.02, expected="differs",
        misprint=True,
        note="It is that of the observed sensitivity; s_0 is standardised, and rejects above "
        "Φ⁻¹(1 - α), as the code has it.",
    ),
    Claim(
        "larger margin", "The null is easier to reject with a larger margin b", "section 3",
        _easier_with_margin, published=True,
        wrong_value=WrongValue("more power", partial(_easier_with_margin, by_power=True)),
    ),
    Claim(
        "the margin counts most", "Of k, beta and b it is b that moves n most", "figure 5",
        _most_by_margin, published=True,
        wrong_value=WrongValue("beta", partial(_most_by_margin, factors=(0, 1))),
    ),
    Claim(
        "no free lunch", "A margin that goes to 0 takes a number of cases without bound",
        "section 3", _without_bound, published=True,
        wrong_value=WrongValue("a margin that stays", partial(_without_bound, factor=1.0)),
        criterion="3.5 times as many for half the margin",
    ),
    Claim(
        "margin of 0", "With l = k the null is not rejected more often as cases are added",
        "section 3", _never_rejected, published=True,
        wrong_value=WrongValue("l = 90%", partial(_never_rejected, null=0.9)),
        criterion="twice the size, up to 100,000 cases",
    ),
    Claim(
        "margin above 0", "With l < k enough cases lead to a rejection", "section 3",
        _in_the_end, published=True,
        wrong_value=WrongValue("no margin", partial(_in_the_end, margin=0.0)),
        criterion="a power of 99.9% with a million cases",
    ),
    Claim(
        "lower bound of margins", "If k - l = 95%, then k = 100%", "section 3", _must_be_certain,
        published=True, expected="differs", misprint=True,
        note="As printed k - l is the margin. Meant is l = 95% with a margin of 5%, and then it "
        "is so.",
    ),
)  # fmt: skip
