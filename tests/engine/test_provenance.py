"""Workers are held to the code of the process that started the run; machine code is never older."""

import itertools
from dataclasses import replace

import pytest
from numba import cfunc, njit

from simstudy.engine.provenance import compute_provenance, drop_stale
from simstudy.errors import SimstudyError
from tests.factories import mean_study


def expected():
    return compute_provenance(mean_study((3,)).plan()).expected


def test_whatever_draws_checks_keeps_and_writes_blocks_is_held_to_the_parents():
    entries = expected().entries
    way = ("columns", "tasks", "methods")
    assert {f"engine/{step}.py" for step in way} < entries.keys()
    assert {"store/arrow_schema.py", "store/block_files.py", "places.py"} < entries.keys()


def test_a_worker_with_other_code_says_what_differs():
    code = expected()
    assert code.differences() == []
    assert code.digest == expected().digest
    names = ("engine/tasks.py", "tests.factories.Mean.simulate")
    other = replace(code, entries=code.entries | dict.fromkeys(names, frozenset({"#"})))
    assert other.differences() == [f"{name} has changed" for name in names]
    assert other.digest != code.digest


# ---------------------------------------------------------------- compiled functions of users
FACTOR = 2.0


@njit
def helped(x):
    return FACTOR * x


@njit
def between(x):
    return helped(x)


@njit
def called(x):
    return between(x) + helped(0.0) + 1.0


@pytest.mark.parametrize("order", [*itertools.permutations([helped, between, called])])
def test_what_was_compiled_in_this_process_is_compiled_again_after_a_change(order, monkeypatch):
    drop_stale(order)
    assert called(10.0) == 21.0
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    drop_stale(order)
    assert called(10.0) == 31.0


def test_functions_of_the_same_code_are_left_alone():
    drop_stale([helped, between, called])
    called(1.0)
    before = list(called.overloads.values())
    drop_stale([helped, between, called])
    assert list(called.overloads.values()) == before


def test_what_cannot_be_compiled_again_is_refused_after_a_change(monkeypatch):
    @cfunc("float64(float64)")
    def address(x):
        return FACTOR * x

    drop_stale([address])
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    with pytest.raises(SimstudyError, match=r"address is a compiled function.*new process"):
        drop_stale([address])


def test_a_function_with_machine_code_on_disk_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @njit(cache=True)
    def stored(x):
        return 2.0 * x

    drop_stale([stored])
    assert stored(3.0) == 6.0
