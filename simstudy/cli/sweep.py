"""The table at the end of a sweep, whatever launcher ran it.

Each run writes a small file into its Hydra output folder; `SweepTable`, a callback of Hydra,
reads these files when the last run has ended.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from simstudy.atomic_files import read_json, write_bytes, write_json
from simstudy.cli.exit_status import DEFECT, FAILED, OUT_OF_TIME, REFUSED

if TYPE_CHECKING:
    from simstudy.cli.composition import Run

OUTCOME = "outcome.json"
MULTIRUN = "multirun.yaml"  # Hydra's own record of a sweep
STATES = {0: "done", DEFECT: "not published", REFUSED: "refused", FAILED: "with failures",
          OUT_OF_TIME: "out of time"}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Parameters
    ----------
    status
        Exit status.
    reason
        Message of the error that ended it; empty without one.
    run
        The composed run; None if it could not be composed.
    result
        The result, if there is one.
    seconds
        Time from start to end, in seconds.
    objective
        Mean estimate of the measure that `objective=` names.
    """

    status: int
    reason: str = ""
    run: "Run | None" = None
    result: Any = None
    seconds: float = 0.0
    objective: float | None = None


_statuses: list[int] = []
_lines: list[str] = []
_unfinished: list[Path] = []  # folders of sweeps that have begun and have no table yet


def forget() -> None:
    """Forget a sweep that ended in this process without a table, with its folder if empty."""
    for folder in _unfinished:
        (folder / MULTIRUN).unlink(missing_ok=True)
        with suppress(OSError):  # something is in it, or it was never made
            for path in (folder, *folder.parents):
                path.rmdir()
    for each in (_statuses, _lines, _unfinished):
        each.clear()


def print_table() -> None:
    """Print the table of the last sweep, if it has ended, and forget it."""
    lines = list(_lines)
    _lines.clear()
    if lines:
        print("\n".join(lines), flush=True)


def taken_statuses() -> list[int]:
    """Exit statuses of the runs of the last sweep; forgets them."""
    taken = list(_statuses)
    _statuses.clear()
    return taken


def write_unfinished() -> bool:
    """Write the table of a sweep that an error ended; returns whether there is one."""
    folders = list(_unfinished)
    _unfinished.clear()
    written = [write_table(folder) for folder in folders]
    return any(written)


def write_outcome(outcome: Outcome, cfg: Any) -> None:
    """Write how a run of a sweep ended, for the table."""
    folder = Path(str(cfg.runtime.output_dir))
    folder.mkdir(parents=True, exist_ok=True)
    run = outcome.run
    content = {
        "overrides": dict(text.lstrip("+").partition("=")[::2] for text in typed_overrides(cfg)),
        "status": outcome.status,
        "reason": outcome.reason,
        "seconds": round(outcome.seconds, 3),
        "folder": str(run.run_folder) if run and outcome.result is not None else None,
        "number": cfg.job.num,
    }
    write_json(folder / OUTCOME, content)


def typed_overrides(cfg: Any) -> list[str]:
    """The overrides of a run as typed, with their interpolations: values may be secrets."""
    typed: Any = OmegaConf.to_container(cfg.overrides.task, resolve=False)
    return list(typed)


class SweepTable(Callback):  # type: ignore[misc]
    """Writes and prints the table of a sweep, with one row per run."""

    def on_multirun_start(self, config: DictConfig, **_kwargs: Any) -> None:
        """Forget the outcomes of an earlier sweep in the same folder."""
        folder = Path(str(config.hydra.sweep.dir)).absolute()
        _unfinished.append(folder)
        for path in folder.rglob(OUTCOME):
            path.unlink()

    def on_multirun_end(self, **_kwargs: Any) -> None:
        """Write the table."""
        write_unfinished()


