"""The Hydra application that runs studies: `python run.py experiment=NAME`.

A sweep ends with a table, whatever launcher ran it: each run writes a small file below the folder
of the sweep, and `finish_sweep` reads these files when the last run has ended.
"""

from __future__ import annotations

import itertools
import os
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from simstudy.atomic_files import read_json, write_bytes, write_json
from simstudy.cli import exit_status
from simstudy.cli.composition import (
    VERSION_BASE,
    config_location,
    errors_in_one_line,
    first_line,
    hydra_process,
    is_word,
    parse_overrides,
    refuse_slips,
    register,
    resolve,
    typed_overrides,
)
from simstudy.cli.project import ALL, COMMANDS, Project, default_group, members
from simstudy.cli.runs import Outcome, carry_out
from simstudy.cli.settings import SILENT, setting_of, short_name
from simstudy.engine.graceful_stop import OutOfTime
from simstudy.errors import ConfigError, SimstudyError, describe, nearest
from simstudy.lazy import pd

MULTIRUN = ("-m", "--multirun")
OUTCOMES = "jobs"  # a file for each run, named by its number
MULTIRUN_FILE = "multirun.yaml"  # Hydra's own record of a sweep
STATES = {
    0: "done",
    exit_status.DEFECT: "not published",
    exit_status.REFUSED: "refused",
    exit_status.FAILED: "with failures",
    exit_status.OUT_OF_TIME: "out of time",
}
MAX_MEASURES = 2  # measures in the table of a sweep
RUN = "number of the run"  # column of a sweep's estimates
FLAGS_WITH_VALUE = (
    "--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn",
    "--config-dir", "-cd", "--experimental-rerun", "--info", "-i", "--shell-completion", "-sc",
)  # fmt: skip

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
    refuse_slips(arguments)
    arguments = with_experiments(arguments, project)
    overrides = overrides_among(arguments)
    flags = [text for text in arguments if text not in overrides]  # argparse takes them last
    program, task = project.command("run"), Task(project)
    begun_sweeps.clear()
    with hydra_process([program, *overrides, *flags]), errors_in_one_line():
        parsed = parse_overrides(overrides)
        register(project, parsed, program=program, sweep_folder=_sweep_folder(overrides))
        folder, name = config_location(project)
        start = hydra.main(version_base=VERSION_BASE, config_path=folder, config_name=name)
        try:
            start(task)()
        except SystemExit as ending:  # after --help, --cfg and the like
            return int(ending.code or 0)
        except Exception as error:
            statuses = finish_sweep()
            if type(error) is RuntimeError and not statuses:  # of a launcher
                raise ConfigError(f"the sweep cannot start: {first_line(error)}") from error
            if isinstance(error, HydraException) or not statuses:
                raise
            exit_status.complain(f"a job of the sweep was lost: {first_line(error)}")
            return max(statuses)
    if task.error is not None:
        raise task.error
    return max([*task.statuses, *finish_sweep()], default=0)


def overrides_among(arguments: Sequence[str]) -> list[str]:
    """The overrides among arguments, without Hydra's flags and their values."""
    pairs = zip(arguments, ("", *arguments), strict=False)
    return [
        text
        for text, previous in pairs
        if not text.startswith("-") and ("=" in text or previous not in FLAGS_WITH_VALUE)
    ]


def with_experiments(arguments: Sequence[str], project: Project) -> list[str]:
    """Turn leading words into `experiment=`, and `all` into the experiments of the group."""
    rest = [text for text in arguments if text not in MULTIRUN]
    is_sweep = len(rest) < len(arguments)
    names = list(itertools.takewhile(lambda text: is_word(text) and text[:1] != "-", rest))
    groups = [text.partition("=")[2] for text in rest if text.startswith("group=")]
    rest = [text for text in rest[len(names) :] if not text.startswith("group=")]
    known = project.options("experiment") if names else []
    for word in set(names) - {*known, ALL}:
        near = nearest(word, [*COMMANDS, *known])
        raise ConfigError(f"{word!r} is no command and no experiment; {near}")
    if names == [ALL]:
        names, is_sweep = members((groups or [default_group(project)])[-1], project), True
    named = [f"experiment={','.join(names)}"] if names else []
    return [*MULTIRUN[:1] * (is_sweep or len(names) > 1), *named, *rest]


def _sweep_folder(overrides: Sequence[str]) -> str:
    """The folder of a sweep's table, named after its overrides."""
    given = {setting_of(text): text.partition("=")[2] for text in overrides}
    root = given.get("out") or "/".join(filter(None, ["results", given.get("scale")]))
    root = root if re.fullmatch(r"[\w./-]+", root) else "results"
    names = [name for name in given if name not in SILENT and not name.startswith("hydra")]
    shown = [f"{name}={given[name]}" for name in ("experiment", *names) if name in given]
    return f"{root}/sweeps/{short_name(','.join(shown))}"


