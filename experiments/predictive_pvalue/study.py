"""Do networks predict house prices as well as their bootstrap distributions say that they do?

Aims         How compatible are test values with the predictive distributions of three networks, by
             a combined p-value and by estimates of the share of compatible predictions; how far do
             these numbers move from split to split; which network predicts best?
Data         The Boston housing data: 338 tracts to learn from and 168 to predict, split at random
             anew in each replicate; the log of the median value, and the value itself.
Estimands    The share of predictions that are compatible with their distributions. It is unknown
             here; the control has 168 uniform p-values, for which it is 1.
Methods      Networks 13-15-h-1 with batch normalisation and ramps, h = 10, 8, 5, trained on the
             training data and on bootstrap samples of them; normal predictive distributions about
             the trained network's prediction or the mean of the bootstrap networks', without and
             with residual noise.
Performance  Fisher's combined p-value; mean CFDR, as printed and clipped at 1, and mean RFDR;
             Storey's and Langaas's estimates; coverage of 90% intervals, CRPS, RMSE. Each is a
             mean over splits, whose Monte Carlo error is that of splits and training together.
"""

from experiments.predictive_pvalue.claims import CLAIMS, CONTROLS
from experiments.predictive_pvalue.settings import Options, prediction_study
from simstudy.options import published
from simstudy.study import Study


@published(__file__)
class Config(Options):
    """Settings of the study."""


def study(config: Config) -> Study:
    return prediction_study("predictive_pvalue", config, (*CLAIMS, *CONTROLS))
