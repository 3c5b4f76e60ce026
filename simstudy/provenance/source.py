"""Definitions as syntax trees: a hash without comments, docstrings and annotations, and names.

The source of a loaded function is looked up, so that a function in a notebook's cell and the same
one in a file are equal. If its file was edited after it was loaded, or there is no source, its
bytecode counts instead.
"""

import ast
import contextlib
import hashlib
import linecache
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from simstudy.provenance.policy import SETTERS

Chain = tuple[str, ...]
"""A name and the attributes read from it, such as `np.random.default_rng`."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Imports = ast.Import | ast.ImportFrom

NODES_WITH_DOCSTRINGS = (*Function.__args__, ast.ClassDef, ast.Module)
UNREAD_FIELDS = frozenset({"type_comment", "type_params", "kind"})
ANNOTATIONS = frozenset({"returns", "annotation"})


class Definition(NamedTuple):
    """A function or a module, as a hash and the names in it.

    Attributes
    ----------
    digest
        Hash of the source, without the parts that no number depends on, or of the bytecode.
    chains
        Global names that it reads, with attributes.
    imports
        Import statements inside it.
    words
        Attributes, global names and strings.
    seeded
        Names that it calls with an argument that is not a constant: `default_rng(seed)`.
    has_source
        Whether the source was found.
    """

    digest: str
    chains: tuple[Chain, ...]
    imports: tuple[Imports, ...]
    words: frozenset[str]
    seeded: frozenset[Chain]
    has_source: bool


# ---------------------------------------------------------------- functions
_known: dict[CodeType, Definition] = {}
"""Definitions by code object: a loaded function keeps its definition if its file is edited."""


def definition_of(code: CodeType, *, is_hooked: bool = False) -> Definition:
    """Read the definition of a loaded function.

    Parameters
    ----------
    is_hooked
        Whether an import hook compiled changed code, as some test runners do. The source then
        counts although its bytecode differs.
    """
    if code not in _known:
        _known[code] = _definition(code, _node_of(code, text_of(code.co_filename), is_hooked))
    return _known[code]


def _definition(code: CodeType, node: ast.AST | None) -> Definition:
    names = {name for each in _nested(code) for name in each.co_names}
    if node is None:
        chains: tuple[Chain, ...] = tuple((name,) for name in sorted(names))
        words = frozenset({*names, *_strings(code)})
        return Definition(bytecode_of(code), chains, (), words, frozenset(), has_source=False)
    reader = _Reader()
    digest = _hash(reader.text(node))
    chains = tuple(chain for chain in reader.chains if chain[0] in names)
    words = frozenset({chain[0] for chain in chains} | reader.words)
    seeded = frozenset(reader.seeded)
    return Definition(digest, chains, tuple(reader.imports), words, seeded, has_source=True)


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
    imports: tuple[Imports, ...]


@lru_cache(maxsize=512)
def statements_in(text: str) -> Statements:
    """Collect functions and imports of a source; none if it is not Python."""
    found = [*_statements_below(parsed(text))]
    return Statements(
        {_place(each): each for each in found if isinstance(each, Function)},
        tuple(each for each in found if isinstance(each, Imports)),
    )


def _statements_below(node: ast.AST | None) -> Iterator[ast.AST]:
    for statement in _directly_below(node):
        yield statement
        yield from _statements_below(statement)


def _directly_below(node: ast.AST | None) -> Iterator[ast.AST]:
    """Yield statements without a look into expressions, which takes longer."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, name, ())
        yield from inner if isinstance(inner, list) else ()


@lru_cache(maxsize=512)
def _codes_of(text: str, *, one_by_one: bool) -> dict[str, list[CodeType]]:
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
    alike: list[CodeType] = []
    for one_by_one in (False, True):
        named = _codes_of(text, one_by_one=one_by_one).get(code.co_qualname, ())
        alike = [c for c in named if is_hooked or bytecode_of(c) == bytecode_of(code)]
        if alike or not named:
            break
    if not alike:
        return None
    at = code.co_firstlineno, _start(code)[1]
    near = min(alike, key=lambda c: (abs(c.co_firstlineno - at[0]), abs(_start(c)[1] - at[1])))
    if near.co_name != "<lambda>":
        return statements_in(text).functions.get((near.co_name, near.co_firstlineno))
    nodes = ast.walk(parsed(text) or ast.Module([], []))
    lambdas = (node for node in nodes if isinstance(node, ast.Lambda) and _is_inside(near, node))
    return max(lambdas, key=lambda node: (node.lineno, node.col_offset), default=None)


def _start(code: CodeType) -> tuple[int, int]:
    """Return line and column at which the last instruction's expression begins."""
    line, _, column, _ = [*code.co_positions()][-1]
    return line or 0, column or 0


def _is_inside(code: CodeType, node: ast.Lambda) -> bool:
    end = node.end_lineno or 0, node.end_col_offset or 0
    return (node.lineno, node.col_offset) <= _start(code) <= end


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