class Task:
    """One run of the application, which Hydra calls with the composed settings.

    Launchers may send it to other processes, so it holds only the project.

    Attributes
    ----------
    statuses
        Exit statuses of the runs in this process.
    error
        An error that ends the command: of a single run, or of the standard output.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.statuses: list[int] = []
        self.error: Exception | None = None
        self.__name__ = self.__qualname__ = "run"
        self.__module__ = "simstudy.cli.application"

    def __call__(self, config: DictConfig) -> float | Outcome | None:
        """Run one study; returns the objective of a sweeper, if one is named, or the outcome."""
        cfg = HydraConfig.get()
        if self.error is not None:
            with suppress(OSError):
                Path(cfg.runtime.output_dir).rmdir()  # which Hydra has made for this run
            return None
        run = self._run_point if cfg.mode == RunMode.MULTIRUN else self._run
        try:
            outcome = run(config, cfg)
        except Exception as error:
            self.error = error  # raised once Hydra has ended, which would print lines of its own
            return Outcome(exit_status.REFUSED, describe(error))
        self.statuses.append(outcome.status)
        return outcome if outcome.objective is None else outcome.objective

    def _run(self, config: DictConfig, cfg: DictConfig, *, is_sweep: bool = False) -> Outcome:
        with errors_in_one_line():
            run = resolve(config, cfg, self.project)
        return carry_out(run, is_sweep=is_sweep)

    def _run_point(self, config: DictConfig, cfg: DictConfig) -> Outcome:
        """Run a study of a sweep; its error does not stop the others."""
        write_outcome(Outcome(exit_status.DEFECT, "ended without a status"), cfg)  # if it is killed
        try:
            outcome = self._run(config, cfg, is_sweep=True)
        except (SimstudyError, OutOfTime) as error:
            command = exit_status.resume_command(self.project, "run", typed_overrides(cfg))
            reason = str(error) if isinstance(error, SimstudyError) else "out of time"
            outcome = Outcome(exit_status.complain_of(error, command), reason)
        except Exception as error:
            if exit_status.is_output_error(error):
                raise
            traceback.print_exc()
            outcome = Outcome(exit_status.DEFECT, describe(error))
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


def finish_sweep() -> list[int]:
    """Write and print the table of the sweep that has ended, if there is one with outcomes.

    Returns
    -------
    list
        Exit statuses of its runs.
    """
    folders = list(begun_sweeps)
    begun_sweeps.clear()
    statuses = [status for folder in folders for status in write_table(folder)]
    if not statuses:
        for folder in folders:
            (folder / MULTIRUN_FILE).unlink(missing_ok=True)
            with suppress(OSError):  # something is in it, or it was never made
                for path in (folder, *folder.parents):
                    path.rmdir()
    return statuses


def write_outcome(outcome: Outcome, cfg: Any) -> None:
    """Write how a run of a sweep ended, for the table.

    Raises
    ------
    ConfigError
        If the folder of the sweep is that of a study, whose summary the table would replace.
    """
    folder = Path(cfg.runtime.cwd) / str(cfg.sweep.dir)
    if (folder / "manifest.json").exists():
        (folder / MULTIRUN_FILE).unlink(missing_ok=True)
        with suppress(OSError):
            Path(cfg.runtime.output_dir).rmdir()  # which Hydra has made
        raise ConfigError(
            f"hydra.sweep.dir={cfg.sweep.dir} holds the results of a study, which the table of the "
            "sweep would replace. Name another folder, or leave it out."
        )
    overrides = {setting_of(text): text.partition("=")[2] for text in typed_overrides(cfg)}
    content = {"overrides": overrides, "number": cfg.job.num, **asdict(outcome)}
    path = folder / OUTCOMES / f"{cfg.job.num}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, content)


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
    paths = (folder / OUTCOMES).glob("*.json")
    stored = [each for path in paths if (each := read_json(path)) is not None]
    outcomes = sorted(stored, key=lambda each: int(each["number"]))
    if outcomes:
        from simstudy.output.formatting import relative_to_cwd

        overrides = pd.DataFrame([each["overrides"] for each in outcomes]).fillna("")
        differing = overrides.columns[overrides.nunique() > 1]
        runs = overrides[differing] if len(differing) else overrides
        names = [" ".join(f"{k}={v}" for k, v in row.items()) for row in runs.to_dict("records")]
        table = pd.DataFrame(outcomes).fillna({"folder": ""})
        states = [_state(each) for each in outcomes]
        runs = runs.assign(state=states, seconds=table["seconds"])
        estimates = _write_summary(folder, runs, outcomes)
        alike = _alike(estimates, list(map(str, overrides.columns)))
        runs = runs.assign(**_first_measures(estimates, len(runs)))
        told = [", ".join(_estimates_of(row)) for row in runs.to_dict("records")]
        _write_index(folder, table.assign(name=names, state=states, told=told), alike)
        results = table["folder"].where(table["folder"] != "", table["reason"])
        shown = runs.assign(results=results).to_string(index=False, float_format="{:,.1f}".format)
        where = relative_to_cwd(folder / "index.html")
        print("\n".join(filter(None, [f"\n{shown}", alike, f"sweep: {where}"])), flush=True)
    return [int(each["status"]) for each in outcomes]


def _state(outcome: Mapping[str, Any]) -> str:
    """How a run ended, and whether there are warnings about its numbers."""
    state, n = (
        STATES.get(outcome["status"], f"status {outcome['status']}"),
        len(outcome["warnings"]),
    )
    return f"{state}, {n} warning{'s' * (n != 1)}" if n else state


def _first_measures(estimates: pd.DataFrame, n_runs: int) -> dict[str, list[str]]:
    """The first measures of each run over all its scenarios, with errors, by measure."""
    from simstudy.tables import in_words

    found: dict[str, list[str]] = {}
    if "measure" not in estimates:
        return found
    for name in estimates["measure"].dropna().unique()[:MAX_MEASURES]:
        found[f"measure {name}"] = texts = []
        for number in range(n_runs):
            is_own = (estimates[RUN] == number) & (estimates["measure"] == name)
            known = estimates[is_own & estimates["estimate"].notna()]
            texts.append(in_words(known) if len(known) else "")
    return found


def _estimates_of(row: Mapping[Any, Any]) -> Iterator[str]:
    """The estimates in a row of the table of a sweep, as text."""
    for name, text in row.items():
        if str(name).startswith("measure ") and text:
            yield f"{str(name).removeprefix('measure ')} {text}"


def _alike(estimates: pd.DataFrame, overrides: Sequence[str]) -> str:
    """How many numbers differ between the runs by more than chance; empty if none are common."""
    from simstudy.tables.words import differ

    if "measure" not in estimates or "experiment" in estimates:  # several studies
        return ""
    names = list(estimates.columns)
    place = [n for n in names[: names.index("measure") + 1] if n not in (RUN, *overrides)]
    known = estimates[estimates["estimate"].notna()]
    groups = [rows for _, rows in known.groupby(place, dropna=False, sort=False) if len(rows) > 1]
    n_differ = sum(
        differ(rows["estimate"].to_numpy(float), rows["mcse"].to_numpy(float)) for rows in groups
    )
    if not groups:
        return ""
    return f"{n_differ:,} of {len(groups):,} numbers differ between runs by more than chance"


def _write_summary(
    folder: Path, runs: pd.DataFrame, outcomes: Sequence[Mapping[str, Any]]
) -> pd.DataFrame:
    """One table of all estimates, with a column for each override, and a page to explore it.

    Returns
    -------
    DataFrame
        The estimates, with the number of the run.
    """
    from simstudy.output.explorer import write_explorer
    from simstudy.output.manifest import EXPLORER
    from simstudy.tables.table import as_csv

    frames = []
    for number, (each, own) in enumerate(zip(outcomes, runs.to_dict("records"), strict=True)):
        path = Path(each["folder"] or os.devnull) / "summary.parquet"
        # A folder n_rep=60 in the path is no column, as it was for pyarrow before 25.
        is_there = path.is_file()
        rows = pd.read_parquet(path, partitioning=None) if is_there else pd.DataFrame([{}])
        taken = {name: f"override {name}" for name in own if name in rows}
        named = {taken.get(n, str(n)): text for n, text in own.items()}
        frames.append(rows.assign(**named, **{RUN: number}))
    estimates = pd.concat(frames, ignore_index=True)
    table = estimates.drop(columns=RUN)
    mixed = [name for name in table if len({type(value) for value in table[name].dropna()}) > 1]
    table = table.astype(dict.fromkeys(mixed, "string"))
    table.to_parquet(folder / "summary.parquet", index=False)
    (folder / "summary.csv").write_text(as_csv(table), encoding="utf-8")
    if "measure" in table:
        kept = table.drop(columns=["state", "seconds"])[table["measure"].notna()]
        varied = [name for name in (*runs, *(f"override {n}" for n in runs)) if name in kept]
        rest = [name for name in kept if name not in varied]
        at = rest.index("measure")  # factors stand before it
        explored = kept[[*rest[:at], *varied, *rest[at:]]]
        write_explorer(explored, folder / EXPLORER, f"Sweep {folder.name}", report="./index.html")
    return estimates


def _write_index(folder: Path, runs: pd.DataFrame, alike: str) -> None:
    """One page with the figures of all runs side by side."""
    from simstudy.output.manifest import EXPLORER
    from simstudy.output.report.claims import page

    shown, has_explorer = runs.to_dict("records"), (folder / EXPLORER).is_file()
    for run in shown:
        results = Path(run["folder"] or os.devnull)
        report, figures = results / "report.html", sorted((results / "figures").glob("*.png"))
        run["report"] = PurePath(os.path.relpath(report, folder)) if report.is_file() else None
        run["figures"] = [PurePath(os.path.relpath(path, folder)) for path in figures]
    write_bytes(
        folder / "index.html",
        page("sweep.html", title=folder.name, runs=shown, has_explorer=has_explorer, alike=alike),
    )
