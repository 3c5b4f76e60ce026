"""Words for what went wrong, which terminals and files have to hold."""

import pytest

from simstudy.errors import LONGEST_SAID, in_one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("two\nlines", "two lines"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("nothing\0more", r"nothing\x00more"),
        ("\x9b2J", r"\x9b2J"),
        ("evil\u202egnp.exe", r"evil\u202egnp.exe"),
        ("\udcff", r"\udcff"),
        ("größer, 大きい, \U0001f600", "größer, 大きい, \U0001f600"),
    ],
)
def test_no_letter_of_a_text_commands_a_terminal(text, line):
    assert in_one_line(text) == line
    assert in_one_line(line) == line


@pytest.mark.parametrize("letter", ["x", "\x1b", "\udcff"])
def test_a_long_text_is_cut_once(letter):
    line = in_one_line(letter * 10_000)
    assert line.endswith("[cut: 10,000 letters]")
    assert len(line) < LONGEST_SAID + 100
    assert in_one_line(line) == line
