"""A walk has the stack that it needs, and the collector is as it was."""

import gc
import sys

import pytest

from simstudy.errors import StudyError
from simstudy.identity.fingerprint import room


def nested(depth):
    return depth and 1 + nested(depth - 1)


def test_work_goes_deeper_than_a_plain_call():
    depth = 3 * sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        nested(depth)
    assert room.with_room(lambda: nested(depth)) == depth


def test_what_goes_deeper_still_is_refused(monkeypatch):
    monkeypatch.setattr(room, "DEEPEST", 0)
    says = "nested too deeply to be compared.*Hold it in an array or a flat list"
    with pytest.raises(StudyError, match=says):
        room.with_room(lambda: nested(10 * sys.getrecursionlimit()))


@pytest.mark.parametrize("was_on", [True, False])
def test_garbage_is_collected_again_if_it_was(was_on):
    try:
        (gc.enable if was_on else gc.disable)()
        with room.uncollected():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
    finally:
        gc.enable()
