"""The command that repeats a study, from its manifest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simstudy.analysis.precision import PILOT
from simstudy.remote.paths import Place

PLAIN = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
OTHERWISE = ("null", "true", "false", "inf", "nan", "yes", "no", "on", "off")  # if not in quotes
ABOVE = ("experiment", "keep", "precision", "stop_by", "at_least")  # none of the study's own
FOLDER, OUT = "experiments", "results"


def project_of(module_file: str | None) -> Path | None:
    """The project folder of a file below `experiments/`; None otherwise."""
    above = Path(module_file).parents if module_file else ()
    return next((folder.parent for folder in above if folder.name == FOLDER), None)


def project_around(results: Place) -> Path | None:
    """The nearest folder above some results that has experiments."""
    above = results.absolute().parents if isinstance(results, Path) else ()
    return next((folder for folder in above if (folder / FOLDER).is_dir()), None)


def command_of(
    manifest: Mapping[str, Any],
    root: Path | None,
    folder: Any,
    *,
    published: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """The command, or the Python call, that repeats the study.

    Parameters
    ----------
    root
        The project's folder.
    folder
        Where the results lie: named only where that is below the project and not as usual.
    published
        Settings that the command need not name, from `published_settings`.
    """
    if "experiment" not in manifest["config"]:
        return f"study.run({_size(manifest)}, seed={manifest['seed']})"
    words = [*settings_of_run(manifest, published), *_out(root, folder)]
    return f"{_program(root)} {shlex.join(words)}"


def published_settings(name: str, root: Path | None) -> dict[str, Any]:
    """The published settings of an experiment; empty if unreadable."""
    import yaml

    try:
        text = (root / "conf" / "experiment" / f"{name}.yaml").read_text("utf-8") if root else ""
        return dict(yaml.safe_load(text) or {})
    except (OSError, ValueError, TypeError, yaml.YAMLError):
        return {}


def command_by_name(name: str, root: Path | None) -> str:
    """The command that runs an experiment by name; empty if there is none."""
    patterns = f"{name}.py", f"*/{name}.py", f"{name}/study.py"
    if not root or not any(any((root / FOLDER).glob(pattern)) for pattern in patterns):
        return ""
    return f"{_program(root)} {shlex.join([f'experiment={name}'])}"


def _program(root: Path | None) -> str:
    return "python run.py" if root and (root / "run.py").is_file() else "simstudy run"


def settings_of_run(
    manifest: Mapping[str, Any], published: Mapping[str, Any] = MappingProxyType({})
) -> list[str]:
    """The settings of a run that differ from the published ones, as words."""
    config = manifest["config"]
    own = {name: value for name, value in config.items() if name not in ABOVE}
    targets = config.get("precision") or {}
    size = {} if targets else {"n_rep": _size(manifest)}  # a precision decides as it goes
    size = {name: value for name, value in size.items() if published.get(name) != value}
    own = {
        name: value
        for name, value in own.items()
        if size.get(name) != value and (name not in published or published[name] != value)
    }
    words = [f"experiment={config['experiment']}"]
    words += [f"experiment.{name}={format_value(value)}" for name, value in own.items()]
    words += [f"precision.{name}={format_value(value)}" for name, value in targets.items()]
    size |= {"n_rep": config["at_least"]} if "at_least" in config else {}
    words += [f"{name}={value}" for name, value in size.items()]
    words += [f"stop_by={PILOT}"] * (config.get("stop_by") == PILOT)
    return [*words, f"seed={manifest['seed']}"]


def _size(manifest: Mapping[str, Any]) -> int:
    """The replicates per scenario; for a partial result, the most frequent number."""
    asked_for = manifest["replicates_per_scenario"]
    return int(max(asked_for.values()) if isinstance(asked_for, Mapping) else asked_for)


def _out(root: Path | None, folder: Any) -> list[str]:
    if not (root and isinstance(folder, Path) and folder.is_relative_to(root)):
        return []
    out = folder.parent.relative_to(root).as_posix()
    return [] if out == OUT else [f"out={_text(out)}"]


def format_value(value: Any) -> str:
    """A value in the grammar of the command line."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{format_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(format_value, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    """A text, quoted if necessary.

    In these marks a backslash protects a mark, and itself where it stands before one.
    """
    if PLAIN.fullmatch(value) and value.lower() not in OTHERWISE:
        return value
    protected = re.sub(r'(\\*)("|$)', lambda found: _protected(*found.groups()), value)
    return f'"{protected}"'


def _protected(backslashes: str, mark: str) -> str:
    return 2 * backslashes + ("\\" + mark if mark else "")
