"""Kernels: functions compiled at their first call, with machine code never older than its source.

numba keeps machine code on disk, and looks at the file of the function that it compiled to see
whether it is still right. A helper from another file is part of that machine code and is not looked
at: after a change in it, numba runs the old code. Here machine code lies in a folder that is named
by the contents of everything it was made from, so that a change anywhere leads to another folder.

Nothing is believed because of a file's time or size. Python itself believes its bytecode by those
two, so a kernel's module is also compared with its source as it is imported.
"""

# mypy: disable-error-code="misc, no-any-return, no-untyped-call"

import contextlib
import functools
import importlib.util
import os
import py_compile
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, overload

import numpy as np

from simstudy.errors import NotHereError, SimstudyError

try:
    import llvmlite
    import numba
    from numba.core.dispatcher import Dispatcher
except ModuleNotFoundError as error:
    raise NotHereError(
        f"compiled kernels need {error.name}, which is not installed: "
        "pip install 'simstudy[kernels]'"
    ) from None

from simstudy.documents.stats.compiled.machine_code import Key, hashed, keep
from simstudy.provenance.policy import COMPILES

PACKAGE = Path(__file__).parents[2]
FOLDERS = ("stats", "dgps")
CODE_OPTIONS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "USING_SVML")

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function of `simstudy` at its first call, or load what an earlier run compiled.

    Parameters
    ----------
    function
        A function of a module below `simstudy/documents/stats` or `simstudy/documents/dgps`. Such a
        module imports only others of the project that compile: a constant from elsewhere would be
        frozen into the machine code without being part of its key.
    options
        See `numba.njit`; the lock of the interpreter is released.

    Returns
    -------
    A numba Dispatcher, which other kernels may call.
    """
    if function is None:
        return functools.partial(kernel, **options)
    compiled = numba.njit(nogil=True, **options)(function)
    if isinstance(compiled, Dispatcher):  # it is the plain function where compiling is switched off
        _note_source(function)
        keep(compiled, kernel_digest, PACKAGE / "__pycache__")
    return compiled


def kernel_digest() -> str | None:
    """Hash of all that the machine code of kernels is made from; None if unknown."""
    running = {name: source for name, (_, source) in _RUNNING.items()}
    if None in running.values():
        return None
    return hashed(sorted({**on_disk(), **running}.items()), _environment())


@functools.cache
def on_disk() -> dict[str, str]:
    """Hashes of all sources of kernels, as they are when this process first asks."""
    paths = [path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    contents = {_name(path): path.read_bytes() for path in paths}
    return {name: hashed(text) for name, text in contents.items() if COMPILES.search(text)}


def _environment() -> Key:
    """Further conditions of machine code; the processor is part of numba's own keys."""
    versions = sys.version, numba.__version__, llvmlite.__version__, np.__version__
    return (*versions, *(getattr(numba.config, name, None) for name in CODE_OPTIONS))


def _name(path: Path) -> str:
    return os.path.relpath(path, PACKAGE).replace(os.sep, "/")


# ---------------------------------------------------------------- what runs is what is hashed
_RUNNING: dict[str, tuple[CodeType, str | None]] = {}
"""By file, the code that runs, and the hash of its source if that is known and the only one."""


def _note_source(function: FunctionType) -> None:
    """Hash the source of the module that is being imported, and check that it is what runs."""
    path = Path(function.__code__.co_filename)
    body, known = _module_body(function), _RUNNING.get(_name(path))
    if body is None or (known and known[0] is body):
        return
    source = path.read_bytes() if path.is_file() else None  # from an archive, or without sources
    if source is not None:
        if body != function.__globals__["__spec__"].loader.source_to_code(source, str(path)):
            _refuse(path)
        _compare_contents(path)
    found = None if source is None else hashed(source)
    _RUNNING[_name(path)] = body, found if known is None or known[1] == found else None


def _module_body(function: FunctionType) -> CodeType | None:
    """The code of the module that defines a function, where that is what runs at the moment."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "<module>" and frame.f_globals is function.__globals__:
            return frame.f_code
    return None


def _refuse(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(importlib.util.cache_from_source(str(path)))
    raise SimstudyError(
        f"Python runs other code than {path} holds: the file was changed while it was imported, or "
        "its bytecode is stale, which Python takes by time and size. Results would be those of the "
        f"old code. The bytecode was deleted where that was possible (below "
        f"{path.parent / '__pycache__'}): start again."
    )


def _compare_contents(path: Path) -> None:
    """Have Python, too, compare contents with this file's bytecode from now on (PEP 552)."""
    bytecode = importlib.util.cache_from_source(str(path))
    with contextlib.suppress(OSError, py_compile.PyCompileError):
        with open(bytecode, "rb") as file:
            by_contents = any(file.read(8)[4:])
        if not by_contents and not sys.dont_write_bytecode:
            mode = py_compile.PycInvalidationMode.CHECKED_HASH
            py_compile.compile(str(path), bytecode, doraise=True, invalidation_mode=mode)
