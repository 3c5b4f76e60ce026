"""Hashes of definitions by their source, without comments, docstrings, annotations and error texts.

The source of a loaded function is looked up, so that a function in a notebook's cell and the same
one in a file are equal. If its file was edited after it was loaded, or there is no source, its
bytecode counts instead.
"""

import ast
import contextlib
import dis
import hashlib
import linecache
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Chain = tuple[str, ...]
"""A name and the attributes read from it, such as `np.random.default_rng`."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Statement = ast.stmt

GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
NODES_WITH_DOCSTRINGS = (*Function.__args__, ast.ClassDef, ast.Module)
SKIPPED_FIELDS = frozenset({"returns", "annotation", "type_comment", "type_params", "kind"})
"""Fields of syntax nodes that do not count."""
SKIPPED_OPCODES = frozenset({"CACHE", "NOP", "EXTENDED_ARG", "PRECALL", "NOT_TAKEN"})
_MUTATORS = """
add append appendleft clear discard extend fit insert partial_fit pop popitem remove setdefault sort
update
"""
MUTATORS = frozenset(_MUTATORS.split())
"""Methods that change the object they are called on."""


class Import(NamedTuple):
    """An import statement inside a function: `from {.level}{module} import {names}`."""

    module: str
    names: tuple[str, ...]  # empty for `import module`
    level: int


class Definition(NamedTuple):
    """Source or bytecode of a function or statement, with the names in it.

    Attributes
    ----------
    digest
        Hash of the source, without the parts that no number depends on.
    chains
        Global names that it reads, with attributes.
    imports
        Import statements inside it.
    words
        Attributes, global names and strings.
    changed
        Names that it assigns to or fills: `global x`, `x[0] = 1`, `x.y = 1`, `x.append(1)`.
    seeded
        Names that it calls with an argument that is not a constant: `default_rng(seed)`.
    """

    digest: str
    chains: tuple[Chain, ...]
    imports: tuple[Import, ...]
    words: frozenset[str]
    changed: frozenset[Chain]
    seeded: frozenset[Chain]


# ---------------------------------------------------------------- functions
_known: dict[CodeType, Definition] = {}
"""Definitions by code object: a loaded function keeps its definition if its file is edited."""


def definition_of(code: CodeType, *, is_hooked: bool = False) -> Definition:
    """Read the definition of a loaded function.

    Parameters
    ----------
    is_hooked
        Whether an import hook compiled changed code, as a test runner does to rewrite assertions.
        The source then counts although its bytecode differs.
    """
    if code not in _known:
        node = _node_of(code, text_of(code.co_filename), is_hooked)
        _known[code] = _definition(code, node)
    return _known[code]


def definition_of_statements(statements: Iterable[Statement]) -> Definition:
    """Read the definition of statements of a module."""
    module = ast.Module([*statements], [])
    return _definition(compile(module, "<statements>", "exec", dont_inherit=True), module)


def _definition(code: CodeType, node: ast.AST | None) -> Definition:
    reader = _Reader()
    digest = bytecode_of(code) if node is None else _hash(reader.text(node))
    codes = [*_nested(code)]
    steps = [[s for s in dis.get_instructions(c) if s.opname not in SKIPPED_OPCODES] for c in codes]
    chains = _unique(chain for each in steps for chain in _chains(each))
    if node is not None:  # bytecode also has the names in annotations of inner functions
        chains = tuple(chain for chain in chains if chain[0] in reader.names)
    attributes = {str(s.argval) for each in steps for s in each if s.opname in ATTRIBUTES}
    words = frozenset({chain[0] for chain in chains} | attributes | {*_strings(codes)})
    imports = _unique(found for each in steps for found in _imports(each))
    return Definition(
        digest, chains, imports, words, frozenset(reader.changed), frozenset(reader.seeded)
    )


def text_of(file_name: str) -> str:
    """Read the source with this name: a file, or a notebook's cell from `linecache`."""
    path = Path(file_name)
    try:
        if path.suffix == ".py" and path.is_file():
            return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    return "".join(linecache.getlines(file_name))


