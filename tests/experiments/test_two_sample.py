"""Two samples: claims hold where they should, can fail, and say so where nothing is decided."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.two_sample.claims import CLAIMS, Sizes, _near_theory, cells
from experiments.two_sample.study import Config, study
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError
from simstudy.trials.two_sample import METHODS, plain_permutation

INLINE = Workers("inline", 1)
SKEWED = {"dgps": ["exponential", "lognormal"], "first_share": [0.5], "variance_ratio": [9]}
UNEQUAL = {"dgps": ["normal"], "first_share": [0.25], "variance_ratio": [9], "n_total": [160]}
N_DECISIVE = 2000  # chance then reaches 0.019 from a size of 0.05, less than half of it
SIZE_CLAIM = "studentized permutation size"


def verdicts(of, n_rep: int):
    return of.run(n_rep, workers=INLINE).claims.set_index("claim")["verdict"]


def test_what_is_said_of_balanced_skewed_samples_reproduces():
    found = verdicts(study(Config(effect=[0], **SKEWED)), 1000)
    said = ["inflated though balanced", "inflation grows", "worse after ranking"]
    assert found[said].tolist() == ["reproduced"] * 3


def test_studentized_partitions_keep_the_level():
    assert verdicts(study(Config(effect=[0], **UNEQUAL)), N_DECISIVE)[SIZE_CLAIM] == "reproduced"


def test_that_claim_fails_without_studentizing():
    wrong = replace(
        study(Config(effect=[0], **UNEQUAL)),
        methods={**METHODS, "permutation": plain_permutation},
    )
    assert verdicts(wrong, N_DECISIVE)[SIZE_CLAIM] == "differs"


def test_with_few_replicates_no_claim_holds_for_want_of_them():
    found = verdicts(study(Config(effect=[0], **UNEQUAL)), 100)
    assert (found == "no data").all()


def shares(*found: float, n_rep: int) -> Sizes:
    return Sizes(np.array(found), np.full(len(found), float(n_rep)))


KNOWN, MARGIN = np.array([0.05, 0.05]), np.array([0.025, 0.025])


def test_near_theory_is_within_the_margin_with_all_of_chance():
    assert _near_theory(shares(0.05, 0.06, n_rep=10_000), KNOWN, MARGIN).value == 1
    assert _near_theory(shares(0.05, 0.10, n_rep=10_000), KNOWN, MARGIN).value == 0
    with pytest.raises(LookupError, match=r"replicates enough to decide \(largest distance of 2"):
        _near_theory(shares(0.05, 0.05, n_rep=500), KNOWN, MARGIN)


def test_a_statement_about_data_that_are_not_there_has_none():
    result = study(Config(effect=[0], **UNEQUAL)).run(100, workers=INLINE)
    with pytest.raises(LookupError, match="equal means of lognormal"):
        cells(result, dgps=["lognormal"])


def test_claims_have_names_of_their_own():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)


def test_a_share_that_leaves_one_observation_is_refused():
    with pytest.raises(ConfigError, match=r"first_share=0.05 of n_total=20 leaves 1 observation"):
        study(Config(n_total=[20], first_share=[0.05]))
