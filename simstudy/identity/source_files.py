"""Source files of an experiment, and of all that turns its replicates into outputs."""

import hashlib
import re
import sys
from pathlib import Path

from simstudy.identity.fingerprint.modules.imports import libraries_of, modules_behind
from simstudy.identity.fingerprint.modules.libraries import library
from simstudy.identity.fingerprint.modules.places import forget_modules, source_file

PACKAGE = Path(__file__).parents[1]
RESOLVED = PACKAGE.resolve()
OWN = ("*.py", "output/report/templates/*")  # of the package, what makes outputs
LOOKS_UP = re.compile(rb"\bimportlib\b|\b__import__\b|\bexec\(")  # modules by their names


def is_ours(file_name: str) -> bool:
    """Whether code lies in a file of this package, wherever that is installed."""
    return Path(file_name).is_relative_to(PACKAGE) or Path(file_name).is_relative_to(RESOLVED)


def sources_digest(module_file: str | None) -> str:
    """Hash of all that turns replicates into outputs: simstudy, and what the experiment imports.

    Looked for anew: since the last time another project may have had modules of these names.
    """
    forget_modules()
    digest = hashlib.sha256()
    for path in source_files(module_file):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def source_files(module_file: str | None) -> list[Path]:
    """Sources of simstudy, of an experiment, and of the project's modules that it imports."""
    ours = (path for pattern in OWN for path in PACKAGE.rglob(pattern))
    theirs = (path for path in experiment_files(module_file) if not path.is_relative_to(PACKAGE))
    return [*sorted(filter(Path.is_file, ours)), *theirs]


def experiment_files(module_file: str | None) -> list[Path]:
    """Source files of an experiment and of the project's modules that it imports, in order."""
    if not module_file:
        return []
    found = (source_file(name) for name in modules_behind(_module_at(module_file)))
    paths = {Path(module_file), *(path for path in found if path)}
    by_name = [path for path in paths if LOOKS_UP.search(path.read_bytes())]
    beside = (path for each in by_name for path in each.parent.glob("*.py") if path.is_file())
    return sorted(paths.union(beside))  # but for the link to nowhere that an editor locks one with


def experiment_libraries(module_file: str | None) -> dict[str, str]:
    """Versions of the libraries that an experiment and its neighbours import."""
    names = modules_behind(_module_at(module_file)) if module_file else []
    known = (library(used) for name in names for used in libraries_of(name))
    return dict(sorted(filter(None, known)))


def _module_at(file: str) -> str:
    """Name of the loaded module whose source this is; empty where none is."""
    loaded = list(sys.modules.items())
    return next((name for name, module in loaded if getattr(module, "__file__", None) == file), "")
