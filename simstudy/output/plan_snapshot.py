"""A plan as plain data, its differences from the completed study, and the replicates it needs."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.precision import Target, sizes_by_pilot
from simstudy.analysis.result import Result
from simstudy.analysis.summary import exact_of
from simstudy.design.plan import Plan
from simstudy.design.reprs import from_to
from simstudy.engine.provenance import derived_provenance
from simstudy.errors import first_few
from simstudy.measures import Measure, MomentMeasure
from simstudy.measures.formulas import BINOMIAL
from simstudy.provenance.scenario_id import identity, short_hash
from simstudy.store.provenance import NO_PROVENANCE, Provenance

Snapshot = dict[str, Any]
"""What is planned, or was done, as JSON holds it.

`study`, `seed`; `replicates` of a scenario, the fewest and the most; `scenarios` by their keys;
names on each of the `axes`; `measures` by name, each with a hash of what it is; the policy about
`failures`; `precision`, the Monte Carlo errors to reach; and `owner`, the code, settings and values
that numbers depend on, as a file of blocks says them.
"""

OF_CODE = ("study", "block_size", "common", "may_be_missing")  # settings that numbers depend on


def snapshot_of(
    plan: Plan,
    measures: Sequence[Measure],
    sizes: Collection[int],
    *,
    worst: Mapping[str, float],
    owner: Provenance,
    precision: Mapping[str, Any] = MappingProxyType({}),
) -> Snapshot:
    """The snapshot of a planned or of a completed study.

    Parameters
    ----------
    sizes
        Replicates of each scenario.
    owner
        The provenance of its blocks.
    precision
        Monte Carlo errors to reach; those of a completed study are compared separately.
    """
    hashes = derived_provenance(NO_PROVENANCE, "measure", measures).settings["derived"]  # type: ignore[arg-type]
    content = {
        "study": plan.name,
        "seed": plan.seed,
        "replicates": [min(sizes), max(sizes)],
        "scenarios": {key: identity(scenario) for key, scenario in plan.keys.items()},
        "axes": {axis: list(labels) for axis, labels in plan.axes.items()},
        "measures": dict(zip([m.name for m in measures], hashes.values(), strict=True)),
        "failures": {
            "on_failure": plan.on_failure,
            "worst": dict(sorted(worst.items())),
            "max_failed": plan.max_failed,
        },
        "precision": dict(precision),
        "owner": owner.to_json(plan.work_units.keys),
    }
    return dict(json.loads(json.dumps(content, default=str)))  # as a file says it


def hash_of(snapshot: Snapshot) -> str:
    """The hash of a snapshot."""
    return short_hash(json.dumps(snapshot, sort_keys=True), 32)


def code_hash(snapshot: Snapshot) -> str:
    """The hash of code and settings that numbers depend on."""
    owner = _owner_of_code(snapshot)
    return short_hash(owner.to_json(owner.values))


class Row(NamedTuple):
    """One planned item beside the completed one; `detail` names the differences."""

    what: str
    planned: str
    done: str
    differs: bool
    detail: str = ""

    def format(self, before: str = "planned", now: str = "done") -> str:
        """The row as a line in a list of deviations."""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.what}: {before} {self.planned}, {now} {self.done}{detail}"


def diff(planned: Snapshot, done: Snapshot) -> list[Row]:
    """Compare the planned and the completed study, row by row."""
    both = planned, done
    axes = dict.fromkeys((*planned["axes"], *done["axes"]))
    scenarios = [dict.fromkeys(each["scenarios"].values()) for each in both]
    counts = [f"{len(each):,}" for each in scenarios]
    by_axis = {axis: [dict.fromkeys(each["axes"].get(axis, ())) for each in both] for axis in axes}
    return [
        _row("replicates", *(f"{from_to(*each['replicates'])} in each scenario" for each in both)),
        _row_of_names("scenarios", *scenarios)._replace(planned=counts[0], done=counts[1]),
        *(_row_of_names(axis, *names) for axis, names in by_axis.items()),
        _row_of_names("measures", planned["measures"], done["measures"]),
        _row("seed", *(str(each["seed"]) for each in both)),
        _row("failures", *(_policy(**each["failures"]) for each in both)),
        _row_of_code(planned, done),
    ]


def _row(name: str, planned: str, done: str) -> Row:
    return Row(name, planned, done, planned != done)


def _policy(on_failure: str, worst: Mapping[str, float], max_failed: float | None) -> str:
    limit = [] if max_failed is None else [f"at most {max_failed:.3%} of the replicates"]
    return ", ".join([on_failure, *limit, *(f"{n} counts as {v:g}" for n, v in worst.items())])


def _row_of_names(what: str, planned: Mapping[str, Any], done: Mapping[str, Any]) -> Row:
    """Compare named items: removed, added, changed."""
    changes = {
        "left out": [name for name in planned if name not in done],
        "added": [name for name in done if name not in planned],
        "computed otherwise": [n for n in planned if n in done and planned[n] != done[n]],
    }
    detail = ". ".join(f"{how}: {first_few(names)}" for how, names in changes.items() if names)
    old, new = (", ".join(names) or "none" for names in (planned, done))
    return Row(what, old, new, bool(detail), detail)


def _row_of_code(planned: Snapshot, done: Snapshot) -> Row:
    """Compare code, settings and values of common scenarios."""
    old, new = _owner_of_code(planned), _owner_of_code(done)
    changed = [key for key in old.values if key in new.values and not old.matches(new, key)]
    lines = [text for key in changed for text in old.differences(new, key)]
    what = first_few(list(dict.fromkeys(lines)))
    return Row(
        "code", code_hash(planned), code_hash(done) if lines else "the same", bool(lines), what
    )


def _owner_of_code(snapshot: Snapshot) -> Provenance:
    """The provenance, restricted to settings that numbers depend on."""
    owner = Provenance.from_json(snapshot["owner"])
    settings = {name: owner.settings[name] for name in OF_CODE if name in owner.settings}
    return Provenance(settings, owner.values, owner.codes)


# ---------------------------------------------------------------- replicates that a precision needs
WORST, THEORY, PILOT, UNKNOWN = "worst case", "theory", "pilot", "unknown"
MOST = 10**12  # replicates that anybody will ask for


class Need(NamedTuple):
    """The replicates that a target needs, None if unknown, and how that is known."""

    target: Target
    n_rep: int | None
    by: str


def need_of(target: Target, measure: Measure, plan: Plan, pilot: Result | None) -> Need:
    """Compute the replicates that a Monte Carlo error needs."""
    if is_plain_share(measure):
        shares, by = _known_shares(measure.name, plan)
        if not target.relative or (by == THEORY and (shares > 0).all()):
            return Need(target, _replicates_for(shares, target), by)
    if pilot is None:
        return Need(target, None, UNKNOWN)
    size = max(sizes_by_pilot(pilot, [target], least=2, ceiling=MOST))
    return Need(target, size if size < MOST else None, PILOT)


def spread_of(measure: Measure, plan: Plan, pilot: Result | None) -> tuple[float, str]:
    """The largest Monte Carlo error of one replicate (n have 1/√n of it), and how it is known."""
    if is_plain_share(measure):
        shares, by = _known_shares(measure.name, plan)
        return float(np.sqrt(shares * (1 - shares)).max()), by
    if pilot is None:
        return math.nan, UNKNOWN
    found = pilot.details.estimates([measure])
    each = (found[key, measure.name].mcse * math.sqrt(n) for key, n in pilot.n_rep.items())
    errors = np.concatenate([np.ravel(error) for error in each])
    known = errors[~np.isnan(errors)]
    return (float(known.max()), PILOT) if known.size else (math.nan, UNKNOWN)


def is_plain_share(measure: Measure) -> bool:
    """Whether a measure is a proportion of all replicates."""
    is_share = isinstance(measure, MomentMeasure) and measure.bounds == "wilson"
    is_of_each = measure.group_size == 1 and measure.formula.mcse == BINOMIAL
    return is_share and is_of_each


def _known_shares(name: str, plan: Plan) -> tuple[np.ndarray, str]:
    """A proportion in each scenario and cell, exact if known, else the worst case."""
    with suppress(Exception):  # a study's own code, of whose errors a run will tell
        exact = [np.ravel(np.asarray(exact_of(each)[name], float)) for each in plan.scenarios]
        shares = np.concatenate(exact)
        if ((shares >= 0) & (shares <= 1)).all():
            return shares, THEORY
    return np.array([0.5]), WORST


def _replicates_for(shares: np.ndarray, target: Target) -> int:
    """The replicates with which proportions have a given error.

    Where hardly any replicate has the event, or misses it, the error is taken as if one more did:
    that is 1/n.
    """
    allowed = target.mcse * (shares if target.relative else np.ones_like(shares))
    n = float(np.maximum(shares * (1 - shares) / allowed**2, 1 / allowed).max())
    return max(2, math.ceil(n * (1 - 1e-12)))  # no replicate for the rounding of floats
