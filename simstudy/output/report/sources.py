"""The source of an experiment, or of a study that was run as a library, as far as files have it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simstudy.analysis.result import Result
from simstudy.identity.fingerprint.modules.places import is_project
from simstudy.identity.source_files import PACKAGE, experiment_files


class Source(NamedTuple):
    """A file's name below its project, and what it says."""

    name: str
    text: str


def sources_of(result: Result, module_file: str | None, root: Path | None) -> list[Source]:
    """The experiment's own file first, then those that it imports from its project.

    Parameters
    ----------
    module_file
        Of the experiment; without one, the files that define the study's parts are looked for.
    root
        What names are below; without it, what the files have in common.
    """
    found = experiment_files(module_file) if module_file else sorted(_files_of_parts(result))
    own = [path for path in found if not path.is_relative_to(PACKAGE)]
    top = root or _common_folder(own)
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in own}
    said = [Source(_name(path, top), text) for path, text in texts.items() if _says_much(text)]
    first = _name(Path(module_file), top) if module_file else ""
    return sorted(said, key=lambda source: source.name != first)  # stable: the others as they were


def _says_much(text: str) -> bool:
    """Whether a file is more than the line that makes a folder a package."""
    return len(text.strip().splitlines()) > 1


def _common_folder(paths: Iterable[Path]) -> Path:
    folders = [str(path.parent) for path in paths]
    return Path(os.path.commonpath(folders)) if folders else Path()


def _name(path: Path, top: Path) -> str:
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else path.name


def _files_of_parts(result: Result) -> set[Path]:
    """Files of the user's own that define scenarios, methods, figures and claims."""
    files = {_file_of(part) for part in _parts(result)}
    return {path for path in files if path}


def _parts(result: Result) -> Iterator[Any]:
    yield from {type(scenario) for scenario in result.plan.scenarios}
    yield from (method.function for method in result.plan.methods)
    yield from result.figures.values()
    yield from (claim.reproduce for claim in result.claimed)


def _file_of(part: Any) -> Path | None:
    """Where a class or a function is defined: a notebook's has no file."""
    if not is_project(str(getattr(part, "__module__", None) or "")):
        return None
    try:
        path = Path(inspect.getsourcefile(part) or "")
    except (TypeError, OSError):  # of a partial function, say
        return None
    return path if path.is_file() else None
