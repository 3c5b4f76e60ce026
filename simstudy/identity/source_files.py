"""Source files of an experiment, and of all that turns its replicates into outputs."""

import hashlib
import re
import sys
from pathlib import Path

from simstudy.identity.fingerprint.modules.imports import libraries_of, modules_behind
from simstudy.identity.fingerprint.modules.libraries import library
from simstudy.identity.fingerprint.modules.places import source_file

PACKAGE = Path(__file__).parents[1]
LOOKS_UP = re.compile(rb"\bimportlib\b|\b__import__\b|\bexec\(")  # modules by their names


def sources_digest(module_file: str | None) -> str:
    """Hash of all that turns replicates into outputs: simstudy, and what the experiment imports."""
    digest = hashlib.sha256()
    for path in source_files(module_file):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def source_files(module_file: str | None) -> list[Path]:
    """Sources of simstudy, of an experiment, and of the project's modules that it imports."""
    own = (path for path in experiment_files(module_file) if not path.is_relative_to(PACKAGE))
    return [*sorted(PACKAGE.rglob("*.py")), *own]


def experiment_files(module_file: str | None) -> list[Path]:
    """Source files of an experiment and of the project's modules that it imports, in order."""
    if not module_file:
        return []
    found = (source_file(name) for name in modules_behind(_module_at(module_file)))
    paths = {Path(module_file), *(path for path in found if path)}
    by_name = [path for path in paths if LOOKS_UP.search(path.read_bytes())]
    return sorted(paths.union(*(path.parent.glob("*.py") for path in by_name)))


def experiment_libraries(module_file: str | None) -> dict[str, str]:
    """Versions of the libraries that an experiment and its neighbours import."""
    names = modules_behind(_module_at(module_file)) if module_file else []
    known = (library(used) for name in names for used in libraries_of(name))
    return dict(sorted(filter(None, known)))


def _module_at(file: str) -> str:
    """Name of the loaded module whose source this is; empty where none is."""
    loaded = list(sys.modules.items())
    return next((name for name, module in loaded if getattr(module, "__file__", None) == file), "")
