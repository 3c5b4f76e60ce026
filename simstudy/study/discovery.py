"""Finds methods and scenario classes in the files of a folder."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from simstudy.errors import StudyError


def discover(folder: str) -> dict[str, Any]:
    r"""Import one object from each file of a folder: the object named like the file.

    A new file in the folder takes part in the study without further changes: `methods/ridge.py`
    defines `ridge`, and `dgps/heavy_tails.py` defines the class `HeavyTails` (capitals and
    underscores are ignored). If the object is a dict, its entries are taken. Files whose names
    begin with an underscore are left out.

    Parameters
    ----------
    folder
        Import name of the folder: `"methods"` is a folder next to `experiments/`, or next to the
        script that is run.

    Returns
    -------
    dict
        The objects by file name, in the order of these names; the entries of dicts by their own.

    Raises
    ------
    ModuleNotFoundError
        If there is no such folder.
    StudyError
        If the folder has no files, a file does not define an object named like it, or two files
        define the same name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from simstudy import discover
    >>> Path("found_methods").mkdir()
    >>> _ = Path("found_methods/mean.py").write_text(
    ...     "def mean(x):\n    return {'estimate': x.mean(axis=1)}\n"
    ... )
    >>> list(discover("found_methods"))
    ['mean']
    """
    package = importlib.import_module(folder)
    found: dict[str, Any] = {}
    files = pkgutil.iter_modules(getattr(package, "__path__", ()))
    for name in sorted(file.name for file in files if not file.name.startswith("_")):
        defined = _object_named(name, importlib.import_module(f"{folder}.{name}"))
        entries = defined if isinstance(defined, dict) else {name: defined}
        if twice := found.keys() & entries:
            raise StudyError(
                f"{folder}/{name}.py defines {', '.join(sorted(twice))}, which another file in "
                f"{folder} defines too: rename one of them."
            )
        found |= entries
    if not found:
        raise StudyError(
            f"discover({folder!r}): the folder has no Python file. Add one file for each method "
            "or scenario class."
        )
    return found


def _object_named(file: str, module: ModuleType) -> Any:
    wanted = _plain(file)
    named = [value for name, value in vars(module).items() if _plain(name) == wanted]
    if len(named) == 1:
        return named[0]
    raise StudyError(
        f"{module.__name__.replace('.', '/')}.py defines {len(named) or 'no'} objects named "
        f"{file}, and needs exactly one: define {file}, or rename the file to _{file}.py if it "
        "is not part of the study."
    )


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
