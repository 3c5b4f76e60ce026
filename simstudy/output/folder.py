"""A result as files: summary, claims, failures, figures, manifest, report."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from simstudy.analysis.result import Result
from simstudy.design import Plan
from simstudy.errors import FigureError, SimstudyError, StoreError, StudyError, describe
from simstudy.identity.names import short_hash
from simstudy.identity.source_files import experiment_libraries, source_files, sources_digest
from simstudy.lazy.pandas import pd
from simstudy.output.environment import environment, library_versions
from simstudy.output.report import write_report
from simstudy.store.files import alone_in, read_json, trouble_in_words, write_bytes, write_json
from simstudy.store.guard import WAYS_ON, refuse_foreign
from simstudy.store.layout import scenario_table
from simstudy.store.manifest import MANIFEST, listed_files

NOT_IN_THE_DATA = (FigureError, StudyError, LookupError)  # what a run has no data for, it says
REPORT = "report.html"


@dataclass
class Published:
    """What was written, and what could not be drawn."""

    folder: Path
    files: list[Path] = field(default_factory=list)
    not_drawn: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)  # figures that another try may draw


def publish(
    result: Result,
    *,
    about: str = "",
    config: dict[str, Any] | None = None,
    module_file: str | None = None,
    sources: str | None = None,
    figures: bool = True,
    report: bool = True,
    replace: bool = False,
) -> Published:
    """Write everything a result says into its folder; the manifest goes first and comes last.

    Parameters
    ----------
    about
        The experiment's docstring.
    config
        The settings that made it, for the manifest.
    module_file
        The experiment's source, so that a change of its figures or claims is noticed.
    sources
        Digest of the sources as they were when they were loaded, for a run that took long.
    replace
        Whether what other settings published there, or a longer run, may be replaced.

    Raises
    ------
    StoreError
        Where it may not be, or the disk cannot be written.
    """
    if result.folder is None:
        raise SimstudyError(
            "this result lives in memory only: give run(...) a folder, out='results'."
        )
    start = time.perf_counter()
    made = Published(result.folder)
    with trouble_in_words(result.folder), alone_in(result.folder):
        if not replace:
            refuse_replacing(
                result.folder, config or {}, result.plan, result.n_rep, design=result.design
            )
        made_from = origin_of(result, config or {}, module_file, sources)
        previous = read_json(result.folder / MANIFEST) or {}
        kept = _clear(result, previous, made_from, figures=figures, report=report)
        _write_frames(result, made)
        if figures:
            _draw(result, made)
        elif kept:  # what was said of the figures that stay
            made.not_drawn = dict(previous.get("figures_not_drawn", {}))
            made.failed = list(previous.get("figures_failed", []))
        content = _manifest(result, made, made_from, module_file) | _cost(result, previous)
        content["figures_not_drawn"] = made.not_drawn
        content["publish_seconds"] = round(time.perf_counter() - start, 3)
        if report:
            shown = [*made.files, *(made.folder / name for name in kept)]
            made.files.append(write_report(result, shown, content, about))
        content["files"] = kept | _hashes(made.folder, made.files)
        write_json(result.folder / MANIFEST, content)
    made.files.append(result.folder / MANIFEST)
    return made


def origin_of(
    result: Result,
    config: Mapping[str, Any],
    module_file: str | None,
    sources: str | None = None,
) -> dict[str, Any]:
    """What the outputs are made from: blocks, settings, and the code and libraries that read them.

    Two results with the same origin are published as the same files.
    """
    return {
        "config": dict(config),
        "blocks": result.store.owner.digest(result.n_rep),
        "sources": sources or sources_digest(module_file),
        "versions": _versions(result, module_file),
    }


def _versions(result: Result, module_file: str | None) -> dict[str, str]:
    """Of the libraries behind every number and figure."""
    few = result.store.owner.only(result.n_rep)
    named = library_versions() | experiment_libraries(module_file) | few.libraries
    return dict(sorted(named.items()))


def _clear(
    result: Result,
    previous: Mapping[str, Any],
    made_from: Mapping[str, Any],
    *,
    figures: bool,
    report: bool,
) -> dict[str, str]:
    """Take away the manifest, and outputs of earlier runs that this one will not write.

    Figures and report are left where they are of the same origin; gives these, with their hashes.
    """
    assert result.folder is not None
    (result.folder / MANIFEST).unlink(missing_ok=True)
    files = listed_files(previous) or dict.fromkeys(_usual_files(result), "")
    wanted = {REPORT: report} | {name: figures for name in files if name.startswith("figures/")}
    same = said_origin(previous) == _as_json(made_from)
    kept = {}
    for name, digest in files.items():
        is_kept = not wanted.get(name, True) and same and not (name == REPORT and figures)
        if is_kept and _hash_of(result.folder / name) == digest:
            kept[name] = digest
        else:
            (result.folder / name).unlink(missing_ok=True)
    return kept


def _usual_files(result: Result) -> list[str]:
    """What a run that left no manifest, since it was killed, may have written."""
    drawn = [f"figures/{name}.{kind}" for name in result.figures for kind in ("png", "svg")]
    return [*drawn, REPORT]


def _hashes(folder: Path, files: Sequence[Path]) -> dict[str, str]:
    return {str(path.relative_to(folder)): _hash_of(path) for path in sorted(set(files))}


def _hash_of(path: Path) -> str:
    """Of a file's bytes; empty where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return ""


