"""Performance measures, each with the Monte Carlo standard error of its estimate.

Estimates
    bias                          mean of estimate - truth
    relative_bias                 mean of (estimate - truth)/truth
    standardised_bias             bias over the empirical SE
    median_bias                   median of estimate - truth
    mse                           mean squared error
    rmse                          root of the mean squared error
    mae                           mean absolute error
    variance                      variance of estimates over replicates
    empirical_se                  root of the variance
    relative_precision            variance of a reference method over a method's, less one
    correlation                   of two columns
    outlier_rate                  share far from the median, in robust standard deviations

Standard errors and intervals
    model_se                      root of the mean squared standard error
    relative_error_model_se       model SE over empirical SE, less one
    coverage                      share of intervals that hold the truth, from limits or from
                                  standard errors
    bias_eliminated_coverage      share of intervals that hold the mean estimate
    tail_miss                     share of intervals on one side of the truth
    interval_width                mean of upper - lower
    interval_score                width, plus a penalty for each miss

Tests
    rejection_rate                share that rejects, of all or of those in a condition: from
                                  flags, p-values or standard errors
    non_rejection_rate            share that does not reject
    power                         rejection rate where the null is false
    type_1_error                  rejection rate where the null is true
    type_s_rate                   share of significant estimates with the wrong sign
    exaggeration                  how much too large significant estimates are
    sensitivity                   power; a column marks replicates with an effect
    specificity                   share of replicates without an effect that do not reject
    positive_predictive_value     share of rejections with an effect
    negative_predictive_value     share of non-rejections without an effect
    positive_likelihood_ratio     rejection rate with an effect over that without
    negative_likelihood_ratio     non-rejection rate with an effect over that without
    area_under_curve              how well a score tells effects from none

Any column
    mean                          mean of a column
    median                        median of a column
    quantile                      quantile of a column
    proportion                    share of replicates with an event
    level_share                   share of replicates with one level of a column
    convergence_rate              share of replicates that did not fail
    run_time                      mean of a column of seconds
    rank_check                    p-value of uniform ranks of the truth among posterior draws
    bootstrapped                  any function of columns, its error by resampling replicates
    MomentMeasure                 any smooth function of means of columns

Variance reduction
    controlled                    a measure adjusted by controls whose means are known
    control                       a control: a column, or a function of columns
    conditional                   a measure of conditional expectations, checked against the raw one
    weighted_mean                 mean under another distribution than the one drawn from
    weighted_proportion           share of replicates with an event, under another distribution

Comparisons, and policies for failures
    paired                        two methods or scenarios on common random numbers
    paired_methods                the same, by places on an axis
    unpaired                      two scenarios on independent replicates
    all_methods                   only replicates in which no method failed
    given                         any measure, restricted to replicates that meet a condition

Building blocks
    Measure, OutlierRate, MeasureContext, Estimates, Influence, Columns, Operand, Interval
    Control, centred, ratio, variance_of, wilson

A measure reads replicate columns and returns, for each cell of their axes, an estimate, its MCSE,
an interval, and the numbers of used and failed replicates. It is made by a factory such as
`bias("estimate", truth=0.0)`. It computes the influence of every replicate, so that methods can be
contrasted on common data.
"""

from simstudy.measures.association import area_under_curve, correlation
from simstudy.measures.bootstrapped import bootstrapped
from simstudy.measures.columns import Columns, Operand
from simstudy.measures.condition import given
from simstudy.measures.contrasts import paired, paired_methods, unpaired
from simstudy.measures.control_variates import Control, control, controlled
from simstudy.measures.core import Estimates, Influence, Measure, MeasureContext
from simstudy.measures.coverage import (
    bias_eliminated_coverage,
    coverage,
    interval_score,
    interval_width,
    tail_miss,
)
from simstudy.measures.diagnosis import (
    negative_likelihood_ratio,
    negative_predictive_value,
    non_rejection_rate,
    positive_likelihood_ratio,
    positive_predictive_value,
    sensitivity,
    specificity,
)
from simstudy.measures.estimation import (
    bias,
    empirical_se,
    mae,
    mean,
    model_se,
    mse,
    relative_bias,
    relative_error_model_se,
    rmse,
    run_time,
    standardised_bias,
    variance,
)
from simstudy.measures.failures import all_methods
from simstudy.measures.importance_sampling import (
    weighted_mean,
    weighted_proportion,
)
from simstudy.measures.intervals import Interval, wilson
from simstudy.measures.moments import MomentMeasure, centred, ratio, variance_of
from simstudy.measures.proportions import level_share, proportion
from simstudy.measures.quantiles import OutlierRate, median, median_bias, outlier_rate, quantile
from simstudy.measures.rao_blackwell import conditional
from simstudy.measures.relative_precision import relative_precision
from simstudy.measures.sbc import rank_check
from simstudy.measures.testing import (
    convergence_rate,
    exaggeration,
    power,
    rejection_rate,
    type_1_error,
    type_s_rate,
)

__all__ = [
    "Columns",
    "Control",
    "Estimates",
    "Influence",
    "Interval",
    "Measure",
    "MeasureContext",
    "MomentMeasure",
    "Operand",
    "OutlierRate",
    "all_methods",
    "area_under_curve",
    "bias",
    "bias_eliminated_coverage",
    "bootstrapped",
    "centred",
    "conditional",
    "control",
    "controlled",
    "convergence_rate",
    "correlation",
    "coverage",
    "empirical_se",
    "exaggeration",
    "given",
    "interval_score",
    "interval_width",
    "level_share",
    "mae",
    "mean",
    "median",
    "median_bias",
    "model_se",
    "mse",
    "negative_likelihood_ratio",
    "negative_predictive_value",
    "non_rejection_rate",
    "outlier_rate",
    "paired",
    "paired_methods",
    "positive_likelihood_ratio",
    "positive_predictive_value",
    "power",
    "proportion",
    "quantile",
    "rank_check",
    "ratio",
    "rejection_rate",
    "relative_bias",
    "relative_error_model_se",
    "relative_precision",
    "rmse",
    "run_time",
    "sensitivity",
    "specificity",
    "standardised_bias",
    "tail_miss",
    "type_1_error",
    "type_s_rate",
    "unpaired",
    "variance",
    "variance_of",
    "weighted_mean",
    "weighted_proportion",
    "wilson",
]
