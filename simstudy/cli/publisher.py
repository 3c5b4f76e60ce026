"""A copy of this process that publishes studies while the next ones are drawn.

It is begun before there are workers, while copies are safe, and has all that was loaded by then. A
study that was drawn is handed over as the place of its blocks; a copy of the copy publishes it, so
that one that dies costs the outputs of its study alone, and what one took in memory goes with it.
"""

import importlib
import os
import pickle
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import IO, Any, NamedTuple

from simstudy.cli.carry_out import in_words, is_run
from simstudy.cli.endings import DEFECT
from simstudy.cli.outputs import publish_anew
from simstudy.cli.request import Request
from simstudy.engine.backends.beside import Copy, end_all, those_that_said
from simstudy.engine.backends.forked import forks_safely
from simstudy.errors import describe
from simstudy.output.kept_text import Text, text_kept

AT_ONCE = 2  # studies that are published side by side: each has its replicates in memory
NICE = 5  # so much less than drawing, whose seconds are measured
_LOADED = """
jinja2 pyarrow.dataset pyarrow.parquet rich.console rich.markup rich.table rich.text scipy.special
simstudy.output.folder simstudy.output.terminal
"""
TAKEN_OVER = ("n_left", "n_pilot", "design", "targets")
OF_A_RESULT = ("store", "n_rep", "outcome", "folder", *TAKEN_OVER)


class Answer(NamedTuple):
    """What came of publishing: a status, what was printed, and seconds.

    `lost` says how the process ended, where it ended without a word.
    """

    status: int
    text: Text = Text()
    seconds: float = 0.0
    lost: str = ""


def is_beside(request: Request) -> bool:
    """Whether a study is one to be published in a copy: drawn here, on more than one core."""
    is_here = isinstance(request.folder, Path)
    return is_here and is_run(request) and request.workers.count > 1


class Publisher:
    """The copy, with what it has been given; a context manager, at whose end it ends.

    Parameters
    ----------
    requests
        Those that it may be given.
    typed
        What the user typed, for commands that go on.
    """

    def __init__(self, requests: Sequence[Request], typed: Sequence[str]) -> None:
        self._requests, self._given = requests, dict[int, IO[bytes]]()
        work = partial(_answer, requests, typed)
        self._copy: Copy | None = Copy(partial(_serve, work)) if forks_safely() else None
        self._is_ready = False

    def __enter__(self) -> "Publisher":
        return self

    def __exit__(self, *_: object) -> None:
        if self._copy is not None:
            self._copy.end()
            self._copy = None

    @property
    def under_way(self) -> list[Request]:
        """What it has been given and not answered yet."""
        return [self._requests[place] for place in self._given]

    def get_ready(self) -> None:
        """Have it load what publishing needs, since there will be something to publish."""
        if self._copy is not None and not self._is_ready:
            self._is_ready = True
            self._tell(-1)

    def takes(self, request: Request, result: Any) -> bool:
        """Give it a result to publish; False, where it takes none."""
        if self._copy is None or not is_beside(request):
            return False
        said = {name: getattr(result, name) for name in OF_A_RESULT}
        said["n_analysed"] = result.plan.n_analysed
        place = next(at for at, each in enumerate(self._requests) if each is request)
        try:
            file = tempfile.TemporaryFile()  # noqa: SIM115 (open until it is answered)
            pickle.dump(said, file)
            file.flush()
            self.get_ready()
        except (OSError, pickle.PickleError, TypeError, AttributeError):  # no room, or unsendable
            return False
        if self._tell(place, file):
            self._given[place] = file
        return place in self._given

    def _tell(self, place: int, file: IO[bytes] | None = None) -> bool:
        """Little at a time, so that neither ever waits for the other to listen."""
        assert self._copy is not None
        try:
            self._copy.connection.send(place)
            if file is not None:
                send_handle(self._copy.connection, file.fileno(), self._copy.process)
        except OSError:  # it has gone
            return False
        return True

    def answers(self, *, wait: bool = False) -> list[tuple[Request, Answer]]:
        """What it has answered by now; with `wait`, one answer at least, if any is to come."""
        found: list[tuple[Request, Answer]] = []
        while self._given and self._copy is not None:
            if not those_that_said([self._copy], None if wait and not found else 0.0):
                break
            try:
                place, answer = self._copy.told()
            except EOFError:
                found += self._lost()
                break
            self._given.pop(place).close()
            found.append((self._requests[place], answer))
        return found

    def _lost(self) -> list[tuple[Request, Answer]]:
        """The copy has ended, with all that it had been given."""
        assert self._copy is not None
        answer = Answer(DEFECT, lost=self._copy.ended() or "its process ended")
        lost = [(request, answer) for request in self.under_way]
        self._given.clear()
        self._copy = None
        return lost


