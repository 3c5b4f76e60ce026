"""Draws first blocks again in another process and compares them bit by bit.

The process has another hash seed, runs at another time and has new generators. So the comparison
finds numbers that depend on generators other than the streams, the order of sets, the time or the
network.
"""

import atexit
import contextlib
import hashlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import IO, Any, NamedTuple

import pyarrow as pa

from simstudy.design.plan import Plan, base_scenario, method_of
from simstudy.engine.block import draw_block
from simstudy.engine.provenance import LoadedCode
from simstudy.engine.thread_limits import drawn_with_one_thread, single_threaded
from simstudy.engine.timeouts import mark_as_worker
from simstudy.store.arrow_schema import NOT_COMPARED, block_table
from simstudy.store.blocks import Store

MIN_SECONDS = 2.0  # time for the check after a short run
PART_OF_RUN = 0.05  # time for the check after a long run, as a part of the run
START_SECONDS = 0.5  # time left below which no process is started
HASH_SEED = "1"

Digests = Mapping[str, str]
"""Hashes of a block's columns, by name."""


class Order(NamedTuple):
    """A block to draw again: the first one of the only scenario of a plan."""

    paths: tuple[str, ...]
    code: LoadedCode | None
    plan: Plan


def check_repeatable(
    plan: Plan,
    store: Store,
    keys: Iterable[str],
    *,
    code: LoadedCode | None,
    run_seconds: float,
) -> dict[str, list[str]]:
    """Draw stored first blocks again in another process, as many as the time allows.

    Parameters
    ----------
    keys
        Keys of scenarios (or scenarios and methods) whose first block is stored.
    code
        Code that the process must have loaded; None for no check.
    run_seconds
        Duration of the run, in seconds. The check may take 5% of it, or two seconds if that is
        more.

    Returns
    -------
    dict
        Names of the columns with other bits, by key.
    """
    end = time.monotonic() + max(MIN_SECONDS, PART_OF_RUN * run_seconds)
    found: dict[str, list[str]] = {}
    for key in _each_kind_first(plan, keys):
        if time.monotonic() > end - (0.0 if _process.is_running else START_SECONDS):
            break
        try:
            made = _process.ask(Order(tuple(sys.path), code, plan.only([plan.keys[key]])), end)
        except Exception:  # the study cannot be sent, the process has ended, or time is up
            break
        if made:
            stored = digests_of(store.read(key, plan.block_size))
            differing = [name for name, digest in made.items() if stored.get(name) != digest]
            found |= {key: differing} if differing else {}
    return found


def _each_kind_first(plan: Plan, keys: Iterable[str]) -> list[str]:
    """Order keys so that each scenario class and each method comes early."""
    n_before: dict[tuple[type, str], int] = {}
    order = {}
    for key in keys:
        kind = type(base_scenario(plan.keys[key])), method_of(plan.keys[key])
        order[key] = n_before[kind] = n_before.get(kind, 0) + 1
    return sorted(order, key=order.__getitem__)


def digests_of(table: pa.Table) -> Digests:
    """Hash each column that is compared, by name."""
    names = [name for name in table.column_names if name not in NOT_COMPARED]
    return {name: _digest(table.column(name)) for name in names}


def _digest(column: pa.ChunkedArray) -> str:
    return hashlib.sha256(repr(_as_doubles(column.to_pylist())).encode()).hexdigest()


def _as_doubles(value: Any) -> Any:
    """Convert whole numbers and booleans to doubles, as in a file with doubles of other methods."""
    if isinstance(value, list):
        return [_as_doubles(each) for each in value]
    return float(value) if isinstance(value, int) else value


# ---------------------------------------------------------------- the other process
class Process:
    """A process that draws blocks again, reused by later runs of this program."""

    def __init__(self) -> None:
        self._popen: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether it was started by this process and has not ended."""
        return self._owner == os.getpid() and self._popen is not None and self._popen.poll() is None

    def ask(self, order: Order, end: float) -> Digests | None:
        """Draw a block in the process; None if it failed there.

        Raises
        ------
        Exception
            If the block cannot be sent, or the process ends or is not done at `end`.
        """
        from simstudy.engine.executors.loky import packed

        payload = packed(order)
        with self._lock:
            for _ in range(2):
                answer: Any = self._exchange(payload, end)
                if answer != STALE:  # stale: the process loaded a module that was edited later
                    return None if answer is None else dict(answer)
                self._stop()
        return None

    def _exchange(self, payload: bytes, end: float) -> Any:
        if not self.is_running:
            self._start()
        popen: Any = self._popen
        timer = threading.Timer(max(0.0, end - time.monotonic()), popen.kill)
        timer.daemon = True
        timer.start()
        try:
            pickle.dump(payload, popen.stdin)
            popen.stdin.flush()
            return pickle.load(popen.stdout)
        finally:
            timer.cancel()

    def _start(self) -> None:
        self._stop()
        text = "from simstudy.engine.repeat import serve; serve()"
        other = "0" if os.environ.get("PYTHONHASHSEED") == HASH_SEED else HASH_SEED
        path = os.pathsep.join(filter(None, sys.path))
        self._popen = subprocess.Popen(
            [sys.executable, "-c", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C does not reach the process
        )
        self._owner = os.getpid()
        atexit.register(self._stop)

    def _stop(self) -> None:
        """End the process, if this one has started it."""
        if self._popen is not None and self._owner == os.getpid():
            self._popen.kill()
            self._popen.communicate()  # closes the pipes
            self._popen = None


_process = Process()
STALE = "stale"


def serve() -> None:
    """Draw blocks until the parent ends, and write the answers to standard output."""
    mark_as_worker()
    with os.fdopen(os.dup(1), "wb") as answers, _silent():
        for payload in _orders(sys.stdin.buffer):
            pickle.dump(_answer(payload), answers)
            answers.flush()


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Discard what the study prints within this context."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        yield


def _orders(source: IO[bytes]) -> Iterator[bytes]:
    with contextlib.suppress(EOFError):
        while True:
            yield pickle.load(source)


def _answer(payload: bytes) -> Any:
    try:
        order: Order = pickle.loads(payload)
        if order.code is not None and _differs(order.code):
            return STALE
        (scenario,) = order.plan.keys.values()
        with single_threaded():
            for number in (1, 0):  # order that shows state left behind by a block
                draw = partial(draw_block, order.plan, scenario, number)
                block = drawn_with_one_thread(draw)
        return digests_of(block_table(order.plan, [block]))
    except BaseException:  # the run itself reports failures
        return None


_found_equal: set[str] = set()  # hashes of code that this process has loaded, too


def _differs(code: LoadedCode) -> bool:
    """Whether this process has loaded other code than its parent."""
    if code.digest in _found_equal:
        return False
    if code.differences():
        return True
    _found_equal.add(code.digest)
    return False
