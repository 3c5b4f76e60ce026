"""Measures of estimators: bias, empirical and model standard error, mean squared error.

Formulas: Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6. Some of
their Monte Carlo standard errors assume normal estimates; those here do not, unless
`mcse="normal"`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from simstudy.errors import DesignError, StudyError, UndefinedError, nearest
from simstudy.measures.columns import (
    RELATIVE_ROUNDING,
    Columns,
    Keep,
    Operand,
    check_choice,
    check_se,
    names_in,
    operand,
    total,
)
from simstudy.measures.core import INFLUENCE, NORMAL, Estimates, Formula, Influence, MeasureContext
from simstudy.measures.intervals import END, NOT_NEGATIVE, ScaledInterval, StudentInterval
from simstudy.measures.moments import (
    Mcse,
    Means,
    MomentMeasure,
    NormalMcse,
    centred,
    only,
    ratio,
    share,
    variance_of,
)
from simstudy.measures.proportions import flags

Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]  # arguments: estimate - truth, truth


def mean(column: str, *, given: str | None = None, name: str | None = None) -> MomentMeasure:
    """Mean of a column, in the column's units.

    Parameters
    ----------
    column
        Any numeric column; NaN if the replicate failed.
    given
        Column of True and False, or 1 and 0: only replicates in which it is true count. The mean
        is NaN if there are none.
    name
        Name of the measure in the summary. Default: `mean_` and the column.

    Returns
    -------
    MomentMeasure
        A measure in the units of the column.
    """
    of_all = MomentMeasure(
        by_cell=True,
        name=name or f"mean_{column}",
        formula=Formula("Σxᵢ/n", "sd(xᵢ)/√n"),
        reads=(column,),
        terms=lambda columns: (columns[column],),
        value=only,
    )
    if given is None:
        return of_all

    def terms(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        condition = flags(columns, given)
        return np.where(condition, columns[column], 0.0), condition

    return replace(
        of_all,
        formula=Formula("Σxᵢ1(in the condition)/Σ1(in the condition)", INFLUENCE),
        reads=names_in(column, given),
        terms=terms,
        value=share,
        trials=lambda means, n: means[1] * n,
        undefined=f"no replicate has {given}",
    )


def run_time(seconds: str, *, name: str = "run_time") -> MomentMeasure:
    """Mean of a column of seconds.

    Parameters
    ----------
    seconds
        Column of seconds.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in seconds.
    """
    return mean(seconds, name=name)


def bias(estimate: str, truth: Operand, *, name: str = "bias") -> MomentMeasure:
    """Mean of estimate - truth, in the units of the estimate.

    Parameters
    ----------
    estimate
        Column of estimates.
    truth
        The true value: a column, or a number.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in the units of the estimates.

    References
    ----------
    Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6.
    """
    formula = Formula("Σ(θ̂ᵢ − θ)/n", "sd(θ̂ᵢ − θ)/√n")
    return _mean_of_error(name, formula, estimate, truth, lambda error, _: error, _unit_slope)


def mse(estimate: str, truth: Operand, *, name: str = "mse") -> MomentMeasure:
    """Mean squared error, in squared units of the estimate.

    The MCSE is that of Morris et al., which assumes no distribution.

    Parameters
    ----------
    estimate
        Column of estimates.
    truth
        The true value: a column, or a number.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in squared units of the estimates.

    References
    ----------
    Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6.
    """
    formula = Formula("Σ(θ̂ᵢ − θ)²/n", "sd((θ̂ᵢ − θ)²)/√n")
    squares = _mean_of_error(name, formula, estimate, truth, _square, _slope_of_square)
    return replace(squares, interval=NOT_NEGATIVE)


def mae(estimate: str, truth: Operand, *, name: str = "mae") -> MomentMeasure:
    """Mean absolute error, in units of the estimate.

    Parameters
    ----------
    estimate
        Column of estimates.
    truth
        The true value: a column, or a number.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in the units of the estimates.
    """
    formula = Formula("Σ|θ̂ᵢ − θ|/n", "sd(|θ̂ᵢ − θ|)/√n")
    sizes = _mean_of_error(name, formula, estimate, truth, lambda error, _: abs(error), _unit_slope)
    return replace(sizes, interval=NOT_NEGATIVE)


def relative_bias(estimate: str, truth: Operand, *, name: str = "relative_bias") -> MomentMeasure:
    """Mean of (estimate - truth)/truth, a proportion.

    Parameters
    ----------
    estimate
        Column of estimates.
    truth
        The true value: a column, or a number other than 0. If a column is 0 in a scenario, the
        measure has no value there; if it has none in any scenario, `StudyError` is raised.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure without a unit: 0.1 is a bias of 10%.

    Raises
    ------
    DesignError
        If `truth` is the number 0.
    """
    is_zero = (
        f"{name} divides by the truth, which is 0 here, so it has no value. Use bias, or "
        "standardised_bias, which divides by the empirical SE."
    )
    if not isinstance(truth, str) and truth == 0:
        raise DesignError(is_zero)

    def relative(error: np.ndarray, true: np.ndarray) -> np.ndarray:
        if (true == 0).any():
            raise UndefinedError(is_zero, "the truth is 0")
        return np.asarray(error / true)

    formula = Formula("Σ((θ̂ᵢ − θ)/θ)/n", "sd((θ̂ᵢ − θ)/θ)/√n")
    return _mean_of_error(
        name, formula, estimate, truth, relative, lambda _, true: 1 / np.abs(true)
    )


def rmse(estimate: str, truth: Operand, *, name: str = "rmse") -> MomentMeasure:
    """Root of the mean squared error; its MCSE is MCSE(MSE)/(2 RMSE), or 0 if all are exact.

    Parameters
    ----------
    estimate
        Column of estimates.
    truth
        The true value: a column, or a number.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in the units of the estimates.
    """
    formula = Formula("√(Σ(θ̂ᵢ − θ)²/n)", "MCSE(MSE)/(2 RMSE)")
    squares = _mean_of_error(name, formula, estimate, truth, _square, _slope_of_square)
    return replace(squares, interval=NOT_NEGATIVE, value=_root, doubted=(0,))


def variance(estimate: str, *, name: str = "variance") -> MomentMeasure:
    """Variance of the estimates over replicates, divisor n - 1.

    Parameters
    ----------
    estimate
        Column of estimates.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in squared units of the estimates.
    """
    return MomentMeasure(
        by_cell=True,
        name=name,
        formula=Formula("Σ(θ̂ᵢ − θ̄)²/(n − 1)", "sd((θ̂ᵢ − θ̄)²) n/(n − 1)/√n"),
        interval=NOT_NEGATIVE,
        min_rep=3,
        reads=(estimate,),
        terms=lambda columns: two_powers(columns, estimate),
        sizes=lambda columns: sizes_of_powers(columns, estimate),
        value=lambda means, n: variance_of(means[0], means[1], n),
        centred_columns=(estimate,),
        doubted=(1,),
    )


def empirical_se(
    estimate: str, *, name: str = "empirical_se", mcse: Mcse = "influence"
) -> MomentMeasure:
    """Standard deviation of the estimates over replicates.

    Parameters
    ----------
    estimate
        Column of estimates.
    name
        Name of the measure in the summary.
    mcse
        "influence" is valid for every distribution with four moments. "normal" is
        SE/sqrt(2(n - 1)) of Morris et al., which is half of the true error or less for
        exponential estimates.

    Returns
    -------
    MomentMeasure
        A measure in the units of the estimates.

    Raises
    ------
    DesignError
        If `mcse` is neither "influence" nor "normal".

    References
    ----------
    Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6.
    """
    error = NORMAL if mcse == "normal" else "MCSE(variance)/(2 empirical SE)"
    return replace(
        variance(estimate, name=name),
        formula=Formula("√(Σ(θ̂ᵢ − θ̄)²/(n − 1))", error),
        value=_spread,
        normal_mcse=_normal(mcse, _normal_empirical_se),
    )


def standardised_bias(
    estimate: str, truth: Operand, *, name: str = "standardised_bias"
) -> MomentMeasure:
    """Bias over the empirical SE, without a unit; NaN if the estimates have no spread.

    Parameters
    ----------
    estimate
        Column of estimates.
    truth
        The true value: a column, or a number.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure without a unit, in empirical standard errors.
    """
    return MomentMeasure(
        by_cell=True,
        name=name,
        formula=Formula("Σ(θ̂ᵢ − θ)/n / empirical SE", INFLUENCE),
        min_rep=3,
        reads=names_in(estimate, truth),
        terms=lambda columns: (
            columns[estimate] - operand(columns, truth),
            *two_powers(columns, estimate),
        ),
        sizes=lambda columns: (
            _size_of_error(columns, estimate, truth),
            *sizes_of_powers(columns, estimate),
        ),
        value=lambda means, n: ratio(means[0], _spread(means[1:], n)),
        centred_columns=(estimate,),
        undefined="the estimates have no spread",
        doubted=(0, 2),
    )


def model_se(se: str, *, name: str = "model_se") -> MomentMeasure:
    """Root of the mean squared standard error.

    Parameters
    ----------
    se
        Column of standard errors; a negative one is refused.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in the units of the standard errors.

    References
    ----------
    Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6.
    """
    return MomentMeasure(
        by_cell=True,
        name=name,
        formula=Formula("√(Σseᵢ²/n)", "sd(seᵢ²)/√n/(2 model SE)"),
        interval=NOT_NEGATIVE,
        reads=(se,),
        terms=lambda columns: (_squared_se(columns, se),),
        value=_root,
    )


def relative_error_model_se(
    estimate: str, se: str, *, name: str = "relative_error_model_se", mcse: Mcse = "influence"
) -> MomentMeasure:
    """Model SE over empirical SE, less one: a proportion, negative if SEs are too small.

    Parameters
    ----------
    estimate, se
        Columns of estimates and of their standard errors, which may not be negative.
    name
        Name of the measure in the summary.
    mcse
        "influence" accounts for the correlation of estimates and standard errors. "normal" is the
        formula of Morris et al., for normal estimates independent of their standard errors.

    Returns
    -------
    MomentMeasure
        A measure without a unit: -0.1 means that standard errors are 10% too small.

    Raises
    ------
    DesignError
        If `mcse` is neither "influence" nor "normal".

    References
    ----------
    Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, Table 6.
    """
    error = NORMAL if mcse == "normal" else INFLUENCE
    return MomentMeasure(
        by_cell=True,
        name=name,
        formula=Formula("model SE / empirical SE, less 1", error),
        interval=StudentInterval(low=-1.0),
        min_rep=3,
        reads=(estimate, se),
        terms=lambda columns: (*two_powers(columns, estimate), _squared_se(columns, se)),
        sizes=lambda columns: (*sizes_of_powers(columns, estimate), columns[se] ** 2),
        value=_relative_error,
        centred_columns=(estimate,),
        normal_mcse=_normal(mcse, _normal_relative_error),
        doubted=(1, 2),
        undefined="the estimates have no spread",
    )


def _mean_of_error(
    name: str, formula: Formula, estimate: str, truth: Operand, loss: Loss, slope: Loss
) -> MomentMeasure:
    """Mean of a loss of the error; `slope` is that of the loss at an absolute error."""

    def terms(columns: Columns) -> tuple[np.ndarray]:
        true = operand(columns, truth)
        return (loss(columns[estimate] - true, true),)

    def sizes(columns: Columns) -> tuple[np.ndarray]:
        true = operand(columns, truth)
        size = _size_of_error(columns, estimate, truth)
        error = np.abs(columns[estimate] - true) + RELATIVE_ROUNDING * size
        return (slope(error, true) * size,)

    return MomentMeasure(
        name=name,
        formula=formula,
        reads=names_in(estimate, truth),
        terms=terms,
        sizes=sizes,
        value=only,
        by_cell=True,
    )


def _square(error: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.asarray(error * error)


def _slope_of_square(error: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.asarray(2 * error)


def _unit_slope(_: np.ndarray, true: np.ndarray) -> np.ndarray:
    return np.ones(np.shape(true))


def _size_of_error(columns: Columns, estimate: str, truth: Operand) -> np.ndarray:
    """What an error is the difference of, in absolute values."""
    return np.asarray(np.abs(columns[estimate]) + np.abs(operand(columns, truth)))


def _root(means: Means, _n: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(means[0]))


def two_powers(columns: Columns, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A centred column and its squares: the terms of a variance."""
    x = columns[centred(name)]
    return x, x * x


