"""Umbrella ranks, sample sizes and the applied trial: claims, theory, refusals."""

import numpy as np
import pytest

from experiments import umbrella_rank as umbrella
from experiments.classifier_sample_size import study as sample_size
from experiments.classifier_trial import study as applied
from simstudy.errors import ConfigError, DesignError


def foreseen(result):
    claims = result.claims
    assert (claims["verdict"] == claims["expected"]).all(), claims[["claim", "detail"]]


def test_umbrella_claims_come_out_as_foreseen():
    foreseen(umbrella.study(umbrella.Config()).run(n_rep=100))


def test_too_few_cases_for_four_ranks_are_refused():
    with pytest.raises(ConfigError, match="n_obs=\\[3\\]: allowed is a whole number at least 4"):
        umbrella.Config(n_obs=[3])


# ---------------------------------------------------------------- sample size
def test_sample_size_claims_come_out_as_foreseen():
    foreseen(sample_size.study(sample_size.Config()).run(n_rep=5000))


def test_the_sizes_around_belong_to_the_last_design():
    config = sample_size.Config(sensitivity=[0.9], margin=[0.05], beta=[0.2], around=[280, 290])
    study = sample_size.study(config)
    assert [trial.n_trial for trial in study.scenarios] == [283, 280, 290]
    result = study.run(n_rep=100)
    for name in result.figures:
        result.figure(name).draw()
    assert (result.claims["verdict"] == "no data").sum() == 3


# ---------------------------------------------------------------- the applied example
def test_example_claims_come_out_as_foreseen():
    result = applied.study(applied.Config()).run()
    foreseen(result)
    rows = result.summary.query("measure == 'power'").dropna(subset="exact")
    error = np.sqrt(rows["exact"] * (1 - rows["exact"]) / rows["n_rep"])
    assert len(rows) == 6  # true threshold, empirical quantile and umbrella, twice
    assert ((rows["estimate"] - rows["exact"]).abs() < 4.5 * error).all()


def test_an_example_whose_null_is_true_is_refused():
    with pytest.raises(DesignError, match="puts the null outside"):
        applied.study(applied.Config(null_sensitivity=0.95))
