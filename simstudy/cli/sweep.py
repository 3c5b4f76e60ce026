"""The table at the end of a sweep, whatever launcher ran it.

Each run writes a small file into its Hydra output folder; `finish` reads these files when the last
run has ended. `SweepStart`, a callback of Hydra, tells it the folder.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from simstudy.atomic_files import read_json, write_bytes, write_json
from simstudy.cli.exit_status import DEFECT, FAILED, OUT_OF_TIME, REFUSED
from simstudy.cli.runs import Outcome

OUTCOME = "outcome.json"
MULTIRUN = "multirun.yaml"  # Hydra's own record of a sweep
STATES = {0: "done", DEFECT: "not published", REFUSED: "refused", FAILED: "with failures",
          OUT_OF_TIME: "out of time"}  # fmt: skip


begun: list[Path] = []  # folder of the sweep that has begun and has no table yet


class SweepStart(Callback):  # type: ignore[misc]
    """Notes the folder of a sweep, which has a table once it has ended."""

    def on_multirun_start(self, config: DictConfig, **_kwargs: Any) -> None:
        """Forget the outcomes of an earlier sweep in the same folder."""
        folder = Path(str(config.hydra.sweep.dir)).absolute()
        begun.append(folder)
        for path in folder.rglob(OUTCOME):
            path.unlink()


def finish() -> list[int]:
    """Write and print the table of the sweep that has ended, if there is one with outcomes.

    Returns
    -------
    list
        Exit statuses of its runs.
    """
    folders = list(begun)
    begun.clear()
    statuses = [status for folder in folders for status in write_table(folder)]
    if not statuses:
        for folder in folders:
            (folder / MULTIRUN).unlink(missing_ok=True)
            with suppress(OSError):  # something is in it, or it was never made
                for path in (folder, *folder.parents):
                    path.rmdir()
    return statuses


def write_outcome(outcome: Outcome, cfg: Any) -> None:
    """Write how a run of a sweep ended, for the table."""
    folder = Path(str(cfg.runtime.output_dir))
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "overrides": dict(text.lstrip("+").partition("=")[::2] for text in typed_overrides(cfg)),
        "number": cfg.job.num,
        **asdict(outcome),
    }
    write_json(folder / OUTCOME, content)


def typed_overrides(cfg: Any) -> list[str]:
    """The overrides of a run as typed, with their interpolations: values may be secrets."""
    typed: Any = OmegaConf.to_container(cfg.overrides.task, resolve=False)
    return list(typed)


def write_table(folder: Path) -> list[int]:
    """Read the outcomes of all runs; write `summary.parquet`, `summary.csv`, `index.html`.

    Parameters
    ----------
    folder
        Folder of the sweep.

    Returns
    -------
    list
        Exit statuses of the runs that have written their outcome.
    """
    found = [each for path in folder.rglob(OUTCOME) if (each := read_json(path)) is not None]
    outcomes = sorted(found, key=lambda each: int(each["number"]))
    if outcomes:
        from simstudy.output.formatting import relative_to_cwd

        _write_summary(folder, outcomes)
        _write_index(folder, outcomes)
        page = relative_to_cwd(folder / "index.html")
        print("\n".join(["", *_table(outcomes), f"sweep: {page}"]), flush=True)
    return [int(each["status"]) for each in outcomes]


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
        is_there = each["folder"] and path.is_file()
        # A folder n_rep=60 in the path is no column, as it was for pyarrow before 25.
        rows = pd.read_parquet(path, partitioning=None) if is_there else pd.DataFrame([{}])
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

        estimates = table[table["measure"].notna()]
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