# ---------------------------------------------------------------- from code to source
@lru_cache(maxsize=512)
def parsed(text: str) -> ast.Module | None:
    """Parse a source; None if it is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


class Statements(NamedTuple):
    """Statements of a source, nested ones included: functions by name and first line, imports."""

    functions: dict[tuple[str, int], Function]
    imports: tuple[ast.Import | ast.ImportFrom, ...]


@lru_cache(maxsize=512)
def statements_in(text: str) -> Statements:
    """Collect functions and imports of a source; none if it is not Python."""
    found = [*_statements_below(parsed(text))]
    return Statements(
        {_place(each): each for each in found if isinstance(each, Function)},
        tuple(each for each in found if isinstance(each, ast.Import | ast.ImportFrom)),
    )


def _statements_below(node: ast.AST | None) -> Iterator[ast.AST]:
    """Yield statements without a look into expressions, which takes longer."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, name, ())
        for statement in inner if isinstance(inner, list) else ():
            yield statement
            yield from _statements_below(statement)


@lru_cache(maxsize=512)
def _codes_of(text: str, *, one_by_one: bool = False) -> dict[str, list[CodeType]]:
    """Collect the code objects of a source by qualified name.

    Parameters
    ----------
    one_by_one
        Compile each statement alone, as IPython does with a notebook's cell: Python compiles
        `np.sqrt(x)` in another way if `import numpy as np` is compiled with it.
    """
    body = getattr(parsed(text), "body", [])
    codes: dict[str, list[CodeType]] = {}
    for part in [[each] for each in body] if one_by_one else [body]:
        with contextlib.suppress(SyntaxError, ValueError):  # such as `return` at the top
            compiled = compile(ast.Module(part, []), "<source>", "exec", dont_inherit=True)
            for code in _nested(compiled):
                codes.setdefault(code.co_qualname, []).append(code)
    return codes


def _place(node: Function) -> tuple[str, int]:
    """Return the name and first line of a function, as in its code object."""
    return node.name, min(part.lineno for part in (node, *node.decorator_list))


def _node_of(code: CodeType, text: str, is_hooked: bool) -> ast.AST | None:
    """Find the syntax tree of a loaded function; None if the source has other code."""
    named = _codes_of(text).get(code.co_qualname, [])
    alike = named if is_hooked else _alike(code, named)
    if not alike and named:
        alike = _alike(code, _codes_of(text, one_by_one=True).get(code.co_qualname, []))
    if not alike:
        return None
    at = code.co_firstlineno, _column(code)
    near = min(alike, key=lambda c: (abs(c.co_firstlineno - at[0]), abs(_column(c) - at[1])))
    if near.co_name != "<lambda>":
        return statements_in(text).functions.get((near.co_name, near.co_firstlineno))
    nodes = ast.walk(parsed(text) or ast.Module([], []))
    lambdas = (node for node in nodes if isinstance(node, ast.Lambda) and _is_inside(near, node))
    return max(lambdas, key=lambda node: (node.lineno, node.col_offset), default=None)


def _alike(code: CodeType, others: Iterable[CodeType]) -> list[CodeType]:
    """The code objects with the same bytecode."""
    return [other for other in others if bytecode_of(other) == bytecode_of(code)]


def _column(code: CodeType) -> int:
    """Return the column at which the last instruction's expression begins."""
    return [*code.co_positions()][-1][2] or 0


def _is_inside(code: CodeType, node: ast.Lambda) -> bool:
    line, _, column, _ = [*code.co_positions()][-1]
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return start <= (line or 0, column or 0) <= end


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


