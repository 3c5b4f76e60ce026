"""What to type for a study of a project, where nothing but its name is known."""

from __future__ import annotations

import shlex
from pathlib import Path

from simstudy.remote.paths import Place

EXPERIMENTS = "experiments"


def project_around(results: Place) -> Path | None:
    """The nearest folder above some results that has experiments, if there is one."""
    if not isinstance(results, Path):
        return None
    above = results.absolute().parents
    return next((each for each in above if (each / EXPERIMENTS).is_dir()), None)


def command_by_name(name: str, root: Path | None) -> str:
    """The command that makes a study's results; empty where no project has such an experiment."""
    if root is None or not _is_experiment(name, root):
        return ""
    program = "python run.py" if (root / "run.py").is_file() else "simstudy run"
    return f"{program} {shlex.join([f'experiment={name}'])}"


def _is_experiment(name: str, root: Path) -> bool:
    folder = root / EXPERIMENTS
    return (folder / f"{name}.py").is_file() or (folder / name / "study.py").is_file()
