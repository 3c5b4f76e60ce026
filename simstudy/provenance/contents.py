"""What functions and values are, as text: code as it is compiled, values by type and content.

Code counts by a hash of the bytecode without line numbers, docstrings and annotations. A function
in a notebook's cell equals the same one in a file, and an edit of a loaded file has no effect. The
text of a value is the same in every process.
"""

import contextlib
import ctypes
import dis
import functools
import hashlib
import inspect
import io
import itertools
import math
import random
import re
import struct
import sys
import types
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path, PurePath
from types import CellType, CodeType, EllipsisType, FunctionType, NoneType, NotImplementedType
from typing import Any, NamedTuple

import numpy as np

from simstudy.provenance.policy import MADE_BY_PYTHON


class UnknownValueError(TypeError):
    """A value is not plain data."""


ATOMS = (NoneType, bool, int, float, complex, str, bytes, EllipsisType, NotImplementedType)
REPR_MODULES = ("datetime", "decimal", "fractions", "uuid", "zoneinfo")  # reprs are complete
CONTAINERS = (tuple, list, set, frozenset, dict)
DIGITS, BITS = 10, 33  # of a double that count, since processors compute other last ones
_FRAMES = """
DataFrame Series Index RangeIndex MultiIndex Categorical DatetimeIndex CategoricalIndex Table
LazyFrame
"""
FRAMES = frozenset(_FRAMES.split())


def hash_of(content: str | bytes, n_hex: int = 16) -> str:
    """Return `#` and the first hexadecimal digits of a hash."""
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return "#" + hashlib.sha256(data).hexdigest()[:n_hex]


# ---------------------------------------------------------------- plain values
def plain_token(value: Any, inner: Callable[[Any], str]) -> str:
    """Make the text of a plain value.

    Parameters
    ----------
    inner
        Function that makes the text of an item of a container.

    Raises
    ------
    UnknownValueError
        For anything but numbers, text, arrays, frames, and containers.
    """
    kind = type(value)
    if kind is float and math.isnan(value):
        return f"float nan {struct.pack('<d', value).hex()}"  # NaNs have signs, but one repr
    if kind in ATOMS:
        text = repr(float(f"{value:.{DIGITS}g}") if kind is float else value)
        return f"{kind.__name__} {text if len(text) < 200 else hash_of(text, 32)}"
    if kind in CONTAINERS:
        return _held_by(value, kind, inner)
    return _token_of_data(value, kind, inner)


def _held_by(value: Any, kind: type, inner: Callable[[Any], str]) -> str:
    """Describe the content of a built-in container or of a subclass."""
    if issubclass(kind, dict):
        parts = [f"{inner(key)}:{inner(part)}" for key, part in [*dict.items(value)]]
    else:  # a subclass may have another __iter__
        base = next(base for base in CONTAINERS if issubclass(kind, base))
        parts = [inner(part) for part in tuple(base.__iter__(value))]
        parts = sorted(parts) if issubclass(kind, set | frozenset) else parts
    return f"{kind.__name__}[{','.join(parts)}]"


def inherited_content(value: Any, inner: Callable[[Any], str]) -> str:
    """Describe the content that an instance has through a built-in base class."""
    if isinstance(value, CONTAINERS):
        return _held_by(value, type(value), inner)
    for atom in (bool, int, float, complex, str, bytes):
        if isinstance(value, atom):
            return f"{atom.__name__} {atom.__repr__(value)}"
    if isinstance(value, np.ndarray):
        return _token_of_array(np.asarray(value), inner)
    return ""


def _token_of_data(value: Any, kind: type, inner: Callable[[Any], str]) -> str:
    if kind is np.ndarray:
        return _token_of_array(value, inner)
    if isinstance(value, np.generic):
        return f"{_type_of(value.dtype)} {_without_last_bits(np.asarray(value)).tobytes().hex()}"
    if kind is re.Pattern:
        return f"pattern {value.pattern!r} {value.flags}"
    if isinstance(value, np.dtype):
        return f"dtype {_type_of(value)}"
    if kind in (range, slice) or kind.__module__ in REPR_MODULES or isinstance(value, PurePath):
        return f"{kind.__qualname__} {value!r}"
    if kind is np.ufunc and _is_known(value):
        return f"ufunc {value.__name__}"
    if kind.__name__ in FRAMES and top_of(kind) in ("pandas", "pyarrow", "polars"):
        import joblib  # its hash is that of names, values, types, index and attributes

        plain = value.to_pandas() if hasattr(value, "to_pandas") else value
        return f"{kind.__qualname__} {joblib.hash(plain)}"
    raise UnknownValueError(repr(kind))


