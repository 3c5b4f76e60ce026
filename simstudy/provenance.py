"""Whose results a folder holds."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simstudy.design import Plan
from simstudy.errors import StoreError
from simstudy.fingerprint import (
    changes,
    fingerprint,
    functions_in,
    made_with,
)

GUARD = "_fingerprint.json"  # readers of the folder as a dataset pass over names with _
ROWS, MOMENTS = "replicates", "moments"


def guard(plan: Plan, folder: Path, measures: Sequence[Any] = ()) -> dict[str, Any]:
    """Claim a folder for a study, or check that what it holds is this study's.

    Parameters
    ----------
    measures
        Those whose moments are kept in place of replicates.

    Returns
    -------
    dict
        Study, seed, block size, and the fingerprint of the scenarios' code.

    Raises
    ------
    StoreError
        Where the folder belongs to another study, or what it holds was made by other code.
    """
    now: dict[str, Any] = {
        "study": plan.name,
        "seed": plan.seed,
        "block_size": plan.block_size,
        "common": list(plan.common),
        "axes": {axis: list(labels) for axis, labels in plan.axes.items()},
        "code": fingerprint(plan.scenarios),
    }
    refuse_foreign(plan.name, folder)
    _guard_blocks(folder / ROWS, now)
    if measures:
        now["measures"] = {f"measure {one.name}": made_with(one) for one in measures}
        now["code"] = {**now["code"], **fingerprint(functions_in(list(measures)))}
    _guard_blocks(folder / MOMENTS, now)
    return now


def refuse_foreign(study: str, folder: Path) -> None:
    """Refuse a folder whose manifest names another study, or that is no folder."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file, not a folder for results. Choose another out=...")
    owner = (read_json(folder / "manifest.json") or {}).get("study", study)
    if owner != study:
        raise StoreError(
            f"{folder} holds the results of study {owner!r}, which {study!r} would overwrite. "
            "Choose another out=..., or move that folder away."
        )


def _guard_blocks(folder: Path, now: dict[str, Any]) -> None:
    stored = read_json(folder / GUARD)
    if not any(folder.glob("*.parquet")):
        return
    if stored is None:
        raise StoreError(
            f"{folder} holds blocks, but {GUARD}, which says what code computed them, is missing "
            "or damaged, so they cannot be trusted. Put that file back, or start over with "
            "restart=true."
        )
    found = [
        f"{name} was {stored.get(name)} and is {now[name]}"
        for name in now
        if name not in ("code", "measures") and stored.get(name) != now[name]
    ]
    wanted, kept = now.get("measures", {}), stored.get("measures", {})
    found += changes({name: kept[name] for name in wanted if name in kept}, wanted)
    both = set(stored["code"]) & set(now["code"])  # another scenario's code is no change
    old, new = ({name: one["code"][name] for name in both} for one in (stored, now))
    found += changes(old, new)
    if found:
        raise StoreError(
            f"{folder.parent} was computed by something else: {_first_few(found)}. Its replicates "
            "cannot be mixed with new ones. Keep both with another out=..., or start over with "
            "restart=true."
        )


def _first_few(found: list[str], most: int = 5) -> str:
    rest = f"; and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(found[:most]) + rest


def sign(folder: Path, now: Mapping[str, Any]) -> None:
    """Say in a folder of blocks what made them; code that other scenarios use is kept."""
    stored = read_json(folder / GUARD) or {"code": {}}
    signed = {**now, "code": {**stored["code"], **now["code"]}}
    if signed != stored:
        write_json(folder / GUARD, signed)


def start_over(folder: Path) -> None:
    """Delete the blocks of a results folder, and nothing else."""
    for kind in (ROWS, MOMENTS):
        shutil.rmtree(folder / kind, ignore_errors=True)


def read_json(path: Path) -> dict[str, Any] | None:
    """The file's object; None where there is no such file or it is damaged."""
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    write_bytes(path, (json.dumps(content, indent=2, default=str) + "\n").encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Whole or not at all: to a temporary name, synced, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sources_digest(module_file: str | None) -> str:
    """Hash of everything that turns replicates into outputs: the experiment and simstudy itself."""
    package = Path(__file__).parent
    files = sorted(package.rglob("*.py"))
    if module_file:  # and what experiments share, in files that start with an underscore
        files += [Path(module_file), *sorted(Path(module_file).parent.glob("_*.py"))]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
