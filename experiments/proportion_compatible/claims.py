"""Claims of document 001 about its measures, compared with `proportion_compatible`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from experiments.proportion_compatible.figures import FISHER, MEASURED, without_noise
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import (
    Claim,
    Finding,
    WrongValue,
    average,
    decide,
    matches,
    mc_limit,
    mc_margin,
    of_row,
)
from simstudy.design.plan import factors_of
from simstudy.documents.scenarios.proportions import Proportion
from simstudy.documents.stats.compatible import cfdr, later_ranks, rfdr
from simstudy.errors import first_few
from simstudy.lazy import special

DOCUMENT_N = 168
SUFFICES = ("cfdr_clipped", "rfdr")
FLOOR, FLOOR_ROUNDING = 63 / DOCUMENT_N, 0.0005
OFF = 3  # predictive standard deviations
FAR = 6  # the same, where no prediction appears compatible
NOISY = 2.0  # variance 1 + 3: residual noise is √3 times as wide as the distributions
HUNDREDTH = 0.01  # absolute for shares, relative above 1
FAR_OFF = 0.05  # a share within this distance of 0 or 1 may be estimated as 0 or 1


# ---------------------------------------------------------------- what was found
def independent(
    result: Result, keep: Callable[[Proportion], bool], n: int = DOCUMENT_N
) -> list[Proportion]:
    """The scenarios with n independent predictions; LookupError if there are none."""
    trials: list[Proportion] = [t for t in result.plan.scenarios if t.correlation == 0]
    found = [trial for trial in trials if trial.n_prediction == n and keep(trial)]
    if not found:
        raise LookupError(f"lists of {n} p-values as this statement needs them")
    return found


def perfect(result: Result, n: int = DOCUMENT_N) -> Proportion:
    """The scenario in which every prediction is compatible, independently."""
    return independent(result, lambda trial: trial.null_share == 1, n)[0]


def estimates(result: Result, trial: Proportion, estimator: str) -> Float[np.ndarray, " rep"]:
    """The estimates of one estimator, one per list."""
    at = result.plan.axes["estimator"].index(estimator)
    return np.asarray(result.columns(trial, "estimate")["estimate"][:, at])


# ---------------------------------------------------------------- statements
def _of_a_perfect_model(result: Result, estimator: str, n: int = DOCUMENT_N) -> Finding:
    return average(estimates(result, perfect(result, n), estimator))


def _bias_of_a_perfect_model(result: Result, estimator: str) -> Finding:
    factors = factors_of(perfect(result))
    found, other = (result.row("bias", estimator=e, **factors) for e in (estimator, "rfdr"))
    return of_row(found, f"of the mean RFDR {other['estimate']:+.3f}")


def _floor(result: Result, estimator: str = "rfdr") -> Finding:
    """The mean if no prediction is compatible; or the value of a list below the floor."""
    (trial,) = independent(result, lambda t: t.null_share == 0 and t.shift >= FAR)
    found = estimates(result, trial, estimator)
    beyond = DOCUMENT_N - len(later_ranks(DOCUMENT_N))
    detail = f"least of all lists {found.min():.4f}; {beyond} of {DOCUMENT_N} ranks have no later"
    if found.min() < FLOOR - FLOOR_ROUNDING:
        return Finding(float(found.min()), detail=detail)
    return average(found, detail)


def _orders_differ(result: Result, pair: Sequence[str] = ("cfdr", "cfdr_by_p")) -> Finding:
    """Whether the CFDR of a perfect model differs by a hundredth between orders by NFDR and p."""
    first, second = (estimates(result, perfect(result), name) for name in pair)
    gap = average(first - second)
    said = f"mean difference {gap.value:.4f} ± {2 * gap.mcse:.4f}"
    detail = f"{said}, in {(first != second).mean():.0%} of lists"
    return decide(abs(gap.value) - HUNDREDTH, mc_margin(gap.mcse, gap.n_rep), detail)


def _exact_means(result: Result, storey: str = "storey") -> Finding:
    """Biases that theory knows, in all independent scenarios; of another estimator, for a rival."""
    rows = result.summary[result.summary["measure"] == "bias"]
    rows = rows.assign(estimator=rows["estimator"].astype(str))
    known = rows[rows["exact"].notna() & (rows["mcse"] > 0)]
    if known.empty:
        raise LookupError("independent p-values")
    cells = known[[*factors_of(Proportion()), "estimator"]]
    cells = cells.assign(estimator=cells["estimator"].replace("storey", storey))
    found, exact = cells.merge(rows, how="left"), known["exact"].to_numpy()
    error = mc_margin(found["mcse"], found["n_rep"], len(found)) / mc_limit(len(found))
    size = np.maximum(np.abs(exact + known["null_share"].to_numpy()), 1)
    return matches(found["estimate"].to_numpy(), exact, error, margin=HUNDREDTH * size)


def _suffice(result: Result) -> Finding:
    """Whether one of the two has a smaller error than Storey's estimate in every setting."""
    trials = independent(result, lambda trial: trial.spread == 1)
    found = np.array([_errors(result, trial) for trial in trials])  # (trial, estimator, 3)
    storey, both = found[:, :1], found[:, 1:]
    error = np.hypot(storey[:, :, 1], both[:, :, 1])
    reach = mc_margin(error, storey[:, :, 2], error.size)
    gap = storey[:, :, 0] - both[:, :, 0]
    least, most = (gap - reach).max(axis=1), (gap + reach).max(axis=1)
    larger = [
        f"share {trial.null_share:g}, shift {trial.shift:g}"
        for trial, high in zip(trials, most, strict=True)
        if high < 0
    ]
    detail = f"larger beyond chance in {len(larger)} of {len(trials)} settings: {first_few(larger)}"
    return decide((least + most) / 2, (most - least) / 2, detail)


