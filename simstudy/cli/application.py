"""The Hydra application that runs studies: `python run.py experiment=NAME`.

A sweep ends with a table, whatever launcher ran it: each run writes a small file below the folder
of the sweep, and `finish_sweep` reads these files when the last run has ended.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from simstudy.cli import ending, settings
from simstudy.cli.project import Project
from simstudy.cli.runs import Outcome, carry_out
from simstudy.engine.graceful_stop import OutOfTime
from simstudy.errors import SimstudyError, describe
from simstudy.lazy import pd
from simstudy.places import read_json, write_bytes, write_json

OUTCOMES = "jobs"  # a file for each run, named by its number
STATES = {
    0: "done",
    ending.DEFECT: "not published",
    ending.REFUSED: "refused",
    ending.FAILED: "with failures",
    ending.OUT_OF_TIME: "out of time",
}

begun_sweeps: list[Path] = []  # folder of the sweep that has begun and has no table yet


def run_application(project: Project, arguments: Sequence[str]) -> int:
    """Run Hydra on the command's arguments; returns the exit status.

    Parameters
    ----------
    arguments
        Flags and overrides of Hydra. A bare word names an experiment; `all` names every experiment
        of the group.

    Raises
    ------
    ConfigError
        In one line, for anything that cannot be composed.
    """
    arguments = settings.read_words(arguments, project)
    program, task = project.command("run"), Task(project)
    begun_sweeps.clear()
    with settings.hydra_process([program, *arguments]), settings.errors_in_one_line():
        settings.register(project, arguments, program=program)
        folder, name = settings.config_location(project)
        start = hydra.main(version_base=settings.VERSION_BASE, config_path=folder, config_name=name)
        try:
            start(task)()
        except SystemExit as end:  # after --help, --cfg and the like
            if task.error is None:
                return int(end.code or 0)
        except Exception as error:
            if not (statuses := finish_sweep()):
                raise
            ending.complain(f"a job of the sweep was lost: {settings.first_line(error)}")
            return max(statuses)
    if task.error is not None:
        raise task.error
    return max([task.status, *finish_sweep()])


class Task:
    """One run of the application, which Hydra calls with the composed settings.

    Launchers may send it to other processes, so it holds only the project.

    Attributes
    ----------
    status, error
        How a single run ended: its exit status, or an error.
    """

    def __init__(self, project: Project) -> None:
        self.project, self.status = project, 0
        self.error: BaseException | None = None

    def __call__(self, config: DictConfig) -> float | Outcome:
        """Run one study; returns the objective of a sweeper, if one is named, or the outcome."""
        cfg = HydraConfig.get()
        if cfg.mode == RunMode.MULTIRUN:
            outcome = self._run_point(config, cfg)
        else:
            try:
                outcome = self._run(config, cfg)
            except Exception as error:
                self.error = error  # raised once Hydra has ended, which would print more
                outcome = Outcome(ending.REFUSED, describe(error))
            self.status = outcome.status
        return outcome if outcome.objective is None else outcome.objective

    def _run(self, config: DictConfig, cfg: DictConfig, *, is_sweep: bool = False) -> Outcome:
        with settings.errors_in_one_line():
            run = settings.resolve(config, cfg, self.project)
        return carry_out(run, is_sweep=is_sweep)

    def _run_point(self, config: DictConfig, cfg: DictConfig) -> Outcome:
        """Run a study of a sweep; its error does not stop the others."""
        write_outcome(Outcome(ending.DEFECT, "ended without a status"), cfg)  # if it is killed
        try:
            outcome = self._run(config, cfg, is_sweep=True)
        except (Exception, OutOfTime) as error:
            if ending.is_output_error(error):
                self.error = error  # raised once Hydra has ended
                raise SystemExit(ending.DEFECT) from error  # ends the sweep
            command = self.project.resume_command("run", settings.typed_overrides(cfg))
            reason = str(error) if isinstance(error, SimstudyError) else describe(error)
            outcome = Outcome(ending.complain_of(error, command), reason)
        write_outcome(outcome, cfg)
        return outcome


# ---------------------------------------------------------------- the table of a sweep
class SweepStart(Callback):  # type: ignore[misc]
    """Notes the folder of a sweep, which has a table once it has ended."""

    def on_multirun_start(self, config: DictConfig, **_kwargs: Any) -> None:
        """Forget the outcomes of an earlier sweep in the same folder."""
        folder = Path(str(config.hydra.sweep.dir)).absolute()
        begun_sweeps.append(folder)
        for path in (folder / OUTCOMES).glob("*.json"):
            path.unlink()


def write_outcome(outcome: Outcome, cfg: Any) -> None:
    """Write how a run of a sweep ended, for the table."""
    parts = [text.lstrip("+").partition("=") for text in settings.typed_overrides(cfg)]
    overrides = {name: value for name, _, value in parts}
    content = {"overrides": overrides, "number": cfg.job.num, **asdict(outcome)}
    path = Path(cfg.runtime.cwd) / str(cfg.sweep.dir) / OUTCOMES / f"{cfg.job.num}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, content)


def finish_sweep() -> list[int]:
    """Write and print the table of the sweep that has ended; returns the statuses of its runs."""
    statuses = []
    for folder in begun_sweeps:
        stored = filter(None, map(read_json, (folder / OUTCOMES).glob("*.json")))
        outcomes = sorted(stored, key=lambda each: int(each["number"]))
        statuses += [int(each["status"]) for each in outcomes]
        if outcomes:
            write_table(folder, outcomes)
    begun_sweeps.clear()
    return statuses


def write_table(folder: Path, outcomes: Sequence[Mapping[str, Any]]) -> None:
    """Print the outcomes of all runs; write `summary.parquet`, `summary.csv`, `index.html`."""
    from simstudy.output.formatting import relative_to_cwd

    overrides = pd.DataFrame([each["overrides"] for each in outcomes]).fillna("")
    differing = overrides.columns[overrides.nunique() > 1]
    overrides = overrides[differing] if len(differing) else overrides
    seconds = [each["seconds"] for each in outcomes]
    runs = overrides.assign(state=list(map(_state, outcomes)), seconds=seconds)
    _write_summary(folder, runs, outcomes)
    _write_index(folder, runs, outcomes)
    first = pd.DataFrame([each["estimates"] for each in outcomes]).fillna("")
    results = [each["folder"] or each["reason"] for each in outcomes]
    shown = runs.join(first.add_prefix("measure ")).assign(results=results)
    print(f"\n{shown.to_string(index=False, float_format='{:,.1f}'.format)}")
    print(f"sweep: {relative_to_cwd(folder / 'index.html')}", flush=True)


def _state(outcome: Mapping[str, Any]) -> str:
    """How a run ended, and whether there are warnings about its numbers."""
    status, n = outcome["status"], len(outcome["warnings"])
    state = STATES.get(status, f"status {status}")
    return f"{state}, {n} warning{'s' * (n != 1)}" if n else state


def _write_summary(folder: Path, runs: pd.DataFrame, outcomes: Sequence[Mapping[str, Any]]) -> None:
    """Write one table of all estimates, with a column for each override."""
    from simstudy.output.formatting import of_one_type_each
    from simstudy.tables.table import as_csv

    frames = []
    for each, own in zip(outcomes, runs.to_dict("records"), strict=True):
        path = Path(each["folder"] or os.devnull) / "summary.parquet"
        # A folder n_rep=60 in the path is no column, as it was for pyarrow before 25.
        is_there = path.is_file()
        rows = pd.read_parquet(path, partitioning=None) if is_there else pd.DataFrame([{}])
        named = {f"override {n}" if n in rows else str(n): value for n, value in own.items()}
        frames.append(rows.assign(**named))
    table = of_one_type_each(pd.concat(frames, ignore_index=True))
    table.to_parquet(folder / "summary.parquet", index=False)
    (folder / "summary.csv").write_text(as_csv(table), encoding="utf-8")


def _write_index(folder: Path, runs: pd.DataFrame, outcomes: Sequence[Mapping[str, Any]]) -> None:
    """Write one page with the figures of all runs side by side."""
    from simstudy.output.report.pages import page

    shown = []
    for each, own in zip(outcomes, runs.to_dict("records"), strict=True):
        results = Path(each["folder"] or os.devnull)
        report, figures = results / "report.html", sorted((results / "figures").glob("*.png"))
        shown.append({
            "name": " ".join(f"{k}={v}" for k, v in own.items() if k not in ("state", "seconds")),
            "state": own["state"],
            "reason": each["reason"],
            "told": ", ".join(f"{name} {text}" for name, text in each["estimates"].items()),
            "report": PurePath(os.path.relpath(report, folder)) if report.is_file() else None,
            "figures": [PurePath(os.path.relpath(path, folder)) for path in figures],
        })  # fmt: skip
    html = page("sweep.html", title=folder.name, runs=shown)
    write_bytes(folder / "index.html", html)
