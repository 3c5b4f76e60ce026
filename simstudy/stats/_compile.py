"""Machine code that is never older than its source.

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
import hashlib
import importlib.util
import itertools
import os
import pickle
import py_compile
import re
import secrets
import shutil
import sys
import tempfile
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, overload

import llvmlite
import numba
import numpy as np
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.serialize import dumps
from numba.core.types.iterators import Generator
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
from numba.np.ufunc.ufuncbuilder import parse_identity

from simstudy.data.reads import unwatched
from simstudy.errors import SimstudyError

PACKAGE = Path(__file__).parents[1]
FOLDERS = ("stats", "dgps")
COMPILES = re.compile(rb"^\s*(?:from|import)\s.*\b(?:numba|llvmlite|_compile)\b", re.MULTILINE)
CODE_OPTIONS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "USING_SVML")
PREFIX = "machine-code-"
UNUSED = 30 * 24 * 3600  # seconds after which a folder of machine code is deleted
HASH_SIZE = hashlib.sha256().digest_size

Function = TypeVar("Function", bound=Callable[..., Any])
Key = tuple[object, ...]


# ---------------------------------------------------------------- kernels of this package
@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function of `simstudy` at its first call, or load what an earlier run compiled.

    Parameters
    ----------
    function
        Of a module below `simstudy/stats` or `simstudy/dgps`. From the project, such a module
        imports only others that compile: a constant from elsewhere would be frozen into the machine
        code without being part of its key.
    options
        As for `numba.njit`; the lock of the interpreter is released.

    Returns
    -------
    A numba Dispatcher, which other kernels may call.
    """
    if function is None:
        return functools.partial(kernel, **options)
    compiled = numba.njit(nogil=True, **options)(function)
    if isinstance(compiled, Dispatcher):  # it is the plain function where compiling is switched off
        _note_source(function)
        _keep(compiled, _kernel_digest, PACKAGE / "__pycache__")
    return compiled


def _kernel_digest() -> str | None:
    """Hash of all that the machine code of kernels is made from; None where nobody can say."""
    running = {name: source for name, (_, source) in _RUNNING.items()}
    if None in running.values():
        return None
    return _hash(sorted({**_on_disk(), **running}.items()), _environment())


@functools.cache
def _on_disk() -> dict[str, str]:
    """Hashes of all sources of kernels, as they are when this process first asks."""
    with unwatched():  # a first call in `simulate` reads for the cache and not for the study
        return _hashes_of_kernels()


