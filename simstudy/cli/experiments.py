"""Experiments on disk: a file below `experiments/`, or a folder with its `study.py`."""

import ast
import contextlib
import importlib
import sys
import traceback
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType

from simstudy.errors import (
    BrokenExperimentError,
    ConfigError,
    SimstudyError,
    describe,
    nearest,
)

FOLDER = "experiments"
STUDY = "study"  # the file of a folder that declares `Config` and `study`


def experiment_names(root: Path) -> list[str]:
    """Names of the experiments below a project's folder, in order."""
    return sorted(experiment_files(root))


def experiment_files(root: Path) -> dict[str, Path]:
    """The file that declares each experiment.

    Raises
    ------
    ConfigError
        Where there is no folder for them.
    """
    folder = root / FOLDER
    if not folder.is_dir():
        raise ConfigError(
            f"{root} has no folder {FOLDER}/, so there is no study to run. Go to the folder of a "
            "project, or lay one out: simstudy new my-study"
        )
    return {name: path for name, path in _files(folder) if _is_name(name)}


def misnamed_files(root: Path) -> list[Path]:
    """Files that would be experiments, but for names that cannot be written as a setting."""
    found = sorted(path for name, path in _files(root / FOLDER) if not _is_name(name))
    return [path.relative_to(root) for path in found]


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Names and files, those of folders last."""
    yield from ((path.stem, path) for path in folder.glob("[!_]*.py"))
    yield from ((path.parent.name, path) for path in folder.glob(f"[!_]*/{STUDY}.py"))


def _is_name(name: str) -> bool:
    return name.replace("-", "_").isidentifier()


def question_of(path: Path) -> str:
    """The first line of an experiment's docstring, read without running the file."""
    try:
        text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    except (SyntaxError, ValueError, OSError) as error:
        return f"cannot be read: {describe(error)}"
    return text.partition("\n")[0]


def load_experiment(name: str, root: Path) -> ModuleType:
    """The module of an experiment, which has its `Config` and `study`.

    Raises
    ------
    ConfigError
        Where there is none of this name; `BrokenExperimentError` where importing it raises, or it
        declares no study.
    """
    files = experiment_files(root)
    if name not in files:
        raise ConfigError(f"experiment={name}: no such experiment; {nearest(name, files)}")
    sys.path[:0] = [] if str(root) in sys.path else [str(root)]
    module = _imported(name, files[name], root)
    _refuse_undeclared(module, files[name], root)
    return module


def _refuse_undeclared(module: ModuleType, path: Path, root: Path) -> None:
    """Refuse a file without `Config` and `study`, or with something else of these names."""
    for needed in ("Config", "study"):
        if not hasattr(module, needed):
            raise BrokenExperimentError(
                f"{path.relative_to(root)} has no {needed}: an experiment declares Config, "
                "a dataclass of its options, and study(config), which gives the Study. Begin the "
                "name of a file that is no experiment with _."
            )
    if not (isinstance(module.Config, type) and is_dataclass(module.Config)):
        raise BrokenExperimentError(
            f"Config of {path.relative_to(root)} is no dataclass: write @dataclass above it, so "
            "that its options can be set."
        )
    if not callable(module.study):
        raise BrokenExperimentError(
            f"study of {path.relative_to(root)} is no function: write study(config), which gives "
            "the Study."
        )


def _imported(name: str, path: Path, root: Path) -> ModuleType:
    """The experiment's file as a module that workers can import by its name, too."""
    is_folder = path.stem == STUDY and path.parent.name == name
    try:
        _refuse_hidden(importlib.import_module(FOLDER), root)
        return importlib.import_module(f"{FOLDER}.{name}" + (f".{STUDY}" if is_folder else ""))
    except (SimstudyError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever a user's file does while it is imported
        raise BrokenExperimentError(
            f"experiment={name} cannot be imported: {_place(error, path, root)} raised "
            f"{describe(error)}. Mend that line, then run this again."
        ) from error


@contextlib.contextmanager
def in_own_code(module: ModuleType, what: str, root: Path) -> Iterator[None]:
    """Name file and line of whatever an experiment's own code raises."""
    path = Path(module.__file__ or "")
    try:
        yield
    except SimstudyError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{what} of {_below(path, root)} cannot be made: {_place(error, path, root)} raised "
            f"{describe(error)}. Mend that line, then run this again."
        ) from error


def _refuse_hidden(package: ModuleType, root: Path) -> None:
    """A package of the same name elsewhere wins over a folder without `__init__.py`."""
    folders = [Path(part).resolve() for part in package.__path__]
    if (root / FOLDER).resolve() not in folders:
        raise ConfigError(
            f"{root / FOLDER} is hidden by the package {FOLDER} in {folders[0]}: put an empty file "
            f"__init__.py into {FOLDER}/, and load one project in a process."
        )


def _place(error: BaseException, path: Path, root: Path) -> str:
    """File and line of the project where an import went wrong."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_below(Path(error.filename), root)}, line {error.lineno},"
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(root / FOLDER)]
    if not ours:
        return str(_below(path, root))
    return f"{_below(Path(ours[-1].filename), root)}, line {ours[-1].lineno},"


def _below(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
