"""One at a time at a folder."""

import errno
import fcntl

from simstudy.store.files import Folder
from simstudy.store.turns import turn_at


def test_those_who_touch_only_their_own_need_not_wait_for_each_other(tmp_path):
    files = Folder(tmp_path)
    with turn_at(files, alone=False, wait=True), turn_at(files, alone=False, wait=False) as other:
        assert other
        with turn_at(files, alone=True, wait=False) as whole:
            assert not whole


def test_a_second_one_goes_without_until_the_first_has_ended(tmp_path):
    files = Folder(tmp_path)
    with (
        turn_at(files, alone=True, wait=True) as first,
        turn_at(Folder(tmp_path), alone=False, wait=False) as second,
    ):
        assert (first, second) == (True, False)
    with turn_at(files, alone=True, wait=False) as again:
        assert again


def test_where_there_are_no_locks_everybody_has_a_turn(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOTSUP, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    for files in (Folder(tmp_path), object()):
        with (
            turn_at(files, alone=True, wait=False) as first,
            turn_at(files, alone=True, wait=False) as other,
        ):
            assert (first, other) == (True, True)
