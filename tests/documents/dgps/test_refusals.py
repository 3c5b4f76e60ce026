"""Processes and populations that have no truth are refused by name and value."""

import numpy as np
import pytest

from simstudy.documents.dgps.friedman import Friedman
from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.dgps.location import (
    Bernoulli,
    ContaminatedNormal,
    Gamma,
    Gaussian,
    Lognormal,
    StudentT,
    sample_moments,
)
from simstudy.documents.dgps.p_values import ScoredPredictions
from simstudy.documents.dgps.prices import Prices
from simstudy.documents.dgps.prompts import (
    BinaryScores,
    BoundedScores,
    GaussianScores,
    PerplexityScores,
    paired_population,
)
from simstudy.documents.dgps.scores import (
    DiscretisedScores,
    HeavyTailedScores,
    NormalScores,
    SkewedScores,
)
from simstudy.errors import DesignError


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


REFUSED = {
    "friedman": [
        (lambda: Friedman(n_feature=4), "n_feature=4"),
        (lambda: Friedman(noise_sd=0), "noise_sd=0"),
    ],
    "linear": [
        (lambda: LinearModel(n_feature=0), "n_feature=0"),
        (lambda: LinearModel(noise_variance=np.inf), "noise_variance=inf"),
        (lambda: LinearModel(curvature=np.nan), "curvature=nan"),
        (lambda: LinearModel(coefficient=0.0, curvature=1.0), "truth is bent"),
        (lambda: LinearModel(df=2.0), "df=2"),
        (lambda: LinearModel(heteroskedasticity=1.5), "heteroskedasticity=1.5"),
        (lambda: Prices(0.0, signal=0.5), "spread=0"),
    ],
    "location": [
        (lambda: Gaussian(variance=0.0), "Gaussian.*variance"),
        (lambda: StudentT(df=2.0), "df=2"),
        (lambda: Lognormal(sigma=0.0), "finite sigma above 0"),
        (lambda: Gamma(shape=-1.0), "finite shape above 0"),
        (lambda: ContaminatedNormal(share=1.5), "Write 0.1 for 10%"),
        (lambda: ContaminatedNormal(scale=0.0), "finite scale above 0"),
        (lambda: Bernoulli(p=1.0), "no sampling error"),
        (lambda: sample_moments(Gaussian(), rng(), 3, 1), "single observation"),
        (lambda: Gaussian().draw_moments(rng(), 3, 1), "at least 2"),
    ],
    "p_values": [
        (lambda: ScoredPredictions(n_prediction=0), "n_prediction=0"),
        (lambda: ScoredPredictions(n_together=-1), "n_together=-1"),
        (lambda: ScoredPredictions(null_share=95), "null_share=95"),
        (lambda: ScoredPredictions(correlation=1.0), "correlation=1"),
        (lambda: ScoredPredictions(spread=0.0), "spread=0"),
    ],
    "prompts": [
        (lambda: BinaryScores(mean=1.0), "mean=1 "),
        (lambda: BoundedScores(precision=0), "precision=0"),
        (lambda: PerplexityScores(spread=np.inf), "spread=inf"),
        (lambda: GaussianScores(sd=-1.0), "sd=-1"),
        (lambda: BinaryScores(mean=0.2).worse_by(0.3), "mean=-0.1"),
        (lambda: paired_population(GaussianScores(), n_prompts=2**16), "n_prompts=65536"),
        (lambda: paired_population(GaussianScores(), n_prompts=1), "n_prompts=1"),
        (lambda: paired_population(GaussianScores(), correlation=1.0), "correlation=1"),
    ],
    "scores": [
        (lambda: NormalScores(sd=0.0), "NormalScores .* 0 "),
        (lambda: DiscretisedScores(step=-1.0), "DiscretisedScores .* -1 "),
        (lambda: SkewedScores(skewness=0.0), "use NormalScores"),
        (lambda: HeavyTailedScores(df=0.0), "df=0"),
        (lambda: NormalScores().threshold(95.0), "sensitivity=95"),
        (lambda: NormalScores().quantile(0.0), "q=0"),
        (lambda: NormalScores().draw(rng(), 2, 0), "n_obs=0"),
    ],
}


@pytest.mark.parametrize("module", REFUSED)
def test_what_has_no_truth_is_refused_by_name_and_value(module):
    for make, about in REFUSED[module]:
        with pytest.raises(DesignError, match=about):
            make()
