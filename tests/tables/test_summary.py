import math

import numpy as np
import pandas as pd
import pytest

from simstudy.tables import in_words
from simstudy.tables.summary import summary_table


def rows(**factors):
    """Two measures of a scenario."""
    return [
        {**factors, "measure": name, "estimate": value, "mcse": 0.01, "n_rep": 60}
        for name, value in (("power", 0.5), ("bias", -0.25))
    ]


SUMMARY = pd.DataFrame([*rows(k=0.5, n=10, method="a"), *rows(k=0.5, n=20, method="a")])


def test_a_row_for_each_scenario_and_a_column_for_each_measure():
    table = summary_table(SUMMARY, "toy")
    assert table.markdown() == (
        "Toy: power and bias in each scenario\n\n"
        "|   n |         power |           bias |\n"
        "| --: | ------------: | -------------: |\n"
        "|  10 | 0.500 (0.010) | -0.250 (0.010) |\n"
        "|  20 | 0.500 (0.010) | -0.250 (0.010) |\n\n"
        "k = 0.5, method = a.\n\n"
        "60 replicates each.\n\n"
        "In parentheses: Monte Carlo standard errors, by which numbers are rounded.\n"
    )
    assert table.csv().splitlines()[0] == "n,power,power_mcse,bias,bias_mcse"


def test_a_measure_with_the_name_of_a_factor_is_another_column():
    named = SUMMARY.rename(columns={"n": "power"})
    table = summary_table(named, "toy")
    header = "power,power_estimate,power_mcse,bias,bias_mcse"
    assert table.csv().splitlines()[0] == header


def test_what_is_equal_but_not_the_same_has_rows_of_its_own():
    """1 and True are two scenarios; a factor that a scenario lacks is one value."""
    summary = pd.DataFrame([*rows(k=1), *rows(k=True), *rows(k=np.nan)]).astype({"k": object})
    assert list(summary_table(summary, "toy").frame["k"].map(repr)) == ["1", "True", "nan"]


def test_a_measure_that_some_scenarios_lack_is_missing_there_and_sizes_are_said_from_to():
    table = summary_table(SUMMARY.iloc[:3].assign(n_rep=[60, 60, 50]), "toy")
    assert table.markdown().splitlines()[5].endswith("|              – |")
    assert "50 to 60 replicates." in table.notes


def test_a_summary_of_one_row_shows_its_measures_only():
    assert list(summary_table(SUMMARY.iloc[:2], "toy").frame) == [
        "power", "power_mcse", "bias", "bias_mcse",
    ]  # fmt: skip


def test_factors_read_as_the_study_says_in_a_column_and_below():
    value_labels = {"n": {10: "few"}, "k": {0.5: "half"}}
    shown = summary_table(SUMMARY, "toy", value_labels).markdown()
    assert "| few |" in shown
    assert "k = half, method = a." in shown
    shown = summary_table(SUMMARY.assign(k=np.inf, method=12500), "toy").markdown()
    assert "k = ∞, method = 12,500." in shown


def estimated(estimates, mcse, **columns):
    return pd.DataFrame({"estimate": estimates, "mcse": mcse, **columns})


@pytest.mark.parametrize(
    ("estimates", "mcse", "settings", "said"),
    [
        ([0.802], [0.0015], {"percent": True}, "80.2 ± 0.3%"),
        ([0.802], [0.0001], {"percent": True, "decimals": 1}, "80.2%"),
        ([0.5], [math.nan], {}, "0.5"),
        ([0.0], [0.0], {}, "0"),
        ([0.10, 0.11], [0.01, 0.01], {}, "0.105 ± 0.014 (both within chance)"),
        ([0.10, 0.90], [0.01, 0.01], {}, "0.10 ± 0.02 to 0.90 ± 0.02"),
        ([0.018, 150_000.0], [0.001, 97_000.0], {}, "0.018 ± 0.002 to 150,000 ± 194,000"),
        ([0.1, math.nan], [0.01, math.nan], {}, "0.10 ± 0.02; 1 without an estimate"),
        ([2.0, 2.0, 2.0], [0.0, 0.0, 0.0], {}, "2"),
    ],
)
def test_what_is_said(estimates, mcse, settings, said):
    assert in_words(estimated(estimates, mcse), **settings) == said


def test_equal_proportions_are_weighted_by_their_replicates():
    found = in_words(estimated([0.05, 0.06], [0.001, 0.02], n_given=[40_000, 100]), percent=True)
    assert found.startswith("5.0")
    assert "both within chance" in found


def test_places_are_named_where_they_differ():
    frame = estimated([0.1, 0.9], [0.01, 0.01], n_obs=[5, 10], law=[None, None])
    told = in_words(frame, where=["n_obs", "law"])
    assert told == "0.10 ± 0.02 (n obs 5) to 0.90 ± 0.02 (n obs 10)"


def test_nothing_to_say_is_refused():
    with pytest.raises(LookupError):
        in_words(estimated([math.nan], [math.nan]))
