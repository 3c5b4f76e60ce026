"""Shares of a study in array jobs: which one a job takes, and how they are joined."""

import pytest

from simstudy.errors import ConfigError
from simstudy.study.run_options import read_shard, shard_of_array
from tests.guarantees.content import files_but_manifest

STUDY = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50,100]", "progress=false"]
QUICK = [*STUDY, "n_rep=3000", "figures=false", "report=false", "backend=inline"]


def slurm(index, first, last, count=None):
    count = count or last - first + 1
    said = {"ID": index, "MIN": first, "MAX": last, "COUNT": count}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in said.items()}


@pytest.mark.parametrize(
    ("environment", "n_shares", "share"),
    [
        (slurm(100, 1, 100), None, (100, 100)),
        (slurm(0, 0, 99), None, (1, 100)),
        (slurm(3, 1, 4) | {"SGE_TASK_ID": "undefined", "LSB_JOBINDEX": "0"}, None, (3, 4)),
        (slurm(3, 3, 9, count=2), 100, (3, 100)),
        ({"PBS_ARRAY_INDEX": "3"}, 100, (3, 100)),
        ({"LSB_JOBINDEX": "4", "SGE_TASK_ID": "undefined"}, 8, (4, 8)),
    ],
)
def test_the_share_follows_from_the_array(environment, n_shares, share):
    assert shard_of_array(environment, n_shares) == share


@pytest.mark.parametrize(
    ("environment", "n_shares", "said"),
    [
        ({"SGE_TASK_ID": "undefined"}, 5, "a job outside of an array has no place among 5 shares"),
        ({"LSB_JOBINDEX": "0"}, 5, "LSB_JOBINDEX=0 has no place among 5 shares"),
        ({"PBS_ARRAY_INDEX": "3"}, None, "=3 has no place among an unknown number .* shard=auto/N"),
        (slurm(9, 3, 9, count=2), None, "TASK_ID=9 has no place among 2 shares from 3 on"),
        (slurm(0, 0, 9), 10, "TASK_ID=0 has no place among 10 shares from 1 on"),
    ],
)
def test_a_place_that_cannot_be_told_is_refused_in_a_line(environment, n_shares, said):
    with pytest.raises(ConfigError, match=said) as refusal:
        shard_of_array(environment, n_shares)
    assert "\n" not in str(refusal.value)


def test_the_command_line_asks_the_scheduler(monkeypatch):
    for name, value in slurm(3, 1, 7).items():
        monkeypatch.setenv(name, value)
    assert [read_shard(text) for text in ("auto", "auto/50", "2/7")] == [(3, 7), (3, 50), (2, 7)]


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
    for name, value in slurm(3, 1, 7).items():
        monkeypatch.setenv(name, value)
    (line,) = (each for each in said(*asked, "shard=auto") if each.startswith("shard "))
    assert line.startswith("shard 3/7: ")


def test_a_status_counts_from_the_store(asked, said):
    said(*asked, "shard=2/4")
    assert said("status", *asked)[0] == "blocks   6: 1 stored (0 with failures), 5 missing"


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
    assert any("power" in line for line in said(*asked, "join=3", "draw=true"))
    assert said(*asked, "join=3")[0].startswith("nothing to do")
