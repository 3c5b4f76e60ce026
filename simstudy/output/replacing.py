"""What may be replaced: results of the same settings, by no fewer replicates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from simstudy.errors import StoreError
from simstudy.identity.names import short_hash
from simstudy.output.origin import as_json
from simstudy.plan import Plan
from simstudy.remote.paths import Place
from simstudy.store.guard import WAYS_ON, refuse_foreign
from simstudy.store.manifest import MANIFEST
from simstudy.whole_files import read_json

SIZES = ("precision", "stop_by", "at_least")  # of what is drawn, and no part of its numbers
LONGEST_VALUE = 60  # characters of a setting that a refusal shows, and of a folder's name


class _Change(NamedTuple):
    """A setting that was otherwise."""

    name: str
    before: Any
    now: Any


def design_of(keys: Iterable[str]) -> str:
    """A name of which scenarios there are."""
    return short_hash(",".join(sorted(keys)))


def refuse_replacing(
    folder: Place,
    config: Mapping[str, Any],
    plan: Plan,
    n_rep: int | Mapping[str, int] | None,
    *,
    design: Sequence[str] = (),
) -> None:
    """Refuse to publish over the results of other settings, or over those of a longer run.

    Parameters
    ----------
    n_rep
        Replicates in each scenario, or by scenario key; None where the run decides as it goes.
    design
        Keys of all scenarios of the study, where the plan has but some.

    Raises
    ------
    StoreError
        Naming what is other, and an `out=` that would do.
    """
    refuse_foreign(plan.name, folder)
    manifest = read_json(folder / MANIFEST)
    if manifest is None or is_unpublished(manifest):
        return
    changes = _other_settings(manifest, {**config, "seed": plan.seed}) + fewer(manifest, n_rep)
    now = design_of(design or plan.drawn.keys)
    if not changes and manifest.get("design", now) != now:
        what = "scenarios or methods" if plan.methods else "scenarios"
        changes = [_Change(what, "others", "these")]
    if changes:
        said = "; ".join(
            f"{change.name} was {_short(change.before)} and is {_short(change.now)}"
            for change in changes
        )
        raise StoreError(
            f"{folder} holds the results of other settings, which these would replace: {said}. "
            f"out={folder.parent.parent / _label(changes)} would do; replace=true puts the new "
            f"results in their place and keeps all that was drawn. {WAYS_ON}"
        )


def is_unpublished(manifest: Mapping[str, Any]) -> bool:
    """Whether a run itself wrote it, and nobody has published its results."""
    return manifest.get("published") is False


def _other_settings(manifest: Mapping[str, Any], now: Mapping[str, Any]) -> list[_Change]:
    config = manifest.get("config")
    then = {**(config if isinstance(config, dict) else {}), "seed": manifest.get("seed")}
    wanted = as_json(now)
    names = [name for name in {**then, **wanted} if name not in SIZES]
    changes = (_Change(name, then.get(name), wanted.get(name)) for name in names)
    return [change for change in changes if change.before != change.now]


def fewer(manifest: Mapping[str, Any], n_rep: int | Mapping[str, int] | None) -> list[_Change]:
    """Of a longer run, how long it was."""
    then = manifest.get("replicates_per_scenario")
    if n_rep is None or not isinstance(then, int | dict):
        return []
    sizes = n_rep if isinstance(n_rep, Mapping) else {"": n_rep}
    for key, now in sizes.items():
        before = then.get(key, min(then.values(), default=0)) if isinstance(then, dict) else then
        if now < before:
            return [_Change("n_rep", before, now)]
    return []


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _label(changes: Sequence[_Change]) -> str:
    """A folder's name that says what differs."""
    parts = (f"{change.name}_{json.dumps(change.now)}" for change in changes)
    text = re.sub(r"[^\w.-]+", "_", "-".join(parts)).strip("_")
    if len(text) <= LONGEST_VALUE:
        return text
    return "other_" + "_".join(change.name for change in changes)[:50]
