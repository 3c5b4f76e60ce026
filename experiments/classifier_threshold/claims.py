"""What the document says of the classifier's threshold, against the simulation and theory."""

from functools import partial

import numpy as np

from experiments.classifier_threshold.figures import N_SIM, PUBLISHED
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced, binomial_error, chance_limit, of_row
from simstudy.design import Columns
from simstudy.dgps.scores import NormalScores
from simstudy.lazy.scipy import stats
from simstudy.stats.classifier.description import COMPARED
from simstudy.stats.classifier.theory import exact_coverage, expected_shift
from simstudy.stats.classifier.thresholds import BCA, METHODS, Target

AT = {"n_obs": 50, "sensitivity": 0.95}
EXACTLY = AT | {"confidence": 0.8, "n_boot": 0}
AS_PUBLISHED = AT | {"confidence": 0.8, "n_boot": 1000}


def _stored(result: Result, *names: str) -> Columns:
    return result.first_block(result.scenario(**EXACTLY), *names)


def _covered(result: Result, method: str) -> Reproduced:
    limit = result.value("coverage", method=method, **EXACTLY)
    many = f"{limit['estimate']:.3f} ({limit['mcse']:.3f})"
    row = result.value("coverage", method=method, **AS_PUBLISHED)
    return of_row(row, f"1000 resamples; with infinitely many {many}")


def _too_high(result: Result) -> Reproduced:
    row = result.value("coverage", method="empirical", **EXACTLY)
    return Reproduced(1 - row["exact"], detail=f"exact; simulated {1 - row['estimate']:.3f}")


def _at_least_half(_: Result) -> Reproduced:
    sizes = np.array([10, 20, 50, 100, 200, 500, 1000])
    unsafe = [1 - exact_coverage(NormalScores(), "empirical", n, Target(0.95, 0.8)) for n in sizes]
    shown = ", ".join(f"{p:.3f} at n={n}" for n, p in zip(sizes, unsafe, strict=True))
    return Reproduced(float(min(unsafe) > 0.5), detail=f"exact: {shown}")


def _sensitivity_on_test_set(result: Result) -> Reproduced:
    kept = _stored(result, "sensitivity_on_test_set")["sensitivity_on_test_set"]
    return Reproduced(float(kept.mean()), detail=f"from {kept.min():.2f} to {kept.max():.2f}")


def _minimum_is_safe(_: Result) -> Reproduced:
    return Reproduced(1 - 0.95**50, detail="1 - 0.95^50, for any continuous scores")


def _nearest_to_target(result: Result) -> Reproduced:
    names = (*PUBLISHED, *BCA[1:])
    covered = {m: result.value("coverage", method=m, **EXACTLY)["estimate"] for m in names}
    order = sorted(PUBLISHED, key=lambda m: abs(covered[m] - 0.8))
    shown, ties = (", ".join(f"{m} {covered[m]:.3f}" for m in ms) for ms in (order, BCA[1:]))
    return Reproduced(float(order[0] == "bca strict"), detail=f"{shown}; {ties}")


def _tie_conventions(result: Result) -> Reproduced:
    """Least coverage over the conventions for bootstrap values equal to the estimate."""
    safe = _stored(result, "safe")["safe"]
    share = {m: float(safe[:, METHODS.index(m)].mean()) for m in BCA}
    least = min(share.values())
    shown = ", ".join(f"{m} {value:.3f}" for m, value in share.items())
    detail = f"infinitely many resamples, {len(safe)} test sets: {shown}"
    return Reproduced(least, float(binomial_error(least, len(safe))), detail)


def _bootstrap_mean(result: Result) -> Reproduced:
    scenario = result.scenario(**EXACTLY)
    stored = _stored(result, "bootstrap_mean", "threshold")
    above = stored["bootstrap_mean"] > stored["threshold"][:, METHODS.index("empirical")]
    expected = expected_shift(scenario.scores, scenario.n_obs, scenario.target.q)
    detail = f"by {expected:.4f} on average, exactly; in {above.mean():.0%} of {len(above)} "
    return Reproduced(float(expected > 0), detail=detail + "test sets")


def _left_skew(result: Result) -> Reproduced:
    skewness = _stored(result, "bootstrap_skewness")["bootstrap_skewness"]
    error = skewness.std() / np.sqrt(len(skewness))
    return Reproduced(
        float(skewness.mean() < -chance_limit() * error),
        detail=f"mean skewness {skewness.mean():.3f} ({error:.3f}); to the left in "
        f"{(skewness < 0).mean():.0%} of {len(skewness)} test sets",
    )


def _umbrella_covers(result: Result) -> Reproduced:
    row = result.value("coverage", method="umbrella", **AS_PUBLISHED)
    return of_row(row, f"exact {row['exact']:.4f}")


def _umbrella_spreads_more(result: Result) -> Reproduced:
    rows = {m: result.value("sd_threshold", method=m, **EXACTLY) for m in ("umbrella", *BCA)}
    wider = all(rows["umbrella"]["estimate"] > rows[m]["estimate"] for m in BCA)
    shown = ", ".join(f"{m} {r['estimate']:.3f} ({r['mcse']:.3f})" for m, r in rows.items())
    return Reproduced(float(wider), detail=f"sd of thresholds: {shown}")


