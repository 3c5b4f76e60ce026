"""Scenarios whose `simulate` gives what a test wants, what becomes of it, and tasks of a study."""

from dataclasses import dataclass

import numpy as np

from simstudy.design.plan import Plan
from simstudy.engine.block import draw_block, simulate_columns
from simstudy.engine.progress import Silent
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import TaskFactory
from simstudy.engine.work_queue import BlockSet, missing_blocks
from simstudy.store.arrow_schema import block_table
from simstudy.store.blocks import Store
from simstudy.store.columns import columns_of

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
        self.said, self.far = [], []

    def note(self, text):
        self.said.append(text)

    def within(self, done, of):
        self.far.append((done, of))


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
    return Plan(axes=axes, **{**plan, **changes})


def simulated(columns, **changes):
    return simulate_columns(plan_of(**changes), giving(columns), 0)


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
