"""Normalised bytecode: no line numbers, comments, docstrings, annotations or formatting.

Instructions are read rather than source, so a function in a notebook's cell and one in a file are
the same, and a function counts as it was loaded, whatever its file says by now.
"""

import ast
import bisect
import dis
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar, cast

from simstudy.provenance.policy import CALLED_BY_CHECKERS, CHECKERS, MADE_BY_PYTHON

T = TypeVar("T")
Function = ast.FunctionDef | ast.AsyncFunctionDef

SKIPPED = frozenset({"CACHE", "RESUME", "NOP", "EXTENDED_ARG", "PRECALL", "NOT_TAKEN"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
CONSTANTS = frozenset({"LOAD_CONST", "RETURN_CONST", "LOAD_SMALL_INT", "KW_NAMES"})
ANNOTATIONS = (4, 16)  # flags of a function with annotations: as values, as a function for them


class Import(NamedTuple):
    """An import statement inside a function: `from {.level}{module} import {names}`."""

    module: str
    names: tuple[str, ...]  # empty for `import module`
    level: int


class Code(NamedTuple):
    """A code object as normalised bytecode, with its references and nested code objects."""

    digest: str
    chains: tuple[tuple[str, ...], ...]  # a global name and the attributes read off it at once
    attributes: frozenset[str]
    imports: tuple[Import, ...]
    strings: frozenset[str]
    annotates: bool  # whether it makes functions with annotations, which no number depends on


@cache
def read_code(code: CodeType) -> Code:
    """Digest and references of a code object, cached: code objects never change."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in SKIPPED]
    inner = [read_code(part) for part in code.co_consts if isinstance(part, CodeType)]
    number = _numbers(steps)
    handled = [(number(a), number(b), number(to), *rest) for a, b, to, *rest in _handlers(code)]
    text = repr((_signature(code), list(_lines(steps, number)), handled))
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


def _numbers(steps: list[dis.Instruction]) -> Callable[[int], int]:
    """Map from byte offsets to instruction numbers.

    Formatting puts in, or takes out, instructions that do nothing.
    """
    offsets = [step.offset for step in steps]
    return lambda offset: bisect.bisect_left(offsets, offset)


def _handlers(code: CodeType) -> list[tuple[int, ...]]:
    """The exception table by instruction numbers; raw where Python hides the table."""
    parse = getattr(dis, "_parse_exception_table", None)
    if parse is None:
        return [(0, 0, 0, *code.co_exceptiontable)]
    return [(h.start, h.end, h.target, h.depth, h.lasti) for h in parse(code)]


def _lines(steps: list[dis.Instruction], number: Callable[[int], int]) -> Iterator[tuple[str, str]]:
    """Each instruction with its operand, without docstrings of nested classes."""
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if after is not None and _stores_docstring(after) and step.opname in CONSTANTS:
            continue
        if step.opcode in JUMPS:
            yield step.opname, str(number(step.argval))
        elif not _stores_docstring(step):
            yield step.opname, _constant(step.argval) if step.opname in CONSTANTS else _shown(step)


def _stores_docstring(step: dis.Instruction) -> bool:
    return step.opname == "STORE_NAME" and step.argval == "__doc__"


def _shown(step: dis.Instruction) -> str:
    return step.argval if isinstance(step.argval, str) else f"{step.argval!r} {step.arg}"


def _constant(value: object) -> str:
    """A constant by type and value: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if isinstance(value, CodeType):
        return read_code(value).digest
    if isinstance(value, tuple):
        return "(" + ",".join(map(_constant, value)) + ")"
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(_constant, value))) + "}"
    return f"{type(value).__name__} {value!r}"


def _chains(steps: list[dis.Instruction]) -> Iterator[tuple[str, ...]]:
    chain: list[str] = []
    for step in steps:
        if chain and step.opname in ATTRIBUTES:
            chain.append(str(step.argval))
            continue
        if chain:
            yield tuple(chain)
        chain = [str(step.argval)] if step.opname in GLOBALS else []


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