SPACING = 1e-3  # of doubles, over RELATIVE_ROUNDING: a mean is removed that exactly


def sizes_of_powers(columns: Columns, name: str) -> tuple[np.ndarray, np.ndarray]:
    """What `two_powers` are computed from, in absolute values."""
    x = columns[centred(name)]
    size = SPACING * (np.abs(columns[name]) + np.abs(columns[name] - x))
    return size, 2 * np.abs(x) * size


def _spread(means: Means, n: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(variance_of(means[0], means[1], n)))


def _relative_error(means: Means, n: np.ndarray) -> np.ndarray:
    return np.asarray(ratio(np.sqrt(means[2]), _spread(means[:2], n)) - 1)


def _squared_se(columns: Columns, se: str) -> np.ndarray:
    check_se(columns, se)
    return np.asarray(np.square(columns[se], dtype=float))


def _normal(mcse: Mcse, normal: NormalMcse) -> NormalMcse | None:
    check_choice("mcse", mcse, Mcse)
    return normal if mcse == "normal" else None


def _normal_empirical_se(means: Means, _covariance: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.asarray(_spread(means, n) / np.sqrt(2 * (n - 1.0)))


def _normal_relative_error(means: Means, covariance: np.ndarray, n: np.ndarray) -> np.ndarray:
    model_variance = means[2]
    from_model = covariance[2, 2] / (4 * n * model_variance**2)
    from_empirical = 1 / (2 * (n - 1.0))
    return np.asarray((1 + _relative_error(means, n)) * np.sqrt(from_model + from_empirical))


# ---------------------------------------------------------------- association of two columns
def correlation(first: str, second: str, *, name: str = "correlation") -> MomentMeasure:
    """Pearson's correlation of two columns over replicates; NaN if one of them is constant.

    With z and w the standardised values, a replicate has the influence z w - r (z^2 + w^2)/2 on it,
    whatever the distribution; for normal values its spread is 1 - r^2.

    Parameters
    ----------
    first, second
        Columns, such as the estimates of two methods, or estimates and their truths.
    name
        Name of the measure in the summary.

    Returns
    -------
    MomentMeasure
        A measure in [-1, 1].

    References
    ----------
    Devlin, Gnanadesikan & Kettenring (1975), Biometrika 62, 531-545.
    """
    reads = names_in(first, second)

    def terms(columns: Columns) -> tuple[np.ndarray, ...]:
        x, y = columns[centred(first)], columns[centred(second)]
        return x, y, x * x, y * y, x * y

    def sizes(columns: Columns) -> tuple[np.ndarray, ...]:
        (x, xx), (y, yy) = (sizes_of_powers(columns, name) for name in reads)
        of_product = np.abs(columns[centred(first)]) * y + np.abs(columns[centred(second)]) * x
        return x, y, xx, yy, of_product

    return _Correlation(
        by_cell=True,
        interval=ScaledInterval(-1.0, 1.0),
        min_rep=3,
        name=name,
        formula=Formula("Σzᵢwᵢ/n of the two columns, standardised", "sd(zᵢwᵢ − r(zᵢ² + wᵢ²)/2)/√n"),
        reads=reads,
        terms=terms,
        sizes=sizes,
        doubted=(2, 3),
        value=_correlation,
        centred_columns=reads,
        undefined="one of the two columns has no spread",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Correlation(MomentMeasure):
    """Correlation; near 1 or -1 its number of trials is that of two binary columns.

    The number is n times 4 p (1 - p), from the kurtosis.
    """

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        found = super().influence(columns, keep=keep)
        if not (np.abs(found.estimate) > 1 - END).any():
            return found
        data = self.sample(columns, keep=keep)
        with np.errstate(all="ignore"):
            x = np.where(data.used, data.columns[self.reads[0]], 0.0)
            x = np.where(data.used, x - total(x) / data.n, 0.0)
            kurtosis = data.n * total(x**4) / total(x**2) ** 2
        trials = np.asarray(np.fmax(4 * data.n / (kurtosis + 3), 1.0))
        return found._replace(interval=ScaledInterval(-1.0, 1.0, trials))


def _correlation(means: Means, _n: np.ndarray) -> np.ndarray:
    x, y, xx, yy, xy = means
    spreads = np.sqrt((xx - x * x) * (yy - y * y))
    return ratio(xy - x * y, spreads)


# ---------------------------------------------------------------- relative to a reference method
def relative_precision(
    estimate: str,
    *,
    axis: int | str = 0,
    reference: int | str = 0,
    name: str = "relative_precision",
    mcse: Mcse = "influence",
) -> MomentMeasure:
    """Variance of a reference method over that of each method, less one: a gain as a proportion.

    Only the replicates in which both the method and the reference succeeded are used; the others
    count as failed.

    Parameters
    ----------
    estimate
        Column of estimates, of shape (rep, *axes).
    axis
        The axis of methods: its name in the study, or its index, counted without the replicate
        axis.
    reference
        The reference method on this axis: its label in the study, or its index.
    name
        Name of the measure in the summary.
    mcse
        "influence", or "normal": 2 (SE_ref/SE)^2 sqrt((1 - r^2)/(n - 1)), with r the correlation
        of the two methods' estimates (Morris, White & Crowther 2019, Table 6).

    Returns
    -------
    MomentMeasure
        A measure without a unit: 0.2 if the reference has 1.2 times the method's variance.

    Raises
    ------
    DesignError
        If `mcse` is neither "influence" nor "normal".

    Notes
    -----
    Let V and W be the variances, and e and d the errors, of the method and of the reference. By
    the delta method the influence of a replicate on the gain is W/V (d^2/W - e^2/V), so the error
    that two methods share cancels.
    """
    other, error = f"reference {estimate}", NORMAL if mcse == "normal" else INFLUENCE
    return _RelativePrecision(
        name=name,
        formula=Formula("variance of the reference's θ̂ᵢ / variance of the method's, less 1", error),
        interval=StudentInterval(low=-1.0),
        min_rep=3,
        reads=(estimate,),
        derive=partial(_beside_reference, axis=axis, reference=reference),
        terms=lambda columns: (*two_powers(columns, estimate), *two_powers(columns, other)),
        sizes=lambda columns: (
            *sizes_of_powers(columns, estimate),
            *sizes_of_powers(columns, other),
        ),
        value=_gain,
        centred_columns=(estimate, other),
        doubted=(1, 3),
        normal_mcse=_normal(mcse, _normal_gain),
        undefined="the estimates of this method have no spread",
        axis=axis,
        reference=reference,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _RelativePrecision(MomentMeasure):
    axis: int | str
    reference: int | str

    def bind(self, context: MeasureContext) -> MomentMeasure:
        if not isinstance(self.axis, str) and not isinstance(self.reference, str):
            return self
        axis = _place("axis", self.axis, list(context.axes))
        labels = [*context.axes.values()][axis] if axis < len(context.axes) else ()
        reference = _place("reference", self.reference, labels)
        derive = partial(_beside_reference, axis=axis, reference=reference)
        return replace(self, axis=axis, reference=reference, derive=derive)

    def report(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Estimates:
        found = super().report(influence, mcse, level=level)
        if found.warning is None:
            return found
        is_itself = (found.estimate == 0) & (found.mcse == 0)  # the reference: exactly 0
        warning = np.where(is_itself, "", found.warning)
        return found._replace(warning=warning if (warning != "").any() else None)


def _beside_reference(columns: Columns, *, axis: int | str, reference: int | str) -> Columns:
    """The estimates, and those of one method, with an axis of size 1 in place of all methods."""
    ((name, column),) = columns.items()
    if isinstance(axis, str) or isinstance(reference, str):
        raise StudyError(
            f"axis={axis!r} and reference={reference!r} are names, but columns alone have no "
            "names of axes. Declare the measure in a study, or use indices from 0."
        )
    if not (0 <= axis < column.ndim - 1 and 0 <= reference < column.shape[axis + 1]):
        raise StudyError(
            f"reference={reference} on axis={axis} is no method in a column of shape "
            f"{column.shape}, so relative_precision has nothing to compare with. Name methods in "
            "the study's axes or as its methods=..., and count from 0: axes without the replicate "
            "axis, and methods."
        )
    return {name: column, f"reference {name}": np.take(column, [reference], axis=axis + 1)}


def _gain(means: Means, n: np.ndarray) -> np.ndarray:
    own, reference = variance_of(means[0], means[1], n), variance_of(means[2], means[3], n)
    return np.asarray(ratio(reference, own) - 1)


def _normal_gain(means: Means, covariance: np.ndarray, n: np.ndarray) -> np.ndarray:
    correlation2 = covariance[0, 2] ** 2 / (covariance[0, 0] * covariance[2, 2])
    unexplained = np.maximum(1 - correlation2, 0.0)
    return np.asarray(2 * (1 + _gain(means, n)) * np.sqrt(unexplained / (n - 1.0)))


def _place(what: str, given: int | str, known: Sequence[str]) -> int:
    """The index of an axis in the study, or of a label on the axis."""
    if not isinstance(given, str):
        return given
    if given not in known:
        raise StudyError(
            f"relative_precision: {what}={given!r} is not in the study, so there is nothing to "
            f"compare with; {nearest(given, known)}"
        )
    return known.index(given)
