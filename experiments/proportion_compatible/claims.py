"""Claims of document 001 about its measures, compared with `proportion_compatible`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.proportion_compatible.absolute import ABSOLUTE
from experiments.proportion_compatible.figures import FISHER, MEASURED
from experiments.proportion_compatible.lists import DOCUMENT_N, independent, perfect, scenarios
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import (
    Claim,
    Finding,
    WrongAlternative,
    average,
    decide,
    matches,
    mc_limit,
    mc_margin,
    of_row,
)
from simstudy.design.plan import factors_of
from simstudy.documents.scenarios.proportions import Proportion
from simstudy.documents.stats.compatible import later_ranks
from simstudy.errors import first_few
from simstudy.lazy import pd

SUFFICES = ("cfdr_clipped", "rfdr")
FLOOR, FLOOR_ROUNDING = 63 / DOCUMENT_N, 0.0005
FAR = 6  # predictive standard deviations: no prediction appears compatible
NOISY = 2.0  # variance 1 + 3: residual noise is √3 times as wide as the distributions
HUNDREDTH = 0.01  # absolute for shares, relative above 1
FAR_OFF = 0.05  # a share within this distance of 0 or 1 may be estimated as 0 or 1


# ---------------------------------------------------------------- what was found
def estimates(result: Result, trial: Proportion, estimator: str) -> Float[np.ndarray, " rep"]:
    """The estimates of one estimator, one per list."""
    at = result.plan.axes["estimator"].index(estimator)
    return np.asarray(result.columns(trial, "estimate")["estimate"][:, at])


# ---------------------------------------------------------------- statements
def _of_a_perfect_model(result: Result, estimator: str, n: int = DOCUMENT_N) -> Finding:
    (trial,) = scenarios(result, perfect, n)
    return average(estimates(result, trial, estimator))


def _bias_of_a_perfect_model(result: Result, estimator: str) -> Finding:
    (trial,) = scenarios(result, perfect, DOCUMENT_N)
    found, other = (
        result.row("bias", estimator=name, **factors_of(trial)) for name in (estimator, "rfdr")
    )
    return of_row(found, f"of the mean RFDR {other['estimate']:+.3f}")


def _floor(result: Result, estimator: str = "rfdr") -> Finding:
    """The mean if no prediction is compatible; or the value of a list below the floor."""
    (trial,) = scenarios(
        result, lambda trial: independent(trial) and trial.null_share == 0 and trial.shift >= FAR
    )
    found = estimates(result, trial, estimator)
    beyond = DOCUMENT_N - len(later_ranks(DOCUMENT_N))
    detail = f"least of all lists {found.min():.4f}; {beyond} of {DOCUMENT_N} ranks have no later"
    if found.min() < FLOOR - FLOOR_ROUNDING:
        return Finding(float(found.min()), detail=detail)
    return average(found, detail)


def _orders_differ(result: Result, pair: Sequence[str] = ("cfdr", "cfdr_by_p")) -> Finding:
    """Whether the CFDR of a perfect model differs by a hundredth between orders by NFDR and p."""
    (trial,) = scenarios(result, perfect)
    first, second = (estimates(result, trial, name) for name in pair)
    gap = average(first - second)
    said = f"mean difference {gap.value:.4f} ± {2 * gap.mcse:.4f}"
    detail = f"{said}, in {(first != second).mean():.0%} of lists"
    return decide(abs(gap.value) - HUNDREDTH, mc_margin(gap.mcse, gap.n_rep), detail)


def _exact_means(result: Result, instead: Mapping[str, str] | None = None) -> Finding:
    """Biases of all estimators that theory knows, in all independent scenarios.

    `instead` replaces estimates of some estimators by those of others, by name, for a rival.
    """
    rows = result.summary
    known = rows[(rows["measure"] == "bias") & rows["exact"].notna() & (rows["mcse"] > 0)]
    if known.empty:
        raise LookupError("independent p-values")
    found = _of_others(rows, known, instead) if instead else known
    size = np.maximum(np.abs(known["exact"] + known["null_share"]), 1)
    error = mc_margin(found["mcse"], found["n_rep"], len(found)) / mc_limit(len(found))
    return matches(found["estimate"].to_numpy(), known["exact"], error, margin=HUNDREDTH * size)


def _of_others(rows: pd.DataFrame, known: pd.DataFrame, instead: Mapping[str, str]) -> pd.DataFrame:
    """Rows of the same scenarios and measure, of other estimators where named."""
    keys = [*factors_of(Proportion()), "measure", "estimator"]
    wanted = known[keys].assign(estimator=known["estimator"].astype(str).replace(instead))
    return wanted.merge(rows.assign(estimator=rows["estimator"].astype(str)), on=keys, how="left")


def _suffice(result: Result) -> Finding:
    """Whether one of the two has a smaller error than Storey's estimate in every setting."""
    trials = scenarios(result, lambda trial: independent(trial) and trial.spread == 1)
    n_compared = len(trials) * len(SUFFICES)
    gaps = np.array([_errors_below_storey(result, trial, n_compared) for trial in trials])
    reach = gaps[:, 1]
    least, most = (gaps[:, 0] - reach).max(axis=1), (gaps[:, 0] + reach).max(axis=1)
    larger = [
        f"share {trial.null_share:g}, shift {trial.shift:g}"
        for trial, high in zip(trials, most, strict=True)
        if high < 0
    ]
    detail = f"larger beyond chance in {len(larger)} of {len(trials)} settings: {first_few(larger)}"
    return decide((least + most) / 2, (most - least) / 2, detail)