def top_of(kind: type) -> str:
    """Return the package of a type; in types made by Cython 3.1.0, `__module__` is no text."""
    return str(kind.__module__).split(".")[0]


def _is_known(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is one of NumPy or SciPy, not made from a Python function."""
    homes = (np, sys.modules.get("scipy.special"))
    return any(getattr(home, ufunc.__name__, None) is ufunc for home in homes)


def _type_of(dtype: np.dtype) -> str:
    return repr(dtype.descr) if dtype.names else dtype.str


def _token_of_array(array: np.ndarray, inner: Callable[[Any], str]) -> str:
    if array.dtype.hasobject:
        held = hash_of(",".join(map(inner, array.ravel().tolist())), 32)
    else:
        held = hash_of(_without_last_bits(np.ascontiguousarray(array)).tobytes(), 32)
    return f"array {_type_of(array.dtype)} {array.shape} {held}"


def _without_last_bits(array: np.ndarray) -> np.ndarray:
    """Doubles with fewer bits; of a million that differ in the last one, one still differs."""
    if array.dtype == np.dtype(complex):
        return _without_last_bits(np.atleast_1d(array).view(float))
    if array.dtype != np.dtype(float):
        return array
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(array)
        return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS))


# ---------------------------------------------------------------- content of objects
def attributes(value: object) -> Mapping[str, Any]:
    """Return the stored attributes of an object, without calling its code."""
    with contextlib.suppress(AttributeError):
        found: dict[str, Any] = object.__getattribute__(value, "__dict__")
        return found
    return {}


def state_of(value: object) -> dict[str, Any]:
    """Return the fields of an instance in `__dict__` and slots, without cached properties."""
    found: Any = object.__getstate__(value)
    held, slots = found if isinstance(found, tuple) else (found, None)
    kind = type(value)
    return {
        name: field
        for name, field in (*sorted((held or {}).items()), *(slots or {}).items())
        if not isinstance(inspect.getattr_static(kind, name, None), functools.cached_property)
    }


CACHED = type(functools.cache(lambda: None))

CONTENTS: dict[Any, Callable[[Any], tuple[Any, ...]]] = {
    functools.partial: lambda value: (value.func, value.args, value.keywords),
    functools.cached_property: lambda value: (value.func,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    (staticmethod, classmethod): lambda value: (value.__func__,),
    CACHED: lambda value: (value.__wrapped__,),
    types.MethodType: lambda value: (value.__func__, value.__self__),
    types.MappingProxyType: lambda value: (dict(value),),
    (io.StringIO, io.BytesIO): lambda value: (value.getvalue(), value.tell()),
    weakref.ref: lambda value: (value(),),
    ContextVar: lambda value: (value.name, value.get()),
    ctypes.CDLL: lambda value: (_bytes_of(str(value._name)),),
}
"""Functions that read the content of objects whose state does not show it, by type."""


def _bytes_of(file: str) -> object:
    return Path(file).read_bytes() if Path(file).is_file() else file


def content_of(value: object) -> tuple[Any, ...] | None:
    """Return the content of an object of a type in `CONTENTS`; None for other objects."""
    read = next((read for kinds, read in CONTENTS.items() if isinstance(value, kinds)), None)
    return None if read is None else read(value)


GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
"""Random generators, whose state cannot be compared: libraries seed theirs anew."""

_PARTS_OF_A_PROCESS = """
_thread.lock _thread.RLock threading.Thread logging.Logger logging.Handler _io._IOBase
_socket.socket concurrent.futures._base.Executor argparse._ActionsContainer
multiprocessing.pool.Pool subprocess.Popen
"""
NO_NUMBER = frozenset(_PARTS_OF_A_PROCESS.split())
"""Types whose objects (locks, files, executors, parsers) change no number, with subtypes."""


def moves_no_number(value: object) -> bool:
    """Whether an object is a lock, a file, or another part of a process."""
    names = {f"{base.__module__}.{base.__qualname__}" for base in type(value).__mro__}
    return not NO_NUMBER.isdisjoint(names)


# ---------------------------------------------------------------- functions
Chain = tuple[str, ...]
"""A name and the attributes read from it, such as `np.random.default_rng`."""

ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL")
SET_ATTRIBUTES = ("STORE_ATTR", "DELETE_ATTR")
SAYS_NOTHING = ("PUSH_NULL", "PRECALL", "EXTENDED_ARG", "NOP", "CACHE")
"""Instructions that differ between a notebook's cell and a file, or between layouts."""
SETS_PART = "SET_FUNCTION_ATTRIBUTE"
CLOSURE, ANNOTATED = 0x08, 0x14  # parts of a function: its closure, its annotations
KINDS_OF_FUNCTION = 0x3AC  # flags of variable arguments, generators and coroutines

CODE = (FunctionType, types.BuiltinFunctionType, types.MethodType, type, functools.partial, CACHED)


def is_code(value: object) -> bool:
    """Whether a value is a function or a class, also one that a library has wrapped."""
    return isinstance(value, CODE) or "__wrapped__" in attributes(value)


def module_of(function: FunctionType) -> str:
    """Return the name of the module whose globals a function reads."""
    return str(function.__globals__.get("__name__", ""))


def home_of(value: object) -> str:
    """Return the module that defines a function; type checkers' wrappers are ignored."""
    plain = unchecked(value)
    names = getattr(plain, "__globals__", {})
    return str(names.get("__name__") or getattr(plain, "__module__", "") or "")


def is_at_its_name(function: FunctionType) -> bool:
    """Whether a function is the value of its name in its module, so that the name suffices."""
    name = function.__code__.co_qualname
    found = function.__globals__.get(name)
    return "<" not in name and (unchecked(found) is function or "." in name)


def is_generated(method: object) -> bool:
    """Whether Python generated a method, as for dataclasses and named tuples."""
    made = getattr(method, "__wrapped__", method)
    return isinstance(made, FunctionType) and (
        module_of(made).startswith("namedtuple_")
        or made.__code__.co_qualname.startswith("__create_fn__")
    )


def unchecked(function: Any) -> Any:
    """Return the function inside wrappers that only check types.

    The code of such a wrapper is not the same in two processes.
    """
    while isinstance(function, FunctionType):
        held = cells_of(function) | (function.__kwdefaults__ or {})
        called = {"fn"} if module_of(function).startswith("jaxtyping.") else {"__beartype_func"}
        if called.isdisjoint(held):
            break
        function = held[called.pop()]
    return function


def cells_of(function: FunctionType) -> dict[str, object]:
    """Return the values of a function's closure by name; None for an unbound cell."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: None if cell == CellType() else cell.cell_contents for name, cell in cells}


def attributes_of(function: FunctionType) -> dict[str, object]:
    """Return the attributes that decorators set on a function or on its type checker.

    Names and docstrings, which `functools.wraps` sets as well, are left out.
    """
    plain, made = unchecked(function), (*MADE_BY_PYTHON, "__name__")
    return {
        name: held
        for name, held in sorted((vars(plain) | vars(function)).items())
        if name not in made and not name.startswith("__beartype") and unchecked(held) is not plain
    }


# ---------------------------------------------------------------- code
class Import(NamedTuple):
    """An import statement: the module, the level of a relative import, and the names."""

    module: str
    level: int
    names: tuple[str, ...]


class Definition(NamedTuple):
    """What a function or module does, as a hash and the names in it.

    Attributes
    ----------
    digest
        Hash of the bytecode.
    chains
        Global names that it reads, with attributes.
    imports
        Import statements inside it.
    words
        Attributes, global names and strings.
    """

    digest: str
    chains: tuple[Chain, ...]
    imports: tuple[Import, ...]
    words: frozenset[str]


@cache
def definition_of(code: CodeType) -> Definition:
    """Read the definition of a function, or of a module, with all code inside it."""
    known = [_read(each) for each in nested(code)]
    return Definition(
        known[0].digest,
        tuple(dict.fromkeys(chain for each in known for chain in each.chains)),
        tuple(statement for each in known for statement in each.imports),
        frozenset().union(*(each.words for each in known)),
    )


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name != "__annotate__":
            yield from nested(constant)


@lru_cache(maxsize=512)
def compiled(text: str) -> CodeType | None:
    """Compile a source; None if it is not Python."""
    with contextlib.suppress(SyntaxError, ValueError):
        return compile(text, "<source>", "exec", dont_inherit=True)
    return None


def code_in(text: str, code: CodeType) -> CodeType:
    """Find the code in a source that an import hook has changed; the code itself if there is none.

    Some hooks, as those that check types, add decorators to the functions inside a function.
    """
    name, start = code.co_qualname, code.co_firstlineno
    named = [each for each in nested(compiled(text) or code) if each.co_qualname == name]
    return min(named, key=lambda each: abs(each.co_firstlineno - start), default=code)


# ---------------------------------------------------------------- one code object
@cache
def _read(code: CodeType) -> Definition:
    """Read one code object, without the names in the code inside it."""
    steps = [step for step in _without_annotations(code) if step.opname not in SAYS_NOTHING]
    chains: dict[Chain, None] = {}
    words: set[str] = set()
    imports: list[Import] = []
    for at, step in enumerate(steps):
        name = step.argval
        if step.opname in (*ATTRIBUTES, *SET_ATTRIBUTES, "IMPORT_FROM"):
            words.add(name)
        elif step.opname in NAMES:
            end = at + 1
            while end < len(steps) and steps[end].opname in ATTRIBUTES:
                end += 1
            chain = (name, *(each.argval for each in steps[at + 1 : end]))
            chains[chain] = None
            words.add(name)
        elif step.opname == "LOAD_CONST":
            words.update(_texts(name))
        elif step.opname == "IMPORT_NAME":
            level, names = (each.argval for each in steps[at - 2 : at])
            imports.append(Import(name, level, tuple(names or ())))
            words.update((name, *(names or ())))
    return Definition(_digest(code, steps), tuple(chains), tuple(imports), frozenset(words))


def _without_annotations(code: CodeType) -> list[dis.Instruction]:
    """List the instructions without those that make annotations of the functions inside."""
    steps = [*dis.get_instructions(code)]
    left_out: set[int] = set()
    for at, step in enumerate(steps):
        if step.opname != "MAKE_FUNCTION":
            continue
        sets = itertools.takewhile(lambda each: each.opname == SETS_PART, steps[at + 1 :])
        flags = sum(each.arg or 0 for each in (step, *sets))
        if flags & ANNOTATED:
            end = at - 1  # the function's code, with its closure before it
            if flags & CLOSURE:
                end = _operand(steps, end)
            left_out.update(range(_operand(steps, end), end))
    return [step for at, step in enumerate(steps) if at not in left_out]


def _operand(steps: Sequence[dis.Instruction], end: int) -> int:
    """Find the first instruction of the value that is on top of the stack before `end`."""
    height = 0
    while height < 1:
        end -= 1
        argument = steps[end].arg if steps[end].opcode >= dis.HAVE_ARGUMENT else None
        height += dis.stack_effect(steps[end].opcode, argument, jump=False)
    return end


def _digest(code: CodeType, steps: Sequence[dis.Instruction]) -> str:
    offsets = [step.offset for step in steps]
    shown = [
        (step.opname.replace("LOAD_METHOD", "LOAD_ATTR"), _argument(step, offsets))
        for step in steps
        if not (step.opname == SETS_PART and step.argval & ANNOTATED)
    ]
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    flags = code.co_flags & KINDS_OF_FUNCTION
    return hash_of(repr((shown, _handlers(code, offsets), counts, arguments, flags)))[1:]


def _handlers(code: CodeType, offsets: Sequence[int]) -> list[tuple[int, ...]]:
    """List the ranges of instructions with a handler of exceptions, and where it begins."""
    found = (
        (*(bisect_left(offsets, at) for at in entry[:3]), entry.depth, entry.lasti)
        for entry in getattr(dis.Bytecode(code), "exception_entries", ())
    )
    return [each for each in found if each[0] < each[1]]


def _argument(step: dis.Instruction, offsets: Sequence[int]) -> str:
    if step.opname == "MAKE_FUNCTION":
        return str((step.arg or 0) & ~ANNOTATED)
    if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
        return str(bisect_left(offsets, step.argval))
    if isinstance(step.argval, CodeType):
        return definition_of(step.argval).digest
    return _shown(step.argval)


def _shown(constant: object) -> str:
    if isinstance(constant, frozenset):
        return repr(sorted(map(_shown, constant)))
    if isinstance(constant, tuple):
        return repr([*map(_shown, constant)])
    return f"{type(constant).__name__} {constant!r}"


def _texts(constant: Any) -> Iterator[str]:
    if isinstance(constant, str):
        yield constant
    elif isinstance(constant, tuple | frozenset):
        for part in constant:
            yield from _texts(part)
