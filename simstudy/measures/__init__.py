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
    sensitivity                   power; a column marks replicates with an effect
    specificity                   share of replicates without an effect that do not reject

Any column
    mean                          mean of a column
    median                        median of a column
    quantile                      quantile of a column
    proportion                    share of replicates with an event
    convergence_rate              share of replicates that did not fail
    run_time                      mean of a column of seconds
    rank_check                    p-value of uniform ranks of the truth among posterior draws
    bootstrapped                  any function of columns, its error by resampling replicates
    MomentMeasure                 any smooth function of means of columns

Variance reduction
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
    Measure, MeasureContext, Estimates, Influence, Columns, Operand, Interval
    StudentInterval, WilsonInterval, ScaledInterval
    centred, ratio, variance_of, wilson

A measure reads replicate columns and returns, for each cell of their axes, an estimate, its MCSE,
an interval, and the numbers of used and failed replicates. It is made by a factory such as
`bias("estimate", truth=0.0)`. It computes the influence of every replicate, so that methods can be
contrasted on common data.
"""

from types import ModuleType

from simstudy.measures.bootstrapped import bootstrapped as bootstrapped
from simstudy.measures.columns import Columns as Columns
from simstudy.measures.columns import Operand as Operand
from simstudy.measures.condition import all_methods as all_methods
from simstudy.measures.condition import given as given
from simstudy.measures.contrasts import paired as paired
from simstudy.measures.contrasts import paired_methods as paired_methods
from simstudy.measures.contrasts import unpaired as unpaired
from simstudy.measures.core import Estimates as Estimates
from simstudy.measures.core import Influence as Influence
from simstudy.measures.core import Measure as Measure
from simstudy.measures.core import MeasureContext as MeasureContext
from simstudy.measures.coverage import bias_eliminated_coverage as bias_eliminated_coverage
from simstudy.measures.coverage import coverage as coverage
from simstudy.measures.coverage import interval_score as interval_score
from simstudy.measures.coverage import interval_width as interval_width
from simstudy.measures.coverage import tail_miss as tail_miss
from simstudy.measures.estimation import bias as bias
from simstudy.measures.estimation import correlation as correlation
from simstudy.measures.estimation import empirical_se as empirical_se
from simstudy.measures.estimation import mae as mae
from simstudy.measures.estimation import mean as mean
from simstudy.measures.estimation import model_se as model_se
from simstudy.measures.estimation import mse as mse
from simstudy.measures.estimation import relative_bias as relative_bias
from simstudy.measures.estimation import relative_error_model_se as relative_error_model_se
from simstudy.measures.estimation import relative_precision as relative_precision
from simstudy.measures.estimation import rmse as rmse
from simstudy.measures.estimation import run_time as run_time
from simstudy.measures.estimation import standardised_bias as standardised_bias
from simstudy.measures.estimation import variance as variance
from simstudy.measures.intervals import Interval as Interval
from simstudy.measures.intervals import ScaledInterval as ScaledInterval
from simstudy.measures.intervals import StudentInterval as StudentInterval
from simstudy.measures.intervals import WilsonInterval as WilsonInterval
from simstudy.measures.intervals import wilson as wilson
from simstudy.measures.moments import MomentMeasure as MomentMeasure
from simstudy.measures.moments import centred as centred
from simstudy.measures.moments import ratio as ratio
from simstudy.measures.moments import variance_of as variance_of
from simstudy.measures.proportions import convergence_rate as convergence_rate
from simstudy.measures.proportions import non_rejection_rate as non_rejection_rate
from simstudy.measures.proportions import power as power
from simstudy.measures.proportions import proportion as proportion
from simstudy.measures.proportions import rejection_rate as rejection_rate
from simstudy.measures.proportions import sensitivity as sensitivity
from simstudy.measures.proportions import specificity as specificity
from simstudy.measures.proportions import type_1_error as type_1_error
from simstudy.measures.quantiles import median as median
from simstudy.measures.quantiles import median_bias as median_bias
from simstudy.measures.quantiles import quantile as quantile
from simstudy.measures.sbc import rank_check as rank_check
from simstudy.measures.variance_reduction import conditional as conditional
from simstudy.measures.variance_reduction import weighted_mean as weighted_mean
from simstudy.measures.variance_reduction import weighted_proportion as weighted_proportion

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or isinstance(value, ModuleType) or value is ModuleType)
]
