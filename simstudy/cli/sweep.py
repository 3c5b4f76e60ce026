"""Studies of one command: each is drawn and published, then the next one."""

import math
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from simstudy.atomic_files import read_json
from simstudy.cli import stops
from simstudy.cli.carry_out import carry_out, is_run
from simstudy.cli.compose import Absent, Point
from simstudy.cli.endings import (
    DEFECT,
    FAILED,
    OUT_OF_TIME,
    REFUSED,
    STOPPED,
    is_of_output,
    refuse,
)
from simstudy.cli.outputs import publish_anew, publishing, status_if_current
from simstudy.cli.request import Request
from simstudy.output.parallel_figures import FigureWorkers
from simstudy.remote.paths import place_of
from simstudy.store.manifest import MANIFEST

DONE, NOT_PUBLISHED = "nothing to do", "not published"
STATES = {DEFECT: NOT_PUBLISHED, REFUSED: "refused", OUT_OF_TIME: "out of time"}
HEADER = ("study", "state", "drawn", "published")
EXPERIMENT = "experiment="
SHORTEST_TOLD = 10.0  # seconds: less is not worth a word


def run_sweep(points: Sequence[Point], typed: Sequence[str]) -> int:
    """Run studies one after the other, and print what became of each.

    Returns
    -------
    int
        The highest status of all.
    """
    counts = [point.workers.count for point in points if isinstance(point, Request)]
    with stops.raising(), FigureWorkers(max(counts, default=1)) as workers:
        return _Sweep(_lines(points), typed, workers).run()


@dataclass(eq=False)
class _Line:
    """What became of a study: a row of the table at the end.

    Parameters
    ----------
    name
        What tells it from the others.
    is_current
        Whether it was published before, as it would be now.
    drawn, published
        Seconds that it took; 0 where it was not done.
    """

    point: Point
    name: str
    status: int = 0
    is_current: bool = False
    is_begun: bool = False
    drawn: float = 0.0
    published: float = 0.0

    @property
    def cells(self) -> tuple[str, ...]:
        """Its name, its state, and its seconds."""
        seconds = (f"{each:,.1f} s" if each else "–" for each in (self.drawn, self.published))
        return self.name, self._state, *seconds

    @property
    def _state(self) -> str:
        if not self.is_begun:
            return "not begun"
        if self.is_current:
            state = DONE
        elif self.status == REFUSED and self.drawn:  # only its own code can be at fault
            state = NOT_PUBLISHED
        else:
            done = [word for word in ("drawn", "published") if getattr(self, word)]
            state = STATES.get(self.status) or " and ".join(done) or "not drawn"
        return state + ", with failures" * (self.status == FAILED)


def _lines(points: Sequence[Point]) -> list[_Line]:
    """A line for each, named by the settings that it does not share with all others."""
    common = set.intersection(*(set(point.overrides) for point in points))
    if len(points) == 1:
        common = {text for text in common if not text.startswith(EXPERIMENT)}
    own = [[text for text in point.overrides if text not in common] for point in points]
    names = [" ".join(text.removeprefix(EXPERIMENT) for text in each) for each in own]
    return [_Line(point, name or point.name) for point, name in zip(points, names, strict=True)]


@dataclass
class _Sweep:
    lines: Sequence[_Line]
    typed: Sequence[str]
    workers: FigureWorkers

    def run(self) -> int:
        start = time.perf_counter()
        costs = [_published_seconds(line.point) for line in self.lines]
        for place, line in enumerate(self.lines):
            line.is_begun = True
            left = _time_left(costs[:place], costs[place:], time.perf_counter() - start)
            of_all = f"study {place + 1} of {len(self.lines)}{left}"
            print(f"-- {of_all}: {' '.join(line.point.overrides)}", flush=True)
            line.status = self._status(line)
            if line.status in STOPPED:
                break
        if all(line.status not in STOPPED - {OUT_OF_TIME} for line in self.lines):
            self._close(time.perf_counter() - start)
        return max(line.status for line in self.lines)

    def _status(self, line: _Line) -> int:
        if isinstance(line.point, Absent):
            return refuse(line.point.refusal)

        def publish(request: Request, result: Any) -> int:
            line.drawn = result.outcome.seconds if result.outcome.n_blocks else 0.0
            with publishing():
                return self._published(line, request, result)

        try:
            return carry_out(line.point, line.point.project, self.typed, publish)
        except Exception as error:  # a defect, in a study's code or in ours: it costs one study
            if is_of_output(error):
                raise
            traceback.print_exc()
            return DEFECT

    def _published(self, line: _Line, request: Request, result: Any) -> int:
        status = status_if_current(request, result)
        if status is not None:
            line.is_current = True
            return status
        start = time.perf_counter()
        try:
            return publish_anew(request, result, self.workers)
        finally:
            line.published = time.perf_counter() - start

    def _close(self, seconds: float) -> None:
        """Print the table, and where the index of all studies is."""
        points = [line.point for line in self.lines]
        if len(points) > 1 and all(isinstance(each, Absent) or is_run(each) for each in points):
            print("\n".join(["", *_table(self.lines, seconds)]), flush=True)
            for text in self._indices():  # which may be refused a place
                print(text)

    def _indices(self) -> Iterator[str]:
        """Write the index of each folder in which a study was published; where it is."""
        from simstudy.output.formatting import seen_from_here
        from simstudy.output.report import write_index
        from simstudy.store.disk import trouble_in_words

        changed: dict[str, bool] = {}
        for line in self.lines:
            if isinstance(line.point, Request) and line.point.settings.report:
                out = line.point.out
                changed[out] = changed.get(out, False) or line.published > 0
        for out, is_changed in changed.items():
            index = place_of(out) / "index.html"
            if is_changed or not index.exists():
                with trouble_in_words(index.parent):
                    write_index(index.parent, {})
            if index.exists():
                yield f"index: {seen_from_here(index)}"


def _published_seconds(point: Point) -> float:
    """Seconds that the project's published results of a study took; NaN where there are none."""
    if isinstance(point, Absent):
        return 0.0
    manifest = read_json(point.project.root / "results" / point.name / MANIFEST) or {}
    return sum(float(manifest.get(part, math.nan)) for part in ("wall_seconds", "publish_seconds"))


def _time_left(done: Sequence[float], ahead: Sequence[float], elapsed: float) -> str:
    """How long the rest takes if it goes on as before; empty where nobody can say."""
    from simstudy.output.formatting import time_in_words

    left = elapsed * sum(ahead) / (sum(done) or math.nan)
    return f", about {time_in_words(left)} left" if left >= SHORTEST_TOLD else ""


def _table(lines: Sequence[_Line], seconds: float) -> list[str]:
    """The rows of the table, with the time that all took by the clock."""
    rows = [HEADER, *(line.cells for line in lines)]
    names, states = (max(len(row[at]) for row in rows) for at in (0, 1))
    shown = [f"{a:{names}}  {b:{states}}  {c:>9}  {d:>9}" for a, b, c, d in rows]
    return [*shown, f"{'in all':{names}}  {seconds:,.1f} s by the clock"]
