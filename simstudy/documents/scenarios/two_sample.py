"""Two independent samples of one shape, with different variances: drawn, and compared seven ways.

`TwoSample` draws; each function of `METHODS` analyses, by parameters that name what it is set.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.dgps.location import Bernoulli, Gaussian, LocationDgp
from simstudy.documents.stats.two_sample import bootstrap_t as bootstraps
from simstudy.documents.stats.two_sample import permutation as permutations
from simstudy.documents.stats.two_sample import rank_sum as rank_sums
from simstudy.documents.stats.two_sample import t_tests, theory
from simstudy.documents.stats.two_sample.samples import Comparison, is_rejected
from simstudy.engine.per_replicate import each_replicate
from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.measures import (
    bias,
    coverage,
    interval_width,
    power,
    tail_miss,
    type_1_error,
)
from simstudy.provenance.streams import Streams

N_DRAWN = 999  # resamples, and partitions, of each replicate
TRIMMED = 0.2  # share that the trimmed test takes off either end
NO_ANSWER = "both samples are constant, or an observation is not finite: there is no p-value"

Sample = Float[np.ndarray, "rep obs"]
Columns = Mapping[str, Any]


@dataclass(frozen=True)
class TwoSample:
    """Two independent samples whose variances average 1.

    Parameters
    ----------
    n1, n2
        Observations in each sample, at least 2.
    variance_ratio
        Variance of the first distribution over that of the second.
    effect
        First mean less second, in standard errors of the difference of sample means.
    alpha
        Level of the tests; their intervals' nominal coverage is 1 - alpha.
    dgp
        The shape of both distributions. Its own mean and variance are taken out.

    Raises
    ------
    DesignError
        If a sample has a single observation, or the variance ratio leaves one without variance.
    """

    n1: int
    n2: int
    variance_ratio: float = 1.0
    effect: float = 0.0
    alpha: float = 0.05
    dgp: LocationDgp = Gaussian(mean=0.0, variance=1.0)

    def __post_init__(self) -> None:
        if min(self.n1, self.n2) < 2:
            raise DesignError(
                f"n1={self.n1}, n2={self.n2}: a single observation has no spread, so no method "
                "here can judge the difference. Use at least 2 in each sample."
            )
        if not (np.isfinite(self.variance_ratio) and self.variance_ratio > 0):
            raise DesignError(
                f"variance_ratio={self.variance_ratio:g} leaves a sample without variance, or "
                "gives it an infinite one. Use a finite ratio above 0."
            )

    @property
    def sds(self) -> tuple[float, float]:
        """Standard deviations of both distributions; their squares average 1."""
        first = 2 * self.variance_ratio / (1 + self.variance_ratio)
        return float(np.sqrt(first)), float(np.sqrt(2 - first))

    @property
    def difference(self) -> float:
        """First mean less second, in the units of the data."""
        sd1, sd2 = self.sds
        return self.effect * float(np.sqrt(sd1**2 / self.n1 + sd2**2 / self.n2))

    def draw(self, streams: Streams, n_rep: int) -> Columns:
        rng, (sd1, sd2) = streams("data"), self.sds
        return {
            "x": sd1 * self._standardised(rng, n_rep, self.n1) + self.difference,
            "y": sd2 * self._standardised(rng, n_rep, self.n2),
            "truth": self.difference,
        }

    def _standardised(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> Sample:
        about_mean = self.dgp.draw(rng, n_rep, n_obs) - self.dgp.mean
        return np.asarray(about_mean / np.sqrt(self.dgp.variance))


# ---------------------------------------------------------------- methods
def student(x: Sample, y: Sample, alpha: float, truth: float) -> Columns:
    """Student's t with a pooled variance."""
    return _columns(t_tests.student(x, y, alpha=alpha), alpha, truth)


def welch(x: Sample, y: Sample, alpha: float, truth: float) -> Columns:
    """Welch's t."""
    return _columns(t_tests.welch(x, y, alpha=alpha), alpha, truth)


def rank_sum(x: Sample, y: Sample, alpha: float, truth: float) -> Columns:
    """Wilcoxon's rank-sum test with the estimate and interval of Hodges and Lehmann.

    They are held against the difference of means like the others, which is what most readers take
    them for; where shapes are skewed and variances differ the median of X - Y is another number.
    """
    return _columns(rank_sums.rank_sum(x, y, alpha=alpha), alpha, truth)


def permutation(x: Sample, y: Sample, alpha: float, truth: float, streams: Streams) -> Columns:
    """Permutation test of the studentized difference of means."""
    rng = streams("partitions")
    found = permutations.permutation(x, y, rng, alpha=alpha, n_perm=N_DRAWN)
    return _columns(found, alpha, truth)


def plain_permutation(
    x: Sample, y: Sample, alpha: float, truth: float, streams: Streams
) -> Columns:
    """Permutation test of the difference of means as it is."""
    rng = streams("partitions")
    found = permutations.permutation(x, y, rng, alpha=alpha, n_perm=N_DRAWN, studentized=False)
    return _columns(found, alpha, truth)


