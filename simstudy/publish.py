"""A result as files: summary, claims, failures, figures, manifest, report."""

import hashlib
import time
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from simstudy.attempt import describe
from simstudy.block import scenario_table
from simstudy.environment import environment, library_versions
from simstudy.errors import SimstudyError
from simstudy.provenance import (
    read_json,
    sources_digest,
    write_bytes,
    write_json,
)
from simstudy.report import write_report
from simstudy.result import Result
from simstudy.store import trouble_in_words


@dataclass
class Published:
    """What was written, and what could not be drawn."""

    folder: Path
    files: list[Path] = field(default_factory=list)
    not_drawn: dict[str, str] = field(default_factory=dict)


def publish(
    result: Result,
    *,
    about: str = "",
    config: dict[str, Any] | None = None,
    module_file: str | None = None,
    figures: bool = True,
    report: bool = True,
) -> Published:
    """Write everything a result says into its folder.

    Parameters
    ----------
    about
        The experiment's docstring.
    config
        The settings that made it, for the manifest.
    module_file
        The experiment's source, so that a change of its figures or claims is noticed.
    """
    if result.folder is None:
        raise SimstudyError(
            "this result lives in memory only: give run(...) a folder, out='results'."
        )
    start = time.perf_counter()
    made = Published(result.folder)
    with trouble_in_words(result.folder):
        _write_frames(result, made)
        if figures:
            _draw(result, made)
        content = _manifest(result, made, config or {}, module_file)
        content["publish_seconds"] = round(time.perf_counter() - start, 3)
        if report:
            made.files.append(write_report(result, made.files, content, about))
        write_json(result.folder / "manifest.json", content)
    made.files.append(result.folder / "manifest.json")
    return made


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
        except (SimstudyError, LookupError) as error:
            made.not_drawn[name] = " ".join(str(error).split())
        except Exception as error:  # one figure must not cost the others, nor the manifest
            made.not_drawn[name] = describe(error)
        else:
            made.files += [saved.png, saved.svg]


def _manifest(
    result: Result, made: Published, config: dict[str, Any], module_file: str | None
) -> dict[str, Any]:
    plan = result.plan
    previous = read_json(made.folder / "manifest.json") or {}
    mcse = result.summary["mcse"]
    return {
        "study": plan.name,
        "seed": plan.seed,
        "config": config,
        "scenarios": len(plan.scenarios),
        "replicates_per_scenario": replicates_asked(result),
        "replicates": int(sum(result.n_rep.values())),
        "failed_replicates": int(result.failures.drop_duplicates(["address"]).shape[0]),
        "largest_mcse": float(mcse.max()) if mcse.notna().any() else None,
        "digest": digest(result),
        "sources": sources_digest(module_file),
        "figures_not_drawn": made.not_drawn,
        **_cost(result, previous),
        **environment(),
    }  # fmt: skip


def _cost(result: Result, previous: dict[str, Any]) -> dict[str, Any]:
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
    result: Result, config: dict[str, Any], module_file: str | None, *, figures: bool, report: bool
) -> bool:
    """Whether the folder already holds this result as it would be published now."""
    folder = result.folder
    manifest = read_json(folder / "manifest.json") if folder else None
    if folder is None or manifest is None or result.outcome.n_blocks:
        return False
    drawn = [folder / "figures" / f"{name}.png" for name in result.figures
             if name not in manifest.get("figures_not_drawn", {})]  # fmt: skip
    files = [folder / "summary.parquet", folder / "claims.parquet", *(drawn if figures else [])]
    files += [folder / "report.html"] * report
    return (
        manifest.get("config") == config
        and manifest.get("seed") == result.plan.seed
        and manifest.get("replicates_per_scenario") == replicates_asked(result)
        and manifest.get("sources") == sources_digest(module_file)
        and manifest.get("versions") == library_versions()
        and all(path.exists() for path in files)
    )