# ---------------------------------------------------------------- from a source
@lru_cache(maxsize=512)
def plain_code(text: bytes) -> CodeType:
    """Compile a source unchanged."""
    return compile(text, "<source>", "exec", dont_inherit=True)


@lru_cache(maxsize=512)
def bare_code(text: bytes) -> CodeType:
    """Compile a source without docstrings and annotations."""
    return compiled_bare(ast.parse(text))


def compiled_bare(node: ast.Module) -> CodeType:
    """Remove docstrings and annotations from statements (in place) and compile them."""
    bare = cast(ast.Module, ast.fix_missing_locations(_OnlyCode().visit(node)))
    return compile(bare, "<source>", "exec", dont_inherit=True)


class _OnlyCode(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, Function):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if isinstance(node, Function | ast.ClassDef | ast.Module) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)


@cache
def bare_function(text: bytes, code: CodeType, *, is_loaded: bool) -> Code | None:
    """The normalised code of a loaded function, without annotations of nested functions.

    Of several definitions of one name the one that stands nearest.

    Parameters
    ----------
    is_loaded
        The loaded code is what Python makes of its source; then None where that is another code.
    """
    if is_loaded and read_code(_nearest(plain_code(text), code)).digest != read_code(code).digest:
        return None
    return read_code(_nearest(bare_code(text), code))


def _nearest(outer: CodeType, code: CodeType) -> CodeType:
    ahead, namesakes = [outer], []
    while ahead:
        known = ahead.pop()
        if known.co_qualname == code.co_qualname:
            namesakes.append(known)
        ahead += [inner for inner in known.co_consts if isinstance(inner, CodeType)]
    return min(
        namesakes, key=lambda other: abs(other.co_firstlineno - code.co_firstlineno), default=code
    )


# ---------------------------------------------------------------- functions
def module_of(function: FunctionType) -> str:
    """The module whose globals a function reads."""
    return str(function.__globals__.get("__name__", ""))


def is_checker(function: FunctionType) -> bool:
    """Whether a function is a wrapper that only checks types."""
    top = module_of(function).split(".")[0]
    return top in CHECKERS or function.__code__.co_filename.startswith("<@beartype")


def unchecked(function: Any) -> Any:
    """The function inside wrappers that only check types."""
    while isinstance(function, FunctionType) and is_checker(function):
        behind = _checked_by(function)
        if behind is None:
            break
        function = behind
    return function


def _checked_by(function: FunctionType) -> Any:
    """The function that a type checker calls; `__wrapped__` may be another decorator's."""
    held = dict(zip(function.__code__.co_freevars, cells_of(function), strict=True))
    held |= function.__kwdefaults__ or {}
    called = (held[name] for name in CALLED_BY_CHECKERS if name in held)
    return next(called, getattr(function, "__wrapped__", None))


def cells_of(function: FunctionType) -> list[object]:
    """The values of a function's closure; None for an unbound cell."""
    return [_content(cell) for cell in function.__closure__ or ()]


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def attributes_of(function: FunctionType) -> dict[str, object]:
    """The attributes that decorators set on a function or on its type checker.

    `functools.wraps` writes name and docstring on it, too, which are no attributes.
    """
    found: dict[str, object] = {}
    behind: Any = function
    while isinstance(behind, FunctionType):
        function, behind = behind, _checked_by(behind) if is_checker(behind) else None
        own = {name: held for name, held in vars(function).items() if _is_written(name)}
        found = {name: held for name, held in own.items() if held is not behind} | found
    return dict(sorted(found.items()))


def _is_written(attribute: str) -> bool:
    """Whether an attribute was set by a decorator, not by Python or a type checker."""
    is_checkers = attribute.startswith("__beartype")
    return not is_checkers and attribute not in (*MADE_BY_PYTHON, "__name__")
