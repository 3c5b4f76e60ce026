"""A study's folder: one store for all runs; cleaning deletes no block that a run uses."""

import os
import shutil
from dataclasses import replace

import pytest

from simstudy import load
from simstudy.errors import StoreError
from simstudy.store.compaction import clean
from simstudy.store.runs import check_study, list_runs, study_folder
from tests import factories
from tests.factories import mean_study
from tests.support import INLINE

STUDY = mean_study((3, 10))  # blocks of 50
N_REP, N_BLOCKS, N_ROWS = 60, 4, 4  # of two scenarios and two methods


def run(out, n_rep=N_REP, seed=1, study=STUDY, **settings):
    return study.run(n_rep, seed, out=out, **INLINE, **settings)


def n_drawn(*arguments, **settings):
    return run(*arguments, **settings).outcome.n_blocks


# ---------------------------------------------------------------- one store
def test_runs_of_other_settings_share_the_store(tmp_path):
    assert n_drawn(tmp_path) == N_BLOCKS
    assert n_drawn(tmp_path, study=mean_study((3,))) == 0
    assert n_drawn(tmp_path, study=mean_study((10, 30))) == 2
    assert n_drawn(tmp_path, 110) == 2
    assert n_drawn(tmp_path, seed=2) == N_BLOCKS
    assert n_drawn(tmp_path, study=replace(STUDY, block_size=30)) == N_BLOCKS
    for seed in (1, 2):
        stored, alone = run(tmp_path, 40, seed), run(tmp_path / str(seed), 40, seed)
        assert stored.outcome.n_blocks == 0
        assert stored.summary.equals(alone.summary)


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "toy"
    file.write_text("")
    with pytest.raises(StoreError, match=r"is a file, not a folder for results\. Choose another"):
        check_study("toy", file)


def test_a_results_folder_may_be_named_as_that_of_runs(tmp_path):
    result = run(tmp_path / "runs")
    assert study_folder(result.folder) == result.folder
    assert study_folder(tmp_path / "x" / "runs" / "n_rep=5,seed=2") == tmp_path / "x"
    assert len(load(result.folder).replicates) == N_ROWS * N_REP


# ---------------------------------------------------------------- cleaning
def test_cleaning_removes_what_no_run_uses(tmp_path):
    run(tmp_path, seed=2)
    run(tmp_path, study=mean_study((30,)))
    folder = run(tmp_path, 210).folder
    shutil.copytree(folder, tmp_path / "all")
    assert n_drawn(tmp_path, 60) == 0
    counted = clean(folder, dry_run=True, older_than=0)
    assert counted.n_blocks == 2 + N_BLOCKS, "a scenario that no run has, and another seed"
    assert counted.n_bytes > 0
    assert clean(folder, older_than=0) == counted
    assert clean(folder, older_than=0).n_blocks == 0
    assert n_drawn(tmp_path, 210) == 0, "later blocks of the same code stay"
    assert len(load(tmp_path / "all").replicates) == N_ROWS * 210


def test_runs_below_keep_their_blocks(tmp_path):
    folder = run(tmp_path).folder
    other = run(tmp_path / "other", seed=2).folder
    shutil.copytree(other, folder / "runs" / "seed=2", ignore=shutil.ignore_patterns("replicates"))
    for path in (other / "replicates").glob("*.parquet"):
        shutil.copy(path, folder / "replicates")
    assert [each.name for each in list_runs(folder)] == ["", "seed=2"]
    assert clean(folder, older_than=0).n_blocks == 0
    assert len(load(folder / "runs" / "seed=2").replicates) == N_ROWS * N_REP
    shutil.rmtree(folder / "runs" / "seed=2")
    assert clean(folder, older_than=0).n_blocks == N_BLOCKS


def test_cleaning_removes_blocks_of_code_that_no_run_has(tmp_path):
    class Mean(factories.Mean):
        def simulate(self, streams, n_rep):
            return {**super().simulate(streams, n_rep)}

    folder = run(tmp_path).folder
    other = replace(STUDY, scenarios=[Mean(each.n_obs) for each in STUDY.scenarios])
    assert n_drawn(tmp_path, study=other) == N_BLOCKS
    assert clean(folder, older_than=0).n_blocks == N_BLOCKS
    assert n_drawn(tmp_path, study=other) == 0


def test_nothing_is_cleaned_where_no_run_is_known(tmp_path):
    folder = run(tmp_path).folder
    (folder / "manifest.json").unlink()
    with pytest.raises(StoreError, match="has no finished run, so all blocks would be removed"):
        clean(folder, older_than=0)


def test_young_blocks_are_not_deleted(tmp_path):
    folder = run(tmp_path).folder
    run(tmp_path, seed=2)
    run(tmp_path)
    assert clean(folder, dry_run=True, older_than=0).n_blocks == N_BLOCKS
    assert clean(folder).n_blocks == 0
    for path in (folder / "replicates").glob("*.parquet"):
        os.utime(path, (0, 0))
    assert clean(folder).n_blocks == N_BLOCKS


def test_old_blocks_of_a_run_that_still_draws_are_not_deleted(tmp_path):
    folder = run(tmp_path).folder
    run(tmp_path, 200, seed=2, shard="1/2")
    old = {*(folder / "replicates").glob("*.parquet")}
    for path in old:
        os.utime(path, (0, 0))
    assert clean(folder, dry_run=True).n_blocks > 0
    run(tmp_path, 200, seed=2, shard="2/2")
    assert clean(folder).n_blocks == 0, "younger blocks of the same code and settings are there"
    assert old <= {*(folder / "replicates").glob("*.parquet")}
