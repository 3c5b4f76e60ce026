"""Functions behind those that only check types."""

import functools

from simstudy.provenance.bytecode import is_checker, unchecked


def test_functions_that_only_check_are_passed_through():
    def plain(x):
        return x

    space = {"__name__": "beartype._decor"}
    exec("def checked(x): return x", space)
    checked = functools.update_wrapper(space["checked"], plain)
    assert is_checker(checked)
    assert unchecked(checked) is plain
    assert unchecked(plain) is plain
