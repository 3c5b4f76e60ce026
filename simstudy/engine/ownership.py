"""What a plan's numbers depend on: its settings, its scenarios' values, and their code."""

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simstudy.design import Plan
from simstudy.engine.block import checked_columns
from simstudy.identity.fingerprint import Fingerprint, Trace, learn_drift, trace
from simstudy.identity.fingerprint.modules import forget_modules, loaded_digest
from simstudy.identity.names import parts_of, short_hash, typed
from simstudy.identity.streams import Streams
from simstudy.store.owner import Owner

LAYOUT = 2  # of the rows of a block; one more where the same columns would be stored otherwise
ENGINE = (Streams, Plan, checked_columns)  # code of ours between a scenario and its columns
CARRIERS = (
    "simstudy.engine.failures",
    "simstudy.engine.block",
    "simstudy.store.layout",
    "simstudy.store.blocks",
    "simstudy.analysis.summary",
)
OWN_PROCESS = "__main__"  # code that workers are sent, instead of importing it


@dataclass(frozen=True)
class Ownership:
    """An owner, and what is needed to hold workers to it.

    Parameters
    ----------
    owner
        Whose the blocks are.
    witnesses
        What to fingerprint, one after the other: a scenario of each kind, and the measures whose
        moments are kept.
    expected
        What a worker must find for each of them.
    unfollowed
        What counts as changed since nobody can say, with what it is.
    """

    owner: Owner
    witnesses: tuple[tuple[Any, ...], ...] = ()
    expected: tuple[Fingerprint, ...] = ()
    unfollowed: Mapping[str, str] = field(default_factory=dict)


def ownership_of(
    plan: Plan, measures: Sequence[Any] = (), worst: Mapping[str, float] | None = None
) -> Ownership:
    """Whose a plan's blocks are.

    Parameters
    ----------
    measures
        Those whose moments are kept in place of replicates.
    worst
        What failures count as, where moments are kept.
    """
    forget_modules()
    kinds: dict[Any, list[Any]] = {}
    for one in plan.scenarios:
        kinds.setdefault(_kind(one), []).append(one)
    alike = [(*some, *ENGINE) for some in kinds.values()]
    witnesses = (*((some[0], *ENGINE) for some in kinds.values()), *((one,) for one in measures))
    traces = _traced([*alike, *((one,) for one in measures)])
    codes = {kind: one.found for kind, one in zip(kinds, traces, strict=False)}
    texts = {
        id(one): text
        for some, found in zip(kinds.values(), traces, strict=False)
        for one, text in zip(some, found.tokens, strict=False)
    }
    settings = _settings(plan) | _moments(plan, measures, traces[len(kinds) :], worst or {})
    return Ownership(
        Owner(
            settings,
            {key: _values(one, texts[id(one)]) for key, one in plan.keys.items()},
            {key: codes[_kind(one)] for key, one in plan.keys.items()},
        ),
        witnesses,
        _expected(witnesses, traces),
        {name: what for one in traces for name, what in one.unfollowed.items()},
    )


def _values(scenario: Any, text: str) -> str:
    """A scenario's values as a person reads them, and a hash of all that it holds."""
    return f"{typed(scenario)} #{short_hash(text, 8)}"


def learn_from_run(plan: Plan, before: Ownership, measures: Sequence[Any] = ()) -> None:
    """Note what drawing blocks in this process changed of what they use: memories, caches."""
    after = ownership_of(plan, measures)
    for key, code in after.owner.codes.items():
        learn_drift(before.owner.codes[key], code)


def owner_of(plan: Plan, measures: Sequence[Any] = ()) -> Owner:
    """Whose a plan's blocks are, as files say it."""
    return ownership_of(plan, measures).owner


def _kind(scenario: Any) -> tuple[type, ...]:
    """Scenarios made of the same classes have the same code."""
    return tuple(type(part) for part in parts_of(scenario))


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "study": plan.name,
        "seed": plan.seed,
        "block_size": plan.block_size,
        "common": list(plan.common),
        "axes": {axis: list(labels) for axis, labels in plan.axes.items()},
        "may_be_missing": sorted(plan.may_be_missing),
        "layout": LAYOUT,
    }


def _moments(
    plan: Plan, measures: Sequence[Any], traces: Sequence[Trace], worst: Mapping[str, float]
) -> dict[str, Any]:
    """What a block's moments depend on beside its columns."""
    if not measures:
        return {}
    pairs = zip(measures, traces, strict=True)
    made = {f"measure {one.name}": _hash_of(found) for one, found in pairs}
    return {"measures": made, "on_failure": plan.on_failure, "worst": dict(sorted(worst.items()))}


def _hash_of(one: Trace) -> str:
    return "#" + short_hash(json.dumps([one.tokens, one.found], sort_keys=True))


def _expected(
    witnesses: Sequence[tuple[Any, ...]], traces: Sequence[Trace]
) -> tuple[Fingerprint, ...]:
    """What a worker must find, which has of `__main__` only what it is sent."""
    names = {name for one in traces for name in one.found}
    if not any(name.startswith(OWN_PROCESS) for name in names):
        return _with_engine(traces)
    return as_imported(witnesses)


def as_imported(witnesses: Sequence[tuple[Any, ...]]) -> tuple[Fingerprint, ...]:
    """The fingerprints of code that a worker imports for itself, or is sent."""
    return _with_engine(_traced(witnesses, without_main=True))


def _with_engine(traces: Sequence[Trace]) -> tuple[Fingerprint, ...]:
    """And of the code of ours that carries columns to the store, as this process has loaded it."""
    loaded = {f"{name} as it is loaded": "#" + loaded_digest(name) for name in CARRIERS}
    return (*(one.found for one in traces), loaded)


_known: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()


def _traced(witnesses: Sequence[tuple[Any, ...]], *, without_main: bool = False) -> list[Trace]:
    """What is used; and nothing that is used remembers what other code computed or compiled."""
    traces = [trace(parts, without_main=without_main) for parts in witnesses]
    used = short_hash(json.dumps([one.found for one in traces], sort_keys=True), 32)
    for function in {id(f): f for one in traces for f in one.remembering}.values():
        is_ours = str(function.__module__).startswith("simstudy.")
        if not is_ours and _known.get(function) != used:
            function.cache_clear()
            _known[function] = used
    compiled = [part for one in traces for part in one.compiled]
    if compiled:
        from simstudy.stats.compiled.renew import rekey

        rekey(compiled, used)
    return traces
