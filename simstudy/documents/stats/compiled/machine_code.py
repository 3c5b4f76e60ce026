"""Storage of machine code: named by content, there whole or not at all."""

# mypy: disable-error-code="misc, no-any-return, no-untyped-call"

import contextlib
import functools
import hashlib
import os
import pickle
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

PREFIX = "machine-code-"
UNUSED = 30 * 24 * 3600  # seconds after which a folder of machine code is deleted
HASH_SIZE = hashlib.sha256().digest_size  # bytes

Key = tuple[object, ...]


def hashed(*parts: object) -> str:
    """Hash of what the parts look like when they are printed, in hexadecimal digits."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


# ---------------------------------------------------------------- folders
@functools.cache
def folder_of(digest: str, beside: Path) -> Path | None:
    """The first folder of this digest that can be written to, made where it is not there."""
    for parent in _parents(beside):
        folder = parent / f"{PREFIX}{digest[:32]}"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()  # also notes that the folder is in use
            _prune(parent, folder)
            return folder
    return None


def _parents(beside: Path) -> Iterator[Path]:
    """Folders for machine code, the best place first."""
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR) / "simstudy"
    if beside.parent.is_dir():
        yield beside
    with contextlib.suppress(RuntimeError):  # there is no home
        asked = Path(os.environ.get("XDG_CACHE_HOME", ""))
        yield (asked if asked.is_absolute() else Path.home() / ".cache") / "simstudy"
    with contextlib.suppress(OSError):
        yield _temporary()


def _temporary() -> Path:
    """A temporary folder of this user's own: anyone who can write to it can have any code run."""
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    folder = Path(tempfile.gettempdir()) / f"simstudy-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if hasattr(os, "geteuid") and (found.st_uid != user or found.st_mode & 0o022):
        raise PermissionError(f"{folder} is open to others")
    return folder


def _prune(parent: Path, used: Path) -> None:
    """Delete folders that no process has used for a month."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder != used and time.time() - folder.stat().st_mtime > UNUSED:
                shutil.rmtree(folder, ignore_errors=True)


# ---------------------------------------------------------------- numba's cache of one function
def keep(dispatcher: Any, digest: Callable[[], str | None], beside: Path) -> None:
    """Have machine code kept; see `ContentCache`."""
    dispatcher._cache = ContentCache(dispatcher, digest, beside)


class ContentCache(FunctionCache):
    """numba's cache of one function, below a folder that is named by a digest.

    A file holds the machine code for one signature and processor, its key, and a hash of both. It
    is there whole or not at all, and what is damaged is compiled again. numba's own files are an
    index and numbered pieces, and two processes that compile different signatures at once can leave
    one under the other's number.

    Parameters
    ----------
    dispatcher
        Dispatcher that this cache is set for.
    digest
        Gives a hash of everything that the machine code is made from, or None for no cache.
    beside
        The preferred folder.
    """

    def __init__(self, dispatcher: Any, digest: Callable[[], str | None], beside: Path) -> None:
        self._py_func, self._digest, self._beside = dispatcher.py_func, digest, beside
        self._options = (
            type(dispatcher).__name__,
            repr(sorted(dispatcher.targetoptions.items())),
            repr(dispatcher.locals),
        )
        self.enable()

    @property
    def _cache_path(self) -> str | None:
        """Named as numba names it; None where machine code is not kept."""
        digest = self._digest()
        folder = folder_of(digest, self._beside) if digest else None
        return str(folder) if folder else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        path = self._path(key)
        found = _read(path, key) if path and self._enabled else None
        return None if found is None else CompileResult._rebuild(target_context, *found)

    def save_overload(self, sig: Any, data: Any) -> None:
        key = self._key(sig, data.codegen)
        path = self._path(key)
        if path and self._enabled and _can_be_kept(data):
            _write(path, dumps((key, data._reduce())))

    def flush(self) -> None:
        """Forget every signature of this function."""
        if self._cache_path:
            for path in Path(self._cache_path).glob(f"{self._stem}-*"):
                path.unlink(missing_ok=True)

    @property
    def _stem(self) -> str:
        code = self._py_func.__code__
        named = f"{Path(code.co_filename).stem}.{self._py_func.__name__}-{code.co_firstlineno}"
        return re.sub(r"[^\w.-]", "", named)

    def _path(self, key: Key) -> Path | None:
        folder = self._cache_path
        return Path(folder) / f"{self._stem}-{hashed(key)[:32]}.bin" if folder else None

    def _key(self, sig: Any, codegen: Any) -> Key:
        """Tells functions of one line apart, and what they are compiled for."""
        code, cells = self._py_func.__code__, self._py_func.__closure__ or ()
        closed_over = hashlib.sha256(dumps([cell.cell_contents for cell in cells])).hexdigest()
        where = code.co_filename, self._py_func.__qualname__, code.co_firstlineno
        return (sig, codegen.magic_tuple(), *self._options, *where, _text(code), closed_over)


def _text(code: CodeType) -> Key:
    """Bytecode with its constants."""
    constants = (
        _text(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
    )
    return code.co_code, code.co_names, tuple(constants)


def _can_be_kept(result: Any) -> bool:
    """Whether the code means anything in another process: it holds no addresses of this one."""
    loops_too = all(loop.can_cache for loop in result.lifted)
    return loops_too and not result.library.has_dynamic_globals


def _read(path: Path, key: Key) -> Any:
    """Machine code of a key, or None."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content[HASH_SIZE:]).digest() != content[:HASH_SIZE]:
        return None
    stored, found = pickle.loads(content[HASH_SIZE:])
    return found if stored == key else None


def _write(path: Path, content: bytes) -> None:
    """Keep something, whole or not at all; on a full disk the next process compiles again."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        try:
            temporary.write_bytes(hashlib.sha256(content).digest() + content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