def _errors_below_storey(
    result: Result, trial: Proportion, n_compared: int
) -> Float[np.ndarray, "2 estimator"]:
    """The error of Storey's estimate minus that of each of the two, with Monte Carlo margins."""
    storey, *both = (_rmse(result, trial, name) for name in ("storey", *SUFFICES))
    gaps = [storey["estimate"] - row["estimate"] for row in both]
    errors = [np.hypot(storey["mcse"], row["mcse"]) for row in both]
    return np.array([gaps, mc_margin(errors, storey["n_rep"], n_compared)])


def _rmse(result: Result, trial: Proportion, estimator: str) -> Any:
    return result.row("rmse", estimator=estimator, **factors_of(trial))


def _noise_lowers(result: Result, names: Sequence[str], of: str = "") -> Finding:
    """Whether each step to a wider spread lowers each of the measures, beyond chance.

    `of` names another measure of the same estimators.
    """
    falls, reach, said = [], [], []
    for name in names:
        estimator, measure = MEASURED[name]
        found, errors, n_rep = _by_spread(result, estimator, of or measure)
        falls += list(-np.diff(found))
        of_steps = np.hypot(errors[1:], errors[:-1])
        reach += list(mc_margin(of_steps, n_rep, len(names) * len(of_steps)))
        said.append(f"{name} {', '.join(f'{value:.3g}' for value in found)}")
    return decide(falls, reach, f"{'; '.join(said)} with ever wider residual noise")


def _by_spread(result: Result, estimator: str, measure: str) -> tuple[Any, Any, int]:
    """A measure by spread, from right distributions to far too narrow ones.

    It is returned with its errors and numbers of replicates.
    """
    right, *wrong = scenarios(
        result, lambda trial: independent(trial) and (trial.null_share == 1 or trial.spread > 1)
    )
    if not wrong:
        raise LookupError("predictive distributions without residual noise")
    trials = [right, *sorted(wrong, key=lambda trial: trial.spread)]
    rows = [result.row(measure, estimator=estimator, **factors_of(trial)) for trial in trials]
    truths = [trial.null_share if measure == "bias" else 0 for trial in trials]
    found = np.array([row["estimate"] for row in rows]) + truths
    return found, np.array([row["mcse"] for row in rows]), min(row["n_rep"] for row in rows)


