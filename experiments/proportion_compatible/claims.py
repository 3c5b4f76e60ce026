"""What document 001 states of its measures, and what they are, against `proportion_compatible`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.proportion_compatible.figures import FISHER, without_noise
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced, average, chance_limit, decided, settled
from simstudy.errors import first_few
from simstudy.lazy.scipy import special
from simstudy.plan import factors_of
from simstudy.shapes import Float
from simstudy.stats.compatible.false_discovery import PRINTED_RATIO, later_ranks
from simstudy.trials.proportions import Proportion

DOCUMENT_N = 168
SUFFICES = ("cfdr_clipped", "rfdr")
FLOOR, FLOOR_ROUNDING = 63 / DOCUMENT_N, 0.0005
NOISY = 2.0  # variance 1 + 3: residual noise √3 times as wide as what the distributions hold


# ---------------------------------------------------------------- what was found
def scenarios(result: Result, keep: Callable[[Proportion], bool]) -> list[Proportion]:
    """Those with the document's number of predictions; LookupError where there are none."""
    found = [
        trial for trial in result.plan.scenarios if trial.n_prediction == DOCUMENT_N and keep(trial)
    ]
    if not found:
        raise LookupError(f"lists of {DOCUMENT_N} p-values as this statement needs them")
    return found


def independent(trial: Proportion) -> bool:
    return trial.correlation == 0


def perfect(trial: Proportion) -> bool:
    """Whether every prediction is compatible, independently."""
    return independent(trial) and trial.null_share == 1


def estimates(result: Result, trial: Proportion, estimator: str) -> Float[np.ndarray, " rep"]:
    """What one estimator says of each list."""
    at = result.plan.axes["estimator"].index(estimator)
    return np.asarray(result.columns(trial, "estimate")["estimate"][:, at])


# ---------------------------------------------------------------- statements
def _of_a_perfect_model(
    result: Result, estimator: str, published: float = 1.0, rounding: float = 0.0
) -> Reproduced:
    (trial,) = scenarios(result, perfect)
    return settled(average(estimates(result, trial, estimator)), published, rounding)


def _floor(result: Result) -> Reproduced:
    """The least RFDR of all lists: below the floor it refutes it, above it says nothing."""
    trials = scenarios(result, lambda _: True)
    least = min(float(estimates(result, trial, "rfdr").min()) for trial in trials)
    later = later_ranks(DOCUMENT_N, PRINTED_RATIO)
    beyond = int((later > DOCUMENT_N).sum())
    if least > FLOOR + FLOOR_ROUNDING:
        raise LookupError(f"a list at the floor, and the least RFDR of these is {least:.4g}")
    return Reproduced(least, detail=f"{beyond} of {DOCUMENT_N} ranks have no later one")


def _orders_differ(result: Result) -> Reproduced:
    """Printed CFDR of a perfect model, by NFDR less by p, paired."""
    (trial,) = scenarios(result, perfect)
    first, second = (estimates(result, trial, name) for name in ("cfdr", "cfdr_by_p"))
    gap = average(first - second)
    said = f"mean difference {gap.value:.4f} ± {2 * gap.mcse:.4f}"
    detail = f"{said}, in {(first != second).mean():.0%} of lists"
    return decided([gap.value], chance_limit() * gap.mcse, detail)


def _exact_means(result: Result) -> Reproduced:
    """Biases of all estimators that theory knows, in all independent scenarios.

    What is beyond the normal's limit and within that of Student's t decides nothing: the errors
    themselves are estimates.
    """
    rows = result.summary
    rows = rows[(rows["measure"] == "bias") & rows["exact"].notna() & (rows["mcse"] > 0)]
    if rows.empty:
        raise LookupError("independent p-values")
    z = np.abs(rows["estimate"] - rows["exact"]) / rows["mcse"]
    said = f"largest of {len(rows)} deviations {z.max():.2f} MCSE"
    least = chance_limit(len(z))
    if (z < least).all():
        return Reproduced(1.0, detail=said)
    if (z < -special.stdtrit(rows["n_rep"] - 1, special.ndtr(-least))).all():
        raise LookupError(f"replicates enough to decide ({said})")
    return Reproduced(0.0, detail=said)


def _suffice(result: Result) -> Reproduced:
    """Whether the better of the two has a smaller error than Storey's estimate everywhere."""
    trials = scenarios(result, lambda trial: independent(trial) and trial.spread == 1)
    z, larger, limit = [], [], chance_limit(len(trials))
    for trial in trials:
        best = min(
            (_rmse(result, trial, name) for name in SUFFICES), key=lambda row: row["estimate"]
        )
        storey = _rmse(result, trial, "storey")
        gap = storey["estimate"] - best["estimate"]
        error = np.hypot(storey["mcse"], best["mcse"])
        z.append(gap / error if error else np.sign(gap) * np.inf if gap else 0.0)
        if z[-1] < -limit:
            where = f"(share {trial.null_share:g}, shift {trial.shift:g})"
            larger.append(f"{best['estimate']:.3f} for {storey['estimate']:.3f} {where}")
    detail = f"larger beyond chance in {len(larger)} of {len(z)} settings: {first_few(larger)}"
    return decided(z, limit, detail)


