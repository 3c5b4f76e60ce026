"""Claims of the document about the classifier's threshold, compared with simulation and theory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from experiments._yardsticks import CLOSE
from experiments.classifier_threshold.figures import N_SIM, PUBLISHED
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.claims import (
    Claim,
    Finding,
    IntendedValue,
    Uncheckable,
    WrongValue,
    average,
    binomial_error,
    decide,
    mc_margin,
    of_row,
    share,
)
from simstudy.documents.dgps.scores import NormalScores
from simstudy.documents.stats.quantile_bootstrap import BCA
from simstudy.documents.stats.threshold_theory import exact_coverage, expected_shift
from simstudy.documents.stats.thresholds import COMPARED, METHODS, Target
from simstudy.lazy import special, stats
from simstudy.tables.rounding import with_error

AT = {"n_obs": 50, "sensitivity": 0.95}
EXACTLY = AT | {"confidence": 0.8, "n_boot": 0}
AS_PUBLISHED = AT | {"confidence": 0.8, "n_boot": 1000}
AS_CLOSE_AS_92 = 0.08  # margin of "close to 100%": the document's own table has 92%
TWO_POINTS = 0.02  # coverage: the document calls BCa, which is 2 points off, very good
HALF_A_POINT = 0.005  # rounding of exact numbers printed in whole per cents
SKEWED = 0.1  # the normal tolerance bound, symmetric to the eye, has half of it
AIMS = {"coverage": 0.8, "mean_sensitivity": 0.95}
THIRD = "score_3"  # the quantile lies between this score and the next

PerRep = Float[np.ndarray, " rep"]
# What misses a share of 250 test sets by more than chance has there: nearer ones are excused.
RIVAL_BOUNDS = {
    "bca strict": ("BCa with all ties counted", "bca weak"),
    "normal": ("the normal tolerance bound", "tolerance"),
    "basic": ("BCa", "bca strict"),
    "percentile": ("BCa", "bca strict"),
}


# ---------------------------------------------------------------- what was found
def _stored(result: Result, *names: str) -> list[Any]:
    """Columns of the scenario with infinitely many resamples, whose test sets are described."""
    return list(result.columns(result.scenario(**EXACTLY), *names).values())


def _thresholds(result: Result, name: str) -> PerRep:
    """Thresholds by a method, or an order statistic of the test set."""
    if name not in METHODS:
        return np.asarray(_stored(result, name)[0])
    (found,) = _stored(result, "threshold")
    return np.asarray(found[:, METHODS.index(name)])


def _coverage(result: Result, method: str) -> Any:
    return result.row("coverage", method=method, **EXACTLY)


def _in_words(rows: dict[str, Any]) -> str:
    """Estimates by name, each with its error and to the error's second digit."""
    found = {name: with_error(row["estimate"], row["mcse"]) for name, row in rows.items()}
    return ", ".join(f"{name} {shown.value} ({shown.error})" for name, shown in found.items())


def _reach_of_differences(rows: dict[str, Any], n_compared: int = 0) -> Float[np.ndarray, " other"]:
    """Monte Carlo margins of the first row minus each other; an upper bound for common data."""
    first, *others = rows.values()
    errors = np.hypot(first["mcse"], [row["mcse"] for row in others])
    return np.asarray(mc_margin(errors, first["n_rep"], n_compared or len(others)))


# ---------------------------------------------------------------- the empirical quantile
def _too_high(result: Result, name: str = "empirical") -> Finding:
    exact = _coverage(result, "empirical")["exact"]
    above = _thresholds(result, name) > result.scenario(**EXACTLY).true_threshold
    own = f"the document's own seeds give {share_of_figure_1():.1%}"
    return share(above, f"the empirical quantile exactly {1 - exact:.4f}; {own}")


def _at_least_half(result: Result, method: str = "empirical") -> Finding:
    """Whether at least half of thresholds are unsafe, for 50 cases; theory covers other sizes."""
    row = _coverage(result, method)
    sizes = (10, 20, 100, 1000)
    safe = [exact_coverage(NormalScores(), "empirical", n, Target(0.95, 0.8)) for n in sizes]
    known = ", ".join(f"{1 - p:.3f} at n={n}" for n, p in zip(sizes, safe, strict=True))
    detail = f"{1 - row['estimate']:.3f} ({row['mcse']:.3f}) at n=50; the quantile exactly {known}"
    return decide(0.5 - row["estimate"], mc_margin(row["mcse"], row["n_rep"]), detail)


