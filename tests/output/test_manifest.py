"""A run from Python leaves what explains its blocks, and never touches what was published."""

from dataclasses import replace

from simstudy import load
from simstudy.measures import mean
from simstudy.output.folder import publish
from tests.factories import mean_study
from tests.output.standing import manifest_of


def test_a_folder_says_what_it_holds_and_that_nobody_has_published_it(tmp_path):
    result = mean_study().run(60, out=tmp_path)
    there = {path.name for path in result.folder.iterdir()} - {"replicates"}
    assert there == {"scenarios.parquet", "cells.parquet", "manifest.json"}
    manifest = manifest_of(result.folder)
    assert manifest["replicates_per_scenario"] == 60
    assert manifest["published"] is False
    assert manifest["blocks_computed"] == 6
    assert manifest["versions"]["simstudy"]
    assert set(manifest["files"]) == there - {"manifest.json"}


def test_a_run_computes_no_measure_of_all_replicates(tmp_path):
    """What comes of a whole run may raise although its first block did not."""
    sizes = []

    def taken(columns):
        sizes.append(len(columns["estimate"]))
        return (columns["estimate"],)

    watched = replace(mean("estimate", name="watched"), terms=taken)
    result = replace(mean_study(), measures=[watched]).run(100, out=tmp_path)
    assert set(sizes) == {result.plan.block_size}
    assert (result.folder / "manifest.json").exists()
    assert len(result.summary)
    assert max(sizes) > result.plan.block_size


def test_the_last_run_is_explained_and_what_was_published_stays(tmp_path):
    def stands():
        found = load(tmp_path / "toy")
        assert {*found.n_rep.values()} == {found.manifest["replicates_per_scenario"]}
        return found.manifest["replicates_per_scenario"]

    for n_rep in (40, 80, 20):
        result = mean_study().run(n_rep, out=tmp_path)
        assert stands() == n_rep
    publish(result, about="Why?", config={"k": 1}, report=False)
    before = (result.folder / "manifest.json").read_bytes()
    mean_study().run(80, out=tmp_path)
    assert (result.folder / "manifest.json").read_bytes() == before
    assert stands() == 20


def test_an_output_that_was_lost_is_made_again(tmp_path):
    folder = mean_study().run(40, out=tmp_path).folder
    (folder / "scenarios.parquet").unlink()
    mean_study().run(40, out=tmp_path)
    assert len(load(folder).replicates)


def test_shares_explain_nothing(tmp_path):
    mean_study().run(200, out=tmp_path, shard=(1, 2))
    assert not (tmp_path / "toy" / "manifest.json").exists()