def write_table(folder: Path) -> bool:
    """Read the outcomes of all runs; write `summary.parquet`, `summary.csv`, `index.html`.

    Parameters
    ----------
    folder
        Folder of the sweep.

    Returns
    -------
    bool
        Whether any run has written its outcome.
    """
    found = [read_json(path) for path in sorted(folder.rglob(OUTCOME))]
    outcomes = sorted(
        (each for each in found if each is not None), key=lambda each: int(each["number"])
    )
    if outcomes:
        from simstudy.output.formatting import relative_to_cwd

        _statuses.extend(int(each["status"]) for each in outcomes)
        _write_summary(folder, outcomes)
        _write_index(folder, outcomes)
        _lines.extend(["", *_table(outcomes)])
        _lines.append(f"sweep: {relative_to_cwd(folder / 'index.html')}")
    return bool(outcomes)


def _own(outcomes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Overrides that differ between runs."""
    names = dict.fromkeys(name for each in outcomes for name in each["overrides"])
    differing = [
        name for name in names if len({each["overrides"].get(name) for each in outcomes}) > 1
    ]
    return differing or list(names)


def _table(outcomes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The printed table: differing overrides, state, seconds, folder."""
    names = _own(outcomes)
    rows = [[*names, "state", "seconds", "results"]]
    for each in outcomes:
        state = STATES.get(int(each["status"]), f"status {each['status']}")
        values = [str(each["overrides"].get(name, "")) for name in names]
        rows.append([*values, state, f"{each['seconds']:,.1f}", each["folder"] or each["reason"]])
    widths = [max(len(row[at]) for row in rows) for at in range(len(names) + 2)]
    return [
        "  ".join([*(text.ljust(w) for text, w in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]


def _write_summary(folder: Path, outcomes: Sequence[Mapping[str, Any]]) -> None:
    """One table of all estimates, with a column for each override, state and seconds."""
    import pandas as pd

    from simstudy.tables.table import as_csv

    frames = []
    for each in outcomes:
        path = Path(each["folder"] or "") / "summary.parquet"
        rows = pd.read_parquet(path) if each["folder"] and path.is_file() else pd.DataFrame([{}])
        own = {name: each["overrides"].get(name) for name in _own(outcomes)}
        own = {name if name not in rows else f"override {name}": v for name, v in own.items()}
        own |= {"state": STATES.get(int(each["status"]), str(each["status"]))}
        frames.append(rows.assign(**own, seconds=each["seconds"]))
    table = pd.concat(frames, ignore_index=True)
    table = table.astype({name: "string" for name in table if _is_mixed(table[name])})
    table.to_parquet(folder / "summary.parquet", index=False)
    (folder / "summary.csv").write_text(as_csv(table), encoding="utf-8")
    if "measure" in table:
        from simstudy.output.explorer import EXPLORER, write_explorer

        names = {*_own(outcomes), *(f"override {name}" for name in _own(outcomes))} - {"measure"}
        first = [name for name in table if name in names]
        ordered = table[[*first, *(name for name in table if name not in first)]]
        estimates = ordered[ordered["measure"].notna()]
        write_explorer(estimates, folder / EXPLORER, f"Sweep {folder.name}", report="./index.html")


def _is_mixed(column: Any) -> bool:
    return len({type(value) for value in column.dropna()}) > 1


def _write_index(folder: Path, outcomes: Sequence[Mapping[str, Any]]) -> None:
    """One page with the figures of all runs side by side."""
    from simstudy.output.report.claims import page

    def relative(path: Path) -> PurePath:
        return PurePath(os.path.relpath(path, folder))

    names, runs = _own(outcomes), []
    for each in outcomes:
        results = Path(each["folder"] or os.devnull)
        report, figures = results / "report.html", sorted((results / "figures").glob("*.png"))
        runs.append({
            "name": " ".join(f"{name}={each['overrides'].get(name)}" for name in names),
            "state": STATES.get(int(each["status"]), str(each["status"])),
            "reason": each["reason"],
            "report": relative(report) if report.is_file() else None,
            "figures": [relative(path) for path in figures],
        })  # fmt: skip
    write_bytes(folder / "index.html", page("sweep.html", title=folder.name, runs=runs))
