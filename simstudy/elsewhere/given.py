"""Arrays as a stored result: a plan whose blocks are not drawn but given, and a store of them.

A block is one replicate, so that cells may have unequal numbers of them and no row is a filler.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from typing import Any

from simstudy.analysis.result import Figure, Result
from simstudy.elsewhere.arranging import Arranged, GivenCell
from simstudy.engine.columns import count_failed
from simstudy.engine.outcome import Outcome
from simstudy.engine.ownership import LAYOUT
from simstudy.identity.names import typed
from simstudy.measures import Measure
from simstudy.plan import Plan
from simstudy.remote.paths import Place
from simstudy.store.blocks import Store
from simstudy.store.disk import trouble_in_words
from simstudy.store.header import Group
from simstudy.store.home import Home
from simstudy.store.layout import ERROR, Block, KeepReplicates
from simstudy.store.owner import Owner
from simstudy.store.types import below_each_other
from simstudy.store.write import write_blocks

NO_SEED = 0  # nothing was drawn here


@dataclass
class Given:
    """A table of replicates as a study.

    Parameters
    ----------
    name
        Of the study, and of its folder.
    factors
        Names of the columns that tell cells apart, as factors.
    axis
        Name of the axis of methods; None without methods.
    said
        What else the numbers depend on: the content of the table, and what its columns are.
    """

    name: str
    table: Arranged
    factors: Sequence[str]
    axis: str | None
    measures: Sequence[Measure]
    said: Mapping[str, Any]
    figures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        kind = make_dataclass("Cell", [(name, Any) for name in self.factors], frozen=True)
        return Plan(
            name=self.name,
            seed=NO_SEED,
            scenarios=tuple(kind(*cell.levels) for cell in self.table.cells),
            axes={self.axis: self.table.methods} if self.axis else {},
            block_size=1,
            reads={measure.name: tuple(measure.reads) for measure in self.measures},
        )

    def result(
        self, out: str | os.PathLike[str] | Place | None, *, command: str, restart: bool
    ) -> Result:
        """The result, with its replicates in a folder below `out`, or in a temporary one.

        Parameters
        ----------
        command
            What gives it again.
        """
        plan = self.plan
        home = Home.open(plan, out, self._owner(plan), KeepReplicates(), restart=restart)
        cells = dict(zip(plan.keys, self.table.cells, strict=True))
        outcome = Outcome(noticed=list(self.table.noticed))
        if not all(home.store.n_blocks(key) == cell.n_rep for key, cell in cells.items()):
            with trouble_in_words(home.store.files):
                _write(plan, home.store, cells)
            outcome.n_blocks = sum(cell.n_rep for cell in cells.values())
        return Result(
            plan=plan,
            store=home.store,
            n_rep={key: cell.n_rep for key, cell in cells.items()},
            declared=self.measures,
            figures=self.figures,
            folder=home.path,
            outcome=outcome,
            keep_alive=home.temporary,
            given=command,
        )

    def _owner(self, plan: Plan) -> Owner:
        """Whose the rows are: of the very table, read in the very way."""
        settings = {
            "study": self.name,
            "seed": plan.seed,
            "block_size": plan.block_size,
            "axes": {axis: list(labels) for axis, labels in plan.axes.items()},
            "layout": LAYOUT,
            **self.said,
        }
        values = {key: typed(scenario) for key, scenario in plan.keys.items()}
        return Owner(settings, values, {key: {} for key in plan.keys})


def _write(plan: Plan, store: Store, cells: Mapping[str, GivenCell]) -> None:
    """All cells as one file."""
    rows = [_rows(plan, key, cell) for key, cell in cells.items()]
    groups = [Group(key, 0, cell.n_rep) for key, cell in cells.items()]
    write_blocks(store.files, groups, below_each_other(rows), owner=store.owner)
    store.scan()


def _rows(plan: Plan, key: str, cell: GivenCell) -> Any:
    """The rows of a cell, as if all of it were one block."""
    columns = dict(cell.columns)
    n_failed = count_failed(columns.get(ERROR))
    block = Block(plan.keys[key], 0, columns, n_failed, key)
    return KeepReplicates()(replace(plan, block_size=cell.n_rep), [block])
