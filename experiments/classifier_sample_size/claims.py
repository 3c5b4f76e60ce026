"""What the document says of a trial's size and power, against exact binomial tails."""

from __future__ import annotations

import numpy as np

from experiments.classifier_sample_size.figures import type_2_errors
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced, binomial_error, largest_deviation
from simstudy.lazy.pandas import pd
from simstudy.lazy.scipy import special
from simstudy.shapes import Float
from simstudy.stats.classifier.trial import normal_sample_size, sample_sizes, trial_power


def _grid_of_sizes() -> Float[np.ndarray, "k b beta"]:
    """The formula over the published grid: (k, margin, beta)."""
    k, b, beta = np.meshgrid([0.85, 0.9, 0.95], [0.01, 0.03, 0.05], [0.1, 0.15, 0.2], indexing="ij")
    return np.asarray(normal_sample_size(k, b, 1 - beta, 0.05))


def _applied_size(_: Result) -> Reproduced:
    n = float(normal_sample_size(0.95, 0.05, 0.8, 0.05))
    return Reproduced(float(np.ceil(n)), detail=f"{n:.2f} before rounding up")


def _printed_formula(_: Result) -> Reproduced:
    """The formula as printed, with k(k − k) where k(1 − k) belongs."""
    value = (np.sqrt(0.9 * 0.1) * special.ndtri(0.95) / 0.05) ** 2
    return Reproduced(float(np.ceil(value)), detail=f"{value:.2f}: the first term vanishes")


def _easier_with_k(_: Result) -> Reproduced:
    n = _grid_of_sizes()
    falls = bool((np.diff(n, axis=0) < 0).all())
    return Reproduced(float(falls), detail=f"n at b = 0.05, beta = 0.2: {_in_words(n[:, 2, 2])}")


def _more_for_less_beta(_: Result) -> Reproduced:
    n = _grid_of_sizes()
    falls = bool((np.diff(n, axis=2) < 0).all())
    return Reproduced(float(falls), detail=f"n at k = 0.95, b = 0.05: {_in_words(n[2, 2])}")


def _in_words(n: Float[np.ndarray, " size"]) -> str:
    return ", ".join(f"{value:.0f}" for value in np.ceil(n))


def _factor(_: Result) -> Reproduced:
    n = _grid_of_sizes()
    factor = n[:, 0] / n[:, 2]
    detail = f"largest of {factor.size}; the smallest is {factor.min():.1f}"
    return Reproduced(float(factor.max()), detail=detail)


def _all_published(result: Result) -> pd.DataFrame:
    rows = type_2_errors(result)
    if len(rows) != 27:
        raise LookupError(f"{len(rows)} designs, not the 27 published ones")
    return rows


def _within_two_points(result: Result) -> Reproduced:
    rows = _all_published(result)
    off = (rows["exact_beta"] - rows["beta"]).abs()
    seen = (rows["beta_hat"] - rows["beta"]).abs()
    worst = rows.iloc[int(off.argmax())]
    return Reproduced(
        float(off.max() <= 0.02),
        detail=f"largest exact deviation {100 * off.max():.2f} points, at {worst['k']}, margin "
        f"{worst['margin']}, beta = {worst['beta']:g}; simulated {100 * seen.max():.2f}; "
        f"{int((off > 0.02).sum())} of {len(rows)} designs beyond 2 points",
    )


def _drawn_as_exact(result: Result) -> Reproduced:
    rows = _all_published(result)
    error = binomial_error(rows["exact"], rows["n_rep"])
    detail = f"largest of {len(rows)} deviations {{:.2f}} MCSE"
    return largest_deviation(rows["estimate"], rows["exact"], error, detail=detail)


def _axes_are_power(result: Result) -> Reproduced:
    rows = _all_published(result)
    detail = f"plotted values from {rows['beta_hat'].min():.3f} to {rows['beta_hat'].max():.3f}"
    return Reproduced(float(rows["beta_hat"].min() > 0.5), detail=detail)


def _power_at_184(_: Result) -> Reproduced:
    known = trial_power(184, 0.95, 0.9, 0.05, rule="score")
    sizes = sample_sizes(0.95, 0.05, 0.8, 0.05, rule="score")
    return Reproduced(
        float(known.power),
        detail=f"exact: {known.critical} of 184 reject; size {float(known.size):.4f}; 80% is first "
        f"reached at n = {sizes.first} and never lost from n = {sizes.forever}",
    )


def _only_certainty(_: Result) -> Reproduced:
    k, margin = 0.97, 0.95
    possible = 0 < k - margin < k < 1
    return Reproduced(float(not possible), detail=f"k = {k} with l = {k - margin:.2f} is another")


CLAIMS = (
    Claim(
        "sample size", "184 positive cases for k = 95%, l = 90%, 5% size and 80% power",
        "section 4", _applied_size, published=184,
    ),
    Claim(
        "formula of n*", "The same number, by the formula as printed", "section 3",
        _printed_formula, published=184, expected="differs",
        note="It has k(k - k) for k(1 - k); the document's code is right.",
    ),
    Claim("easier with k", "A larger k needs fewer cases", "figure 5", _easier_with_k,
          published=True),
    Claim("beta", "A smaller beta needs more cases", "figure 5", _more_for_less_beta,
          published=True),
    Claim(
        "a factor of 30", "From a margin of 1% to one of 5%, n falls by a factor of 30",
        "section 3", _factor, published=30, rounding=0.5, expected="differs",
        note="18 to 23 on the document's own grid.",
    ),
    Claim(
        "out of reach", "If k - l = 95% then k has to be 100%", "section 3", _only_certainty,
        published=True, expected="differs",
        note="What is out of reach is a null of l = 95% with a margin of 5%: it leaves k = 100%.",
    ),
    Claim(
        "within 2 points", "The actual power is within 2% of the target", "section 3, figure 6",
        _within_two_points, published=True, expected="differs",
        note="Nearly: exactly, one of the 27 designs is 2.1 points off, and the others within 2.",
    ),
    Claim(
        "figure 6", "The simulated type-II errors", "figure 6", _drawn_as_exact, published=True,
        note="The document prints no numbers: ours are held against the exact ones.",
    ),
    Claim(
        "axes of figure 6", "Figure 6 shows predicted and actual power", "figure 6",
        _axes_are_power, published=True, expected="differs",
        note="It shows type-II errors, between 5% and 25%.",
    ),
    Claim(
        "power at n = 184", "184 cases give a power of 80%", "sections 3 and 4", _power_at_184,
        published=0.8, rounding=0.005, expected="differs",
        note="The power of a binomial test is a sawtooth in n, and 184 lies low on a tooth.",
    ),
)  # fmt: skip
