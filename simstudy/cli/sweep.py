"""Studies of one command: each is published while the next ones are drawn."""

import contextlib
import time
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from simstudy.cli import stops
from simstudy.cli.carry_out import carry_out, is_run
from simstudy.cli.compose import Absent, Point
from simstudy.cli.endings import DEFECT, OUT_OF_TIME, STOPPED, is_of_output, refuse
from simstudy.cli.outputs import in_turn, publish_anew, publish_result, stands_already
from simstudy.cli.publisher import Answer, Publisher, is_beside
from simstudy.cli.request import Request
from simstudy.cli.standard_streams import complain
from simstudy.cli.sweep_lines import DONE, Line, lines_of, table_of
from simstudy.output.kept_text import Keeping, Text
from simstudy.remote.paths import place_of
from simstudy.store.manifest import MANIFEST

FEWEST_FIGURES = 2  # of a study alone: with fewer there is nothing to be done side by side


def run_alone(request: Request, typed: Sequence[str], *, is_program: bool) -> int:
    """One study; its figures are drawn side by side, where they can be."""
    figures = request.study.figures if request.settings.figures else ()
    if not (is_program and len(figures) >= FEWEST_FIGURES and is_beside(request)):
        return carry_out(request, request.project, typed)
    with Publisher([request], typed) as publisher:

        def publish(request: Request, result: Any) -> int:
            status = stands_already(request, result)
            if status is not None or not publisher.takes(request, result):
                return publish_result(request, result) if status is None else status
            ((_, answer),) = publisher.answers(wait=True)
            answer.text.print()
            return _status_of(request, answer)

        return carry_out(request, request.project, typed, publish)


def _status_of(request: Request, answer: Answer) -> int:
    """Of what was published by a copy, which may have ended without a word."""
    if answer.lost:
        complain(
            f"{request.name} is drawn and not published: {answer.lost}. Every block is kept; to "
            "publish it, give the command again."
        )
    return answer.status


def run_sweep(points: Sequence[Point], typed: Sequence[str], *, is_program: bool) -> int:
    """Studies one after the other; the highest status of all.

    Parameters
    ----------
    is_program
        Whether this process does nothing else: then others are begun beside it, where they can be.
    """
    requests = [point for point in points if isinstance(point, Request)]
    is_worth_it = is_program and len(requests) > 1 and any(map(is_beside, requests))
    with contextlib.ExitStack() as stack:
        stack.enter_context(stops.raising())
        publisher = Publisher(requests, typed) if is_worth_it else None
        sweep = _Sweep(points, typed, publisher and stack.enter_context(publisher))
        return sweep.run()


class _Sweep:
    def __init__(
        self, points: Sequence[Point], typed: Sequence[str], publisher: Publisher | None
    ) -> None:
        self.lines, self.typed, self.publisher = lines_of(points), typed, publisher
        self.is_of_runs = all(isinstance(point, Absent) or is_run(point) for point in points)

    def run(self) -> int:
        start = time.perf_counter()
        for line in self.lines:
            self._carry_out(line)
            self._print_what_is_done()
            if line.status in STOPPED:
                break
        if all(line.status not in STOPPED - {OUT_OF_TIME} for line in self.lines):
            while self._answers(wait=True):
                self._print_what_is_done()
            self._close(time.perf_counter() - start)
        return max(line.status for line in self.lines)

    def _carry_out(self, line: Line) -> None:
        point = line.point
        if isinstance(point, Absent):
            line.end(refuse(point.refusal))
            return
        if self.publisher is None:
            print(line.head, flush=True)
            line.begin()
            line.end(self._status(line, point))
            return
        while any(given.folder == point.folder for given in self.publisher.under_way):
            self._answers(wait=True)  # what it reads is not to be drawn upon
        if not (point.folder / MANIFEST).exists():  # there will be something to publish
            self.publisher.get_ready()
        kept = Keeping()
        line.begin()
        try:
            with contextlib.redirect_stdout(kept.out):
                line.end(self._status(line, point))
        finally:
            line.said = Text(f"{line.head}\n{kept.text.out}")

    def _status(self, line: Line, request: Request) -> int:
        def publish(request: Request, result: Any) -> int:
            line.drawn = result.outcome.seconds if result.outcome.n_blocks else 0.0
            return self._published(line, request, result)

        try:
            return carry_out(request, request.project, self.typed, publish)
        except Exception as error:  # a defect, in a study's code or in ours: it costs one study
            if is_of_output(error):
                raise
            traceback.print_exc()
            return DEFECT

    def _published(self, line: Line, request: Request, result: Any) -> int:
        """Its status; 0 for the time being, where it is handed over."""
        with in_turn() if self.publisher is None else contextlib.nullcontext():
            status = stands_already(request, result)
            if status is not None:
                line.state = DONE
                return status
            if self.publisher is None or not self.publisher.takes(request, result):
                with line.publishing():
                    return publish_anew(request, result)
        line.is_open = True
        while result.n_left and line.is_open:  # what is said of it comes after what was found
            self._answers(wait=True, spoken_by=line)
        return line.status

    def _answers(self, *, wait: bool = False, spoken_by: Line | None = None) -> bool:
        """Whether anything was answered; `spoken_by` prints at once what is its own."""
        found = self.publisher.answers(wait=wait) if self.publisher else []
        for request, answer in found:
            (line,) = (each for each in self.lines if each.point is request)
            line.status = max(line.status, _status_of(request, answer))
            line.published, line.is_open = answer.seconds, False
            if line is spoken_by:
                answer.text.print()
            else:
                line.said = Text(*map("".join, zip(line.said, answer.text, strict=True)))
        return bool(found)

    def _print_what_is_done(self) -> None:
        """In order, each whole."""
        self._answers()
        for line in self.lines:
            if line.is_open or not line.is_begun:
                return
            line.said.print()
            line.said = Text()

    def _close(self, seconds: float) -> None:
        """What became of each study, and where all are seen together."""
        if self.is_of_runs and len(self.lines) > 1:
            print("\n".join(["", *table_of(self.lines, seconds)]), flush=True)
            for said in self._indices():  # which may be refused a place
                print(said)

    def _indices(self) -> Iterator[str]:
        """Where the studies are listed; written anew, where any was published."""
        from simstudy.output.report import write_index
        from simstudy.output.wording import seen_from_here
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
