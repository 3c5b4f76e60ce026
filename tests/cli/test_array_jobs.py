"""Which share an array job takes: as each scheduler says it, or not."""

import pytest

from simstudy.cli.settings import read_shard
from simstudy.cli.shares import share_of_array
from simstudy.errors import ConfigError


def slurm(index, first, last, *, step=1, count=None):
    said = {"ID": index, "MIN": first, "MAX": last, "STEP": step}
    said["COUNT"] = count or len(range(first, last + 1, step))
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in said.items()}


def sge(index, first, last, step=1):
    said = {"ID": index, "FIRST": first, "LAST": last, "STEPSIZE": step}
    return {f"SGE_TASK_{name}": str(value) for name, value in said.items()}


@pytest.mark.parametrize(
    ("environment", "share"),
    [
        (slurm(1, 1, 100), (1, 100)),
        (slurm(100, 1, 100), (100, 100)),
        (slurm(0, 0, 9), (1, 10)),
        (slurm(7, 1, 9, step=2), (4, 5)),
        (sge(30, 10, 40, 10), (3, 4)),
        ({"LSB_JOBINDEX": "4", "LSB_JOBINDEX_END": "8"}, (4, 8)),
        (slurm(3, 1, 4) | {"SGE_TASK_ID": "undefined", "LSB_JOBINDEX": "0"}, (3, 4)),
    ],
)
def test_the_share_follows_from_the_array(environment, share):
    assert share_of_array(environment) == share


@pytest.mark.parametrize(
    "environment",
    [{"PBS_ARRAY_INDEX": "3"}, {"PBS_ARRAYID": "3"}, slurm(3, 3, 9, count=2), sge(3, 3, 9)],
)
def test_a_few_shares_of_as_many_as_the_user_says(environment):
    assert share_of_array(environment, 100) == (3, 100)


@pytest.mark.parametrize(
    ("environment", "n_shares", "said"),
    [
        ({}, None, "this is no job of an array: none of SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX"),
        ({"SGE_TASK_ID": "undefined"}, None, "this is no job of an array"),
        ({"PBS_ARRAY_INDEX": "3"}, None, "PBS does not say how many jobs .* shard=auto/N"),
        (slurm(3, 3, 9, count=2), None, "or the array has gaps. .* shard=auto/N"),
        (slurm(0, 0, 9), 10, "SLURM_ARRAY_TASK_ID=0 is none of 1 to 10, the shares"),
        (slurm(3, 1, 9) | {"SLURM_ARRAY_TASK_STEP": "0"}, None, "does not say how many jobs"),
    ],
)
def test_a_place_that_cannot_be_told_is_refused_in_a_line(environment, n_shares, said):
    with pytest.raises(ConfigError, match=said) as refusal:
        share_of_array(environment, n_shares)
    assert "\n" not in str(refusal.value)


def test_the_command_line_asks_the_scheduler(monkeypatch):
    for name, value in slurm(3, 1, 7).items():
        monkeypatch.setenv(name, value)
    assert read_shard("auto") == (3, 7)
    assert read_shard("auto/50") == (3, 50)
    assert read_shard("2/7") == (2, 7)
