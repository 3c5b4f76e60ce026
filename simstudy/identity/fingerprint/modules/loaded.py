"""What a module is as it runs, where that is not what its file says.

A source edited after it was imported says one thing and does another: the numbers are those of
what was loaded.
"""

import hashlib
import importlib
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from simstudy.identity.fingerprint.instructions import Code, read_code
from simstudy.identity.fingerprint.modules.bare import bare_code
from simstudy.identity.fingerprint.modules.places import source_file
from simstudy.identity.fingerprint.objects import python_of

CLOCKS_APART = 10.0  # seconds that a file server's clock may be ahead of ours, or behind

_seen: dict[str, tuple[ModuleSpec | None, str]] = {}  # how a module was loaded, and from what


# ---------------------------------------------------------------- edited after it was loaded
def loaded_otherwise(module: str) -> str:
    """Hash of a module as it runs, where that is not what its file says; else empty.

    Functions are compared as they run; the rest of a source with what it was when this process
    first looked at it.
    """
    loaded, path = sys.modules.get(module), source_file(module)
    if loaded is None or path is None or path.stat().st_ctime < _process_start() - CLOCKS_APART:
        return ""
    if type(loaded.__loader__) is not SourceFileLoader:
        return ""  # made on the way from file to code, as test runners do
    text = path.read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    first = _digest_when_loaded(module, loaded.__spec__, digest)
    running = {read_code(code).digest for code in _codes_of(loaded, text)}
    if first == digest and running <= _digests_on_disk(text, path):
        return ""
    return _hash_of((first, sorted(running)))


def _digest_when_loaded(module: str, spec: ModuleSpec | None, digest: str) -> str:
    """What a source was when this process first looked at the module that it has now."""
    known, first = _seen.setdefault(module, (spec, digest))
    if known is spec:
        return first
    _seen[module] = (spec, digest)  # loaded again meanwhile
    return digest


def _digests_on_disk(text: bytes, path: Path) -> set[str]:
    try:
        code = compile(text, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return set()
    return {read_code(inner).digest for inner in _with_inner(code)}


@cache
def _process_start() -> float:
    """When this process started, in seconds since the epoch; 0 where the system does not say.

    A file whose last change is older was not edited after this process imported it.
    """
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0.0
    return time.time() - age


def _codes_of(loaded: ModuleType, text: bytes) -> Iterator[CodeType]:
    """Code of the functions that a module binds and its source defines, compiled ones included."""
    for name, value in list(vars(loaded).items()):
        function = python_of(value) or value
        is_own = f"def {name}".encode() in text  # another is left from before it was loaded again
        code = function.__code__ if is_own and isinstance(function, FunctionType) else None
        if code is not None and code.co_filename == loaded.__file__:
            yield code


def loaded_digest(module: str) -> str:
    """Hash of the functions of a module, and of its classes' methods, as they are loaded."""
    loaded = importlib.import_module(module)
    own = (kind for kind in vars(loaded).values() if isinstance(kind, type))
    namespaces = [vars(kind) for kind in own if kind.__module__ == module] + [vars(loaded)]
    values = (value for namespace in namespaces for value in namespace.values())
    codes = (value.__code__ for value in values if isinstance(value, FunctionType))
    here = (code for code in codes if code.co_filename == loaded.__file__)
    return _hash_of(sorted(read_code(code).digest for code in here))


def _hash_of(said: object) -> str:
    return hashlib.sha256(repr(said).encode()).hexdigest()


# ---------------------------------------------------------------- made otherwise than by Python
def read_function(code: CodeType, module: str) -> Code:
    """What a loaded function does, annotations of functions inside it aside.

    Where an import hook made other code of the source, what the source says: test runners rewrite
    assertions and checkers of types decorate functions; no number depends on that, and workers
    import without it.
    """
    found = read_code(code)
    loader = getattr(sys.modules.get(module), "__loader__", None)
    is_hooked = loader is not None and type(loader) is not SourceFileLoader
    path = source_file(module) if found.annotates or is_hooked else None
    if path is None:
        return found
    text = path.read_bytes()
    if is_hooked or read_code(_nearest(_codes_by_name(text), code)).digest == found.digest:
        return read_code(_nearest(_bare_codes_by_name(text), code))
    return found


def _nearest(known: Mapping[str, list[CodeType]], code: CodeType) -> CodeType:
    """Of several definitions of one name, the one that stands nearest."""
    namesakes = known.get(code.co_qualname, (code,))
    return min(namesakes, key=lambda other: abs(other.co_firstlineno - code.co_firstlineno))


@lru_cache(maxsize=512)
def _codes_by_name(text: bytes) -> dict[str, list[CodeType]]:
    return _by_name(_with_inner(compile(text, "<source>", "exec", dont_inherit=True)))


@lru_cache(maxsize=512)
def _bare_codes_by_name(text: bytes) -> dict[str, list[CodeType]]:
    return _by_name(_with_inner(bare_code(text)))


def _by_name(codes: Iterable[CodeType]) -> dict[str, list[CodeType]]:
    found: dict[str, list[CodeType]] = {}
    for code in codes:
        found.setdefault(code.co_qualname, []).append(code)
    return found


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """Code, and that of the functions and classes inside it, however deep."""
    ahead = [code]
    while ahead:
        code = ahead.pop()
        yield code
        ahead += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
