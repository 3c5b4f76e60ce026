"""Words of a drawn figure moved apart: wrapped, turned, thinned out, and panels given their height.

Letters stay as large as they are. What has no room gets lines, or a figure that is higher.
"""

from __future__ import annotations

from typing import Any, Final

from simstudy.figures.journal.heights import give_heights, grow_for_strips
from simstudy.figures.journal.margins import give_margins
from simstudy.figures.journal.measured import Page
from simstudy.figures.journal.names import Names, turn_names
from simstudy.figures.journal.ticks import thin_numbers
from simstudy.figures.journal.titles import Titles, wrap_keys
from simstudy.figures.journal.words import part_words

MOST_ROUNDS: Final = 3  # of growing a figure for what its rows need


def mended(drawn: Any, *, keep_height: bool = False) -> Any:
    """A figure whose words are apart, as far as its page allows.

    Parameters
    ----------
    drawn
        A matplotlib Figure at the size at which it is printed; is changed.
    keep_height
        Whether panels stay as high as they are wherever words allow it.
    """
    page = Page(drawn)
    titles, names = Titles(page), Names(page)
    wrap_keys(page)
    titles.wrap_of_axes()
    give_margins(page)
    titles.join()
    _give_room(page, titles, names, keep_height)
    titles.unwrap()
    _wrap(page, titles, names)
    _thin(page, titles, names)
    part_words(page)
    _thin(page, titles, names)  # of axes that go on now
    give_margins(page)
    return drawn


def _give_room(page: Page, titles: Titles, names: Names, keep_height: bool) -> None:
    """Heights for panels, whose titles are in two lines as long as they may still grow."""
    for keep in (keep_height, True):
        _wrap(page, titles, names, lines=2)
        give_heights(page, keep=keep)
    turn_names(page)
    for _ in range(MOST_ROUNDS):
        if not (names.grow() or grow_for_strips(page)):
            break
    names.unwrap()


def _wrap(page: Page, titles: Titles, names: Names, lines: int | None = None) -> None:
    """Titles and names in lines, as long as each has a side to stand on."""
    changed = [titles.wrap(lines), names.wrap()]
    if any(changed):
        page.lay_out()


def _thin(page: Page, titles: Titles, names: Names) -> None:
    """Fewer numbers on axes, which leave titles more room, or less."""
    thin_numbers(page)
    _wrap(page, titles, names)
