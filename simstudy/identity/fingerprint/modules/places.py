"""Whose a module is, and where it lies.

A module is `project` code, whose content counts, or it comes from elsewhere: of the standard
library, by the version of Python; of a well-known library, by its version; of any other installed
package, by its version and the content of its files.
"""

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

from simstudy.identity.fingerprint.what_counts import GENERATED
from simstudy.stats.compiled import COMPILES

INSTALLED_IN = {"site-packages", "dist-packages"}


# ---------------------------------------------------------------- whose it is
def is_project(module: str) -> bool:
    """Whether a module's content counts: simstudy's own and the user's, not an installed one."""
    top = module.split(".")[0]
    if top in ("simstudy", "__main__", "__mp_main__"):
        return True
    return bool(top) and place(module) == "project"


def is_standard(module: str) -> bool:
    """Whether a module is of the standard library."""
    return place(module.split(".")[0]) == "standard"


def is_known(module: str) -> bool:
    """Whether a module is found somewhere, and not made up by code that was executed."""
    return (bool(module) and place(module) in ("standard", "installed")) or is_made_up(module)


def is_made_up(module: str) -> bool:
    """Whether no file defines a module of that name."""
    return module.startswith(GENERATED) or "<" in module


def is_project_function(function: FunctionType, module: str) -> bool:
    """By its module; where that says nothing, as for code that was executed, by its file."""
    if is_project(module):
        return True
    if is_known(module):
        return False
    file = function.__code__.co_filename
    if file.startswith("<"):
        return "<frozen" not in file
    return _place_of_file(Path(file)) == "project"


@cache
def is_kernel(module: str) -> bool:
    """Whether a module holds code to be compiled: it imports numba, or our own compiler."""
    path = source_file(module)
    return path is not None and COMPILES.search(path.read_bytes()) is not None


# ---------------------------------------------------------------- where it lies
@cache
def place(module: str) -> str:
    """`project`, `installed`, `standard` or `unknown`, by where the module's file lies."""
    if module in sys.builtin_module_names:
        return "standard"
    top = module.split(".")[0]
    if module not in sys.modules and top != module and place(top) in ("installed", "standard"):
        return place(top)  # to look for the module itself would import its package
    file = origin(module)
    if file is None:
        return _place_of_folders(module)
    if file in ("built-in", "frozen"):
        return "standard"
    return _place_of_file(Path(file))


def _place_of_file(path: Path) -> str:
    if INSTALLED_IN & set(path.parts):
        return "installed"
    roots = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib")}
    inside = any(path.is_relative_to(root) for root in roots if root)
    return "standard" if inside else "project"


def _place_of_folders(module: str) -> str:
    """Of a package without a file of its own, by its folders; of what cannot be found, unknown."""
    folder = next(_loaded_folders(module), None)
    return _place_of_file(folder) if folder else "unknown"


@cache
def origin(module: str) -> str | None:
    """File of a module, imported or not."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        spec = getattr(loaded, "__spec__", None)
        return getattr(loaded, "__file__", None) or (spec.origin if spec else None)
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return spec.origin if spec else None


def source_file(module: str) -> Path | None:
    """The `.py` file of a module; None for a notebook and for compiled modules."""
    file = origin(module)
    return Path(file) if file and file.endswith(".py") and Path(file).exists() else None


def folders_of(module: str) -> list[Path]:
    """Folders of a package; of a plain module none."""
    file = origin(module)
    own = [Path(file).parent] if file and Path(file).name == "__init__.py" else []
    return [*own, *_loaded_folders(module)]


def _loaded_folders(module: str) -> Iterator[Path]:
    return map(Path, getattr(sys.modules.get(module), "__path__", ()))


@cache
def is_below(package: str, name: str) -> bool:
    """Whether a package of the project has a module of that name; nothing is imported for it."""
    return is_project(package) and any(
        (folder / f"{name}.py").is_file() or (folder / name).is_dir()
        for folder in folders_of(package)
    )


# ---------------------------------------------------------------- what is loaded
def loaded_module(module: str) -> ModuleType | None:
    """A project's module, which simulate would import anyway; None where it cannot be."""
    try:
        return import_module(module)
    except Exception:  # whatever its own statements raise: simulate will say so
        return None


def sources_loaded() -> frozenset[str]:
    """Files of all the modules that are loaded."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return frozenset(os.path.normpath(file) for file in files if isinstance(file, str))


def forget_modules() -> None:
    """Look again at which modules there are and what their files say."""
    for remembering in (place, origin, is_below, is_kernel):
        remembering.cache_clear()