@cache
def bytecode_of(code: CodeType) -> str:
    """Hash compiled code, without line numbers."""
    constants = [bytecode_of(c) if isinstance(c, CodeType) else _shown(c) for c in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    return _hash(repr((code.co_code, code.co_exceptiontable, constants, names, counts)))


def _shown(constant: object) -> str:
    if isinstance(constant, frozenset):
        return repr(sorted(map(_shown, constant)))
    if isinstance(constant, tuple):
        return repr([*map(_shown, constant)])
    return f"{type(constant).__name__} {constant!r}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


# ---------------------------------------------------------------- source
@lru_cache(maxsize=512)
def digest_of_text(text: str) -> str:
    """Hash a whole source; if it cannot be parsed, its unchanged text."""
    tree = parsed(text)
    return _hash(text if tree is None else _Reader().text(tree))


class _Reader:
    """Writes a syntax tree as text, and collects the names that it changes and calls.

    Docstrings, annotations and error texts are left out. The name and decorators of the outermost
    function are left out as well: their effect is visible in the object that its name is bound to.

    Attributes
    ----------
    changed, seeded
        Names as in `Definition`.
    names
        Names outside of annotations.
    """

    def __init__(self) -> None:
        self.changed: set[Chain] = set()
        self.seeded: set[Chain] = set()
        self.names: set[str] = set()

    def text(self, node: ast.AST) -> str:
        """Write the text of a whole definition."""
        left_out = ("name", "decorator_list") if isinstance(node, Function) else ()
        return self._node(node, left_out)

    def _node(self, node: Any, left_out: tuple[str, ...] = ()) -> str:
        self._note(node)
        kind = type(node)
        if kind is ast.AnnAssign and node.value is not None:
            return f"Assign([{self._value(node.target)}],{self._value(node.value)})"
        parts = []
        for name in kind._fields:
            value = getattr(node, name, None)
            if name in SKIPPED_FIELDS or name in left_out:
                continue
            if name == "body" and isinstance(value, list) and value and _is_docstring(value[0]):
                value = value[1:] if kind in NODES_WITH_DOCSTRINGS else value
            parts.append(self._value(value))
        return f"{kind.__name__}({','.join(parts)})"

    def _value(self, value: Any) -> str:
        if isinstance(value, ast.Raise) and isinstance(value.exc, ast.Call):
            rest = [each for each in value.exc.args if not _is_text(each)]
            return f"Raise({self._value(value.exc.func)},{self._value(rest)})"
        if isinstance(value, ast.AST):
            return self._node(value)
        if isinstance(value, list):
            return f"[{','.join([self._value(each) for each in value])}]"
        return f"{type(value).__name__} {value!r}"

    def _note(self, node: Any) -> None:
        kind, target = type(node), None
        self.names |= {node.id} if kind is ast.Name else set()
        if kind is ast.Global:
            self.changed |= {(name,) for name in node.names}
        elif kind in (ast.Attribute, ast.Subscript) and type(node.ctx) is not ast.Load:
            target = node
        elif kind is ast.Call:
            arguments = (*node.args, *(keyword.value for keyword in node.keywords))
            if any(not isinstance(each, ast.Constant) for each in arguments):
                self.seeded |= {_chain_of(node.func)}
            if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
                target = node.func.value
        if target is not None:
            self.changed |= {_chain_of(target)} - {()}


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and _is_text(node.value)


def _is_text(node: ast.expr) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


def _chain_of(node: ast.expr) -> Chain:
    """Return the chain of names below subscripts; empty for other expressions."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return (node.id,)
    inner = _chain_of(node.value) if isinstance(node, ast.Attribute) else ()
    return (*inner, node.attr) if inner and isinstance(node, ast.Attribute) else ()


def statements_about(text: str, name: str) -> list[Statement]:
    """List the statements of a module that bind a name or change its value.

    Only the last binding and later statements count: a notebook may execute a cell several times.
    """
    found = [each for each in _statements(text) if name in _bound_by(each)]
    bindings = [at for at, each in enumerate(found) if _is_binding(each, name)]
    return found[bindings[-1] :] if bindings else found


def _is_binding(statement: Statement, name: str) -> bool:
    """Whether a statement is a plain assignment to a name."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


@lru_cache(maxsize=256)
def _statements(text: str) -> tuple[Statement, ...]:
    tree = parsed(text)
    defines = (*(Function.__args__), ast.ClassDef, ast.Import, ast.ImportFrom)
    return tuple(each for each in (tree.body if tree else ()) if not isinstance(each, defines))


def _bound_by(statement: Statement) -> set[str]:
    reader = _Reader()
    reader.text(statement)
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return bound | {chain[0] for chain in reader.changed}


# ---------------------------------------------------------------- names in code
def _unique(parts: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(parts))


def _chains(steps: list[dis.Instruction]) -> Iterator[Chain]:
    chain: list[str] = []
    for step in steps:
        if chain and step.opname in ATTRIBUTES:
            chain.append(str(step.argval))
            continue
        if chain:
            yield tuple(chain)
        chain = [str(step.argval)] if step.opname in GLOBALS else []


def _imports(steps: list[dis.Instruction]) -> Iterator[Import]:
    for at, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            level, names = (loaded.argval for loaded in steps[at - 2 : at])
            yield Import(str(step.argval), tuple(names or ()), int(level))


def _strings(codes: Iterable[CodeType]) -> Iterator[str]:
    ahead = [constant for code in codes for constant in code.co_consts]
    while ahead:
        constant = ahead.pop()
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            ahead += constant
