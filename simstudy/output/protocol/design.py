"""A study's scenarios as a design: factors with their levels, and how these are combined."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from simstudy.identity.names import parts_of
from simstudy.plan import factors_of


class Design(NamedTuple):
    """The scenarios of one class.

    Parameters
    ----------
    levels
        By factor, its values in order of appearance.
    groups
        Factors that vary, those that move together in one group.
    n
        Scenarios.
    """

    name: str
    about: str
    levels: dict[str, list[str]]
    groups: list[list[str]]
    n: int

    @property
    def varying(self) -> list[str]:
        """Factors with several levels."""
        return [name for name, values in self.levels.items() if len(values) > 1]

    @property
    def constant(self) -> dict[str, str]:
        """Factors with one level, with it."""
        return {name: values[0] for name, values in self.levels.items() if len(values) == 1}

    @property
    def n_crossed(self) -> int:
        """Conditions of the full factorial design with these levels."""
        return math.prod(len(self.levels[group[0]]) for group in self.groups)


def designs_of(scenarios: Sequence[Any]) -> list[Design]:
    """The designs of a study, one for each class of scenarios."""
    kinds: dict[type, list[Any]] = {}
    for scenario in scenarios:
        kinds.setdefault(type(scenario), []).append(scenario)
    return [_design(kind, alike) for kind, alike in kinds.items()]


def _design(kind: type, scenarios: Sequence[Any]) -> Design:
    rows = [factors_of(scenario) for scenario in scenarios]
    columns = {name: [str(row[name]) for row in rows] for name in rows[0]}
    levels = {name: list(dict.fromkeys(values)) for name, values in columns.items()}
    return Design(kind.__name__, about(kind), levels, _groups(columns, levels), len(rows))


def _groups(columns: dict[str, list[str]], levels: dict[str, list[str]]) -> list[list[str]]:
    """Factors that vary; one whose value another's tells, and the other way round, joins it."""
    groups: list[list[str]] = []
    for name, values in columns.items():
        if len(levels[name]) < 2:
            continue
        for group in groups:
            pairs = set(zip(columns[group[0]], values, strict=True))
            if len(pairs) == len(levels[group[0]]) == len(levels[name]):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def parts_in_words(scenarios: Sequence[Any]) -> dict[str, str]:
    """What is said of the classes of which scenarios are made, beside their own, by name."""
    own = {type(scenario) for scenario in scenarios}
    kinds = dict.fromkeys(type(part) for scenario in scenarios for part in parts_of(scenario))
    said = {kind.__name__: about(kind) for kind in kinds if kind not in own}
    return {name: text for name, text in said.items() if text}


def about(thing: Any) -> str:
    """The first paragraph of a docstring; empty where Python or nobody wrote one."""
    thing = getattr(thing, "func", thing)  # of a partial
    text = inspect.getdoc(thing) if _has_own_doc(thing) else ""
    first = " ".join((text or "").split("\n\n")[0].split())
    return "" if first.startswith(f"{getattr(thing, '__name__', '?')}(") else first


def _has_own_doc(thing: Any) -> bool:
    """Whether it is documented itself, and not by what it inherits."""
    return isinstance(vars(thing).get("__doc__") if isinstance(thing, type) else "", str)
