"""Compiled functions of users: machine code on disk is never of older code."""

import json
import os
import subprocess
import sys

import pytest
from numba import cfunc, njit

from simstudy.engine.machine_code import drop_stale_machine_code
from simstudy.errors import SimstudyError
from tests.support import ROOT

HELPER = """
from numba import njit
FACTOR = 2.0

@njit({sig}cache=True)
def helped(x):
    return FACTOR * x
"""
USER = """
from numba import njit
import helper

@njit({sig}cache=True)
def called(x):
    return helper.helped(x) + 1.0
"""
USE = """
import json
from simstudy.engine.machine_code import drop_stale_machine_code
from simstudy.errors import SimstudyError
import helper, user
BOTH = [helper.helped, user.called]
try:
    drop_stale_machine_code(BOTH)
    print(json.dumps([user.called(10.0), sum(user.called.stats.cache_hits.values())]))
except SimstudyError as error:
    print(json.dumps(str(error)))
"""
EAGER = '"float64(float64)", '


def write(folder, sig, factor="2.0"):
    """The modules of a user: the helper is edited, the file that calls it is not."""
    (folder / "helper.py").write_text(HELPER.format(sig=sig).replace("2.0", factor))
    if not (folder / "user.py").exists():
        (folder / "user.py").write_text(USER.format(sig=sig))


def run(folder):
    """What a process says that imports these modules."""
    env = os.environ | {"PYTHONPATH": f"{ROOT}:{folder}"}
    done = subprocess.run(
        [sys.executable, "-c", USE], capture_output=True, text=True, check=True, cwd=folder, env=env
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_change_in_a_helpers_file_is_seen_and_machine_code_is_kept(tmp_path):
    write(tmp_path, "")
    assert run(tmp_path) == [21.0, 0]
    assert run(tmp_path) == [21.0, 1]
    write(tmp_path, "", "3.0")
    assert run(tmp_path) == [31.0, 0]


@pytest.mark.slow
def test_what_was_loaded_before_anybody_looked_is_refused_once(tmp_path):
    """numba loads functions with signatures as their module is imported."""
    write(tmp_path, EAGER)
    assert run(tmp_path)[0] == 21.0
    assert run(tmp_path) == [21.0, 1]
    write(tmp_path, EAGER, "3.0")
    assert "user.called is a compiled function that may hold old code" in run(tmp_path)
    assert run(tmp_path) == [31.0, 0]


FACTOR = 2.0


@njit
def helped(x):
    return FACTOR * x


@njit
def called(x):
    return helped(x) + 1.0


def test_what_was_compiled_in_this_process_is_compiled_again_after_a_change(monkeypatch):
    drop_stale_machine_code([helped, called])
    assert called(10.0) == 21.0
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    drop_stale_machine_code([helped, called])
    assert called(10.0) == 31.0


def test_functions_of_the_same_code_are_left_alone():
    drop_stale_machine_code([helped, called])
    called(1.0)
    before = list(called.overloads.values())
    drop_stale_machine_code([helped, called])
    assert list(called.overloads.values()) == before


def test_what_cannot_be_compiled_again_is_refused_after_a_change(monkeypatch):
    @cfunc("float64(float64)")
    def address(x):
        return FACTOR * x

    drop_stale_machine_code([address])
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    with pytest.raises(SimstudyError, match=r"address is a compiled function.*new process"):
        drop_stale_machine_code([address])
