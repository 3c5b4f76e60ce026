"""Do networks predict the progress of diabetes as well as their bootstrap distributions say?

The study of house prices with data from scikit-learn, which need no download.

Aims         How compatible are test values with the predictive distributions of three networks and
             of least squares, and do these measures rank them as their errors do?
Data         Progression of 442 patients by ten measurements (Efron et al. 2004): 295 to learn from
             and 147 to predict, split at random anew in each replicate.
Estimands    The share of predictions that are compatible with their distributions: unknown for
             the predictors, 1 for the uniform p-values used as a control.
Methods      As in the study of house prices, and least squares with the same bootstrap samples.
Performance  As there, by mean over splits.
"""

from experiments.predictive_pvalue.claims import ON_OTHER_DATA
from experiments.predictive_pvalue.settings import Options, prediction_study
from simstudy.options import published
from simstudy.study import Study


@published(__file__)
class Config(Options):
    """Settings of the study."""


def study(config: Config) -> Study:
    return prediction_study("predictive_pvalue_diabetes", config, ON_OTHER_DATA)
