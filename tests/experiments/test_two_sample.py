"""Two samples: claims hold where they should, can fail, and say so where nothing is decided."""

from dataclasses import fields, replace

import pytest

from experiments.two_sample.answers import cells
from experiments.two_sample.study import Config, study
from simstudy.documents.scenarios.two_sample import METHODS, TwoSample
from simstudy.errors import ConfigError
from tests.experiments.claimed import rivals, verdicts
from tests.support import INLINE

pytestmark = pytest.mark.slow

SKEWED = {"dgps": ["exponential", "lognormal"], "first_share": [0.5], "variance_ratio": [9]}
UNEQUAL = {"dgps": ["normal"], "first_share": [0.25], "variance_ratio": [9], "n_total": [160]}
N_DECISIVE = 2000  # chance then reaches 0.019 from a size of 0.05, less than half of it
SIZE_CLAIM = "studentized permutation size"


def without_theory(trial):
    """The fields of a scenario whose theory speaks of all methods in their order."""
    return {field.name: getattr(trial, field.name) for field in fields(trial)}


def test_what_is_said_of_balanced_skewed_samples_reproduces_and_rivals_fall():
    fast = {name: METHODS[name] for name in ("student", "welch", "rank_sum")}
    drawn = study(Config(effect=[0], **SKEWED))
    trials = [TwoSample(**without_theory(trial)) for trial in drawn.scenarios]
    few = replace(drawn, methods=fast, scenarios=trials)
    result = few.run(Config().n_rep, **INLINE)
    for name in ("inflated though balanced", "inflation grows", "worse after ranking"):
        assert verdicts(result)[name] == "reproduced"
        assert rivals(result)[name] == "differs"


def test_studentized_partitions_keep_the_level_and_plain_ones_do_not():
    result = study(Config(effect=[0], **UNEQUAL)).run(N_DECISIVE, **INLINE)
    assert verdicts(result)[SIZE_CLAIM] == "reproduced"
    assert rivals(result)[SIZE_CLAIM] == "differs"


def test_with_few_replicates_no_claim_holds_for_want_of_them():
    few = study(Config(effect=[0], **UNEQUAL)).run(100, **INLINE)
    assert set(verdicts(few).values()) == {"no data", "too few replicates"}
    assert not {"reproduced"} & set(rivals(few).values())


def test_a_statement_about_data_that_are_not_there_has_none():
    result = study(Config(effect=[0], **UNEQUAL)).run(100, **INLINE)
    with pytest.raises(LookupError, match="equal means of lognormal"):
        cells(result, dgps=["lognormal"])


def test_a_share_that_leaves_one_observation_is_refused():
    with pytest.raises(ConfigError, match=r"first_share=0.05 of n_total=20 leaves 1 observation"):
        study(Config(n_total=[20], first_share=[0.05]))
