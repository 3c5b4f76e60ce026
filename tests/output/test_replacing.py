"""Results of other settings, and of longer runs, are not replaced by accident."""

from dataclasses import replace

import pytest

from simstudy.errors import StoreError
from simstudy.output.folder import publish
from tests.output.standing import CONFIG, FILE, SOUND, longer, manifest_of, study

SETTINGS = {
    "a config value": ({"config": {**CONFIG, "n_obs": [3]}}, r"n_obs was \[3, 10\] and is \[3\]"),
    "a new setting": ({"config": {**CONFIG, "k": 1}}, "k was None and is 1"),
    "a setting less": ({"config": {"experiment": "toy"}}, r"n_obs was \[3, 10\] and is None"),
    "fewer replicates": ({"n_rep": 59}, "n_rep was 60 and is 59"),
}


@pytest.mark.parametrize("change", SETTINGS)
def test_results_of_other_settings_are_not_replaced(change, standing, tmp_path):
    how, said = SETTINGS[change]
    before = {path: path.read_bytes() for path in (tmp_path / "toy").rglob("*") if path.is_file()}
    result = study(figures=SOUND).run(how.get("n_rep", 60), out=tmp_path)
    with pytest.raises(
        StoreError, match=rf"{said}\. out=\S+ would do; replace=true .*\. Keep both"
    ) as refused:
        publish(result, config=how.get("config", CONFIG), module_file=FILE)
    assert "\n" not in str(refused.value)
    after = {path: path.read_bytes() for path in (tmp_path / "toy").rglob("*") if path.is_file()}
    assert after == before


def test_results_are_replaced_where_that_is_told(standing, tmp_path):
    result = study(figures=SOUND).run(59, out=tmp_path)
    publish(result, config=CONFIG, module_file=FILE, replace=True)
    assert manifest_of(result.folder)["replicates_per_scenario"] == 59


def test_a_longer_run_of_the_same_settings_goes_on_in_the_same_place(standing, tmp_path):
    result, _ = longer(tmp_path)
    assert manifest_of(result.folder)["replicates_per_scenario"] == 110


def test_a_scenario_with_fewer_replicates_counts(standing, tmp_path):
    result = study(figures=SOUND).run(60, out=tmp_path)
    first, second = result.plan.keys
    with pytest.raises(StoreError, match="n_rep was 60 and is 50"):
        publish(replace(result, n_rep={first: 100, second: 50}), config=CONFIG)