def _write_frames(result: Result, made: Published) -> None:
    frames = {"summary": result.summary, "claims": result.claims}
    if len(result.failures):
        frames["failures"] = result.failures
        if result.plan.axes:
            frames["summary_all_methods"] = result.summary_all_methods
    for name in {"failures", "summary_all_methods"} - set(frames):
        (made.folder / f"{name}.parquet").unlink(missing_ok=True)
    for name, frame in frames.items():
        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        _put(made, f"{name}.parquet", buffer.getvalue())
    buffer = BytesIO()
    pq.write_table(scenario_table(result.plan), buffer)
    _put(made, "scenarios.parquet", buffer.getvalue())


def _put(made: Published, name: str, content: bytes) -> None:
    write_bytes(made.folder / name, content)
    made.files.append(made.folder / name)


def _draw(result: Result, made: Published) -> None:
    """Every figure that this run has the data for."""
    from simstudy.figures import save_figure

    for name in result.figures:
        try:
            saved = save_figure(result.figure(name), made.folder / "figures", name)
        except (Exception, SystemExit) as error:  # one must not cost the others, nor the manifest
            is_about_data = type(error) in NOT_IN_THE_DATA
            made.not_drawn[name] = " ".join(str(error).split()) if is_about_data else (
                describe(error))  # fmt: skip
            made.failed += [] if is_about_data else [name]
        else:
            made.files += [saved.png, saved.svg]


def _manifest(
    result: Result, made: Published, made_from: Mapping[str, Any], module_file: str | None
) -> dict[str, Any]:
    plan = result.plan
    mcse = result.summary["mcse"]
    return {
        "study": plan.name,
        "seed": plan.seed,
        "config": made_from["config"],
        "scenarios": len(plan.scenarios),
        "replicates_per_scenario": replicates_asked(result),
        "replicates": int(sum(result.n_rep.values())),
        "failed_replicates": result.n_failed,
        "largest_mcse": float(mcse.max()) if mcse.notna().any() else None,
        "digest": digest(result),
        "made_from": {name: made_from[name] for name in ("blocks", "sources")},
        "design": design_of(result.design or plan.keys),
        "figures_failed": made.failed,
        **environment(source_files(module_file), made_from["versions"]),
    }