def _hashes_of_kernels() -> dict[str, str]:
    paths = [path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    contents = {_name(path): path.read_bytes() for path in paths}
    return {name: _hash(text) for name, text in contents.items() if COMPILES.search(text)}


def _environment() -> Key:
    """What else decides what machine code says; the processor is part of numba's own keys."""
    versions = sys.version, numba.__version__, llvmlite.__version__, np.__version__
    return (*versions, *(getattr(numba.config, name, None) for name in CODE_OPTIONS))


def _name(path: Path) -> str:
    return os.path.relpath(path, PACKAGE).replace(os.sep, "/")


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


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
    found = None if source is None else _hash(source)
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


# ---------------------------------------------------------------- where machine code lies
@functools.cache
def _folder(digest: str, beside: Path) -> Path | None:
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
    """Where machine code may lie, the best place first."""
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
    """A temporary folder of this user's own: whoever can write to it can have any code run."""
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


def _keep(inner: Any, digest: Callable[[], str | None], beside: Path) -> None:
    """Have machine code kept; see `ContentCache`."""
    name = "_cache" if isinstance(inner, Dispatcher) else "cache"
    setattr(inner, name, ContentCache(inner, digest, beside))


class ContentCache(FunctionCache):
    """numba's cache of one function, below a folder that is named by a digest.

    A file holds the machine code for one signature and processor, its key, and a hash of both. It
    is there whole or not at all, and what is damaged is compiled again. numba's own files are an
    index and numbered pieces, and two processes that compile different signatures at once can leave
    one under the other's number.

    Parameters
    ----------
    dispatcher
        Whose `_cache` (or `cache`, for a universal function) this becomes.
    digest
        Gives a hash of everything that the machine code is made from, or None for no cache.
    beside
        Where the folder lies if it can.
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
        folder = _folder(digest, self._beside) if digest else None
        return str(folder) if folder else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        path = self._path(key)
        with unwatched():
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
        return Path(folder) / f"{self._stem}-{_hash(key)[:32]}.bin" if folder else None

    def _key(self, sig: Any, codegen: Any) -> Key:
        """Tells functions of one line apart, and what they are compiled for."""
        code, cells = self._py_func.__code__, self._py_func.__closure__ or ()
        closed_over = hashlib.sha256(dumps([cell.cell_contents for cell in cells])).hexdigest()
        where = code.co_filename, self._py_func.__qualname__, code.co_firstlineno
        return (sig, codegen.magic_tuple(), *self._options, *where, _text(code), closed_over)


def _text(code: CodeType) -> Key:
    """Bytecode with its constants."""
    constants = [_text(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, code.co_names, tuple(constants)


def _can_be_kept(result: Any) -> bool:
    """Whether the code means anything in another process: it holds no addresses of this one."""
    lifted = all(one.can_cache for one in result.lifted)
    return lifted and not result.library.has_dynamic_globals


def _read(path: Path, key: Key) -> Any:
    """What was kept under a key, or None."""
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


# ---------------------------------------------------------------- functions of users
_REKEYED: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()


def rekey(dispatchers: Iterable[Any], digest: str) -> None:
    """Give compiled functions of users machine code that is not older than their source.

    What numba loaded from its own cache as they were imported may be stale, and so may be whatever
    was compiled from it since: all of the functions forget what they have, and then compile again,
    callees first, what they had, each signature with its declared type of return. From then on
    those with `cache=True` keep machine code in a folder named by the digest.

    A second call with the same digest does nothing. Nor does any call where no function of a user
    is kept on disk: then nothing stale can have been loaded. Functions of `simstudy` are passed
    over.

    Parameters
    ----------
    dispatchers
        What `jit`, `njit`, `vectorize` and `guvectorize` return, in any order: all those that a
        scenario uses, also those without `cache=True`, which may have stale ones compiled in.

        Universal functions are renewed in place, as those who imported them hold the object. The
        loops around the kernel of a `guvectorize` are then compiled in each process: numba keeps
        them with the kernel's code inside, under a key that looks at one file.
    digest
        Hash of the contents of every module of the project that their code depends on.

    Raises
    ------
    SimstudyError
        For what cannot be renewed: a `cfunc`, whose address others hold already; anything made with
        `target="parallel"`, which is a plain ufunc of NumPy; and what no longer compiles.
    """
    theirs = [one for one in dispatchers if not _is_ours(one)]
    for one in theirs:
        _check_kind(one)
    stale = [one for one in theirs if _REKEYED.get(one) != digest]
    if not any(_is_kept(one) or one in _REKEYED for one in theirs):
        _REKEYED.update(dict.fromkeys(stale, digest))
        return  # nothing from an earlier process, nothing compiled under other code in this one
    _name_apart()
    signatures = {one: _forget(one, digest) for one in stale}
    for one in _callees_first(stale):
        if one in signatures:
            _compile_again(one, signatures[one])
    _REKEYED.update(dict.fromkeys(stale, digest))


def _name_apart() -> None:
    """Let no symbol that is compiled from now on have the name of one that is there already.

    Within machine code functions are known by number, from 1 in each process. One that was loaded
    may have the number that its new version would get, and the linker takes the first of a name.
    """
    FunctionIdentity._unique_ids = itertools.count(2**62 + secrets.randbits(62))


def _is_ours(one: Any) -> bool:
    return str(getattr(one, "__module__", "")).split(".")[0] == __name__.split(".")[0]


def _check_kind(one: Any) -> None:
    if not isinstance(one, Dispatcher | DUFunc | GUFunc):
        name = getattr(one, "__name__", repr(one))
        raise SimstudyError(
            f"{name} is a {type(one).__name__}, whose machine code cannot be made again: it could "
            "be older than its source, and its numbers wrong. Use numba's jit, njit, vectorize or "
            'guvectorize, without target="parallel", or leave out cache=True.'
        )


def _inner(one: Any) -> Any:
    """What compiles: the function itself, or the part of a universal function that does."""
    return one if isinstance(one, Dispatcher) else one._dispatcher


def _is_kept(one: Any) -> bool:
    """Whether machine code is kept on disk."""
    inner = _inner(one)
    return not isinstance(inner._cache if inner is one else inner.cache, NullCache)


def _forget(one: Any, digest: str) -> list[Any]:
    """Drop what is compiled, and keep machine code under the digest; returns the signatures."""
    signatures = [_declared(result.signature) for result in _inner(one).overloads.values()]
    if _is_kept(one):
        _keep_under(_inner(one), digest)
    if _inner(one) is one:
        one._make_finalizer()()
        one._reset_overloads()
    else:
        one._dispatcher.overloads.clear()
    return signatures


def _declared(signature: Any) -> Any:
    """With the type of its return, except for a generator, which numba does not let declare it."""
    is_generator = isinstance(signature.return_type, Generator)
    return signature.args if is_generator else signature


def _keep_under(inner: Any, digest: str) -> None:
    def whole() -> str | None:
        ours = _kernel_digest()  # they may call kernels of ours
        return ours and _hash(digest, ours)

    beside = Path(inner.py_func.__code__.co_filename).parent / "__pycache__"
    _keep(inner, whole, beside)


def _compile_again(one: Any, signatures: list[Any]) -> None:
    kinds = {DUFunc: _renew_ufunc, GUFunc: _renew_gufunc}
    try:
        kinds.get(type(one), _renew_function)(one, signatures)
    except NumbaError as error:
        raise SimstudyError(
            f"{one.__module__}.{one.__name__} does not compile again after its machine code was "
            "dropped, which may have been older than its source. Leave out cache=True, there and "
            "in what it calls, or its signatures."
        ) from error


def _renew_function(one: Any, signatures: list[Any]) -> None:
    open_to_others, one._can_compile = one._can_compile, True
    try:
        for signature in signatures:
            one.compile(signature)
    finally:
        one._can_compile = open_to_others


def _renew_ufunc(one: Any, signatures: list[Any]) -> None:
    """NumPy has no way to replace a loop, so the ufunc inside is a new one."""
    frozen = one._frozen
    unset = "reorderable" if one.reorderable else None
    identity = unset if one.identity is None else one.identity
    super(DUFunc, one).__init__(one._dispatcher, identity=parse_identity(identity))
    one._lower_me.libs.clear()
    for signature in signatures:
        one.add(signature)
    if frozen:
        one.disable_compile()


def _renew_gufunc(one: Any, signatures: list[Any]) -> None:
    builder = one.gufunc_builder
    builder._sigs.clear()
    builder._cres.clear()
    builder.cache = False  # of the loops around the kernel
    for signature in signatures:
        one.add(signature)
    one.build_ufunc()


def _callees_first(parts: Iterable[Any]) -> list[Any]:
    """The parts and all that they call, each after what it calls."""
    found: dict[Any, None] = {}
    entered: set[Any] = set()

    def visit(one: Any) -> None:
        if one not in entered:
            entered.add(one)
            for callee in _calls(one):
                visit(callee)
            found[one] = None

    for part in parts:
        visit(part)
    return list(found)


def _calls(one: Any) -> list[Any]:
    """Compiled functions that the source of one names: its globals, members, and closure."""
    function = _inner(one).py_func
    names = dict.fromkeys(_names(function.__code__))
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    values += [function.__globals__[name] for name in names if name in function.__globals__]
    for value in list(values):
        if isinstance(value, ModuleType):
            values += [vars(value)[name] for name in names if name in vars(value)]
        elif isinstance(value, tuple | list):
            values += value
    return [value for value in values if isinstance(value, Dispatcher | DUFunc | GUFunc)]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