def _strings(code: CodeType) -> Iterator[str]:
    ahead = [constant for each in _nested(code) for constant in each.co_consts]
    while ahead:
        constant = ahead.pop()
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            ahead += constant


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


# ---------------------------------------------------------------- source
@lru_cache(maxsize=512)
def digest_of_text(text: str) -> str:
    """Hash a whole source with its docstrings and annotations; unparsed if it is not Python."""
    tree = parsed(text)
    return _hash(text if tree is None else _Reader(is_whole=True).text(tree))


class _Reader:
    """Writes a syntax tree as text, and collects the names in it.

    The name and decorators of the outermost function are left out: their effect is visible in the
    object that its name is bound to.

    Parameters
    ----------
    is_whole
        Whether docstrings and annotations are written.
    """

    def __init__(self, *, is_whole: bool = False) -> None:
        self.is_whole = is_whole
        self.chains: dict[Chain, None] = {}
        self.imports: list[Imports] = []
        self.words: set[str] = set()
        self.seeded: set[Chain] = set()

    def text(self, node: ast.AST) -> str:
        """Write the text of a whole definition."""
        left_out = ("name", "decorator_list") if isinstance(node, Function) else ()
        return self._node(node, left_out)

    def _node(self, node: Any, left_out: tuple[str, ...] = (), *, in_chain: bool = False) -> str:
        kind = type(node)
        self._note(node, in_chain)
        if kind is ast.AnnAssign and node.value is not None and not self.is_whole:
            return f"Assign([{self._value(node.target)}],{self._value(node.value)})"
        parts = []
        for name in kind._fields:
            if name in UNREAD_FIELDS or name in left_out:
                continue
            value = getattr(node, name, None)
            if not self.is_whole and name in ANNOTATIONS:
                continue
            if name == "body" and kind in NODES_WITH_DOCSTRINGS and not self.is_whole:
                value = _without_docstring(node)
            goes_on = kind is ast.Attribute and name == "value"
            parts.append(self._value(value, in_chain=goes_on and bool(_chain_of(node))))
        return f"{kind.__name__}({','.join(parts)})"

    def _value(self, value: Any, *, in_chain: bool = False) -> str:
        if isinstance(value, ast.AST):
            return self._node(value, in_chain=in_chain)
        if isinstance(value, list):
            return f"[{','.join([self._value(each) for each in value])}]"
        return f"{type(value).__name__} {value!r}"

    def _note(self, node: Any, in_chain: bool) -> None:
        kind = type(node)
        if kind is ast.Attribute:
            self.words.add(node.attr)
        elif kind is ast.Constant and type(node.value) is str:
            self.words.add(node.value)
        elif kind in (ast.Import, ast.ImportFrom):
            self.imports.append(node)
        elif kind is ast.Call:
            arguments = (*node.args, *(keyword.value for keyword in node.keywords))
            if any(not isinstance(each, ast.Constant) for each in arguments):
                self.seeded.add(_chain_of(node.func))
        if kind in (ast.Name, ast.Attribute) and not in_chain and (chain := _chain_of(node)):
            self.chains[chain] = None


def _without_docstring(node: Any) -> list[ast.stmt]:
    body: list[ast.stmt] = node.body
    return body if ast.get_docstring(node, clean=False) is None else body[1:]


def _chain_of(node: ast.expr) -> Chain:
    """Return a name with the attributes read from it; empty for other expressions."""
    if isinstance(node, ast.Name):
        return (node.id,)
    inner = _chain_of(node.value) if isinstance(node, ast.Attribute) else ()
    return (*inner, node.attr) if inner and isinstance(node, ast.Attribute) else ()


# ---------------------------------------------------------------- statements at the top
@lru_cache(maxsize=512)
def effects_at_import(text: str) -> tuple[tuple[str, str], ...]:
    """Statements of a module that call a function by whose name it sets something, or set a part.

    Returns
    -------
    tuple
        For each the first name of what it calls or sets, such as `np` in `np.seterr(all="raise")`,
        and a hash. Those below `if __name__ == "__main__"` are left out.
    """
    found = _effects(parsed(text))
    return tuple((name, _hash(_Reader().text(statement))) for name, statement in found if name)


def _effects(node: ast.AST | None) -> Iterator[tuple[str, ast.stmt]]:
    for each in _directly_below(node):
        if isinstance(each, (*Function.__args__, ast.ClassDef)) or _is_main_guard(each):
            continue
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            called = each.value.func
            if SETTERS.match(getattr(called, "attr", getattr(called, "id", ""))):
                yield _first_name(called), each
        elif isinstance(each, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            plain = (ast.Name, ast.Tuple, ast.List)
            yield from ((_first_name(t), each) for t in targets if not isinstance(t, plain))
        yield from _effects(each)


def _first_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_main_guard(statement: ast.AST) -> bool:
    return isinstance(statement, ast.If) and "'__main__'" in ast.dump(statement.test)
