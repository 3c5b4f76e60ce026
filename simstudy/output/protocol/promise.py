"""What is planned, and what was done, in the same plain data, so that the two can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from simstudy.analysis.result import Result
from simstudy.engine.ownership import derived_owner, ownership_of
from simstudy.errors import StoreError, first_few
from simstudy.identity.names import identity, short_hash
from simstudy.in_short import from_to
from simstudy.measures import Measure
from simstudy.plan import Plan
from simstudy.store.owner import NOBODY, Owner

OF_CODE = ("study", "block_size", "common", "may_be_missing")
"""Settings of an owner that numbers depend on, but for seed and axes, which stand by themselves."""

THE_SAME = "the same"  # code, of whatever is there

FEW_KEYS = 100  # of scenarios whose code is other: what they say is the same most often


@dataclass(frozen=True)
class Promise:
    """A study as it is planned, or as it was done.

    Parameters
    ----------
    replicates
        Of a scenario: the fewest and the most.
    scenarios
        What names each, by its key.
    axes
        Names on each axis; that of the methods first.
    measures
        By name, a hash of what a measure is.
    failures
        What is done about them: the policy, worst values, the largest share that may fail.
    precision
        Monte Carlo errors to reach, by measure, as they were asked for.
    owner
        Whose the blocks are, as a file of them says it.
    """

    study: str
    seed: int
    replicates: tuple[int, int]
    scenarios: Mapping[str, str]
    axes: Mapping[str, Sequence[str]]
    measures: Mapping[str, str]
    failures: Mapping[str, Any]
    precision: Mapping[str, Any]
    owner: str

    @property
    def hash(self) -> str:
        """One hash of all of it."""
        return short_hash(json.dumps(asdict(self), sort_keys=True, default=str), 32)

    @property
    def code(self) -> str:
        """A hash of the code and the settings that numbers depend on."""
        owner = _of_code(self.owner)
        return short_hash(owner.text(owner.values))


def planned_promise(
    plan: Plan,
    measures: Sequence[Measure],
    n_rep: int,
    *,
    worst: Mapping[str, float],
    precision: Mapping[str, Any],
) -> Promise:
    """What a study promises that is to be drawn."""
    owner = ownership_of(plan).owner
    return _promise(plan, measures, (n_rep, n_rep), worst, precision, owner)


def done_promise(result: Result, precision: Mapping[str, Any]) -> Promise:
    """What a result is of; its precision is that of the plan, which is told apart."""
    sizes = result.n_rep.values()
    size = (min(sizes), max(sizes))
    return _promise(result.plan, result.declared, size, result.worst, precision, result.store.owner)


def _promise(
    plan: Plan,
    measures: Sequence[Measure],
    size: tuple[int, int],
    worst: Mapping[str, float],
    precision: Mapping[str, Any],
    owner: Owner,
) -> Promise:
    hashes = derived_owner(NOBODY, "measure", measures).settings["derived"]  # type: ignore[arg-type]
    return Promise(
        study=plan.name,
        seed=plan.seed,
        replicates=size,
        scenarios={key: identity(scenario) for key, scenario in plan.keys.items()},
        axes={axis: list(labels) for axis, labels in plan.axes.items()},
        measures={m.name: said for m, said in zip(measures, hashes.values(), strict=True)},
        failures={
            "on_failure": plan.on_failure,
            "worst": dict(sorted(worst.items())),
            "max_failed": plan.max_failed,
        },
        precision=dict(precision),
        owner=owner.text(plan.drawn.keys),
    )


def read_promise(said: Any) -> Promise:
    """What a file says.

    Raises
    ------
    StoreError
        Where it is none.
    """
    try:
        promise = Promise(**said)
        least, most = promise.replicates
        return replace(promise, replicates=(least, most))
    except (TypeError, ValueError):
        raise StoreError("it holds no plan of a study") from None


# ---------------------------------------------------------------- differences
class Row(NamedTuple):
    """One thing that was planned, beside what was done; `detail` names what is other."""

    what: str
    planned: str
    done: str
    differs: bool
    detail: str = ""

    def in_words(self, before: str = "planned", now: str = "done") -> str:
        """A line for a list of deviations."""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.what}: {before} {self.planned}, {now} {self.done}{detail}"


def compared(planned: Promise, done: Promise) -> list[Row]:
    """What was planned beside what was done, line by line."""
    axes = dict.fromkeys((*planned.axes, *done.axes))
    code = _other_code(planned, done)
    return [
        _plain("replicates", *(_size(promise.replicates) for promise in (planned, done))),
        _names("scenarios", planned.scenarios, done.scenarios, counted=True),
        *(_names(axis, *(_labels(promise, axis) for promise in (planned, done))) for axis in axes),
        _names("measures", planned.measures, done.measures),
        _plain("seed", str(planned.seed), str(done.seed)),
        _plain("failures", *(_policy(promise.failures) for promise in (planned, done))),
        Row("code", planned.code, done.code if code else THE_SAME, bool(code), first_few(code)),
    ]


def _plain(what: str, planned: str, done: str) -> Row:
    return Row(what, planned, done, planned != done)


def _size(replicates: Sequence[int]) -> str:
    return f"{from_to(*replicates)} in each scenario"


def _labels(promise: Promise, axis: str) -> dict[str, str]:
    return dict.fromkeys(map(str, promise.axes.get(axis, ())), "")


def _policy(failures: Mapping[str, Any]) -> str:
    said = [str(failures.get("on_failure"))]
    limit = failures.get("max_failed")
    said += [] if limit is None else [f"at most {limit:.3%} of the replicates"]
    said += [f"{name} counts as {value:g}" for name, value in failures.get("worst", {}).items()]
    return ", ".join(said)


def _names(
    what: str, planned: Mapping[str, str], done: Mapping[str, str], *, counted: bool = False
) -> Row:
    """Names, or how many there are, with those that are left out, added, or something else now."""
    as_text = planned if counted else {name: name for name in planned}
    of_done = done if counted else {name: name for name in done}
    other = {
        "left out": [as_text[key] for key in planned if key not in done],
        "added": [of_done[key] for key in done if key not in planned],
        "computed otherwise": []
        if counted
        else [name for name in planned if name in done and planned[name] != done[name]],
    }
    detail = [f"{how}: {first_few(names)}" for how, names in other.items() if names]
    before, after = (f"{len(each):,}" if counted else _listed(each) for each in (planned, done))
    return Row(what, before, after, bool(detail), ". ".join(detail))


def _listed(names: Mapping[str, str]) -> str:
    return ", ".join(names) or "none"


def _other_code(planned: Promise, done: Promise) -> list[str]:
    """In words, what is other in the code, settings and values of what both have."""
    if planned.owner == done.owner:
        return []
    old, new = _of_code(planned.owner), _of_code(done.owner)
    return list(dict.fromkeys(_differences(old, new)))


def _differences(old: Owner, new: Owner) -> Iterator[str]:
    differing = [key for key in old.values if key in new.values and not old.serves(new, key)]
    for key in differing[:FEW_KEYS]:
        yield from old.differences(new, key)


def _of_code(text: str) -> Owner:
    """An owner with the settings only that its numbers depend on."""
    owner = Owner.read(text)
    settings = {name: owner.settings[name] for name in OF_CODE if name in owner.settings}
    return Owner(settings, owner.values, owner.codes)
