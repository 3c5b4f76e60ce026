"""Laying out a project: the files under `template/`, each without its last `.txt`."""

import re
from pathlib import Path

from simstudy.errors import ConfigError

TEMPLATE = Path(__file__).parent / "template"
FIRST_STUDY = "proportion_interval"


def lay_out(name: str) -> str:
    """Write a project into a new folder; what to do next, in words.

    Raises
    ------
    ConfigError
        Where the name is none, or holds something already, and nothing is written; or where
        nothing can be.
    """
    folder = Path(name)
    _refuse_name(name)
    try:
        _refuse_content(folder)
    except OSError as error:
        raise _cannot_write(folder, error) from None
    files = {path: path.read_text(encoding="utf-8") for path in sorted(TEMPLATE.rglob("*.txt"))}
    try:
        for path, text in files.items():
            target = folder / path.relative_to(TEMPLATE).with_suffix("")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text.replace("{name}", name), encoding="utf-8")
    except OSError as error:
        raise _cannot_write(folder, error) from None
    return (
        f"{name}/ holds a project with one study. Next: cd {name}, then "
        f"simstudy run experiment={FIRST_STUDY}, and python -m pytest"
    )


def _cannot_write(folder: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"cannot write a project to {folder}: {error.strerror}. Choose another name, or a folder "
        "that you may write to."
    )


def _refuse_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        near = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_") or "my-study"
        raise ConfigError(
            f"{name!r} is no name for a project: it names a folder here, so use letters, digits, "
            f"- and _, and begin with a letter or digit; nearest that works: simstudy new {near}"
        )


def _refuse_content(folder: Path) -> None:
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ConfigError(
            f"{folder} exists and is not empty, and nothing in it is to be overwritten. Choose "
            "another name, or move it away."
        )
