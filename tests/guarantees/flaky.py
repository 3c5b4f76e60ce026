"""A study in which each method goes wrong in its own way, for reasons that lie in the data."""

import collections
import ctypes
import faulthandler
import itertools
import os
import signal
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

from simstudy.design import Columns
from simstudy.engine.error_policy import by_method
from simstudy.engine.per_replicate import each_replicate
from simstudy.measures import bias, mean
from simstudy.provenance.streams import Streams
from simstudy.study import Study
from tests.support import with_rules

BLOCK = 40
METHODS = ("good", "raises", "warns", "nan")


def raises(x: np.ndarray) -> dict[str, float]:
    if x[0] > 1:
        raise ValueError(f"no solution at {x[0]:.3f}")
    return {"estimate": x.mean()}


def warns(x: np.ndarray) -> dict[str, float]:
    if x[0] > 1:
        warnings.warn("did not converge", RuntimeWarning, stacklevel=1)
    return {"estimate": x.mean()}


@dataclass(frozen=True)
class Flaky:
    """The mean of four normal values by four methods."""

    shift: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = self.shift + streams("data").standard_normal((n_rep, 4))
        methods = {
            "good": lambda: {"estimate": x.mean(axis=1)},
            "raises": lambda: each_replicate(raises, x, returns=["estimate"]),
            "warns": lambda: each_replicate(warns, x, returns=["estimate"]),
            "nan": lambda: {"estimate": np.where(x[:, 0] > 1, np.nan, x.mean(axis=1))},
        }
        return {**by_method(methods, n_rep), "first": x[:, 0]}


def flaky_study(**settings: object) -> Study:
    return Study(
        name="flaky",
        scenarios=[Flaky(0.0), Flaky(0.5)],
        measures=[mean("estimate", name="mean"), bias("estimate", truth=0.0)],
        axes={"method": METHODS},
        block_size=BLOCK,
        **settings,  # type: ignore[arg-type]
    )


@dataclass(frozen=True)
class Deadly:
    """Normal values; some blocks do not return them."""

    blocks: tuple[int, ...] = ()
    how: str = "raise"
    until: str = ""  # a path: once there is something, nothing happens any more

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = streams("data").standard_normal(n_rep)
        if streams.block in self.blocks and not (self.until and os.path.exists(self.until)):
            self.die(streams.block)
        return {"x": x}

    def die(self, block: int) -> None:
        if self.how == "exit":
            os._exit(7)
        if self.how == "exit 1":
            os._exit(1)
        if self.how == "leave":
            sys.exit(0)
        if self.how == "segfault":
            faulthandler.disable()  # it is meant: no stacks in the log of who looks for others
            ctypes.string_at(0)
        if self.how == "hang":
            time.sleep(600)
        if self.how == "hang in C":
            collections.deque(itertools.repeat(None), maxlen=0)  # keeps Python's lock to itself
        if self.how == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ZeroDivisionError(f"block {block}")


def deadly_study(*scenarios: Deadly, **settings: object) -> Study:
    return Study(
        name="deadly",
        scenarios=scenarios,
        measures=[mean("x", name="mean")],
        block_size=10,
        **with_rules({"max_failed": 1, **settings}),
    )
