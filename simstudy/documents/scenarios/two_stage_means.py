"""The two-stage trial from the errors of its two means: drawn in groups, or where it is rare."""

import functools
from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Float
from simstudy.design import Columns
from simstudy.documents.dgps.in_groups import PAIR, antithetic_normals, stratified_normals
from simstudy.documents.dgps.normals import standard_normals
from simstudy.documents.stats.two_stage.design import critical_value, power
from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.provenance.streams import Streams


@dataclass(frozen=True)
class TwoStageInGroups:
    """A two-stage trial with known variance, whose errors depend on each other group by group.

    Parameters
    ----------
    k, n1, n2, alpha
        As in `TwoStage`.
    draws
        `independent`; `antithetic`, in pairs of which the second has both errors reversed; or
        `stratified`, where a group has one error of each mean in every stratum.
    group_size
        Replicates in a group; the study's `group_size` has to be a multiple of it.
    """

    k: float
    n1: int
    n2: int
    alpha: float = 0.05
    draws: str = "independent"
    group_size: int = 1

    def __post_init__(self) -> None:
        sizes = {"independent": 1, "antithetic": PAIR, "stratified": self.group_size}
        if sizes.get(self.draws) != self.group_size or self.group_size < 1:
            raise DesignError(
                f"draws={self.draws!r} with group_size={self.group_size}: there are independent "
                "draws (1), antithetic ones (2), and stratified ones, of as many strata as there "
                "are replicates in a group. Use for example draws='antithetic', group_size=2."
            )

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        return outcome(self, self._errors(streams("data"), n_rep))

    def _errors(self, rng: np.random.Generator, n_rep: int) -> Float[np.ndarray, "rep stage"]:
        if self.draws == "antithetic":
            return antithetic_normals(rng, n_rep, 2)
        if self.draws == "stratified":
            return stratified_normals(rng, n_rep, 2, n_strata=self.group_size)
        return standard_normals(rng, n_rep, 2)

    def exact(self) -> dict[str, float]:
        return {
            "power": float(power(self.alpha, self.k, self.n1, self.n2)),
            "type_1_error": self.alpha,
            "null_is_false": float(special.ndtr(self.k)),
            "mean_s2": -self.k * float(np.sqrt(self.n2 / self.n1)),
        }


@dataclass(frozen=True)
class TwoStageWhereItRejects:
    """A two-stage trial that is drawn where a true null is rejected, however rare that is.

    Parameters
    ----------
    k, n1, n2, alpha
        As in `TwoStage`.
    shifted
        Share of the replicates that are drawn around the likeliest rejection of a true null: the
        errors (-k, critical value) of the two means in standard errors, where the first mean is as
        low as a true null lets it be. The others are drawn as the trial is.

    Notes
    -----
    The column `weight` is the likelihood ratio of a trial given that the null is true over what
    was drawn: it is 0 where the null is false.
    """

    k: float
    n1: int
    n2: int
    alpha: float = 0.05
    shifted: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.shifted <= 1:
            raise DesignError(
                f"shifted={self.shifted:g} is no share of the replicates. Use a number from 0 to 1."
            )

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        center = np.array([-self.k, limit_of(self)])
        errors = standard_normals(streams("data"), n_rep, 2)
        moved = streams("where").random(n_rep) < self.shifted
        errors = errors + moved[:, None] * center
        columns = outcome(self, errors)
        with np.errstate(over="ignore"):  # weightless there
            density = np.exp(errors @ center - center @ center / 2)
        is_true = np.asarray(columns["null_is_true"])
        weight = is_true / (self.shifted * density + 1 - self.shifted) / special.ndtr(-self.k)
        return {**columns, "weight": weight}

    def exact(self) -> dict[str, float]:
        return {"type_1_error": self.alpha, "type_1_error_normalised": self.alpha}


@functools.lru_cache(maxsize=4096)
def _limit(alpha: float, k: float, n1: int, n2: int) -> float:
    """The critical value, solved once for all blocks of a scenario."""
    return float(critical_value(alpha, k, n1, n2))


def limit_of(trial: "Trial") -> float:
    """Below which statistic a trial rejects."""
    return _limit(trial.alpha, trial.k, trial.n1, trial.n2)


Trial = TwoStageInGroups | TwoStageWhereItRejects


def outcome(trial: Trial, errors: Float[np.ndarray, "rep stage"]) -> dict[str, np.ndarray]:
    """Outcome of a trial, from the errors of its means in standard errors of each.

    `p_reject` is the probability of rejecting, given the first stage alone.
    """
    z1, z2 = errors.T
    distance, r, limit = z1 + trial.k, np.sqrt(trial.n2 / trial.n1), limit_of(trial)
    s2 = z2 - r * distance
    return {
        "distance": distance,
        "s2": s2,
        "null_is_false": distance > 0,
        "null_is_true": distance <= 0,
        "reject": s2 < limit,
        "p_reject": special.ndtr(limit + r * distance),
    }
