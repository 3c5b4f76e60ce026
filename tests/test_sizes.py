"""Replicates that differ by scenario."""

import numpy as np
import pytest

from simstudy import load, publish
from simstudy.errors import ConfigError
from tests.factories import mean_study
from tests.support import INLINE


def sizes(result):
    by_factor = zip(result.plan.scenarios, result.n_rep.values(), strict=True)
    return {scenario.n_obs: n for scenario, n in by_factor}


def test_a_mapping_and_a_function_say_the_same(tmp_path):
    """The entry with most factors decides; without one the study's own number does."""
    study = mean_study()
    levels = [scenario.n_obs for scenario in study.scenarios]
    few = f"n_obs={levels[0]}"
    with pytest.raises(ConfigError, match=r"two entries give .* 120 and 7 replicates"):
        study.run({few: 120, f"n_obs={float(levels[0])}": 7}, **INLINE)
    truth = study.scenarios[0].truth
    entries = {few: 7, f"{few}, truth={truth}": 120}
    first = study.run(entries, out=tmp_path, **INLINE)
    wanted = dict.fromkeys(levels, study.n_rep) | {levels[0]: 120}
    assert sizes(first) == wanted
    again = study.run(lambda scenario: wanted[scenario.n_obs], out=tmp_path, **INLINE)
    assert again.outcome.n_blocks == 0
    assert again.summary.equals(first.summary)
    publish(again, figures=False, report=False)
    stored = load(tmp_path / "toy")
    assert sorted(stored.n_rep.values()) == sorted(wanted.values())
    assert stored.summary["estimate"].equals(first.summary["estimate"])


def test_replicates_are_the_first_of_the_same_sequence():
    study = mean_study()
    last = study.scenarios[-1]
    few = study.run({f"n_obs={last.n_obs}": 30, f"n_obs={study.scenarios[0].n_obs}": 60}, **INLINE)
    many = study.run(90, **INLINE)
    left, right = (each.columns(last, "estimate")["estimate"] for each in (few, many))
    np.testing.assert_array_equal(left, right[:30])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"n_rep": {"n_ob=3": 5}}, "no scenario has 'n_ob=3'.* The factors are n_obs"),
        ({"n_rep": {"n_obs=-1": 5}}, "no scenario has 'n_obs=-1'"),
        ({"n_rep": lambda scenario: 0}, "n_rep=0"),
    ],
)
def test_what_fits_nothing_is_refused(change, text):
    with pytest.raises(ConfigError, match=text):
        mean_study().run(**change, **INLINE)


def test_a_float_that_is_a_whole_number_is_one(tmp_path):
    few = mean_study().run(1e2, out=tmp_path, **INLINE)
    assert set(few.n_rep.values()) == {100}
    with pytest.raises(ConfigError, match=r"n_rep=100\.5: must be a whole number"):
        mean_study().run(100.5, out=tmp_path)
