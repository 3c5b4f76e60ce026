"""Tests that share what is dear to make are done by one worker; long ones begin first."""

import fcntl

import pytest

from tests.cli.projects import python, write
from tests.sharing_out import SWEEP, place, undone, unit

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


CONFTEST = """
from tests import sharing_out

def pytest_xdist_make_scheduler(config, log):
    return sharing_out.by_unit(config, log)
"""
TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("i", range(3))
def test_it(i):
    assert pathlib.Path(__file__).name != "test_5.py" or i != 1 or os.abort()
"""


def test_a_worker_that_dies_costs_its_test_and_nobody_waits(tmp_path):
    write(tmp_path, {"conftest.py": CONFTEST} | {f"test_{i}.py": TESTS for i in range(9)})
    asked = ["-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
    done = python(tmp_path, "-m", "pytest", *asked, timeout=120)
    assert "crashed while running 'test_5.py::test_it[1]'" in done.stdout
    assert "1 failed, 26 passed" in done.stdout


def test_what_is_done_is_not_given_out_again():
    units = {"a": {"a1": True}, "b": {"b1": True, "b2": False}, "c": {"c1": False, "c2": False}}
    first, left = undone(units)
    assert first == "b2"
    assert left == {"c": {"c1": False, "c2": False}}
    assert undone({"a": {"a1": True}}) == (None, {})


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
