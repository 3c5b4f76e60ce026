"""Experiments on disk: a file below `experiments/`, or a folder with its `study.py`."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = "experiments"
STUDY = "study"  # the file of a folder that declares `Config` and `study`


def experiment_names(root: Path) -> list[str]:
    """Names of the experiments below a project's folder, in order."""
    return sorted(_files(root))


def load_experiment(name: str, root: Path) -> ModuleType:
    """The module of an experiment, which has its `Config` and `study`."""
    sys.path[:0] = [] if str(root) in sys.path else [str(root)]
    path = _files(root).get(name)
    is_folder = path is not None and path.stem == STUDY and path.parent.name == name
    return importlib.import_module(f"{FOLDER}.{name}" + (f".{STUDY}" if is_folder else ""))


def _files(root: Path) -> dict[str, Path]:
    """The file that declares each experiment."""
    folder = root / FOLDER
    files = {path.stem: path for path in folder.glob("[!_]*.py")}
    return files | {path.parent.name: path for path in folder.glob(f"[!_]*/{STUDY}.py")}
