"""A code object as what it does: no line numbers, comments, docstrings or formatting.

Instructions are read rather than source, so a function in a notebook's cell and one in a file are
the same to the walk, and what was edited on disk after it was imported is seen as it runs.
"""

import bisect
import dis
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import CodeType
from typing import NamedTuple, TypeVar

T = TypeVar("T")

SKIPPED = frozenset({"CACHE", "RESUME", "NOP", "EXTENDED_ARG", "PRECALL", "NOT_TAKEN"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
CONSTANTS = frozenset({"LOAD_CONST", "RETURN_CONST", "LOAD_SMALL_INT", "KW_NAMES"})

ANNOTATIONS = (4, 16)  # as values, and as a function that makes them


class Import(NamedTuple):
    """An import statement inside a function: `from {.level}{module} import {names}`."""

    module: str
    names: tuple[str, ...]  # empty for `import module`
    level: int


class Code(NamedTuple):
    """What a code object does and what it refers to, with the code objects inside it."""

    digest: str
    chains: tuple[tuple[str, ...], ...]  # a global name and the attributes read off it at once
    attributes: frozenset[str]
    imports: tuple[Import, ...]
    strings: frozenset[str]
    annotates: bool  # whether it makes functions with annotations, which no number depends on


@cache
def read_code(code: CodeType) -> Code:
    """Digest and references of a code object; remembered, since code objects never change."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in SKIPPED]
    inner = [read_code(part) for part in code.co_consts if isinstance(part, CodeType)]
    places = _places(steps)
    handled = [(places(a), places(b), places(to), *rest) for a, b, to, *rest in _handlers(code)]
    text = repr((_signature(code), list(_lines(steps, places)), handled))
    return Code(
        hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest(),
        _unique(_chains(steps), *(part.chains for part in inner)),
        frozenset(_attributes(steps)).union(*(part.attributes for part in inner)),
        _unique(_imports(steps), *(part.imports for part in inner)),
        frozenset(_strings(code)).union(*(part.strings for part in inner)),
        any(map(_annotates, steps)) or any(part.annotates for part in inner),
    )


def _unique(*parts: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(entry for part in parts for entry in part))


def _signature(code: CodeType) -> tuple[object, ...]:
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    kinds = code.co_flags & 0xFFF  # without the flag that only tells of a docstring
    n_arguments = code.co_argcount + code.co_kwonlyargcount + 2
    return (*counts, kinds, code.co_varnames[:n_arguments], code.co_freevars, code.co_cellvars)


def _places(steps: list[dis.Instruction]) -> Callable[[int], int]:
    """From a place in the bytes to the number of the instruction there, or of the next that counts.

    Formatting puts in, or takes out, instructions that do nothing.
    """
    offsets = [step.offset for step in steps]
    return lambda offset: bisect.bisect_left(offsets, offset)


def _handlers(code: CodeType) -> list[tuple[int, ...]]:
    """Which instructions an exception leaves for which; as written where Python hides the table."""
    parse = getattr(dis, "_parse_exception_table", None)
    if parse is None:
        return [(0, 0, 0, *code.co_exceptiontable)]
    return [(h.start, h.end, h.target, h.depth, h.lasti) for h in parse(code)]


def _lines(steps: list[dis.Instruction], places: Callable[[int], int]) -> Iterator[tuple[str, str]]:
    """Each instruction with what it refers to; a class's docstring inside a function left out."""
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if after is not None and _stores_docstring(after) and step.opname in CONSTANTS:
            continue
        if step.opcode in JUMPS:
            yield step.opname, str(places(step.argval))
        elif not _stores_docstring(step):
            yield step.opname, _constant(step.argval) if step.opname in CONSTANTS else _shown(step)


def _stores_docstring(step: dis.Instruction) -> bool:
    return step.opname == "STORE_NAME" and step.argval == "__doc__"


def _shown(step: dis.Instruction) -> str:
    return step.argval if isinstance(step.argval, str) else f"{step.argval!r} {step.arg}"


def _constant(value: object) -> str:
    """A constant by type and value: 1, 1.0 and True are three, and so are 0.0 and -0.0."""
    if isinstance(value, CodeType):
        return read_code(value).digest
    if isinstance(value, tuple):
        return "(" + ",".join(map(_constant, value)) + ")"
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(_constant, value))) + "}"
    return f"{type(value).__name__} {value!r}"


def _chains(steps: list[dis.Instruction]) -> Iterator[tuple[str, ...]]:
    at = 0
    while at < len(steps):
        step = steps[at]
        at += 1
        if step.opname in GLOBALS:
            chain = [str(step.argval)]
            while at < len(steps) and steps[at].opname in ATTRIBUTES:
                chain.append(str(steps[at].argval))
                at += 1
            yield tuple(chain)


def _attributes(steps: list[dis.Instruction]) -> Iterator[str]:
    return (str(step.argval) for step in steps if step.opname in ATTRIBUTES)


def _imports(steps: list[dis.Instruction]) -> Iterator[Import]:
    for at, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            level, names = (loaded.argval for loaded in steps[at - 2 : at])
            yield Import(str(step.argval), tuple(names or ()), int(level))


def _annotates(step: dis.Instruction) -> bool:
    if step.opname == "SET_FUNCTION_ATTRIBUTE":
        return step.arg in ANNOTATIONS
    return step.opname == "MAKE_FUNCTION" and bool((step.arg or 0) & 4)


def _strings(code: CodeType) -> Iterator[str]:
    ahead = list(code.co_consts)
    while ahead:
        constant = ahead.pop()
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            ahead += constant
