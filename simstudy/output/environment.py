"""Versions, machine and state of the repository behind a result.

No path of this machine appears, since a manifest is published.
"""

import os
import platform
import subprocess
import sysconfig
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from simstudy.provenance.modules import library_version

MAX_FILES = 20  # modified files that are listed by name
GIT_SECONDS = 10.0  # timeout of a git command
GIT_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # set by git hooks


def environment(
    files: Iterable[str | Path] | None = None, libraries: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Versions, machine and repository, for the manifest.

    Parameters
    ----------
    files
        Source files that the results depend on. Default: those of simstudy. Installed libraries
        are recorded by their version instead.
    libraries
        Versions of further libraries, by name.

    Returns
    -------
    dict
        `made` (date and time), `python`, `machine`, `versions`, and in `git` for each repository
        that holds any of the files its `commit`, whether they are `modified` (changed, untracked
        or ignored), and if so the first `modified_files`, relative to the repository.
        `untracked_files` are the names of files outside of any repository, if there are any.
    """
    if files is None:
        files = Path(__file__).parents[1].rglob("*.py")
    by_root: dict[Path | None, list[Path]] = {}
    for path in sorted({Path(file).resolve() for file in files}):
        if not any(map(path.is_relative_to, _library_folders())):
            by_root.setdefault(_repository_of(path), []).append(path)
    loose = sorted({path.name for path in by_root.pop(None, [])})[:MAX_FILES]
    states = [_git_state(root, paths) for root, paths in by_root.items() if root]
    return {
        **program(libraries or {}),
        "git": [state for state in states if state],
        **({"untracked_files": loose} if loose else {}),
    }


def program(libraries: Mapping[str, str]) -> dict[str, Any]:
    """Date, versions, and kind of machine."""
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": library_versions() | dict(libraries),
    }


def library_versions() -> dict[str, str]:
    """The versions of libraries that numbers or figures depend on."""
    names = ("simstudy", "numpy", "scipy", "numba", "pandas", "pyarrow", "plotnine")
    versions = {name: library_version(name) for name in names}
    return {name: version for name, version in versions.items() if version != "unknown"}


@cache
def _library_folders() -> set[Path]:
    return {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}


def _repository_of(file: Path) -> Path | None:
    """The nearest folder with a `.git` file or folder."""
    return next((above for above in file.parents if (above / ".git").exists()), None)


def _git_state(root: Path, files: Iterable[Path]) -> dict[str, Any]:
    """The commit of a repository (None before the first), and which of the files differ from it.

    Empty if git fails. Git does not write to the repository.
    """
    names = sorted(path.relative_to(root).as_posix() for path in files)
    command = ["git", "-C", str(root), "--no-optional-locks", "--literal-pathspecs"]
    command += ["status", "--porcelain=v2", "--branch", "--no-renames", "-z"]
    command += ["--untracked-files=all", "--ignored=traditional", "--", *names]
    here = {name: value for name, value in os.environ.items() if name not in GIT_VARIABLES}
    try:
        output = subprocess.run(
            command, capture_output=True, check=True, timeout=GIT_SECONDS, env=here
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = output.decode(errors="replace").split("\0")
    (commit,) = (words[2] for words in map(str.split, lines) if words[:2] == ["#", "branch.oid"])
    n_before = {"1": 8, "u": 10, "?": 1, "!": 1}  # words of a line before the file's name
    changed = {line.split(" ", n_before[line[0]])[-1] for line in lines if line[:1] in n_before}
    modified = sorted(changed)[:MAX_FILES]
    state = {"commit": None if commit == "(initial)" else commit, "modified": bool(modified)}
    return {**state, "modified_files": modified} if modified else {**state}
