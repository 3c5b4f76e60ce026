"""What comes from elsewhere, by its version; what few know, by the content of its files, too."""

import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from simstudy.identity.fingerprint.modules.places import (
    folders_of,
    is_made_up,
    is_project,
    origin,
    place,
)
from simstudy.identity.fingerprint.what_counts import DISTRIBUTIONS, WELL_KNOWN

IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
MADE_BY_MACHINES = (".pyc", ".pyo", ".nbi", ".nbc")  # Python's and numba's caches


def library(module: str) -> tuple[str, str] | None:
    """Name and version of what a module that is not the project's belongs to."""
    if is_project(module):
        return None
    top = module.split(".")[0]
    where = place(top)
    if where == "unknown":
        where = place(module)
    if not top or where == "standard" or is_made_up(module):
        return None
    if where == "installed" and top not in WELL_KNOWN:
        return top, f"{library_version(top)} {_installed_content(top)}"
    return top, library_version(top)


@cache
def library_version(top: str) -> str:
    """Version of an installed top-level package, or `unknown`."""
    for name in (DISTRIBUTIONS.get(top, top), top):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return str(getattr(sys.modules.get(top), "__version__", "unknown"))


@cache
def _installed_content(top: str) -> str:
    """Hash of every file of an installed package, and of those that it imports in turn.

    As they are when this process first looks: what is edited later, it has not loaded.
    """
    digest = hashlib.sha256()
    for package in sorted(_with_dependencies(top)):
        for path in sorted(_files_of(package)):
            digest.update(str(path.name).encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return "#" + digest.hexdigest()[:16]


def _with_dependencies(top: str) -> set[str]:
    """An installed package, and those that its files import, as far as they are not well known."""
    found: set[str] = set()
    ahead = [top]
    while ahead:
        name = ahead.pop()
        if name not in found and name not in WELL_KNOWN and place(name) == "installed":
            found.add(name)
            ahead += _imported_by_files(name)
    return found or {top}


def _imported_by_files(package: str) -> set[str]:
    texts = (path.read_bytes() for path in _files_of(package) if path.suffix == ".py")
    return {name.decode() for text in texts for name in IMPORTED.findall(text)}


def _files_of(package: str) -> Iterator[Path]:
    file, folders = origin(package), folders_of(package)
    if file and Path(file).name == "__init__.py":
        folders = folders[:1]  # where it was installed; it may have been extended from elsewhere
    elif file and not folders:
        yield Path(file)
    for folder in folders:
        files = (path for path in folder.rglob("*") if path.is_file())
        yield from (path for path in files if path.suffix not in MADE_BY_MACHINES)