def _skewed(result: Result, method: str = "empirical") -> Finding:
    """Whether thresholds are visibly skewed to the left.

    The skewness γ is the mean over test sets of its influence function plus γ,
    z³ − 3z − (3/2)γ(z² − 1) + γ, whose spread gives the error.
    """
    z = stats.zscore(_thresholds(result, method))
    found = average(z**3 - 3 * z - 1.5 * (z**3).mean() * (z**2 - 1))
    detail = f"skewness {found.value:.3f} ({found.mcse:.3f})"
    return decide(-SKEWED - found.value, mc_margin(found.mcse, found.n_rep), detail)


def _sensitivity_on_test_set(result: Result) -> Finding:
    (kept,) = _stored(result, "sensitivity_on_test_set")
    return average(kept, f"from {kept.min():.2f} to {kept.max():.2f}")


def _smallest_is_safe(result: Result, rank: int = 1) -> Finding:
    safe = _thresholds(result, f"score_{rank}") <= result.scenario(**EXACTLY).true_threshold
    exact = 1 - float(special.bdtr(rank - 1, 50, 0.05))
    return share(safe, f"exactly {exact:.4f} with 50, for any continuous scores")


def share_of_figure_1() -> float:
    """The share above the true threshold in figure 1: the document's recipe, with its seeds.

    Each test set has its own legacy generator of NumPy, with the seeds 0 to 249.
    """
    sets = [1 + np.random.RandomState(seed).standard_normal(50) for seed in range(N_SIM)]
    above = np.quantile(sets, 0.05, axis=1) > 1 + special.ndtri(0.05)
    return float(above.mean())


# ---------------------------------------------------------------- bounds and their coverage
def _covered(result: Result, method: str) -> Finding:
    limit = _in_words({"with infinitely many": _coverage(result, method)})
    row = result.row("coverage", method=method, **AS_PUBLISHED)
    return of_row(row, f"1000 resamples; {limit}")


def _nearest_to_target(result: Result, champion: str = "bca strict") -> Finding:
    """Whether one BCa misses 80% by less than any other kind of bootstrap does."""
    others = [method for method in PUBLISHED if method not in BCA]
    rows = {method: _coverage(result, method) for method in (champion, *others)}
    off = np.array([abs(row["estimate"] - 0.8) for row in rows.values()])
    reach = _reach_of_differences(rows)
    ties = _in_words({method: _coverage(result, method) for method in BCA if method not in rows})
    return decide(off[1:] - off[0], reach, f"{_in_words(rows)}; {ties}")


def _near_target(result: Result) -> Finding:
    rows = {m: result.row("coverage", method=m, **AS_PUBLISHED) for m in BCA}
    return of_row(rows[BCA[0]], _in_words(rows))


def _parametric(result: Result) -> Finding:
    """Whether the tolerance bound misses its confidence: the law of the quantile is known."""
    row = _coverage(result, "tolerance")
    detail = f"coverage {_in_words({'tolerance': row})}, exactly {row['exact']:.3f}"
    off = abs(row["estimate"] - 0.8)
    return decide(off - TWO_POINTS, mc_margin(row["mcse"], row["n_rep"]), detail)


# ---------------------------------------------------------------- what a bootstrap is like
def _bootstrap_mean(result: Result, name: str = "bootstrap_mean") -> Finding:
    (value,) = _stored(result, name)
    above = value - _thresholds(result, "empirical")
    scenario, found = result.scenario(**EXACTLY), average(above)
    expected = expected_shift(scenario.scores, scenario.n_obs, scenario.target.q)
    detail = f"above by {found.value:.4f} ({found.mcse:.4f}), the bootstrap mean exactly by "
    detail += f"{expected:.4f}; above in {(above > 0).mean():.0%} of {len(above)} test sets"
    return decide(found.value, mc_margin(found.mcse, found.n_rep), detail)


def _left_skew(result: Result, sign: int = 1) -> Finding:
    """Mean skewness of the bootstrap distributions, or of these reflected."""
    (skewness,) = _stored(result, "bootstrap_skewness")
    found, left = average(sign * skewness), (skewness < 0).mean()
    detail = f"mean skewness {found.value:.3f} ({found.mcse:.3f}); of bootstraps as they are, to "
    detail += f"the left in {left:.0%} of {len(skewness)} test sets"
    return decide(-found.value, mc_margin(found.mcse, found.n_rep), detail)


