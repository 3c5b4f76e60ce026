"""Rao-Blackwell measures: E[Y | part of the data] in place of Y."""

from dataclasses import dataclass, replace

import numpy as np

from simstudy.array_types import Bool
from simstudy.errors import DesignError, StudyError, in_one_line
from simstudy.measures.columns import Columns
from simstudy.measures.core import (
    INFLUENCE,
    Formula,
    Influence,
    Measure,
    MeasureContext,
    inherited,
    standard_error,
)
from simstudy.measures.intervals import StudentInterval
from simstudy.measures.warnings import far_from_zero, of_both


def conditional(measure: Measure, *, raw: Measure, name: str | None = None) -> Measure:
    """A measure of conditional expectations, checked against the measure of the raw column.

    If p is the conditional expectation of a column y, given part of the data, then p has the same
    expectation as y and a smaller variance (Rao and Blackwell). The same is true within a condition
    that is known from the same part of the data.

    Parameters
    ----------
    measure
        Measure to report, such as `mean("p_reject", given="null_is_false")`.
    raw
        Measure of the raw column, such as `power("reject", given="null_is_false")`, with the same
        cells. Limits stay within its range, and `variance_reduction` compares with it.
    name
        Name of the measure in the summary. Default: that of the raw measure.

    Returns
    -------
    Measure
        The measure, in the units of `raw`.

    Raises
    ------
    DesignError
        If the two measures have different axes, or one of them has no influences of single
        replicates.

    Notes
    -----
    Both measures use the replicates that both can use. If the two differ by more than five standard
    errors of their paired difference, one of them is wrong, and the summary has a `warning`. The
    interval is that of `measure`: Student's for a mean of conditional probabilities.

    References
    ----------
    Blackwell (1947), Annals of Mathematical Statistics 18, 105-110.
    """
    for given in (measure, raw):
        _refuse_no_influence(given)
    if tuple(measure.axes) != tuple(raw.axes):
        raise DesignError(
            f"conditional({measure.name!r}, raw={raw.name!r}): the axes {list(measure.axes)} "
            f"and {list(raw.axes)} differ, so the two cannot be compared. "
            "Give two measures with the same cells."
        )
    formula = Formula("its own, of conditional expectations given part of the data", INFLUENCE)
    own = {
        "name": name or raw.name,
        "formula": formula,
        "reads": tuple(dict.fromkeys((*measure.reads, *raw.reads))),
        "interval": _within_range_of(raw.interval, measure.interval),
        "by_cell": measure.by_cell and raw.by_cell,
    }
    return _Conditional(**inherited(measure) | own, smooth=measure, raw=raw)


def _within_range_of(raw: StudentInterval, own: StudentInterval) -> StudentInterval:
    """The measure's own kind of interval, within the range of the raw measure if it has none."""
    return StudentInterval(raw.low, raw.high) if own == StudentInterval() else own


def _refuse_no_influence(value: object) -> None:
    if not isinstance(value, Measure) or value.resamples:
        label = value.name if isinstance(value, Measure) else in_one_line(repr(value))
        raise DesignError(
            f"conditional: {label} has no influence of each replicate, so it cannot be compared "
            "with another measure. Give measures of means, quantiles or shares."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Conditional(Measure):
    smooth: Measure
    raw: Measure

    @property
    def warns(self) -> bool:
        return True

    def bind(self, context: MeasureContext) -> Measure:
        smooth, raw = self.smooth.bind(context), self.raw.bind(context)
        return replace(self, smooth=smooth, raw=raw)

    def used(self, columns: Columns) -> Bool[np.ndarray, " rep *axes"]:
        used, also = self.smooth.used(columns), self.raw.used(columns)
        if used.shape != also.shape:
            raise StudyError(
                f"{self.name}: {self.smooth.name} has replicates and cells of {used.shape}, and "
                f"{self.raw.name} of {also.shape}, so the two cannot be compared. Return both "
                "columns with the same axes."
            )
        return np.asarray(used & also)

    def influence(
        self, columns: Columns, *, keep: Bool[np.ndarray, " rep *axes"] | None = None
    ) -> Influence:
        both = self.used(columns) if keep is None else self.used(columns) & keep
        smooth, raw = (each.influence(columns, keep=both) for each in (self.smooth, self.raw))
        plain = standard_error(raw, ddof=self.raw.ddof) ** 2
        warning = self._disagreement(smooth, raw)
        return smooth._replace(plain=plain, warning=of_both(smooth.warning, warning))

    def _disagreement(self, smooth: Influence, raw: Influence) -> np.ndarray:
        """Warnings on cells in which the two measures differ by more than chance."""
        apart = smooth.estimate - raw.estimate
        with np.errstate(all="ignore"):
            each = np.where(np.isnan(smooth.psi), 0.0, smooth.psi - raw.psi + apart)
        far = far_from_zero(each)
        lines = [
            f"it is {by:+.3g} from {self.raw.name} of the raw column, {z:.0f} standard errors of "
            "the difference: one of the two is wrong"
            if z
            else ""
            for by, z in zip(np.ravel(apart), np.ravel(far), strict=True)
        ]
        return np.array(lines, dtype=object).reshape(np.shape(far))
