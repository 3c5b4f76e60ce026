"""Processes that have gone are told from those that are there."""

import os

from simstudy.who_lives import began, is_there, machine


def test_this_process_is_there_and_one_that_ended_is_not():
    child = os.fork()
    if not child:
        os._exit(0)
    assert began(child) != began(os.getpid()) or began(child) is None
    os.waitpid(child, 0)
    assert is_there(os.getpid())
    assert not is_there(child)
    assert began(child) is None


def test_a_machine_has_one_name():
    assert machine() == machine()
    assert len(machine()) == 8
