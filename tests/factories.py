"""Small studies, scenarios and plans that many tests run.

Workers import this page too, so it loads neither pandas nor the tools of tests.
"""

import collections
import ctypes
import faulthandler
import io
import itertools
import os
import signal
import sys
import time
import warnings
from dataclasses import dataclass, fields

import numpy as np
from scipy import special

from simstudy import Data
from simstudy.design import Columns, grid
from simstudy.design.plan import Plan, Rules
from simstudy.engine.block import draw_block, draw_columns
from simstudy.engine.methods import each_replicate
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import BlockSet, TaskFactory, missing_blocks
from simstudy.measures import bias, coverage, empirical_se, mean
from simstudy.provenance.streams import Streams
from simstudy.store.arrow_schema import block_table, columns_of
from simstudy.store.blocks import Store
from simstudy.study import Study

INTERVALS = ("t", "z")


@dataclass(frozen=True)
class Mean:
    """The mean of n_obs normal values, with its t and its z interval."""

    n_obs: int
    truth: float = 0.0

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = self.truth + streams("data").standard_normal((n_rep, self.n_obs))
        estimate = np.repeat(x.mean(axis=1)[:, None], 2, axis=1)
        half = [special.stdtrit(self.n_obs - 1, 0.975), special.ndtri(0.975)]
        half = np.outer(x.std(axis=1, ddof=1) / np.sqrt(self.n_obs), half)
        return {
            "estimate": estimate,
            "lower": estimate - half,
            "upper": estimate + half,
            "truth": np.float64(self.truth),
        }

    def exact(self) -> dict[str, object]:
        return {"coverage": np.array([0.95, np.nan]), "bias": 0.0}


def mean_study(n_obs: object = (3, 10, 30), *, block_size: int = 50) -> Study:
    return Study(
        name="toy",
        scenarios=grid(Mean, n_obs=n_obs),
        measures=[
            bias("estimate", truth="truth"),
            coverage("lower", "upper", truth="truth"),
            empirical_se("estimate"),
        ],
        axes={"method": INTERVALS},
        block_size=block_size,
        n_rep=200,
    )


PRICE_TABLE = {"day": ["mo", "tu", "we", "th"], "price": [1.5, 2.0, 4.0, 8.5]}


@dataclass(frozen=True)
class Resampled:
    """The mean of prices drawn with replacement."""

    data: Data
    n_obs: int = 5

    def prices(self):
        return self.data.read_frame()["price"].to_numpy()

    def simulate(self, streams, n_rep):
        prices = self.prices()
        x = streams("data").choice(prices, size=(n_rep, self.n_obs))
        return {"estimate": x.mean(axis=1), "truth": prices.mean()}


def price_study(data):
    """A study whose scenarios have data as a part."""
    return Study(
        "with_data",
        grid(Resampled, data=data, n_obs=[5, 9]),
        measures=[bias("estimate", truth="truth"), empirical_se("estimate")],
        block_size=20,
        n_rep=120,
    )


def stacked(methods, n_rep):
    """The columns of several methods with an axis for the methods; None where one has none."""
    names = dict.fromkeys(name for columns in methods for name in columns)
    nothing = np.full(n_rep, None)
    return {
        name: np.stack([columns.get(name, nothing) for columns in methods], 1) for name in names
    }


FLAKY_METHODS = ("good", "raises", "warns", "nan")


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
        methods = [
            {"estimate": x.mean(axis=1)},
            each_replicate(raises, returns="estimate")(x=x),
            each_replicate(warns, returns="estimate")(x=x),
            {"estimate": np.where(x[:, 0] > 1, np.nan, x.mean(axis=1))},
        ]
        return {**stacked(methods, n_rep), "first": x[:, 0]}


def flaky_study(**settings: object) -> Study:
    return Study(
        name="flaky",
        scenarios=[Flaky(0.0), Flaky(0.5)],
        measures=[mean("estimate", name="mean"), bias("estimate", truth=0.0)],
        axes={"method": FLAKY_METHODS},
        block_size=40,
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
    from tests.support import with_rules

    return Study(
        name="deadly",
        scenarios=scenarios,
        measures=[mean("x", name="mean")],
        block_size=10,
        **with_rules({"max_failed": 1, **settings}),
    )


@dataclass(frozen=True)
class Sample:
    """Normal values for methods, n_obs of them in each replicate."""

    n_obs: int = 5

    def draw(self, streams: Streams, n_rep: int) -> Columns:
        return {"x": streams("data").standard_normal((n_rep, self.n_obs)), "truth": 0.0}


@dataclass(frozen=True)
class Shifted:
    """Normal values around a shift."""

    shift: float

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


SIZE = 6
AXES = {"method": ("a", "b"), "metric": ("mse", "mae", "r2")}
X = np.arange(SIZE, dtype=float)
WIDE = np.arange(SIZE * 6, dtype=float).reshape(SIZE, 2, 3)


@dataclass(frozen=True)
class Named:
    """Returns what it was given, which is no factor: it has the name of its k."""

    k: float

    def simulate(self, streams, n_rep):
        assert n_rep == SIZE
        return self.given(streams, n_rep) if callable(self.given) else self.given


class Notes(Silent):
    """A progress that remembers what it is told."""

    def __init__(self):
        self.said = []

    def note(self, text):
        self.said.append(text)


class Terminal(io.StringIO):
    """Takes text as a terminal does."""

    def isatty(self):
        return True


def giving(columns, k=1.0):
    """A scenario that returns these columns, or the outcome of calling them."""
    scenario = Named(k)
    object.__setattr__(scenario, "given", columns)
    return scenario


def plan_of(axes=AXES, **changes):
    plan = {
        "name": "fixed",
        "seed": 1,
        "scenarios": (Named(1), Named(2)),
        "block_size": SIZE,
        "max_failed": 1,
    }
    plan |= changes
    rules = {field.name: plan.pop(field.name) for field in fields(Rules) if field.name in plan}
    return Plan(axes=axes, **{"rules": Rules(**rules), **plan})


def simulated(columns, **changes):
    return draw_columns(plan_of(**changes), giving(columns), 0)


def stored(columns, *, number=0, **changes):
    """The block, and its columns as a table of the store."""
    plan = plan_of(**changes)
    made = draw_block(plan, giving(columns), number)
    return made, block_table(plan, [made])


def read_back(columns, **changes):
    plan = plan_of(**changes)
    return columns_of(plan, stored(columns, **changes)[1], tuple(columns))


def factory_of(plan, folder):
    """Makes tasks of a plan that store their blocks in a folder."""
    provenance = compute_provenance(plan)
    store = Store(folder, plan.block_size, provenance.of_blocks)
    return TaskFactory(plan, store, provenance)


def blocks_of(factory, n_blocks) -> BlockSet:
    """Those of so many of each scenario that are not stored."""
    wanted = dict.fromkeys(factory.plan.keys, n_blocks)
    return missing_blocks(factory.plan, wanted, factory.store)
