"""A plan as plain data, and the differences between the planned and the completed study."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from simstudy.analysis.result import Result
from simstudy.design.plan import Plan
from simstudy.design.reprs import from_to
from simstudy.engine.provenance import compute_provenance, derived_provenance
from simstudy.errors import first_few
from simstudy.measures import Measure
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


def snapshot_of_plan(
    plan: Plan,
    measures: Sequence[Measure],
    n_rep: int,
    *,
    worst: Mapping[str, float],
    precision: Mapping[str, Any],
) -> Snapshot:
    """The snapshot of a planned study."""
    return _snapshot(plan, measures, [n_rep], worst, precision, compute_provenance(plan).of_blocks)


def snapshot_of_result(result: Result) -> Snapshot:
    """The snapshot of a completed study; its precision is compared separately."""
    sizes = result.n_rep.values()
    return _snapshot(
        result.plan,
        result.details.declared,
        sizes,
        result.details.worst,
        {},
        result.details.store.provenance,
    )


def _snapshot(
    plan: Plan,
    measures: Sequence[Measure],
    sizes: Iterable[int],
    worst: Mapping[str, float],
    precision: Mapping[str, Any],
    owner: Provenance,
) -> Snapshot:
    hashes = derived_provenance(NO_PROVENANCE, "measure", measures).settings["derived"]  # type: ignore[arg-type]
    sizes = list(sizes)
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
    by_axis = {axis: [dict.fromkeys(each["axes"].get(axis, ())) for each in both] for axis in axes}
    return [
        _row("replicates", *(f"{from_to(*each['replicates'])} in each scenario" for each in both)),
        _row_of_scenarios(planned["scenarios"].values(), done["scenarios"].values()),
        *(_row_of_names(axis, *names) for axis, names in by_axis.items()),
        _row_of_names("measures", planned["measures"], done["measures"]),
        _row("seed", str(planned["seed"]), str(done["seed"])),
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


def _row_of_scenarios(planned: Iterable[str], done: Iterable[str]) -> Row:
    """Compare scenarios, by number."""
    old, new = dict.fromkeys(planned), dict.fromkeys(done)
    found = _row_of_names("scenarios", old, new)
    return found._replace(planned=f"{len(old):,}", done=f"{len(new):,}")


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
