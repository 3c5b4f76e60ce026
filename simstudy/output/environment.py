"""Versions, machine and state of the repository behind a result.

No path of this machine appears, since a manifest is published.
"""

import os
import platform
import subprocess
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from simstudy.provenance.modules import library_version

MOST_NAMED = 20  # files that differ from their commit; who has more knows that without a list
GIT_SECONDS = 10.0
ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # of a hook that runs us, say


def environment(
    files: Iterable[str | Path] | None = None, libraries: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Versions, machine and repository, for the manifest.

    Parameters
    ----------
    files
        Source files that the results depend on; None means those of simstudy. What is installed
        as a library counts by its version and not as a file.
    libraries
        Versions of further libraries, by name.

    Returns
    -------
    dict
        `made` (date and time), `python`, `machine`, `versions`, and in `git` for each repository
        that holds any of the files its `commit`, whether they are `modified` (changed, untracked
        or ignored), and if so the first `modified_files`, relative to the repository.
        `untracked_files` are the names of files in no repository, where there are any.
    """
    if files is None:
        files = Path(__file__).parents[1].rglob("*.py")
    own = {path for path in (Path(file).resolve() for file in files) if not _is_of_a_library(path)}
    by_root = _by_repository(own)
    loose = sorted({path.name for path in by_root.pop(None, [])})[:MOST_NAMED]
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


def _is_of_a_library(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _library_folders())


@cache
def _library_folders() -> set[Path]:
    return {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}


def _by_repository(files: Iterable[Path]) -> dict[Path | None, list[Path]]:
    """Files by the root of their repository; None for files outside."""
    roots: dict[Path, Path | None] = {}
    found: dict[Path | None, list[Path]] = {}
    for path in sorted(files):
        if path.parent not in roots:
            roots[path.parent] = _repository_of(path.parent)
        found.setdefault(roots[path.parent], []).append(path)
    return found


def _repository_of(folder: Path) -> Path | None:
    """The nearest folder with a `.git` file or folder."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


def _git_state(root: Path, files: Iterable[Path]) -> dict[str, Any]:
    """The commit of a repository and its changed files; empty if git fails."""
    names = sorted(path.relative_to(root).as_posix() for path in files)
    try:
        commit, modified = _commit_and_changes(root, names)
    except (OSError, subprocess.SubprocessError):
        return {}
    state: dict[str, Any] = {"commit": commit, "modified": bool(modified)}
    return state | ({"modified_files": modified[:MOST_NAMED]} if modified else {})


def _commit_and_changes(root: Path, names: Sequence[str]) -> tuple[str | None, list[str]]:
    """The commit (None if there is none) and the changed or untracked files."""
    everything = ("--branch", "--no-renames", "--untracked-files=all", "--ignored=traditional")
    lines = _git(root, "status", "--porcelain=v2", *everything, "-z", "--", *names)
    told = [line.removeprefix("# branch.oid ") for line in lines if line.startswith("# branch.oid")]
    commit = next((name for name in told if name != "(initial)"), None)
    n_before = {"1": 8, "u": 10, "?": 1, "!": 1}  # words of a line before the file's name
    changes = {line.split(" ", n_before[line[0]])[-1] for line in lines if line[0] in n_before}
    return commit, sorted(changes)


def _git(root: Path, *words: str) -> list[str]:
    """Run git without writing anything; returns its zero-terminated lines."""
    command = ["git", "-C", str(root), "--no-optional-locks", "--literal-pathspecs", *words]
    here = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    done = subprocess.run(command, capture_output=True, check=True, timeout=GIT_SECONDS, env=here)
    return [line for line in done.stdout.decode(errors="replace").split("\0") if line]
