"""Shares of a study in array jobs: which one a job takes, and how they are joined."""

import pytest

from simstudy.errors import ConfigError
from simstudy.study.run_options import read_shard
from tests.guarantees.content import files_but_manifest

STUDY = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50,100]", "progress=false"]
QUICK = [*STUDY, "n_rep=3000", "figures=false", "report=false", "backend=inline"]


@pytest.mark.parametrize(
    ("environment", "share"),
    [
        ({"SLURM_ARRAY_TASK_ID": "3", "SGE_TASK_ID": "undefined", "LSB_JOBINDEX": "0"}, (3, 50)),
        ({"PBS_ARRAY_INDEX": "50"}, (50, 50)),
        ({"LSB_JOBINDEX": "4", "SGE_TASK_ID": "undefined"}, (4, 50)),
    ],
)
def test_the_share_follows_from_the_array(environment, share, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (read_shard("auto/50"), read_shard("2/7")) == (share, (2, 7))


@pytest.mark.parametrize(
    ("index", "shard"),
    [("undefined", "auto/5"), ("0", "auto/5"), ("6", "auto/5"), ("1", "auto"), ("1", "3/2")],
)
def test_a_place_that_cannot_be_told_is_refused_in_a_line(index, shard, monkeypatch):
    monkeypatch.setenv("SGE_TASK_ID", index)
    with pytest.raises(ConfigError, match=f"shard={shard} is not allowed: must be i/N") as refusal:
        read_shard(shard)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("typed", "near"), [("0/4", "1/4"), ("5/4", "4/4"), ("4", "1/100")])
def test_the_nearest_shard_is_the_example(typed, near):
    with pytest.raises(ConfigError, match=f"for example shard={near};"):
        read_shard(typed)


# ---------------------------------------------------------------- joined
@pytest.fixture
def asked(tmp_path):
    return [*QUICK, f"out={tmp_path}"]


@pytest.fixture
def said(ours):
    """The lines that a command prints."""
    return lambda *arguments: ours(*arguments).splitlines()


def test_shares_in_any_order_are_joined_once_to_the_files_of_one_run(asked, tmp_path, said):
    for share in ("3/3", "1/3", "3/3", "2/3"):
        said(*asked, f"shard={share}")
    assert any("power" in line for line in said(*asked))
    joined = files_but_manifest(tmp_path)
    assert any(line.startswith("nothing to do") for line in said(*asked))
    assert files_but_manifest(tmp_path) == joined
    said(*QUICK, f"out={tmp_path / 'whole'}")
    assert files_but_manifest(tmp_path / "whole") == joined


def test_a_job_of_an_array_prints_which_share_it_drew(asked, said, monkeypatch):
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    (line,) = (each for each in said(*asked, "shard=auto/7") if each.startswith("shard "))
    assert line.startswith("shard 3/7: ")


def test_a_join_draws_what_one_share_draws_and_otherwise_says_how_to_go_on(
    asked, tmp_path, said, refused_here, monkeypatch
):
    said(*asked, "shard=1/3")
    before = files_but_manifest(tmp_path)
    monkeypatch.delenv("SIMSTUDY_SCRIPT", raising=False)
    for script, command in (("", "bash SCRIPT 2-3"), ("/a b/run.sh", "bash '/a b/run.sh' 2-3")):
        if script:
            monkeypatch.setenv("SIMSTUDY_SCRIPT", script)
        line = refused_here(*asked, "join=3", status=3)
        assert line.startswith("join=3: 4 of 6 blocks are missing, in 2 of 3 shards. That is")
        assert f"To draw them in an array: {command}\n" in f"{line}\n"
        assert files_but_manifest(tmp_path) == before
    assert any("power" in line for line in said(*asked))
    assert said(*asked, "join=3")[0].startswith("nothing to do")
