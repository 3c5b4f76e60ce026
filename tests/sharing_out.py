"""Tests shared out among pytest's workers: a file to one, the longest first.

A file's fixtures are then made once. Contracts are shared out by experiment, since each runs once
for all contracts of its own, and the sweep over all experiments goes by itself.
"""

import re
from collections.abc import Sequence
from typing import Any

import pytest

SWEEP = "tests/cli/test_command_line.py::test_every_experiment_in_one_sweep"
EXPERIMENT = re.compile(r"(tests/test_contracts\.py::TestExperiments)::.*\[(\w+)\]")
LONG = (
    SWEEP,
    "tests/guarantees/",
    "tests/stats/compiled/",
    "tests/test_contracts.py",
    "tests/engine/",
    "tests/cli/",
)
"""Begun first, in this order: a worker that begins them last would go on when all others are done.

Contracts of experiments wait for the sweep, which draws what they look at. There are many of them,
each of half a minute at most, so they come after these and before what takes seconds.
"""


def unit(nodeid: str) -> str:
    """What is done by one worker, from beginning to end, of which this test is a part."""
    of_one = EXPERIMENT.fullmatch(nodeid)
    if of_one:
        return f"{of_one[1]}[{of_one[2]}]"
    return nodeid if nodeid == SWEEP else nodeid.partition("::")[0]


def place(nodeid: str) -> int:
    """How early a test begins, 0 being the first; files that take seconds come last."""
    if EXPERIMENT.fullmatch(nodeid):
        return len(LONG)
    places = (place for place, begin in enumerate(LONG) if nodeid.startswith(begin))
    return next(places, len(LONG) + 1)


Units = dict[str, dict[str, bool]]  # by their names: which of their tests are done


def undone(units: Units) -> tuple[str | None, Units]:
    """The first test that is not done, and the units with others that are not."""
    tests = [(name, test) for name in units for test, is_done in units[name].items() if not is_done]
    if not tests:
        return None, {}
    name, first = tests[0]
    marked = units | {name: units[name] | {first: True}}
    return first, {name: unit for name, unit in marked.items() if not all(unit.values())}


def by_unit(config: pytest.Config, log: Any) -> Any:
    """A scheduler that keeps units together, in the order of collection, for `--dist loadfile`."""
    if config.getvalue("dist") != "loadfile":
        return None  # xdist's own
    from xdist.scheduler import LoadFileScheduling

    class ByUnit(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid)

        def remove_node(self, node: Any) -> str | None:
            """Give to others what a worker left; the test that it ended in is not begun again.

            xdist gives out what was done, too: a worker that waits for its next test then gets
            none, and all wait for ever.
            """
            units = self.assigned_work.pop(node)
            crashed, left = undone(units)
            self.workqueue.update(left)
            for other in self.nodes:
                self._reschedule(other)
            return crashed

        def _reschedule(self, node: Any) -> None:
            """A worker begins a test when it knows the next one: it gets two, or the end."""
            if node not in self.registered_collections:
                return  # it has only begun
            super()._reschedule(node)
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
                super()._reschedule(node)

    config.option.loadscopereorder = False  # by their number of tests
    return ByUnit(config, log)


def long_ones_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests in the order in which they are begun; those of a unit stay as they were."""
    return sorted(items, key=lambda item: place(item.nodeid))