def bootstrap_t(x: Sample, y: Sample, alpha: float, truth: float, streams: Streams) -> Columns:
    """Bootstrap t with equal tails."""
    found = bootstraps.bootstrap_t(x, y, streams("resamples"), alpha=alpha, n_boot=N_DRAWN)
    return _columns(found, alpha, truth)


def trimmed_t(
    x: Float[np.ndarray, " obs"], y: Float[np.ndarray, " obs"], alpha: float, truth: float
) -> dict[str, float]:
    """Yuen's t for trimmed means, one replicate at a time.

    Its difference is of 20% trimmed means, held against that of means like the others'.

    Raises
    ------
    ValueError
        If no spread is left after trimming.

    References
    ----------
    Yuen (1974), Biometrika 61, 165-170.
    """
    (mean1, variance1, df1), (mean2, variance2, df2) = _trimmed(x), _trimmed(y)
    variance = variance1 + variance2
    if not variance > 0:
        raise ValueError("no spread is left in either sample after trimming: there is no p-value")
    df = variance**2 / (variance1**2 / df1 + variance2**2 / df2)
    estimate, std_error = mean1 - mean2, np.sqrt(variance)
    half_width = special.stdtrit(df, 1 - alpha / 2) * std_error
    p = 2 * special.stdtr(df, -abs(estimate) / std_error)
    return dict(
        _about(p, alpha, truth),
        estimate=estimate, lower=estimate - half_width, upper=estimate + half_width, p=p,
    )  # fmt: skip


def _trimmed(x: Float[np.ndarray, " obs"]) -> tuple[float, float, int]:
    """Trimmed mean, its winsorized variance, and its degrees of freedom."""
    ordered, n_off = np.sort(x), int(TRIMMED * len(x))
    kept = ordered[n_off : len(x) - n_off]
    winsorized = np.clip(ordered, kept[0], kept[-1])
    squares = float(((winsorized - winsorized.mean()) ** 2).sum())
    return float(kept.mean()), squares / (len(kept) * (len(kept) - 1)), len(kept) - 1


METHODS: dict[str, Callable[..., Any]] = {
    "student": student,
    "welch": welch,
    "trimmed_t": each_replicate(trimmed_t),
    "rank_sum": rank_sum,
    "plain_permutation": plain_permutation,
    "permutation": permutation,
    "bootstrap_t": bootstrap_t,
}
"""What may be asked of such data; each is stored apart, so any of them will do."""


def _columns(found: Comparison, alpha: float, truth: float) -> Columns:
    columns, lost = found._asdict() | _about(found.p, alpha, truth), np.isnan(found.p)
    if lost.any():
        columns["error"] = np.array([NO_ANSWER if gone else None for gone in lost], dtype=object)
    return columns


def _about(p: Any, alpha: float, truth: float) -> dict[str, Any]:
    """Columns that measures read besides the answer: the rejection, and the truth."""
    null_is_true = float(truth == 0)
    return {
        "reject": is_rejected(p, alpha),
        "truth": truth,
        "null_is_true": null_is_true,
        "null_is_false": 1 - null_is_true,
    }


# ---------------------------------------------------------------- theory
@dataclass(frozen=True)
class ComparedSamples(TwoSample):
    """Two samples that all of `METHODS` compare, in that order: with what is known of them."""

    def exact(self) -> dict[str, Float[np.ndarray, " method"]]:
        """Compute rejections and coverage, by method.

        Data and intervals move with the difference, so an interval misses as often as a true null
        is rejected.

        Returns
        -------
        dict[str, Float[np.ndarray, ' method']]
            Exact values by measure; NaN where only simulation says.
        """
        known = "power" if self.effect else "type_1_error"
        size = self._by_method(0.0)
        return {known: self._by_method(self.effect), "coverage": 1 - size}

    def _by_method(self, effect: float) -> Float[np.ndarray, " method"]:
        known = self._of_normals(effect) | (self._of_equals() if effect == 0 else {})
        return np.array([known.get(method, np.nan) for method in METHODS])

    def _of_normals(self, effect: float) -> dict[str, float]:
        if not isinstance(self.dgp, Gaussian):
            return {}
        about = self.n1, self.n2, self.variance_ratio
        return {
            "student": theory.student_rejection(*about, effect=effect, alpha=self.alpha),
            "welch": theory.welch_rejection(*about, effect=effect, alpha=self.alpha),
        }

    def _of_equals(self) -> dict[str, float]:
        """Exact values where both distributions are the same, and continuous."""
        if self.variance_ratio != 1 or isinstance(self.dgp, Bernoulli):
            return {}
        drawn = theory.permutation_size(N_DRAWN, self.alpha)
        return {
            "rank_sum": rank_sums.rank_sum_size(self.n1, self.n2, self.alpha),
            "plain_permutation": drawn,
            "permutation": drawn,
        }


MEASURES = (
    type_1_error("reject", given="null_is_true"),
    power("reject", given="null_is_false"),
    coverage("lower", "upper", truth="truth"),
    tail_miss("lower", "upper", truth="truth", side="below"),
    tail_miss("lower", "upper", truth="truth", side="above"),
    bias("estimate", truth="truth"),
    interval_width("lower", "upper"),
)
