"""A text in as many lines as it takes to be no longer than its room."""

from __future__ import annotations

import re
import textwrap
from functools import partial
from typing import Any, Final

from simstudy.figures.journal.measured import Page, panel_of_strip

TOGETHER: Final = [re.compile(r"\S+ [=<>≤≥] [^\s,]+"), re.compile(r"[=<>≤≥] [^\s,]+")]
NO_BREAK: Final = "\u00a0"


def wrap(page: Page, text: Any, room: float) -> bool:
    """A text in more lines, where it is longer than so many inches; whether it changed."""
    before = text.get_text()
    if page.length(text) <= room:
        return False
    is_title = text.axes is None and panel_of_strip(text) is None
    said = before.replace("\n", " ") if is_title else before
    n_letters = max(map(len, said.split("\n")))
    shortest = max(map(len, re.split(r"\s|(?<=-)", said)), default=1)
    while page.length(text) > room and n_letters > shortest:
        n_letters = max(min(n_letters - 1, int(n_letters * room / page.length(text))), shortest)
        text.set_text(in_lines(said, n_letters))
    if hasattr(text, "draw_info"):
        text.set_verticalalignment("center")
    return bool(text.get_text() != before)


def in_lines(text: str, n_letters: int) -> str:
    """Lines of so many letters, in which `n = 30`, or else `= 30`, stays together if it can."""
    return "\n".join(map(partial(_line_in_lines, n_letters), text.split("\n")))


def _line_in_lines(n_letters: int, line: str) -> str:
    either = [*(equality.sub(_together, line) for equality in TOGETHER), line]
    said = next((each for each in either if _longest_word(each) <= n_letters), line)
    wrapped = textwrap.wrap(said, n_letters, break_long_words=False)
    return "\n".join(wrapped).replace(NO_BREAK, " ")


def _longest_word(line: str) -> int:
    return max(map(len, line.split(" ")), default=0)


def _together(equality: re.Match[str]) -> str:
    return equality[0].replace(" ", NO_BREAK)
