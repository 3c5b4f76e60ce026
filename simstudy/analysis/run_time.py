"""What drawing took: seconds of every scenario, and of every method in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simstudy.analysis.summary import factor_names
from simstudy.lazy.pandas import pd
from simstudy.plan import Plan, factors_of
from simstudy.store.seconds import Spent

DATA = "(data)"  # in the place of a method: drawing what all of them analyse
PER_REPLICATE, IN_ALL, TIMED = "seconds_per_replicate", "seconds", "replicates_timed"


def run_time(plan: Plan, spent: Mapping[str, Spent]) -> pd.DataFrame:
    """One row per scenario, or per scenario and method; what was not timed is left out.

    Returns
    -------
    DataFrame
        The factors, the axis of the methods where there are any, `seconds_per_replicate`,
        `seconds` in all, and `replicates_timed`: those that these seconds were spent on.
    """
    axis = [plan.methods_axis] if plan.methods else []
    names = [*factor_names(plan), *axis, PER_REPLICATE, IN_ALL, TIMED]
    rows = (row for key in plan.keys for row in _rows_of(plan, key, spent))
    return pd.DataFrame(list(rows), columns=names)


def _rows_of(plan: Plan, key: str, spent: Mapping[str, Spent]) -> Iterator[dict[str, Any]]:
    factors = factors_of(plan.keys[key])
    timed = {drawn: spent[drawn] for drawn in plan.drawn_keys[key] if drawn in spent}
    n_data = max((each.n_blocks for each in timed.values()), default=0)
    on_data = sum(each.data for each in timed.values())
    if on_data:
        yield factors | {plan.methods_axis: DATA} | _numbers(plan, n_data, on_data)
    methods = {d: m.name for d, m in zip(plan.drawn_keys[key], plan.methods, strict=False)}
    for drawn, each in timed.items():
        named = {plan.methods_axis: methods[drawn]} if plan.methods else {}
        yield factors | named | _numbers(plan, each.n_blocks, each.own)


def _numbers(plan: Plan, n_blocks: int, seconds: float) -> dict[str, float]:
    n_rep = n_blocks * plan.block_size
    return {PER_REPLICATE: seconds / n_rep, IN_ALL: seconds, TIMED: n_rep}


def seconds_left(spent: Mapping[str, Spent], n_blocks: int) -> float:
    """Seconds on one core that so many blocks more will take, of all kinds alike; NaN if unknown.

    A mean of means: every scenario (or method) counts alike, however many of its blocks were drawn.
    """
    costs = [(each.own + each.data) / each.n_blocks for each in spent.values() if each.n_blocks]
    return n_blocks * sum(costs) / len(costs) if costs else float("nan")
