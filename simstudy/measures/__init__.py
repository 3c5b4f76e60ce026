"""Performance measures, each with the Monte Carlo standard error of its estimate.

A measure reads replicate columns and returns, for each cell of their axes, an estimate, its MCSE,
an interval, and how many replicates were used and failed. It is made by a factory such as
`bias("estimate", truth=0.0)`, knows the influence of every replicate, and can therefore be
contrasted between methods on common data.
"""

from simstudy.measures.columns import Columns, Operand
from simstudy.measures.contrasts import paired, paired_methods, unpaired
from simstudy.measures.core import Estimates, Influence, Measure
from simstudy.measures.coverage import (
    bias_eliminated_coverage,
    coverage,
    coverage_at,
    interval_score,
    interval_width,
    tail_miss,
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
    relative_precision,
    rmse,
    run_time,
    standardised_bias,
    variance,
)
from simstudy.measures.failures import all_methods, complete_case, impute_worst
from simstudy.measures.intervals import Interval, wilson
from simstudy.measures.moments import MomentMeasure, Moments, centred, ratio, variance_of
from simstudy.measures.proportions import proportion
from simstudy.measures.quantiles import median, quantile
from simstudy.measures.testing import (
    convergence_rate,
    exaggeration,
    power,
    rejection_rate,
    rejection_rate_at,
    type_1_error,
    type_s_rate,
)

__all__ = [
    "Columns",
    "Estimates",
    "Influence",
    "Interval",
    "Measure",
    "MomentMeasure",
    "Moments",
    "Operand",
    "all_methods",
    "bias",
    "bias_eliminated_coverage",
    "centred",
    "complete_case",
    "convergence_rate",
    "coverage",
    "coverage_at",
    "empirical_se",
    "exaggeration",
    "impute_worst",
    "interval_score",
    "interval_width",
    "mae",
    "mean",
    "median",
    "model_se",
    "mse",
    "paired",
    "paired_methods",
    "power",
    "proportion",
    "quantile",
    "ratio",
    "rejection_rate",
    "rejection_rate_at",
    "relative_bias",
    "relative_error_model_se",
    "relative_precision",
    "rmse",
    "run_time",
    "standardised_bias",
    "tail_miss",
    "type_1_error",
    "type_s_rate",
    "unpaired",
    "variance",
    "variance_of",
    "wilson",
]
