"""Is every MCSE the standard deviation of its measure?

Many studies of `N_REP` replicates each, with the study as an axis, so that one call measures all.
Over studies, the mean MCSE is compared with the standard deviation of the estimates: a ratio of 1
is right, 0.5 says that an error is reported at half its size.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from simstudy import measures as m
from tests.support import critical_z

N_REP = 1000
CHUNK = 125  # studies at a time: a few MB in each array
TRUTH = 0.5

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

DISTRIBUTIONS: dict[str, Draw] = {  # all with mean 0 and standard deviation 1
    "normal": lambda rng, size: rng.standard_normal(size),
    "exponential": lambda rng, size: rng.standard_exponential(size) - 1,
}


class Row(NamedTuple):
    """One measure: its mean MCSE over studies, and what that should be."""

    measure: str
    mean_mcse: float
    sd: float

    @property
    def ratio(self) -> float:
        return self.mean_mcse / self.sd


def every_measure() -> dict[str, m.Measure]:
    """All factories, with the columns that `columns` draws, under the names in the table."""
    interval, x = ("lower", "upper"), "estimate"
    found = [
        m.bias(x, TRUTH),
        m.relative_bias(x, TRUTH),
        m.standardised_bias(x, TRUTH),
        m.empirical_se(x),
        m.variance(x),
        m.mse(x, TRUTH),
        m.rmse(x, TRUTH),
        m.mae(x, TRUTH),
        m.model_se("se"),
        m.relative_error_model_se(x, "se"),
        m.coverage(*interval, TRUTH),
        m.coverage(estimate=x, se="se", truth=TRUTH, level=(0.5, 0.9), name="coverage_at"),
        m.coverage(estimate=x, se="se", truth=TRUTH, level=0.8, df=4.0, name="coverage_at_t"),
        m.bias_eliminated_coverage(x, *interval),
        m.bias_eliminated_coverage(x, se="se", level=0.8, name="bias_eliminated_coverage_at"),
        m.tail_miss(*interval, TRUTH, side="below"),
        m.tail_miss(*interval, TRUTH, side="above"),
        m.interval_width(*interval),
        m.interval_score(*interval, TRUTH, level=0.8),
        m.rejection_rate("reject"),
        m.power("reject", given="null_is_false"),
        m.power(estimate=x, se="se", alpha=0.3, given="null_is_false", name="power_at"),
        m.type_1_error("reject", given="null_is_true"),
        m.rejection_rate(
            p_value="p", alpha=(0.1, 0.5), given="null_is_true", name="type_1_error_at"
        ),
        m.convergence_rate("fragile"),
        m.mean("fragile"),
        m.run_time("se"),
        m.median(x),
        m.quantile(x, 0.9),
        m.correlation(x, "other"),
        m.specificity("fragile_reject", effect="null_is_false"),
    ]
    return {measure.name: measure for measure in found}


def columns(draw: Draw, rng: np.random.Generator, n_rep: int, n_studies: int) -> m.Columns:
    """Replicates of many studies, (rep, study), with standard errors that go with the estimates."""
    shape = (n_rep, n_studies)
    z = draw(rng, shape)
    x = TRUTH + 0.1 + z
    se = np.exp(0.2 * rng.standard_normal(shape) + 0.2 * np.clip(z, -3, 3))
    false = rng.random(shape) < 0.4
    fragile = np.where(rng.random(shape) < 0.1, np.nan, x)
    return {
        "estimate": x,
        "other": 0.7 * z + 0.7 * draw(rng, shape),
        "se": se,
        "lower": x - 1.3 * se,
        "upper": x + 1.3 * se,
        "reject": np.abs(x) > 0.3,
        "p": special.ndtr(-x / se),
        "null_is_false": false,
        "null_is_true": ~false,
        "fragile_reject": np.where(rng.random(shape) < 0.1, np.nan, z + false > 0.5),
        "fragile": fragile,
    }


def results(data: m.Columns) -> dict[str, m.Estimates]:
    """Every measure, and the comparisons of two methods."""
    found = {name: measure.estimate(data) for name, measure in every_measure().items()}
    pair = {"estimate": np.stack([data["estimate"], data["other"]], axis=1)}
    spread = m.empirical_se("estimate")
    gain = m.relative_precision("estimate", axis=0, reference=0).estimate(pair)
    found["relative_precision"] = gain.map(lambda part: part[1])
    for scale in ("difference", "ratio"):
        both = m.paired_methods(spread, pair, method=0, reference=1, scale=scale)
        found[f"empirical_se: paired {scale}"] = both
    return found


def studies(
    name: str, n_studies: int, *, seed: int, measure: Callable[[m.Columns], dict[str, m.Estimates]]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Estimates and MCSEs of each measure, over studies."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for start in range(0, n_studies, CHUNK):
        data = columns(DISTRIBUTIONS[name], rng, N_REP, min(CHUNK, n_studies - start))
        for key, result in measure(data).items():
            found.setdefault(key, []).append((result.estimate, result.mcse))
    return {
        key: (np.concatenate([e for e, _ in parts]), np.concatenate([s for _, s in parts]))
        for key, parts in found.items()
    }


def calibration(name: str, n_studies: int, *, seed: int = 1) -> list[Row]:
    """The table for estimates of one distribution; measures with an axis have a row per value."""
    rows = []
    for key, (estimates, mcse) in studies(name, n_studies, seed=seed, measure=results).items():
        wide = estimates.reshape(n_studies, -1), mcse.reshape(n_studies, -1)
        for k, (values, errors) in enumerate(zip(*(part.T for part in wide), strict=True)):
            label = key if wide[0].shape[1] == 1 else f"{key} [{k}]"
            rows.append(row(label, values, errors))
    return rows


def row(label: str, estimates: np.ndarray, mcse: np.ndarray) -> Row:
    return Row(label, float(mcse.mean()), float(estimates.std(ddof=1)))


def studies_for(gate: float, comparisons: int) -> int:
    """Studies for which chance moves a right ratio past `gate` with probability 1e-5 in each row.

    The standard deviation of normal estimates over S studies has the relative error 1/sqrt(2 S).
    """
    return math.ceil((critical_z(comparisons) / gate) ** 2 / 2)
