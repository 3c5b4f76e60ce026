"""Cache of users' compiled functions, keyed by all that they depend on.

numba keeps machine code on disk (`cache=True`) and holds it against the file of the function that
it compiled. A helper from another file, or a constant, is part of the machine code and is not
looked at. Here a function that has not loaded anything yet is given a cache folder of its own,
named by all that its code uses, and one that was compiled in this process is compiled again after
a change. What was loaded already, or cannot be compiled again, is refused where it may be stale.
"""

import json
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from simstudy.errors import SimstudyError
from simstudy.provenance.fingerprint import python_of, trace
from simstudy.provenance.modules import modules_behind, source_file
from simstudy.provenance.scenario_id import short_hash

_made_of: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()


def drop_stale_machine_code(functions: Sequence[Any]) -> None:
    """Recompile users' numba functions whose cached machine code may be stale.

    Parameters
    ----------
    functions
        What numba's decorators return, each after those that it calls. Functions of simstudy have
        a cache that is named by content anyway.

    Raises
    ------
    SimstudyError
        For what may be stale and cannot be made anew in this process.
    """
    theirs = [f for f in functions if not str(f.__module__).startswith("simstudy.")]
    for function, traced in zip(theirs, trace([(f,) for f in theirs]), strict=True):
        digest = short_hash(json.dumps([traced.tokens, traced.found], sort_keys=True), 32)
        if _made_of.get(function) != digest:
            _renew(function, digest, is_first=function not in _made_of)
            _made_of[function] = digest


def _renew(function: Any, digest: str, *, is_first: bool) -> None:
    """On the first check in this process, and after a change: never run older machine code.

    numba numbers functions anew in each process, so machine code that was loaded and what is
    compiled now may have one name: what was loaded is not compiled again.
    """
    may_compile = hasattr(function, "recompile") and not sum(function.stats.cache_hits.values())
    if may_compile:
        _cache_apart(function, digest)
        if not is_first:
            function.recompile()
        return
    if not is_first:
        raise _restart(function, "what it was compiled from has changed in this process")
    stale = [index for index in _indexes(function) if _is_older_than_its_sources(index, function)]
    for index in stale:
        index.unlink(missing_ok=True)
    if stale:
        raise _restart(function, "numba loaded machine code that is older than its sources")


def _cache_apart(function: Any, digest: str) -> None:
    """Make numba cache a function in a folder that is named by a digest."""
    if not function.stats.cache_path:
        return
    import numba

    from simstudy.documents.stats.compiled.machine_code import folder_of

    folder = folder_of(digest, Path(_python(function).__code__.co_filename).parent / "__pycache__")
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder or "")
    try:
        function.enable_caching()
    finally:
        numba.config.CACHE_DIR = before


def _indexes(function: Any) -> Iterable[Path]:
    """The index files of numba's cache for a function."""
    import numba

    code = _python(function).__code__
    folder = Path(code.co_filename).parent / "__pycache__"
    name = f"*{Path(code.co_filename).stem}.{code.co_name}-{code.co_firstlineno}.*.nbi"
    return Path(numba.config.CACHE_DIR or folder).rglob(name)


def _is_older_than_its_sources(index: Path, function: Any) -> bool:
    files = map(source_file, modules_behind(_python(function).__globals__["__name__"]))
    return any(index.stat().st_mtime < file.stat().st_ctime for file in files if file)


def _python(function: Any) -> FunctionType:
    python = python_of(function)
    assert python is not None
    return python


def _restart(function: Any, reason: str) -> SimstudyError:
    return SimstudyError(
        f"{function.__module__}.{function.__name__} is a compiled function that may hold old code: "
        f"{reason}. Its numbers would be wrong. Start again in a new process (a notebook: restart "
        "the kernel)."
    )
