"""Replicates that depend on each other in groups of a fixed size."""

from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Bool, Float, Int, Shaped
from simstudy.errors import StudyError
from simstudy.measures.columns import Columns
from simstudy.measures.core import (
    TOO_FEW,
    Estimates,
    Influence,
    Measure,
    MeasureContext,
    inherited,
    standard_error,
)
from simstudy.measures.intervals import StudentInterval
from simstudy.measures.warnings import of_both

FEW_GROUPS = 20  # fewer groups get a warning: a normal interval is then too short


def bind(measure: Measure, context: MeasureContext) -> Measure:
    """The measure as a study uses it: with labels and seed, and the error of groups.

    Raises
    ------
    StudyError
        If the measure's error holds for independent replicates only, and these are not.
    """
    bound, size = measure.bind(context), context.group_size
    if size == 1:
        return bound
    if bound.needs_independence:
        raise StudyError(
            f"{bound.name}: {bound.needs_independence}, and the study's replicates come in "
            f"groups of {size}. Take a measure with influences, or group_size=1."
        )
    kind = bound.interval if bound.interval.is_proportion else StudentInterval()
    return _InGroups(**inherited(bound) | {"interval": kind}, base=bound, size=size)


@dataclass(frozen=True, eq=False, kw_only=True)
class _InGroups(Measure):
    """A measure whose influences are averaged over groups, which count as replicates."""

    base: Measure
    size: int

    @property
    def warns(self) -> bool:
        return self.base.warns

    @property
    def averages(self) -> bool:
        return self.base.averages

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        return self.base.used(columns)

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        alone = self.base.influence(columns, keep=keep)
        plain = standard_error(alone, ddof=self.ddof) ** 2 if alone.plain is None else alone.plain
        n_lost = np.isnan(alone.psi).sum(axis=0)
        psi, n_groups = group_means(alone.psi, alone.n_rep, self.size)
        is_share = self.interval.is_proportion
        return alone._replace(
            psi=np.where(n_lost > alone.n_failed, np.nan, psi),  # infinite: no influence
            n_rep=n_groups,
            n_failed=len(psi) - n_groups,
            trials=np.maximum(alone.trials / self.size, np.minimum(alone.trials, 1.0)),
            n_given=None,
            plain=plain,
            warning=of_both(alone.warning, few_groups(n_groups) if is_share else None),
            interval=None,
        )

    def estimate(self, columns: Columns, *, level: float = 0.95) -> Estimates:
        alone = self.base.estimate(columns, level=level)
        groups = super().estimate(columns, level=level)
        of_groups = TOO_FEW.replace("replicates", f"groups of {self.size} replicates")
        reason = np.where(groups.reason == TOO_FEW, of_groups, groups.reason)
        reason = np.where(alone.reason == "", reason, alone.reason)
        counts = {name: getattr(alone, name) for name in ("n_rep", "n_failed", "n_given")}
        return groups._replace(**counts, reason=reason)


def group_means(
    psi: Float[np.ndarray, " rep *cells"], n_rep: Int[np.ndarray, " *cells"], size: int
) -> tuple[Float[np.ndarray, " group *cells"], Int[np.ndarray, " *cells"]]:
    """Average the influences of consecutive groups of replicates.

    The influence of a group is such that the groups' mean is the error of the estimate, as it is
    of replicates (Liang & Zeger 1986, Biometrika 73, 13-22). The last group may be smaller.

    Parameters
    ----------
    psi
        Influences of replicates; NaN if a replicate was not used.
    n_rep
        Replicates used.

    Returns
    -------
    tuple
        Influences of groups, NaN for a group without used replicates; and the number of groups
        with used ones.
    """
    pad = [(0, -len(psi) % size), *[(0, 0)] * (psi.ndim - 1)]
    used = np.pad(~np.isnan(psi), pad)
    values = np.where(used, np.pad(psi, pad), 0.0)
    sums, is_used = values[::size], used[::size]
    for member in range(1, size):
        sums, is_used = sums + values[member::size], is_used | used[member::size]
    n_groups = np.asarray(is_used.sum(axis=0))
    with np.errstate(all="ignore"):
        return np.where(is_used, sums * (n_groups / n_rep), np.nan), n_groups


def few_groups(n_groups: Int[np.ndarray, " *cells"]) -> Shaped[np.ndarray, " *cells"] | None:
    """Warnings on cells whose error rests on few groups; None if there are none."""
    few = (n_groups >= 2) & (n_groups < FEW_GROUPS)
    words = "groups are few to know an error by: its interval is too short"
    lines = [f"{n} {words}" for n in n_groups.flat]
    return np.where(few, np.reshape(lines, few.shape), "") if few.any() else None