# ---------------------------------------------------------------- in the copy
def _serve(work: Any, there: Connection) -> None:
    """Have what is given published, some at once, until nobody gives any more."""
    waiting, under_way = deque[tuple[int, int]](), dict[Copy, int]()
    while True:
        while waiting and len(under_way) < AT_ONCE:
            place, file = waiting.popleft()
            under_way[Copy(partial(work, place, file))] = place
            os.close(file)
        for said in those_that_said([there, *under_way]):
            if said is there:
                try:
                    place = there.recv()
                except (EOFError, OSError):
                    return end_all()
                if place < 0:
                    _warm_up()
                else:
                    waiting.append((place, recv_handle(there)))
            else:
                there.send((under_way.pop(said), _last_word(said)))


def _warm_up() -> None:
    """Load what publishing needs, and draw a figure that nobody sees: copies of this one have it.

    Libraries and fonts take a second, which is so paid once, beside the first drawing.
    """
    with suppress(Exception), tempfile.TemporaryDirectory() as folder:  # who needs it will say so
        for name in _LOADED.split():
            importlib.import_module(name)
        from simstudy.figures import save_figure
        from simstudy.lazy import p9, pd

        frame = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
        plot = p9.ggplot(frame, p9.aes("x", "y")) + p9.geom_line() + p9.geom_point()
        save_figure(plot, folder, "nothing")
        frame.to_parquet(Path(folder) / "nothing")


def _last_word(copy: Copy) -> Answer:
    try:
        answer: Answer = copy.told()
    except EOFError:
        return Answer(DEFECT, lost=copy.ended() or "its process ended")
    copy.ended()
    return answer


def _answer(
    requests: Sequence[Request], typed: Sequence[str], place: int, file: int, there: Connection
) -> None:
    """In a copy of its own: publish what one was given."""
    request = requests[place]
    if len(requests) > 1:
        os.nice(NICE)
    start = time.perf_counter()
    with text_kept() as kept:
        try:
            status = in_words(partial(_published, request, file), request.project, typed)
        except Exception:  # a defect: it must not cost the other studies
            traceback.print_exc()
            status = DEFECT
    there.send(Answer(status, kept.text, time.perf_counter() - start))


def _published(request: Request, file: int) -> int:
    with os.fdopen(file, "rb") as said:
        said.seek(0)
        result = _result(request, pickle.load(said))
    try:
        return publish_anew(request, result, at_once=request.workers.count)
    except KeyboardInterrupt as stop:  # a copy hears of no Ctrl-C: the study's own code raised it
        raise SystemExit(describe(stop)) from stop


def _result(request: Request, said: dict[str, Any]) -> Any:
    """The result of which that was said, made of the study and its blocks."""
    from simstudy.store.home import Home
    from simstudy.study.results import result_of

    study, settings = request.study, request.settings
    plan = study.plan(settings.seed, settings.keep, said["n_analysed"])
    home, keep = Home(said["folder"], said["store"]), study.kept(settings.keep)
    result = result_of(study, plan, home, said["outcome"], keep, said["n_rep"])
    return replace(result, **{name: said[name] for name in TAKEN_OVER})
