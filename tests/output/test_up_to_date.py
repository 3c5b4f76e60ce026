"""Outputs are made again where they would differ; those of other settings or longer runs stay."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from simstudy import Result
from simstudy.errors import StoreError
from simstudy.output.folder import publish
from simstudy.output.up_to_date import code_digest, file_hash, is_current
from tests.output.standing import CONFIG, FILE, SOUND, current, longer, manifest_of, study


def test_a_figure_that_failed_is_tried_again(published, tmp_path):
    """Unlike one that the data do not allow, which says so again whenever it is asked."""
    result = study().run(60, out=tmp_path)
    assert manifest_of(result.folder)["figures_failed"] == ["4"]
    assert not is_current(result, CONFIG, FILE, figures=True, report=True)
    assert is_current(result, CONFIG, FILE, figures=False, report=True)


def emptied(path):
    path.write_bytes(b"")


def edited(path):
    path.write_bytes(path.read_bytes() + b" ")


FILES = ("summary.parquet", "claims.parquet", "scenarios.parquet", "figures/1.png", "figures/1.svg",
         "report.html", "tables/summary.md", "manifest.json")  # fmt: skip


@pytest.mark.parametrize("harm", [emptied, edited, Path.unlink])
def test_a_file_that_was_emptied_edited_or_removed_is_made_again(harm, standing, tmp_path):
    for name in FILES:
        path = tmp_path / "toy" / name
        whole = path.read_bytes()
        harm(path)
        is_harmed = harm is not edited or name != "manifest.json"  # JSON may end in a blank
        assert current(tmp_path) != is_harmed, name
        path.write_bytes(whole)
    assert current(tmp_path), "whole again"


@pytest.mark.parametrize(
    "change",
    [{"config": {**CONFIG, "n_obs": [3]}}, {"n_rep": 61}, {"n_rep": 59}, {"file": None}],
    ids=str,
)
def test_what_would_be_published_otherwise_is_not(change, standing, tmp_path):
    assert not current(tmp_path, **change)


def test_what_was_not_asked_for_need_not_be_there(standing, tmp_path):
    (tmp_path / "toy" / "figures" / "1.png").unlink()
    (tmp_path / "toy" / "report.html").unlink()
    assert current(tmp_path, figures=False, report=False)


def test_another_version_of_a_library_makes_it_stale(standing, tmp_path):
    manifest = manifest_of(tmp_path / "toy")
    manifest["versions"]["scipy"] = "0.1"
    (tmp_path / "toy" / "manifest.json").write_text(json.dumps(manifest))
    assert not current(tmp_path)


def test_the_digest_of_code_is_that_of_what_a_study_reaches(standing, tmp_path, monkeypatch):
    before = manifest_of(tmp_path / "toy")["code"]
    version, digest = before.split()
    assert version == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert len(digest) == 16
    assert code_digest(FILE) == before
    monkeypatch.setattr("tests.output.standing.nowhere", 1, raising=False)
    assert code_digest(FILE) == before, "nothing uses it"
    monkeypatch.setattr("tests.toy.METHODS", ("t", "other"))
    assert code_digest(FILE) != before
    assert code_digest(None) == code_digest(str(tmp_path / "not_loaded.py")) == ""


def test_blocks_that_were_just_drawn_are_never_current(published, tmp_path):
    result = study().run(60, out=tmp_path, restart=True)
    assert not is_current(result, CONFIG, FILE, figures=True, report=True)


SETTINGS = {
    "a config value": ({"config": {**CONFIG, "n_obs": [3]}}, r"n_obs was \[3, 10\] and is \[3\]"),
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


MORE = {
    "a new setting": ({**CONFIG, "k": 1}, (3, 10)),
    "more levels": ({**CONFIG, "n_obs": [3, 10, 30]}, (3, 10, 30)),
    "more scenarios": (CONFIG, (3, 10, 30)),
}


@pytest.mark.parametrize("growth", MORE)
def test_more_is_not_other(growth, standing, tmp_path):
    config, n_obs = MORE[growth]
    result = study(n_obs, figures=SOUND).run(60, out=tmp_path)
    publish(result, config=config, module_file=FILE)
    assert manifest_of(result.folder)["scenarios"] == len(n_obs)


def test_what_was_removed_is_named(standing, tmp_path):
    result = study((3, 30), figures=SOUND).run(60, out=tmp_path)
    with pytest.raises(StoreError, match=r"1 of 2 scenarios removed: n_obs=10, truth=0"):
        publish(result, config=CONFIG, module_file=FILE)


def test_a_scenario_with_fewer_replicates_counts(standing, tmp_path):
    result = study(figures=SOUND).run(60, out=tmp_path)
    first, second = result.plan.keys
    with pytest.raises(StoreError, match="n_rep was 60 and is 50"):
        publish(Result(replace(result.details, n_rep={first: 100, second: 50})), config=CONFIG)


def test_a_pipe_in_the_place_of_an_output_is_not_read(tmp_path):
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / "summary.csv")
    assert file_hash(tmp_path / "summary.csv") == ""
