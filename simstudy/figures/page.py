"""Widths of a page and of journal columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from simstudy.errors import SimstudyError
from simstudy.validation import check_file_name

FULL_WIDTH: Final = 6.5  # inches: the text of a page, and the width of every figure
NARROW: Final = 5.0  # inches: less than this is a column
BESIDE: Final = 0.75  # inches of the width that the labels of the vertical axis take
WRAPPED, IN_GRID = 1.15, 0.85  # inches: the narrowest panels, each with its own title, or in a grid
COLUMNS: Final[Mapping[str, float]] = {"single": 3.5, "double": 7.2}  # inches: 89 and 183 mm
LEAST, MOST = 2.0, 20.0  # inches of a width, narrower than letters allow or in another unit
_inches: ContextVar[float] = ContextVar("page_width", default=FULL_WIDTH)


def page_width() -> float:
    """Return the width in inches for which figures are laid out.

    That of a page's text, or of a journal's column. A figure function of a study asks for it if
    its layout depends on the width.

    Returns
    -------
    float
        Inches.
    """
    return _inches.get()


def is_narrow() -> bool:
    """Whether the page is as narrow as a journal column."""
    return page_width() < NARROW


def abreast(n_panels: int, narrowest: float) -> int:
    """The number of panels side by side, each with a minimum width."""
    most = max(int((page_width() - BESIDE) / narrowest), 1)
    return n_panels if n_panels <= most else -(-n_panels // -(-n_panels // most))


@contextmanager
def laid_out_for(inches: float) -> Iterator[None]:
    """A context in which figures are laid out for a width."""
    token = _inches.set(inches)
    try:
        yield
    finally:
        _inches.reset(token)


# ---------------------------------------------------------------- columns of a journal
def column_files(name: str, columns: Iterable[str], ending: str) -> list[str]:
    """The files of a figure for columns, below the folder of all of them."""
    return [f"{column}/{name}.{ending}" for column in columns]


def check_columns(columns: Mapping[str, Any], refusal: type[SimstudyError]) -> None:
    """Refuse invalid widths, and names that no folder can have.

    Raises
    ------
    SimstudyError
        Of the given kind, naming the first.
    """
    for name, inches in columns.items():
        if not (isinstance(inches, int | float) and LEAST <= inches <= MOST):
            raise refusal(
                f"column {name!r} is {inches!r} wide: a width is a number of inches from {LEAST:g} "
                f"to {MOST:g}, such as 3.5, which is 89 mm."
            )
        check_file_name(name, "column", refusal)
