"""Do predictive p-values find fault with networks, and none with the truth, where it is known?

The study of house prices with responses of Friedman's function, whose distribution is known.

Aims         What are the measures for the true distribution of each response, and for three
             networks?
Data         Friedman's function of 5 of 13 uniform features with normal noise: 338 observations to
             learn from and 168 to predict, drawn anew in each replicate.
Estimands    The share of predictions that are compatible with their distributions: 1 for the true
             distribution and for uniform p-values as a control, unknown for the networks.
Methods      As in the study of house prices, and the true distribution.
Performance  As there, by mean over samples.
"""

from experiments.predictive_pvalue.claims import OF_TRUTH, ON_OTHER_DATA
from experiments.predictive_pvalue.settings import Options, prediction_study
from simstudy.options import published
from simstudy.study import Study


@published(__file__)
class Config(Options):
    """Settings of the study."""


def study(config: Config) -> Study:
    return prediction_study("predictive_pvalue_friedman", config, (*ON_OTHER_DATA, *OF_TRUTH))
