"""Intervals of shares: what is claimed of their coverage, and that it can fail."""

from dataclasses import replace

import pytest

from experiments.proportion_intervals import CLAIMS, Config, _cover, study
from simstudy.engine.workers import Workers
from simstudy.trials.proportions import INTERVAL_METHODS

INLINE = Workers("inline", 1)
FEW = ("cfdr", "cfdr_clipped", "storey")


@pytest.fixture(scope="module")
def result():
    few = study(Config(null_share=[0.5], correlation=[0]))
    return replace(few, methods={name: INTERVAL_METHODS[name] for name in FEW}).run(
        600, workers=INLINE
    )


def test_claims_are_decided_as_derived(result):
    claims = result.claims
    assert (claims["verdict"] == claims["expected"]).all(), claims[["claim", "detail"]].to_string()


def test_a_statement_that_is_turned_round_fails(result):
    assert _cover(result, ["storey"], at_least=False).value == 0
    assert _cover(result, ["cfdr"], at_least=True).value == 0


def test_without_lists_of_both_kinds_there_is_no_answer(result):
    perfect = study(Config(null_share=[1], correlation=[0]))
    alone = replace(perfect, methods={"storey": INTERVAL_METHODS["storey"]}, claims=CLAIMS)
    found = alone.run(100, workers=INLINE).claims
    assert (found["verdict"] == "no data").all()
    assert found["detail"].str.contains("independent p-values with a share below 1").all()