def _errors(result: Result, trial: Proportion) -> list[list[float]]:
    """Root mean squared errors of Storey's estimate and the two, with MCSE and replicates."""
    factors = factors_of(trial)
    rows = [result.row("rmse", estimator=e, **factors) for e in ("storey", *SUFFICES)]
    return [[row[name] for name in ("estimate", "mcse", "n_rep")] for row in rows]


def _noise_lowers(result: Result, names: Sequence[str], of: str = "") -> Finding:
    """Whether each step to a wider spread lowers each of the measures, beyond chance.

    `of` names another measure of the same estimators.
    """
    measured = {name: (MEASURED[name][0], of or MEASURED[name][1]) for name in names}
    rows = without_noise(result, measured).sort_values("spread")
    if rows["spread"].max() == 1:
        raise LookupError("predictive distributions without residual noise")
    falls, reach, said = [], [], []
    for name in names:
        cells = rows[rows["measure"] == name]
        found, errors = cells["estimate"].to_numpy(), cells["mcse"].to_numpy()
        of_steps = np.hypot(errors[1:], errors[:-1])
        falls += list(-np.diff(found))
        reach += list(mc_margin(of_steps, cells["n_rep"].min(), len(names) * len(of_steps)))
        said.append(f"{name} {', '.join(f'{value:.3g}' for value in found)}")
    return decide(falls, reach, f"{'; '.join(said)} with ever wider residual noise")


def _without_noise(result: Result, estimator: str) -> Finding:
    (trial,) = independent(result, lambda trial: trial.spread == NOISY)
    return average(estimates(result, trial, estimator))


def _falls_with_n(result: Result, wrong: bool = True) -> Finding:
    """Whether p falls by a factor of ten and more from each number of predictions to the next.

    The lists have the largest share of compatible predictions below 1, and the rest three standard
    deviations off; or all predictions are compatible, for a rival.
    """
    trials = [t for t in result.plan.scenarios if t.correlation == 0 and t.spread == 1]
    share = max((t.null_share for t in trials if t.null_share < 1), default=1) if wrong else 1
    chosen = {t.n_prediction: t for t in trials if t.null_share == share and t.shift in (0, OFF)}
    if len(chosen) < 2:
        raise LookupError("lists of several lengths")
    cells = sorted(chosen.items())
    rows = [result.row("mean_log10_p", estimator="rfdr", **factors_of(t)) for _, t in cells]
    found, error = (np.array([row[name] for row in rows]) for name in ("estimate", "mcse"))
    reach = mc_margin(np.hypot(error[1:], error[:-1]), rows[0]["n_rep"], len(rows) - 1)
    pairs = zip(found, cells, strict=True)
    said = ", ".join(f"{value:.1f} of {n}" for value, (n, _) in pairs)
    return decide(-1 - np.diff(found), reach, f"mean log10 p {said}; {share:.0%} compatible")


def _exaggerating_costs(_: Result, wide: float = 2.0) -> Finding:
    """Whether at least one measure is worse for too wide distributions than for right ones.

    Errors are at the quantiles of the true distribution. The measures are the sum of log p, mean
    CFDR and mean RFDR.
    """
    errors = special.ndtri((np.arange(DOCUMENT_N) + 0.5) / DOCUMENT_N)
    lists = [2 * special.ndtr(-np.abs(errors) / width) for width in (1.0, wide)]
    both = {
        "log10 p, in all": [float(np.log10(p).sum()) for p in lists],
        "CFDR": [float(cfdr(p)) for p in lists],
        "RFDR": [float(rfdr(p)) for p in lists],
    }
    said = ", ".join(f"{name} {a:.3f} right, {b:.3f} too wide" for name, (a, b) in both.items())
    return decide([a - b for a, b in both.values()], 0.0, said, everywhere=False)


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
            wrong_value=rival,
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
                WrongValue("the RFDR", partial(_of_a_perfect_model, estimator="rfdr")),
                "To within a hundredth, from below: what is clipped at 1 cannot be 1 on average.",
            ),
            (
                "rfdr",
                "RFDR",
                WrongValue("the CFDR as printed", partial(_of_a_perfect_model, estimator="cfdr")),
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
        wrong_value=WrongValue(
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
        wrong_value=WrongValue("the clipped CFDR", partial(_floor, estimator="cfdr_clipped")),
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
        wrong_value=WrongValue(
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
        wrong_value=WrongValue(
            "the smoother for Storey's estimate",
            partial(_exact_means, storey="storey_smoother"),
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
        wrong_value=WrongValue(
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
        wrong_value=WrongValue(
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
    Claim(
        "exaggerated uncertainty",
        "The measures discourage exaggerating the uncertainty, as well as suppressing it",
        "introduction",
        _exaggerating_costs,
        published=True,
        expected="differs",
        scored=False,  # a requirement of the introduction, not a statement
        note="Distributions twice as wide as they should be have large p-values, and by all three "
        "measures they are no worse than right ones. The measures are told of small ones alone.",
    ),
    Claim(
        "combined p-value of many",
        "Of a model that is wrong the combined p-value falls, the more predictions there are",
        "section 4.1",
        _falls_with_n,
        published=True,
        wrong_value=WrongValue("a model that is right", partial(_falls_with_n, wrong=False)),
        criterion="by a factor of 10 for each longer list",
    ),
)
