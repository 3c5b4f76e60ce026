"""Which share an array job takes: as each scheduler says it, or not."""

import pytest

from simstudy.cli.settings import read_shard
from simstudy.cli.shares import share_of_array
from simstudy.errors import ConfigError


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
    assert share_of_array(environment, n_shares) == share


@pytest.mark.parametrize(
    ("environment", "n_shares", "said"),
    [
        ({"SGE_TASK_ID": "undefined", "LSB_JOBINDEX": "0"}, 5, "this is no job of an array: none"),
        ({"PBS_ARRAY_INDEX": "3"}, None, "PBS_ARRAY_INDEX does not say how many .* shard=auto/N"),
        (slurm(3, 3, 9, count=2), None, "only a Slurm array without gaps does. .* shard=auto/N"),
        (slurm(0, 0, 9), 10, "SLURM_ARRAY_TASK_ID=0 is none of 1 to 10, the shares"),
    ],
)
def test_a_place_that_cannot_be_told_is_refused_in_a_line(environment, n_shares, said):
    with pytest.raises(ConfigError, match=said) as refusal:
        share_of_array(environment, n_shares)
    assert "\n" not in str(refusal.value)


def test_the_command_line_asks_the_scheduler(monkeypatch):
    for name, value in slurm(3, 1, 7).items():
        monkeypatch.setenv(name, value)
    assert [read_shard(text) for text in ("auto", "auto/50", "2/7")] == [(3, 7), (3, 50), (2, 7)]
