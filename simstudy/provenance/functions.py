"""Functions: where they are defined, what they hold, and their code as it is compiled.

Code counts by a hash of the bytecode without line numbers, docstrings and annotations. A function
in a notebook's cell equals the same one in a file, and an edit of a loaded file has no effect.
"""

import dis
import functools
import itertools
import types
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from simstudy.provenance.policy import MADE_BY_PYTHON
from simstudy.provenance.values import CACHED, attributes, hash_of

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
    if not isinstance(made, FunctionType):
        return False
    is_tuples = module_of(made).startswith("namedtuple_")
    return is_tuples or made.__code__.co_qualname.startswith("__create_fn__")


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
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    return {name: _content(cell) for name, cell in zip(names, cells, strict=True)}


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


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
    try:
        return compile(text, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
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
    shown = [(_name(step), _argument(step, offsets)) for step in steps if not _annotates(step)]
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    flags = code.co_flags & KINDS_OF_FUNCTION
    return hash_of(repr((shown, _handlers(code, offsets), counts, arguments, flags)))[1:]


def _handlers(code: CodeType, offsets: Sequence[int]) -> list[tuple[int, ...]]:
    """List the ranges of instructions with a handler of exceptions, and where it begins."""
    found: list[tuple[int, ...]] = []
    for entry in getattr(dis.Bytecode(code), "exception_entries", ()):
        start, end, target = (bisect_left(offsets, at) for at in entry[:3])
        if start < end:
            found.append((start, end, target, entry.depth, entry.lasti))
    return found


def _name(step: dis.Instruction) -> str:
    return "LOAD_ATTR" if step.opname == "LOAD_METHOD" else step.opname


def _annotates(step: dis.Instruction) -> bool:
    return step.opname == SETS_PART and bool(step.argval & ANNOTATED)


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
