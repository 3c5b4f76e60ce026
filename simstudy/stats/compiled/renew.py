"""Compiled functions of users, made anew: numba's own cache may hold code older than its source."""

# mypy: disable-error-code="misc, no-any-return, no-untyped-call"

import itertools
import secrets
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from numba.core.bytecode import FunctionIdentity
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.types.iterators import Generator
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
from numba.np.ufunc.ufuncbuilder import parse_identity

from simstudy.errors import SimstudyError
from simstudy.stats.compiled.kernel import kernel_digest
from simstudy.stats.compiled.machine_code import hashed, keep

Compiled = Dispatcher | DUFunc | GUFunc
"""What numba's decorators return: of `jit` and `njit`, of `vectorize`, of `guvectorize`."""

_REKEYED: "weakref.WeakKeyDictionary[Compiled, str]" = weakref.WeakKeyDictionary()


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
    theirs = [dispatcher for dispatcher in dispatchers if not _is_ours(dispatcher)]
    for dispatcher in theirs:
        _check_kind(dispatcher)
    stale = [dispatcher for dispatcher in theirs if _REKEYED.get(dispatcher) != digest]
    if not any(_is_kept(dispatcher) or dispatcher in _REKEYED for dispatcher in theirs):
        _REKEYED.update(dict.fromkeys(stale, digest))
        return  # nothing from an earlier process, nothing compiled under other code in this one
    _name_apart()
    signatures = {dispatcher: _forget(dispatcher, digest) for dispatcher in stale}
    for dispatcher in _callees_first(stale):
        if dispatcher in signatures:
            _compile_again(dispatcher, signatures[dispatcher])
    _REKEYED.update(dict.fromkeys(stale, digest))


def _name_apart() -> None:
    """Let no symbol that is compiled from now on have the name of one that is there already.

    Within machine code functions are known by number, from 1 in each process. One that was loaded
    may have the number that its new version would get, and the linker takes the first of a name.
    """
    FunctionIdentity._unique_ids = itertools.count(2**62 + secrets.randbits(62))


def _is_ours(given: object) -> bool:
    return str(getattr(given, "__module__", "")).split(".")[0] == __name__.split(".")[0]


def _check_kind(given: object) -> None:
    if not isinstance(given, Compiled):
        name = getattr(given, "__name__", repr(given))
        raise SimstudyError(
            f"{name} is a {type(given).__name__}, whose machine code cannot be made again: it "
            "could be older than its source, and its numbers wrong. Use numba's jit, njit, "
            'vectorize or guvectorize, without target="parallel", or leave out cache=True.'
        )


def _inner(dispatcher: Any) -> Any:
    """What compiles: the function itself, or the part of a universal function that does."""
    return dispatcher if isinstance(dispatcher, Dispatcher) else dispatcher._dispatcher


def _is_kept(dispatcher: Any) -> bool:
    """Whether machine code is kept on disk."""
    inner = _inner(dispatcher)
    return not isinstance(inner._cache if inner is dispatcher else inner.cache, NullCache)


def _forget(dispatcher: Any, digest: str) -> list[Any]:
    """Drop what is compiled, and keep machine code under the digest; returns the signatures."""
    signatures = [_declared(result.signature) for result in _inner(dispatcher).overloads.values()]
    if _is_kept(dispatcher):
        _keep_under(_inner(dispatcher), digest)
    if _inner(dispatcher) is dispatcher:
        dispatcher._make_finalizer()()
        dispatcher._reset_overloads()
    else:
        dispatcher._dispatcher.overloads.clear()
    return signatures


def _declared(signature: Any) -> Any:
    """With the type of its return, except for a generator, which numba does not let declare it."""
    is_generator = isinstance(signature.return_type, Generator)
    return signature.args if is_generator else signature


def _keep_under(inner: Any, digest: str) -> None:
    def whole() -> str | None:
        ours = kernel_digest()  # they may call kernels of ours
        return ours and hashed(digest, ours)

    beside = Path(inner.py_func.__code__.co_filename).parent / "__pycache__"
    keep(inner, whole, beside)


def _compile_again(dispatcher: Any, signatures: list[Any]) -> None:
    kinds = {DUFunc: _renew_ufunc, GUFunc: _renew_gufunc}
    try:
        kinds.get(type(dispatcher), _renew_function)(dispatcher, signatures)
    except NumbaError as error:
        raise SimstudyError(
            f"{dispatcher.__module__}.{dispatcher.__name__} does not compile again after its "
            "machine code was dropped, which may have been older than its source. Leave out "
            "cache=True, there and in what it calls, or its signatures."
        ) from error


def _renew_function(dispatcher: Any, signatures: list[Any]) -> None:
    open_to_others, dispatcher._can_compile = dispatcher._can_compile, True
    try:
        for signature in signatures:
            dispatcher.compile(signature)
    finally:
        dispatcher._can_compile = open_to_others


def _renew_ufunc(dispatcher: Any, signatures: list[Any]) -> None:
    """NumPy has no way to replace a loop, so the ufunc inside is a new one."""
    frozen = dispatcher._frozen
    unset = "reorderable" if dispatcher.reorderable else None
    identity = unset if dispatcher.identity is None else dispatcher.identity
    super(DUFunc, dispatcher).__init__(dispatcher._dispatcher, identity=parse_identity(identity))
    dispatcher._lower_me.libs.clear()
    for signature in signatures:
        dispatcher.add(signature)
    if frozen:
        dispatcher.disable_compile()


def _renew_gufunc(dispatcher: Any, signatures: list[Any]) -> None:
    builder = dispatcher.gufunc_builder
    builder._sigs.clear()
    builder._cres.clear()
    builder.cache = False  # of the loops around the kernel
    for signature in signatures:
        dispatcher.add(signature)
    dispatcher.build_ufunc()


def _callees_first(parts: Iterable[Compiled]) -> list[Compiled]:
    """The parts and all that they call, each after what it calls."""
    found: dict[Compiled, None] = {}
    entered: set[Compiled] = set()

    def visit(dispatcher: Any) -> None:
        if dispatcher not in entered:
            entered.add(dispatcher)
            for callee in _calls(dispatcher):
                visit(callee)
            found[dispatcher] = None

    for part in parts:
        visit(part)
    return list(found)


def _calls(dispatcher: Any) -> list[Compiled]:
    """Compiled functions that the source of one names: its globals, members, and closure."""
    function = _inner(dispatcher).py_func
    names = dict.fromkeys(_names(function.__code__))
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    values += [function.__globals__[name] for name in names if name in function.__globals__]
    for value in list(values):
        if isinstance(value, ModuleType):
            values += [vars(value)[name] for name in names if name in vars(value)]
        elif isinstance(value, tuple | list):
            values += value
    return [value for value in values if isinstance(value, Compiled)]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
