"""What became of each study of a sweep: a line of the table at its end."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simstudy.cli.compose import Point
from simstudy.cli.endings import DEFECT, FAILED, OUT_OF_TIME, REFUSED
from simstudy.output.kept_text import Text

DONE = "nothing to do"
STATES = {DEFECT: "not published", REFUSED: "refused", OUT_OF_TIME: "out of time"}
NOT_PUBLISHED = STATES[DEFECT]
NAMES = ("study", "state", "drawn", "published")
EXPERIMENT = "experiment="


@dataclass(eq=False)
class Line:
    """What became of a study.

    Parameters
    ----------
    name
        What tells it from the others.
    state
        In words; empty where they follow from the rest.
    drawn, published
        Seconds that it took; 0 where it was not done.
    is_open
        Whether its outputs are still being made.
    said
        What it printed, and what nobody has seen yet.
    """

    point: Point
    name: str
    state: str = ""
    status: int = 0
    drawn: float = 0.0
    published: float = 0.0
    is_begun: bool = False
    is_open: bool = False
    said: Text = Text()

    @property
    def head(self) -> str:
        """The line before what it prints."""
        return f"-- {' '.join(self.point.overrides)}"

    def begin(self) -> None:
        """It is its turn."""
        self.is_begun = True

    def end(self, status: int) -> None:
        """It is drawn, or refused."""
        self.is_begun, self.status = True, max(self.status, status)

    @contextlib.contextmanager
    def publishing(self) -> Iterator[None]:
        """Within it, it is published."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.published = time.perf_counter() - start

    @property
    def in_words(self) -> str:
        """Its state."""
        if not self.is_begun:
            return "not begun"
        done = [word for word in ("drawn", "published") if getattr(self, word)]
        refused = self.status == REFUSED and self.drawn  # only its own code can be at fault
        said = (
            self.state
            or (NOT_PUBLISHED if refused else STATES.get(self.status))
            or " and ".join(done)
            or "not drawn"
        )
        return said + ", with failures" * (self.status == FAILED)


def lines_of(points: Sequence[Point]) -> list[Line]:
    """A line for each, named by what it has not in common with all others."""
    common = set.intersection(*(set(point.overrides) for point in points))
    if len(points) == 1:
        common = {text for text in common if not text.startswith(EXPERIMENT)}
    return [Line(point, _name(point, common)) for point in points]


def _name(point: Point, common: set[str]) -> str:
    own = [text.removeprefix(EXPERIMENT) for text in point.overrides if text not in common]
    return " ".join(own) or point.name


def table_of(lines: Sequence[Line], seconds: float) -> list[str]:
    """The table, with the time that all took by the clock."""
    rows = [NAMES, *((each.name, each.in_words, *_seconds(each)) for each in lines)]
    names, states = (max(len(row[at]) for row in rows) for at in (0, 1))
    told = [f"{a:{names}}  {b:{states}}  {c:>9}  {d:>9}" for a, b, c, d in rows]
    return [*told, f"{'in all':{names}}  {seconds:,.1f} s by the clock"]


def _seconds(line: Line) -> tuple[str, str]:
    drawn, published = (f"{each:,.1f} s" if each else "–" for each in (line.drawn, line.published))
    return drawn, published
