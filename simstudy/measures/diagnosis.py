"""Measures of diagnostic tests: sensitivity, specificity, predictive values.

They need replicates with and without an effect in one scenario, and a column that distinguishes
them: the truth is drawn, or a scenario holds many tests. If each scenario either has an effect or
not, use `power` and `type_1_error`. The likelihood ratios are then ratios of two scenarios
(`Result.contrast(..., scale="ratio")`): of `rejection_rate` the positive one, of
`non_rejection_rate` the negative one.

All are ratios of means, so their Monte Carlo standard errors come from the delta method with
random denominators. Terms: Altman & Bland (1994), BMJ 308, 1552 and BMJ 309, 102; likelihood
ratios: Deeks & Altman (2004), BMJ 329, 168-169.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simstudy.measures.columns import Columns, names_in
from simstudy.measures.core import BINOMIAL, INFLUENCE, WITHIN, Formula, Influence
from simstudy.measures.intervals import Proportion, RatioInterval, WilsonInterval
from simstudy.measures.moments import Means, MomentMeasure, Number, ratio, share
from simstudy.measures.proportions import flag_share, flags, proportion


def non_rejection_rate(
    reject: str, *, given: str | None = None, name: str = "non_rejection_rate"
) -> MomentMeasure:
    """Share of replicates that do not reject.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    given
        Column of True and False, or 1 and 0: only replicates in which it is true count. Default:
        all.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval.
    """

    def kept(columns: Columns) -> np.ndarray:
        return 1 - flags(columns, reject)

    return proportion(
        name,
        names_in(reject),
        kept,
        given=given,
        by_cell=True,
        formula=Formula("Σ1(does not reject)/n", BINOMIAL),
    )


def sensitivity(reject: str, *, effect: str, name: str = "sensitivity") -> MomentMeasure:
    """Share of replicates with an effect that reject: power if the truth is drawn.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    effect
        Column of True and False, or 1 and 0: whether the replicate has an effect, so that its
        null is false.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval; NaN if no replicate has an effect.
    """
    return flag_share(name, Formula("Σ1(rejects, effect)/Σ1(effect)", WITHIN), reject, given=effect)


def specificity(reject: str, *, effect: str, name: str = "specificity") -> MomentMeasure:
    """Share of replicates without an effect that do not reject.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    effect
        Column of True and False, or 1 and 0: whether the replicate has an effect, so that its
        null is false.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval; NaN if every replicate has an
        effect.
    """
    return _share_of_others(
        name, "Σ1(does not reject, no effect)/Σ1(no effect)", reject, among=effect
    )


def positive_predictive_value(
    reject: str, *, effect: str, name: str = "positive_predictive_value"
) -> MomentMeasure:
    """Share of rejections with an effect.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    effect
        Column of True and False, or 1 and 0: whether the replicate has an effect, so that its
        null is false.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval; NaN if none rejects.

    References
    ----------
    Altman & Bland (1994), BMJ 309, 102.
    """
    return flag_share(
        name, Formula("Σ1(rejects, effect)/Σ1(rejects)", WITHIN), effect, given=reject
    )


def negative_predictive_value(
    reject: str, *, effect: str, name: str = "negative_predictive_value"
) -> MomentMeasure:
    """Share without an effect among replicates that do not reject.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    effect
        Column of True and False, or 1 and 0: whether the replicate has an effect, so that its
        null is false.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure of a proportion, with Wilson's interval; NaN if all reject.

    References
    ----------
    Altman & Bland (1994), BMJ 309, 102.
    """
    return _share_of_others(
        name, "Σ1(does not reject, no effect)/Σ1(does not reject)", effect, among=reject
    )


def positive_likelihood_ratio(
    reject: str, *, effect: str, name: str = "positive_likelihood_ratio"
) -> MomentMeasure:
    """Sensitivity over the rejection rate without an effect.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    effect
        Column of True and False, or 1 and 0: whether the replicate has an effect, so that its
        null is false.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure without a unit, 0 or above; NaN if no replicate without an effect rejects,
        or if all replicates have an effect, or none.

    References
    ----------
    Deeks & Altman (2004), BMJ 329, 168-169.
    """
    return _ratio_of_rates(name, "sensitivity/(1 − specificity)", reject, effect, lambda rate: rate)


def negative_likelihood_ratio(
    reject: str, *, effect: str, name: str = "negative_likelihood_ratio"
) -> MomentMeasure:
    """(1 - sensitivity) / specificity.

    Parameters
    ----------
    reject
        Column of True and False, or 1 and 0 (NaN if the replicate failed).
    effect
        Column of True and False, or 1 and 0: whether the replicate has an effect, so that its
        null is false.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure without a unit, 0 or above; NaN if all replicates without an effect reject,
        or if all replicates have an effect, or none.

    References
    ----------
    Deeks & Altman (2004), BMJ 329, 168-169.
    """
    return _ratio_of_rates(
        name, "(1 − sensitivity)/specificity", reject, effect, lambda rate: 1 - rate
    )


def _share_of_others(name: str, formula: str, event: str, *, among: str) -> MomentMeasure:
    """Share of replicates without the event, outside the condition."""

    def terms(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        others = 1 - flags(columns, among)
        return others * (1 - flags(columns, event)), others

    return MomentMeasure(
        by_cell=True,
        name=name,
        formula=Formula(formula, WITHIN),
        reads=names_in(event, among),
        terms=terms,
        value=share,
        trials=lambda means, n: means[1] * n,
        interval=WilsonInterval(),
        ddof=0,
        undefined=f"no replicate is without {among}",
    )


def _ratio_of_rates(
    name: str, formula: str, reject: str, effect: str, of: Callable[[Number], Number]
) -> MomentMeasure:
    """A function of the rejection rate with an effect, over that without one."""

    def terms(columns: Columns) -> tuple[np.ndarray, ...]:
        rejects, has = flags(columns, reject), flags(columns, effect)
        return rejects * has, has, rejects * (1 - has), 1 - has

    def value(means: Means, _n: np.ndarray) -> np.ndarray:
        power, size = ratio(means[0], means[1]), ratio(means[2], means[3])
        return ratio(of(power), of(size))

    return _RatioOfRates(
        by_cell=True,
        name=name,
        formula=Formula(formula, INFLUENCE),
        interval=RatioInterval(),
        reads=names_in(reject, effect),
        terms=terms,
        value=value,
        of=of,
        undefined=f"the rate without {effect} is 0, or replicates with or without it are missing",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _RatioOfRates(MomentMeasure):
    of: Callable[[Number], Number]

    def _influence(
        self, means: Means, n: np.ndarray, n_failed: np.ndarray, psi: np.ndarray
    ) -> Influence:
        found = super()._influence(means, n, n_failed, psi)
        above, below = (
            Proportion(np.asarray(self.of(ratio(events, among))), np.asarray(n * among))
            for events, among in (means[:2], means[2:])
        )
        return found._replace(interval=RatioInterval(above=above, below=below))