def _without_noise(result: Result, estimator: str) -> Finding:
    (trial,) = scenarios(result, lambda trial: trial.spread == NOISY)
    return average(estimates(result, trial, estimator))


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
            difference=FAR_OFF if estimator == "rfdr" else HUNDREDTH,
            rival=rival,
            expected="differs" if rival is None else "reproduced",
            scored=estimator != "cfdr_clipped",  # the document does not clip it
            note=note,
        )
        for estimator, words, rival, note in (
            (
                "cfdr",
                "CFDR as printed",
                None,
                "Harmonic numbers carry it beyond 1, so the distance from 1 says nothing.",
            ),
            (
                "cfdr_clipped",
                "CFDR clipped at 1",
                WrongAlternative("the RFDR", partial(_of_a_perfect_model, estimator="rfdr")),
                "To within a hundredth, from below: what is clipped at 1 cannot be 1 on average.",
            ),
            (
                "rfdr",
                "RFDR",
                WrongAlternative(
                    "the CFDR as printed", partial(_of_a_perfect_model, estimator="cfdr")
                ),
                "97%, from below: a mean of rates of at most 1.",
            ),
        )
    ),
    Claim(
        "corrected by either",
        "The bias of the NFDR may be corrected by either of CFDR and RFDR",
        SECTION,
        partial(_bias_of_a_perfect_model, estimator="cfdr"),
        published=0.0,
        difference=FAR_OFF,
        expected="differs",
        note="The bias of the mean CFDR as printed, which exceeds 1; that of the mean RFDR is "
        "-0.03. Clipped at 1, as in the authors' package, the CFDR has -0.005.",
    ),
    Claim(
        "printed CFDR",
        f"{PERFECT}, the mean CFDR as printed is about 4.6",
        DERIVED,
        partial(_of_a_perfect_model, estimator="cfdr"),
        published=4.6,
        scored=False,
        rounding=0.05,
        rival=WrongAlternative(
            "of 50 predictions", partial(_of_a_perfect_model, estimator="cfdr", n=50)
        ),
        note="In the order of p it is 4.55, from theory.",
    ),
    Claim(
        "floor of RFDR",
        "No model's mean RFDR can fall below 63 of 168, however bad it is",
        DERIVED,
        _floor,
        published=FLOOR,
        scored=False,
        rounding=FLOOR_ROUNDING,
        rival=WrongAlternative("the clipped CFDR", partial(_floor, estimator="cfdr_clipped")),
        note="Ranks above 105 have no later rank and are given 1. The value is the mean where all "
        "predictions are six standard deviations away, and no list is below it.",
    ),
    Claim(
        "orders differ",
        "Ranks by the NFDR, as printed, and by p, as in the authors' package, differ",
        DERIVED,
        _orders_differ,
        published=True,
        scored=False,
        rival=WrongAlternative(
            "both clipped", partial(_orders_differ, pair=("cfdr_clipped", "cfdr_by_p_clipped"))
        ),
        note="By more than a hundredth. Harmonic numbers go with the ranks: ascending rates make "
        "the largest sum.",
    ),
    Claim(
        "exact means",
        "Means of CFDR and RFDR in the order of p, and of Storey's estimate, are those of theory",
        DERIVED,
        _exact_means,
        published=True,
        scored=False,
        rival=WrongAlternative(
            "the smoother for Storey's estimate",
            partial(_exact_means, instead={"storey": "storey_smoother"}),
        ),
        note="To within a hundredth of a share, or of a mean beyond 1.",
    ),
    Claim(
        "two simpler approaches suffice",
        "One of two simple estimators has a smaller error than Storey's in every setting",
        SECTION,
        _suffice,
        published=True,
        expected="differs",
        scored=False,  # the document claims less: "residual noise"
        note="The clipped CFDR and the RFDR, by root mean squared error, for independent p-values.",
    ),
    Claim(
        "residual noise",
        "Simple measures suffice: a predictive distribution that lacks more residual noise is "
        "worse by all three",
        SECTION,
        partial(_noise_lowers, names=(FISHER, "CFDR clipped", "RFDR")),
        published=True,
        rival=WrongAlternative(
            "standard deviations of the shares",
            partial(_noise_lowers, names=("CFDR clipped", "RFDR"), of="empirical_se"),
        ),
        note="The document's example 3 lacks it: its distributions hold the spread of the trained "
        "function alone.",
    ),
    Claim(
        "residual noise, CFDR as printed",
        "A predictive distribution that lacks more residual noise is worse by the CFDR as printed",
        "sections 2 and 5.3",
        partial(_noise_lowers, names=("CFDR as printed",)),
        published=True,
        scored=False,  # "residual noise" counts it
        rival=WrongAlternative(
            "its standard deviation",
            partial(_noise_lowers, names=("CFDR as printed",), of="empirical_se"),
        ),
    ),
    *(
        Claim(
            f"no prediction is compatible, {words}",
            f"Where no prediction comes from its distribution, {words} estimates 0",
            SECTION,
            partial(_without_noise, estimator=estimator),
            published=0.0,
            scored=False,  # not stated by the document
            difference=FAR_OFF,
            expected="differs",
            note="Distributions half as wide as they should be: p-values of what is not compatible "
            "are seldom small enough to show it, one by one.",
        )
        for estimator, words in (("cfdr_clipped", "the clipped CFDR"), ("rfdr", "the RFDR"))
    ),
    *ABSOLUTE,
)
