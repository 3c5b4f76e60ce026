"""Compiled functions of users: machine code is never of older code."""

import itertools

import pytest
from numba import cfunc, njit

from simstudy.engine.provenance import drop_stale
from simstudy.errors import SimstudyError

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
