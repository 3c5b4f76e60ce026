"""Assigns blocks to shares, independently of what is stored."""

import json
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from simstudy.design.plan import Plan, base_scenario
from simstudy.provenance.scenario_id import short_hash
from simstudy.store.provenance import Provenance

ROUNDING = 1e-9  # of parts of the cost: a sum of thirds is to be a whole
SPLIT_DIGITS = 12  # of the hash of a split, in the names of files

ShareOf = Callable[[np.ndarray], np.ndarray]
"""From numbers of blocks to numbers of shares, counted from 0."""


def shards_of(
    plan: Plan, n_shares: int, weights: Mapping[str, float] | None = None
) -> dict[str, ShareOf]:
    """By key, the share that each block belongs to.

    Each scenario's blocks go round all shares, one each, and scenarios begin where the cost of
    those before them ends, as a part of all. The cost of a share then differs from that of another
    by about one block of the dearest scenario at most, however many blocks there are. Where blocks
    cost the same, shares have as many blocks, give or take one. Methods of a block are in one
    share.

    Parameters
    ----------
    weights
        What a block costs, in any unit, by key: of what is drawn, and of its scenario for its data.
        Keys that are missing cost the mean of the others.
    """
    places = _places(plan)
    cost = np.ones(len(places)) if weights is None else _cost_of_each(plan, places, weights)
    before = np.concatenate([[0.0], np.cumsum(cost)[:-1]]) / cost.sum()
    starts = np.floor(before * n_shares + ROUNDING).astype(int).tolist()

    def share_of(start: int, block: np.ndarray) -> np.ndarray:
        return (block + start) % n_shares

    return {
        key: partial(share_of, starts[places[id(base_scenario(drawn))]])
        for key, drawn in plan.keys.items()
    }


def share_label(
    plan: Plan,
    provenance: Provenance,
    shard: tuple[int, int] | None,
    weights: Mapping[str, float] | None = None,
) -> str:
    """The label in the names of a share's files: the split of the study, and the share.

    Shares of one split have no block in common, so they need not open each other's files. Where
    code, data, settings, scenarios, the number of shares or weights differ, the split does.

    Returns
    -------
    str
        `-SPLIT-INDEX`; empty where a run is no share.
    """
    if shard is None:
        return ""
    index, n_shares = shard
    split = [provenance.to_json(plan.keys), [*plan.keys], n_shares, sorted((weights or {}).items())]
    return f"-{short_hash(json.dumps(split), SPLIT_DIGITS)}-{index}"


def _places(plan: Plan) -> dict[int, int]:
    """The base scenarios, numbered in order."""
    behind = dict.fromkeys(id(base_scenario(drawn)) for drawn in plan.scenarios)
    return {scenario: place for place, scenario in enumerate(behind)}


def _cost_of_each(plan: Plan, slots: Mapping[int, int], weights: Mapping[str, float]) -> np.ndarray:
    """The cost of a block of each scenario, with its data and all methods."""
    names: list[dict[str, None]] = [{} for _ in slots]  # in order: sums of floats depend on it
    for key, drawn in plan.keys.items():
        behind = base_scenario(drawn)
        names[slots[id(behind)]] |= {plan.key_of(behind): None, key: None}
    costs = [[weights[name] for name in of_scenario if name in weights] for of_scenario in names]
    known = [sum(each) for each in costs if each]
    mean = sum(known) / len(known) if known else 1.0
    return np.array([sum(each) if each else mean for each in costs])