# ---------------------------------------------------------------- the umbrella
def _umbrella_covers(result: Result, method: str = "umbrella") -> Finding:
    row = result.row("coverage", method=method, **AS_PUBLISHED)
    return of_row(row, f"exactly {row['exact']:.4f}")


def _spreads_more(result: Result, method: str = "umbrella") -> Finding:
    """Whether thresholds spread more than those of BCa, for every treatment of ties."""
    rows = {m: result.row("sd_threshold", method=m, **EXACTLY) for m in (method, *BCA)}
    spread = np.array([row["estimate"] for row in rows.values()])
    detail = f"sd of thresholds: {_in_words(rows)}"
    return decide(spread[0] - spread[1:], _reach_of_differences(rows), detail)


def _spreads_more_at_92(result: Result, name: str = COMPARED["umbrella"]) -> Finding:
    """Levene's comparison of distances from the median, paired by test set."""
    pair = [_thresholds(result, column) for column in (name, COMPARED["bca strict"])]
    far, near = (np.abs(values - np.median(values)) for values in pair)
    found = average(far - near)
    p = stats.levene(*(values[:N_SIM] for values in pair)).pvalue
    detail = f"mean distance from the median {far.mean():.3f} for BCa's {near.mean():.3f} "
    detail += f"(difference {found.value:.3f}, MCSE {found.mcse:.4f}); p = {p:.1g} "
    detail += f"for the first {N_SIM} test sets"
    return decide(found.value, mc_margin(found.mcse, found.n_rep), detail)


def _bca_is_better(result: Result, method: str = "bca strict") -> Finding:
    """Coverage nearer to its target than the umbrella's, and mean sensitivity nearer to 95%."""
    excess, reach, said = [], [], []
    for name, aim in AIMS.items():
        rows = {m: result.row(name, method=m, **EXACTLY) for m in (method, "umbrella")}
        mine, other = (abs(row["estimate"] - aim) for row in rows.values())
        excess.append(other - mine)
        reach += list(_reach_of_differences(rows, n_compared=len(AIMS)))
        said.append(f"{name} {_in_words(rows)}")
    return decide(excess, reach, "; ".join(said))


