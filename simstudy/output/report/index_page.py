"""The index of a results folder: every study in it, with its size, its claims and its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simstudy.errors import describe
from simstudy.lazy.pandas import pd
from simstudy.output.origin import REPORT
from simstudy.output.report.pages import page
from simstudy.output.verdicts import claims_in_words
from simstudy.remote.paths import Place
from simstudy.store.home import FOLDERS
from simstudy.store.manifest import MANIFEST
from simstudy.whole_files import read_json, write_bytes

LONGEST = 80  # characters of what another's file says


@dataclass(frozen=True)
class IndexRow:
    """A study's line in the index."""

    name: str
    question: str
    is_linked: bool
    scenarios: str
    replicates: str
    claims: str
    state: str


def write_index(folder: Place, newest: Mapping[str, Mapping[str, Any]]) -> Place:
    """Write `index.html`: every study under `folder`, with its size, claims and state.

    Parameters
    ----------
    newest
        Manifests that are not written yet, by the study's name.
    """
    manifests: dict[str, Any] = {
        path.parent.name: read_json(path) for path in folder.glob(f"*/{MANIFEST}")
    }
    manifests |= dict(newest)
    rows = [
        _row(folder, name, manifest, is_new=name in newest)
        for name, manifest in manifests.items()
        if manifest is None or "replicates" in manifest  # another program's manifest is no study
    ]
    rows += [_unfinished(name) for name in _without_manifest(folder) if name not in manifests]
    target = folder / "index.html"
    write_bytes(target, page("index.html", rows=sorted(rows, key=lambda row: row.name)))
    return target


def _without_manifest(folder: Place) -> set[str]:
    """Folders in which blocks lie, and maybe no results yet."""
    found = (path for below in FOLDERS.values() for path in folder.glob(f"*/{below}"))
    return {path.parent.name for path in found if any(path.glob("*.parquet"))}


def _unfinished(name: str) -> IndexRow:
    return IndexRow(name, "", False, "", "", "", f"unfinished: blocks are there, and no {MANIFEST}")


def _row(folder: Place, name: str, manifest: Mapping[str, Any] | None, *, is_new: bool) -> IndexRow:
    """A study's line: whatever its files hold, it must not cost the others theirs."""
    there = folder / name
    is_linked = is_new or (there / REPORT).exists()
    if manifest is None:
        return IndexRow(name, "", is_linked, "", "", "", f"{MANIFEST} cannot be read")
    states = list(_states(manifest, is_linked=is_linked))
    return IndexRow(
        name,
        _short(manifest.get("question", "")),
        is_linked,
        _size(manifest.get("scenarios")),
        _size(manifest.get("replicates")),
        _claims(there / "claims.parquet"),
        "; ".join(states) or "finished",
    )


def _states(manifest: Mapping[str, Any], *, is_linked: bool) -> Iterator[str]:
    """What is not as it should be."""
    for what, words in {"failed_replicates": "replicates failed", "warnings": "warnings"}.items():
        n = manifest.get(what)
        if isinstance(n, int) and n > 0:
            yield f"{n:,} {words}"
    for what, words in {"figures_not_drawn": "not drawn", "noticed": "to be looked at"}.items():
        named = manifest.get(what)
        if isinstance(named, list | dict) and named:
            is_given = "file" in manifest.get("config", {})
            odd = "its rows" if is_given else "randomness"
            yield f"{'figures' if what == 'figures_not_drawn' else odd} {words}"
    if not is_linked:
        yield "no report"


def _size(size: Any) -> str:
    return f"{size:,}" if isinstance(size, int) else _short(size)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 2 * LONGEST else f"{text[: 2 * LONGEST - 1]}…"


def _claims(path: Place) -> str:
    if not path.exists():
        return ""
    try:
        return claims_in_words(pd.read_parquet(path.open("rb")))
    except Exception as error:  # whatever is in a file of that name
        return f"{path.name} cannot be read: {describe(error)[:LONGEST]}"
