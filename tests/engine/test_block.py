"""A block drawn, or recorded as failed; and the address of a replicate."""

import errno
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from simstudy.engine import graceful_stop
from simstudy.engine.block import Address, draw_block
from simstudy.engine.methods import each_replicate
from simstudy.errors import StudyError, describe
from tests.factories import SIZE, X, giving, plan_of, stored


def test_a_scenario_that_changes_itself_is_refused():
    scenario = giving(lambda streams, n_rep: object.__setattr__(scenario, "k", 2.0))
    with pytest.raises(StudyError) as refusal:
        draw_block(plan_of(), scenario, 0)
    assert "simulate changed its own scenario, from Named(k=1) to Named(k=2)" in str(refusal.value)


@pytest.mark.parametrize("is_machine", [True, False])
def test_a_block_says_whether_the_machine_failed_it(is_machine):
    error = OSError(errno.ENOSPC if is_machine else errno.ENOENT, "of a method")

    def analyse(x):
        raise error

    def simulate(streams, n_rep):
        return each_replicate(analyse, returns=["x"])(x=X)

    made, table = stored(simulate, axes={})
    assert (made.machine, made.n_failed) == (is_machine, SIZE)
    assert table["error"].to_pylist() == [describe(error)] * SIZE


def test_addresses_are_read_as_they_are_written():
    address = Address("3f2a90c1d4e5b678", 1234)
    assert Address.parse(str(address)) == address
    for text in ("3f2a", "/3", "3f2a/-1"):
        with pytest.raises(StudyError, match="is not the address of a replicate"):
            Address.parse(text)


# ---------------------------------------------------------------- what would end a run
class EndsTheProgram(Exception):
    """Its text cannot be had: whoever asks for it is ended."""

    def __str__(self):
        sys.exit(0)


def that_raises(error):
    def simulate(streams, n_rep):
        raise error

    return simulate


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (GeneratorExit("closed"), "GeneratorExit: closed"),
        (EndsTheProgram(), "EndsTheProgram: (its text cannot be had: str of it raised SystemExit)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_that_would_end_the_program_is_a_failure_of_its_block(error, said):
    made, table = stored(that_raises(error))
    assert made.n_failed == SIZE
    assert table["error"].to_pylist() == [said] * SIZE


def test_an_interrupt_stops_a_run_only_where_a_signal_may_have_raised_it(monkeypatch):
    interrupt = that_raises(KeyboardInterrupt("of its own"))
    with pytest.raises(KeyboardInterrupt):
        stored(interrupt)
    with ThreadPoolExecutor(1) as threads:
        _, of_a_thread = threads.submit(stored, interrupt).result()
    monkeypatch.setattr(graceful_stop._is_worker, "is_set", lambda: True)
    _, of_a_worker = stored(interrupt)
    for table in (of_a_thread, of_a_worker):
        assert table["error"].to_pylist() == ["KeyboardInterrupt: of its own"] * SIZE