def _levene(result: Result) -> Reproduced:
    """Levene's test, with medians, of the thresholds for 92% confidence on the first block."""
    stored = _stored(result, *COMPARED.values())
    found = {method: stored[column] for method, column in COMPARED.items()}
    pair = list(found.values())
    wider, p = pair[0].std() > pair[1].std(), stats.levene(*pair).pvalue
    few = stats.levene(*(values[:N_SIM] for values in pair)).pvalue
    sds = ", ".join(f"{name} {values.std():.3f}" for name, values in found.items())
    detail = f"p = {p:.1g} for {len(pair[0])} test sets (first {N_SIM}: {few:.2g}); sd: {sds}"
    return Reproduced(float(wider and p < 0.05), detail=detail)


def _bca_is_better(result: Result) -> Reproduced:
    """BCa's coverage nearer to its target, and its mean sensitivity nearer to 95%."""
    aims = {"coverage": 0.8, "mean_sensitivity": 0.95}
    found = {
        m: [result.value(name, method=m, **EXACTLY)["estimate"] for name in aims]
        for m in ("umbrella", *BCA)
    }
    off = {m: np.abs(np.subtract(both, list(aims.values()))) for m, both in found.items()}
    better = (off["bca strict"] < off["umbrella"]).all()
    shown = "; ".join(f"{m} {c:.3f}, {s:.4f}" for m, (c, s) in found.items())
    return Reproduced(float(better), detail=f"coverage, mean sensitivity: {shown}")


def _parametric(result: Result) -> Reproduced:
    """Whether the tolerance bound misses its target: the law of the quantile is known."""
    row = result.value("coverage", method="tolerance", **EXACTLY)
    off = abs(row["estimate"] - row["exact"]) > chance_limit() * row["mcse"]
    detail = f"coverage {row['estimate']:.3f} ({row['mcse']:.3f}), exact {row['exact']:.3f}"
    return Reproduced(float(off), detail=detail)


CLAIMS = (
    Claim(
        "empirical threshold", "The empirical threshold is above the true one 66% of the time",
        "section 1, figure 1", _too_high, published=0.66, rounding=0.005,
        published_mcse=float(binomial_error(0.66, N_SIM)),
    ),
    Claim(
        "at best one half", "The empirical threshold fails at least half of the time", "section 1",
        _at_least_half, published=True,
    ),
    Claim(
        "sensitivity on the test set",
        "The empirical quantile has exactly 95% sensitivity on the test set itself", "section 1",
        _sensitivity_on_test_set, published=0.95, expected="differs",
        note="The interpolated quantile of 50 scores lies between the third and the fourth, so 47 "
        "of 50 are above it.",
    ),
    Claim(
        "no parametric law", "No parametric distribution is known, so the method has to be "
        "non-parametric", "section 2", _parametric, published=True, expected="differs",
        note="The document assumes normal scores, and for these the noncentral t distribution "
        "gives a bound with exactly the confidence asked for.",
    ),
    Claim(
        "minimum", "The smallest score keeps 95% sensitivity close to 100% of the time",
        "section 2", _minimum_is_safe, published=1.0, rounding=0.005, expected="differs",
        note="With 50 positive cases it is 92%, as the document's own table says.",
    ),
    *(
        Claim(
            f"coverage, {method}", f"Coverage of the {method} bound at 80% nominal",
            "section 2, coverage table", partial(_covered, method=method), published=share,
            rounding=0.0005, published_mcse=float(binomial_error(share, N_SIM)),
        )
        for method, share in PUBLISHED.items()
    ),
    Claim(
        "BCa is nearest", "Of the four bootstraps BCa comes closest to the target",
        "section 2, coverage table", _nearest_to_target, published=True,
    ),
    Claim(
        "BCa at its target", "BCa has a coverage of 78% for a target of 80%", "section 2",
        _tie_conventions, published=0.78, rounding=0.005, expected="differs",
        note="Only if bootstrap values equal to the estimate are left out of the bias correction. "
        "About one in ten is equal; counting half of them, as SciPy does, or all, "
        "costs 6 and 14 points.",
    ),
    Claim(
        "bootstrap mean", "The mean of the bootstrapped quantiles exceeds the empirical quantile",
        "section 2, figure 2", _bootstrap_mean, published=True,
        note="On average over test sets; in two of five it is the other way round.",
    ),
    Claim(
        "left skew", "The bootstrapped quantiles are skewed to the left", "section 2, figure 2",
        _left_skew, published=True, note="On average; nearly as many are skewed to the right.",
    ),
    Claim(
        "umbrella's confidence", "The umbrella's actual confidence is 92%", "figure 4",
        _umbrella_covers, published=0.92, rounding=0.005,
    ),
    Claim(
        "umbrella's spread", "The umbrella's thresholds vary more than BCa's, wherever their mean",
        "section 2, figure 4", _umbrella_spreads_more, published=True,
    ),
    Claim(
        "umbrella's spread at 92%", "At 92% confidence they still do, by Levene's test",
        "section 2", _levene, published=True,
    ),
    Claim(
        "exact and efficient",
        "At n = 50 BCa is closer to its confidence than the umbrella, and more efficient",
        "section 2, summary", _bca_is_better, published=True,
        note="It depends on n: with 59 cases the umbrella's confidence is 80.1%.",
    ),
)  # fmt: skip
