"""Estimates in words: with errors, and a range only where they differ."""

import math

import pandas as pd
import pytest

from simstudy.tables import in_words


def rows(estimates, mcse, **columns):
    return pd.DataFrame({"estimate": estimates, "mcse": mcse, **columns})


@pytest.mark.parametrize(
    ("estimates", "mcse", "settings", "said"),
    [
        ([0.802], [0.0015], {"percent": True}, "80.2 ± 0.3%"),
        ([0.802], [0.0001], {"percent": True, "decimals": 1}, "80.2%"),
        ([0.5], [math.nan], {}, "0.5"),
        ([-0.5], [0.01], {}, "−0.50 ± 0.02"),
        ([0.0], [0.0], {}, "0"),
        ([0.10, 0.11], [0.01, 0.01], {}, "0.105 ± 0.014 (both within chance)"),
        ([0.10, 0.90], [0.01, 0.01], {}, "0.10 ± 0.02 to 0.90 ± 0.02"),
        ([0.018, 150_000.0], [0.001, 97_000.0], {}, "0.018 ± 0.002 to 150,000 ± 194,000"),
        ([0.1, math.nan], [0.01, math.nan], {}, "0.10 ± 0.02; 1 without an estimate"),
        ([2.0, 2.0, 2.0], [0.0, 0.0, 0.0], {}, "2"),
        ([4.75e22], [4.4e21], {}, "4.8e+22 ± 9e+21"),
    ],
)
def test_what_is_said(estimates, mcse, settings, said):
    assert in_words(rows(estimates, mcse), **settings) == said


def test_equal_proportions_are_weighted_by_their_replicates():
    found = in_words(rows([0.05, 0.06], [0.001, 0.02], n_given=[40_000, 100]), percent=True)
    assert found.startswith("5.0")
    assert "both within chance" in found


def test_places_are_named_where_they_differ():
    frame = rows([0.1, 0.9], [0.01, 0.01], n_obs=[5, 10], law=[None, None])
    told = in_words(frame, where=["n_obs", "law"])
    assert told == "0.10 ± 0.02 (n obs 5) to 0.90 ± 0.02 (n obs 10)"


def test_nothing_to_say_is_refused():
    with pytest.raises(LookupError):
        in_words(rows([math.nan], [math.nan]))
