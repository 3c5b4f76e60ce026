"""Tests that share what is dear to make are done by one worker; long ones begin first."""

import fcntl

import pytest

from tests.sharing_out import SWEEP, place, unit

CONTRACT = "tests/test_contracts.py::TestExperiments::test_it_runs_at_smoke_scale[two_stage]"
IN_A_FILE = "tests/test_contracts.py::test_its_published_values_stand_in_one_place[two_stage]"


@pytest.mark.parametrize(
    ("nodeid", "whole"),
    [
        (CONTRACT, "tests/test_contracts.py::TestExperiments[two_stage]"),
        (IN_A_FILE, "tests/test_contracts.py"),
        ("tests/test_claims.py::test_it[tests/x.py::a]", "tests/test_claims.py"),
        (SWEEP, SWEEP),
    ],
)
def test_what_one_worker_does(nodeid, whole):
    assert unit(nodeid) == whole


def test_the_longest_begin_first():
    verb = "tests/cli/test_verbs.py::test_it"
    collected = ["tests/test_claims.py::test_it", CONTRACT, IN_A_FILE, SWEEP, verb]
    assert sorted(collected, key=place) == [SWEEP, IN_A_FILE, verb, CONTRACT, collected[0]]


def test_what_is_said_to_be_long_is_there(request):
    """Where all tests are collected: a file that was renamed would be begun last, unnoticed."""
    from tests import test_contracts
    from tests.cli import test_command_line

    assert hasattr(test_command_line, SWEEP.rpartition("::")[2])
    assert unit(CONTRACT).endswith(f"::{test_contracts.TestExperiments.__name__}[two_stage]")


def test_an_experiment_is_run_by_one_worker_at_a_time(smoke_runs):
    with smoke_runs.alone(["mine"]) as folder:
        assert not is_free(folder, "mine")
        assert is_free(folder, "another")
    assert is_free(folder, "mine")


def is_free(folder, experiment):
    with folder.with_name(f"{folder.name}.{experiment}").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