def _rmse(result: Result, trial: Proportion, estimator: str) -> Any:
    return result.value("rmse", estimator=estimator, **factors_of(trial))


def _noise_lowers(result: Result, names: Sequence[str]) -> Reproduced:
    """Whether each step to a wider spread lowers each of the measures, beyond chance."""
    rows = without_noise(result).sort_values("spread")
    z, said = [], []
    for name in names:
        mine = rows[rows["measure"] == name]
        errors = np.hypot(mine["mcse"].to_numpy()[1:], mine["mcse"].to_numpy()[:-1])
        z += list(-np.diff(mine["estimate"]) / errors)
        said.append(f"{name} {', '.join(f'{value:.3g}' for value in mine['estimate'])}")
    if not z:
        raise LookupError("predictive distributions without residual noise")
    spreads = ", ".join(f"{value:g}" for value in sorted(set(rows["spread"])))
    detail = f"{'; '.join(said)} at spreads {spreads}"
    return decided(z, chance_limit(len(z)), detail)


def _without_noise(result: Result, estimator: str) -> Reproduced:
    (trial,) = scenarios(result, lambda trial: trial.spread == NOISY)
    return settled(average(estimates(result, trial, estimator)), 0.0)


SECTION = "section 4.2"
DERIVED = "derived, and not in the document"
PERFECT = "Of a perfect model with 168 predictions, of which all are compatible"

CLAIMS = (
    *(
        Claim(
            f"perfect model, {words}",
            f"{PERFECT}, the mean {words} estimates 1",
            SECTION,
            partial(_of_a_perfect_model, estimator=estimator),
            published=1.0,
            expected="differs",
            note=note,
        )
        for estimator, words, note in (
            (
                "cfdr",
                "CFDR as printed",
                "Harmonic numbers carry it beyond 1, so the distance from 1 says nothing.",
            ),
            (
                "cfdr_clipped",
                "CFDR clipped at 1",
                "Close, from below: what is clipped at 1 cannot be 1 on average.",
            ),
            ("rfdr", "RFDR", "Close, from below: what is clipped at 1 cannot be 1 on average."),
        )
    ),
    Claim(
        "printed CFDR",
        f"{PERFECT}, the mean CFDR as printed is about 4.6",
        DERIVED,
        partial(_of_a_perfect_model, estimator="cfdr", published=4.6, rounding=0.05),
        published=4.6,
        rounding=0.05,
        note="In the order of p it is 4.55, from theory.",
    ),
    Claim(
        "floor of RFDR",
        "No model's mean RFDR can fall below 63 of 168, however bad it is",
        DERIVED,
        _floor,
        published=FLOOR,
        rounding=FLOOR_ROUNDING,
        note="Ranks above 105 have no later rank and are given 1. The value is the least of all "
        "lists.",
    ),
    Claim(
        "orders differ",
        "Ranks by the NFDR, as printed, and by p, as in the authors' package, differ",
        DERIVED,
        _orders_differ,
        published=True,
        note="Harmonic numbers go with the ranks: ascending rates make the largest sum.",
    ),
    Claim(
        "exact means",
        "Means of CFDR and RFDR in the order of p, and of Storey's estimate, are those of theory",
        DERIVED,
        _exact_means,
        published=True,
    ),
    Claim(
        "two simpler approaches suffice",
        "Complex estimators of the proportion are not needed",
        SECTION,
        _suffice,
        published=True,
        expected="differs",
        note="Taken as: the better of the clipped CFDR and the RFDR has a smaller root mean "
        "squared error than Storey's estimate in every setting, for independent p-values.",
    ),
    Claim(
        "residual noise",
        "A predictive distribution that lacks more residual noise is worse by all three measures",
        "sections 2 and 5.3",
        partial(_noise_lowers, names=(FISHER, "CFDR clipped", "RFDR")),
        published=True,
        note="The document's example 3 lacks it: its distributions hold the spread of the trained "
        "function alone.",
    ),
    Claim(
        "residual noise, CFDR as printed",
        "And by the CFDR as printed",
        "sections 2 and 5.3",
        partial(_noise_lowers, names=("CFDR as printed",)),
        published=True,
    ),
    *(
        Claim(
            f"no prediction is compatible, {words}",
            f"Where no prediction comes from its distribution, {words} estimates 0",
            SECTION,
            partial(_without_noise, estimator=estimator),
            published=0.0,
            expected="differs",
            note="Distributions half as wide as they should be: p-values of what is not compatible "
            "are seldom small enough to show it, one by one.",
        )
        for estimator, words in (("cfdr_clipped", "the clipped CFDR"), ("rfdr", "the RFDR"))
    ),
)