def _cost(result: Result, previous: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds and blocks of the run that last drew anything."""
    outcome = result.outcome
    if not outcome.n_blocks and "blocks_computed" in previous:
        return {name: previous.get(name) for name in ("wall_seconds", "blocks_computed")}
    return {"wall_seconds": round(outcome.seconds, 3), "blocks_computed": outcome.n_blocks}


def replicates_asked(result: Result) -> int | dict[str, int]:
    """One number where every scenario has the same, else by scenario."""
    numbers = set(result.n_rep.values())
    return numbers.pop() if len(numbers) == 1 else dict(result.n_rep)


def digest(result: Result) -> str:
    """Hash of the summary: equal on two machines where every number is, to the last bit."""
    frame = result.summary
    whole = hashlib.sha256()
    for name in frame.columns:
        values = frame[name]
        if pd.api.types.is_numeric_dtype(values):
            whole.update(np.ascontiguousarray(values.to_numpy(dtype=float)).tobytes())
        else:
            whole.update("\0".join(map(str, values)).encode())
    return whole.hexdigest()[:32]


def is_current(
    result: Result,
    config: dict[str, Any],
    module_file: str | None,
    *,
    figures: bool,
    report: bool,
    sources: str | None = None,
) -> bool:
    """Whether the folder already holds this result as it would be published now, unharmed."""
    folder = result.folder
    manifest = read_json(folder / MANIFEST) if folder else None
    if folder is None or manifest is None or result.outcome.n_blocks:
        return False
    if said_origin(manifest) != _as_json(origin_of(result, config, module_file, sources)):
        return False
    drawn = set(result.figures) - set(manifest.get("figures_not_drawn", {}))
    wanted = ["summary.parquet", "claims.parquet", "scenarios.parquet"]
    wanted += [f"figures/{n}.{kind}" for n in drawn for kind in ("png", "svg")] if figures else []
    wanted += [REPORT] if report else []
    wanted += [
        name for name in listed_files(manifest) if "/" not in name and name.endswith(".parquet")
    ]
    if figures and manifest.get("figures_failed"):
        return False
    files = listed_files(manifest)
    return all(name in files and _hash_of(folder / name) == files[name] for name in wanted)


def said_origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The origin that a manifest states."""
    made_from = manifest.get("made_from")
    named = made_from if isinstance(made_from, dict) else {}
    return {name: manifest.get(name) for name in ("config", "versions")} | named


def _as_json(content: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(content, default=str))


# ---------------------------------------------------------------- what may be replaced
def design_of(keys: Iterable[str]) -> str:
    """A name of which scenarios there are."""
    return short_hash(",".join(sorted(keys)))


def refuse_replacing(
    folder: Path,
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
    if manifest is None:
        return
    found = _other_settings(manifest, {**config, "seed": plan.seed}) + _fewer(manifest, n_rep)
    now = design_of(design or plan.keys)
    if not found and manifest.get("design", now) != now:
        found = [("scenarios", "others", "these")]
    if found:
        said = "; ".join(
            f"{name} was {_short(old)} and is {_short(new)}" for name, old, new in found
        )
        raise StoreError(
            f"{folder} holds the results of other settings, which these would replace: {said}. "
            f"out={folder.parent.parent / _label(found)} would do; replace=true puts the new "
            f"results in their place and keeps all that was drawn. {WAYS_ON}"
        )


def _other_settings(
    manifest: Mapping[str, Any], now: Mapping[str, Any]
) -> list[tuple[str, Any, Any]]:
    config = manifest.get("config")
    then = {**(config if isinstance(config, dict) else {}), "seed": manifest.get("seed")}
    wanted = _as_json(now)
    names = [name for name in {**then, **wanted} if name != "precision"]  # that is a size
    return [(n, then.get(n), wanted.get(n)) for n in names if then.get(n) != wanted.get(n)]


def _fewer(
    manifest: Mapping[str, Any], n_rep: int | Mapping[str, int] | None
) -> list[tuple[str, Any, Any]]:
    then = manifest.get("replicates_per_scenario")
    if n_rep is None or not isinstance(then, int | dict):
        return []
    sizes = n_rep if isinstance(n_rep, Mapping) else {"": n_rep}
    for key, now in sizes.items():
        before = then.get(key, min(then.values(), default=0)) if isinstance(then, dict) else then
        if now < before:
            return [("n_rep", before, now)]
    return []


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _label(found: Sequence[tuple[str, Any, Any]]) -> str:
    """A folder's name that says what differs."""
    parts = (f"{name}_{json.dumps(new)}" for name, _, new in found)
    text = re.sub(r"[^\w.-]+", "_", "-".join(parts)).strip("_")
    return text if len(text) <= 60 else "other_" + "_".join(name for name, *_ in found)[:50]