GETS_CLOSE = IntendedValue(
    "said to get close to 80%", partial(_covered, method="bca strict"), taken_for=0.8,
    tolerance=CLOSE, difference=0.0,
)  # fmt: skip
IN_THE_TABLE = {"bca strict": "BCa"}  # which has one way to count ties, and no name for it
TIES = (
    "About one bootstrap value in ten equals the estimate. Whether the bias correction counts "
    "these is a choice, and the coverage depends on it."
)
CLAIMS = (
    Claim(
        "empirical threshold", "The empirical threshold is above the true one 66% of the time",
        "section 1, figure 1", _too_high, published=0.66, rounding=0.005,
        published_mcse=float(binomial_error(0.66, N_SIM)), difference=TWO_POINTS,
        wrong_value=WrongValue("the third smallest score", partial(_too_high, name=THIRD)),
    ),
    Claim(
        "at best one half", "The empirical threshold fails at least half of the time", "section 1",
        _at_least_half, published=True,
        wrong_value=WrongValue(
            "the percentile bound", partial(_at_least_half, method="percentile")
        ),
    ),
    Claim(
        "skewed thresholds", "Empirical thresholds are skewed to the left", "figure 1, section 2",
        _skewed, published=True,
        wrong_value=WrongValue("the normal tolerance bound", partial(_skewed, method="tolerance")),
        criterion="a skewness below −0.1",
        note="The document does not say of its figure to which side; of the bootstrap it does.",
    ),
    Claim(
        "sensitivity on the test set",
        "The empirical quantile has exactly 95% sensitivity on the test set itself", "section 1",
        _sensitivity_on_test_set, published=0.95, expected="differs",
        note="The interpolated quantile of 50 scores lies between the third and the fourth, so 47 "
        "of 50 are above it.",
    ),
    Claim(
        "no parametric law", "No parametric distribution of the threshold exists, so methods must "
        "be non-parametric", "section 2", _parametric, published=True, expected="differs",
        criterion="a parametric bound misses by more than 2 points",
        note="Of the empirical quantile the distribution has no simple form, and that is what the "
        "sentence begins with. What it concludes does not hold: the document assumes normal "
        "scores, and for these the noncentral t distribution gives a bound with exactly the "
        "confidence asked for.",
    ),
    Claim(
        "minimum", "The smallest score keeps 95% sensitivity close to 100% of the time",
        "section 2", _smallest_is_safe, published=1.0, tolerance=AS_CLOSE_AS_92,
        wrong_value=WrongValue("the second smallest", partial(_smallest_is_safe, rank=2)),
        note="With the document's 50 positive cases it is 92%, as its own table says; so much it "
        "calls close. It is 95% from 59 cases on.",
    ),
    *(
        Claim(
            f"coverage, {method}",
            f"Coverage of the {IN_THE_TABLE.get(method, method)} bound at 80% nominal",
            "section 2, coverage table", partial(_covered, method=method), published=covered,
            rounding=0.0005, published_mcse=float(binomial_error(covered, N_SIM)),
            difference=TWO_POINTS,
            wrong_value=WrongValue(
                RIVAL_BOUNDS[method][0], partial(_covered, method=RIVAL_BOUNDS[method][1])
            ),
            intended=GETS_CLOSE if method == "bca strict" else None,
            note=TIES if method == "bca strict" else "",
        )
        for method, covered in PUBLISHED.items()
    ),
    Claim(
        "BCa is nearest", "Of the four bootstraps BCa comes closest to the target",
        "section 2, coverage table", _nearest_to_target, published=True,
        wrong_value=WrongValue(
            "BCa with all ties counted", partial(_nearest_to_target, champion="bca weak")
        ),
    ),
    Claim(
        "BCa at its target", "BCa has a coverage of 80%, to two points", "section 2",
        _near_target, published=0.8, tolerance=TWO_POINTS, expected="differs",
        scored=False,  # "coverage, bca strict" counts it
        note="77%, and only if bootstrap values equal to the estimate are left out of the bias "
        "correction. About one in ten is equal; counting half of them, as SciPy does, or all, "
        "costs 7 and 14 points more.",
    ),
    Claim(
        "bootstrap mean", "The mean of the bootstrapped quantiles exceeds the empirical quantile",
        "section 2, figure 2", _bootstrap_mean, published=True,
        wrong_value=WrongValue(
            "the third smallest score", partial(_bootstrap_mean, name=THIRD)
        ),
        note="On average over test sets; in two of five it is the other way round.",
    ),
    Claim(
        "left skew", "The bootstrapped quantiles are skewed to the left", "section 2, figure 2",
        _left_skew, published=True,
        wrong_value=WrongValue(
            "reflected, as in the basic bootstrap", partial(_left_skew, sign=-1)
        ),
        note="On average; nearly as many are skewed to the right.",
    ),
    Claim(
        "umbrella's confidence", "The umbrella's actual confidence is 92%", "figure 4",
        _umbrella_covers, published=0.92, rounding=0.005, difference=HALF_A_POINT,
        wrong_value=WrongValue(
            "the tolerance bound", partial(_umbrella_covers, method="tolerance")
        ),
    ),
    Claim(
        "umbrella's spread", "The umbrella's thresholds vary more than BCa's, wherever their mean",
        "section 2, figure 4", _spreads_more, published=True,
        wrong_value=WrongValue("the percentile bound", partial(_spreads_more, method="percentile")),
    ),
    Claim(
        "umbrella's spread at 92%", "At 92% confidence they still do, by Levene's test",
        "section 2", _spreads_more_at_92, published=True,
        wrong_value=WrongValue(
            "percentile bounds, at 80%", partial(_spreads_more_at_92, name="percentile")
        ),
    ),
    Claim(
        "exact and efficient",
        "At n = 50 BCa is closer to its confidence than the umbrella, and more efficient",
        "section 2, summary", _bca_is_better, published=True,
        wrong_value=WrongValue(
            "BCa with all ties counted", partial(_bca_is_better, method="bca weak")
        ),
        note="It depends on n: with 59 cases the umbrella's confidence is 80.1%.",
    ),
    Uncheckable(
        "rates in figure 4", "The confidence of BCa in a second run of 250 test sets", "figure 4",
        missing="the number, which stands in the picture alone; the seed is printed, and the "
        "resamples are those of a version of arch that is not stated",
    ),
)  # fmt: skip
