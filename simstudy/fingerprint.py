"""What a scenario's numbers depend on: its source, the source that it uses, and libraries.

The fingerprint follows names from the scenario's class through the project's own modules and
hashes each definition it meets as a syntax tree without docstrings: comments and formatting do
not count, figures and claims in the same file do not count, a changed helper does. Libraries
outside the project count by their version.
"""

import ast
import functools
import hashlib
import importlib.util
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

Fingerprint = dict[str, str]
"""Definition or library -> hash or version."""

DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "PyYAML"}  # where the names differ

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Imports = ast.Import | ast.ImportFrom
Blocks = ast.If | ast.Try | ast.ExceptHandler | ast.With | ast.For | ast.While


def fingerprint(parts: Iterable[object]) -> Fingerprint:
    """Everything that the code of `parts` (classes, functions, dataclass instances) depends on."""
    trace = _Trace()
    for kind in {type_ for part in parts for type_ in _types(part)}:
        trace.follow(kind)
    return dict(sorted(trace.found.items()))


def made_with(part: object) -> str:
    """Hash of the values that something was made with, down to those its functions close over."""
    return _hash("\n".join(one if isinstance(one, str) else _name(one) for one in _leaves(part)))


def functions_in(part: object) -> list[Any]:
    """The functions that something was made with."""
    return [one for one in _leaves(part) if not isinstance(one, str)]


def _name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _leaves(part: Any) -> Iterator[Any]:
    """Functions, and everything else as text, in a fixed order."""
    if inspect.isfunction(part):
        yield part
        yield from _leaves([part.__defaults__, part.__kwdefaults__])
        yield from _leaves([cell.cell_contents for cell in part.__closure__ or ()])
    elif isinstance(part, functools.partial):
        yield from _leaves([part.func, part.args, part.keywords])
    elif is_dataclass(part) and not isinstance(part, type):
        yield type(part).__qualname__
        yield from _leaves({one.name: getattr(part, one.name) for one in fields(part)})
    elif isinstance(part, Mapping):
        yield from _leaves([x for pair in part.items() for x in pair])
    elif isinstance(part, tuple | list):
        yield str(len(part))
        for one in part:
            yield from _leaves(one)
    else:  # a default representation tells the place in memory, which is no property
        shown: Any = type(part).__repr__
        yield type(part).__qualname__ if shown is object.__repr__ else repr(part)


def changes(stored: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """In words, what differs between two fingerprints."""
    lines = []
    for name in sorted({*stored, *current}):
        old, new = stored.get(name), current.get(name)
        if old != new:
            lines.append(_change(name, old, new))
    return lines


def _change(name: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"{name} is new"
    if new is None:
        return f"{name} is gone"
    is_version = not old.startswith("#")
    return f"{name} was {old} and is {new}" if is_version else f"{name} has changed"


def _types(part: object) -> Iterator[Any]:
    """The class of a part, and of every dataclass within it."""
    if isinstance(part, type) or inspect.isroutine(part) or hasattr(part, "__wrapped__"):
        yield part
    elif is_dataclass(part):
        yield type(part)
        for one in fields(part):
            yield from _types(getattr(part, one.name))
    elif isinstance(part, tuple | list):
        for one in part:
            yield from _types(one)


@dataclass
class _Trace:
    """A walk over definitions, each visited once."""

    found: Fingerprint = field(default_factory=dict)

    def follow(self, part: Any) -> None:
        module, name = part.__module__, part.__qualname__.split(".")[0]
        if _is_project(module) and name in _bindings(module):
            self.definition(module, name)
        elif _is_project(module):
            self.found[f"{module}.{name}"] = _hash(_loose_source(part))
        else:
            self.library(module)

    def definition(self, module: str, name: str) -> None:
        """All statements that bind a name: both branches, and what changes it afterwards."""
        key = f"{module}.{name}"
        if key in self.found:
            return
        nodes = _bindings(module)[name]
        code = [_only_code(node) for node in nodes if not isinstance(node, Imports)]
        if code:
            self.found[key] = _hash("\n".join(map(ast.unparse, code)))
        for node in code:
            self.uses(module, node)
        for node in nodes:
            if isinstance(node, Imports):
                self.imported(module, node, name)

    def uses(self, module: str, node: ast.AST) -> None:
        known = _bindings(module)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id in known:
                self.definition(module, inner.id)
            elif isinstance(inner, Imports):
                for alias in inner.names:
                    self.imported(module, inner, alias.asname or alias.name)

    def imported(self, module: str, node: ast.Import | ast.ImportFrom, bound: str) -> None:
        if isinstance(node, ast.Import):
            targets = [a.name for a in node.names if (a.asname or a.name.split(".")[0]) == bound]
            self.whole(targets[0] if targets else bound)
            return
        source = _absolute(module, node)
        name = next((a.name for a in node.names if (a.asname or a.name) == bound), bound)
        if not _is_project(source):
            self.library(source)
        elif name in _bindings(source):
            self.definition(source, name)
        else:
            self.whole(f"{source}.{name}")

    def whole(self, module: str) -> None:
        if not _is_project(module):
            self.library(module)
            return
        for name, nodes in _bindings(module).items():
            if not all(isinstance(node, Imports) for node in nodes):
                self.definition(module, name)

    def library(self, module: str) -> None:
        top = module.split(".")[0]
        if top and top not in sys.stdlib_module_names:
            self.found[top] = library_version(top)


@cache
def _bindings(module: str) -> dict[str, list[ast.stmt]]:
    """The statements that bind each top-level name of a module, in order."""
    path = _source_file(module)
    tree = ast.parse(path.read_text()) if path else ast.Module([], [])
    found: dict[str, list[ast.stmt]] = {}
    for node in _statements(tree.body):
        for name in dict.fromkeys(_bound_names(node)):
            found.setdefault(name, []).append(node)
    return found


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """Statements of a module, with those inside its conditions, loops and handlers."""
    for node in body:
        if isinstance(node, Blocks):
            yield from _statements(ast.iter_child_nodes(node))
        elif isinstance(node, ast.stmt):
            yield node


def _bound_names(node: ast.stmt) -> list[str]:
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, Imports):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return []


def _only_code(node: ast.stmt) -> ast.stmt:
    """A copy without what no number depends on: docstrings, annotations, `exact`."""
    return _OnlyCode().visit(ast.parse(ast.unparse(node))).body[0]  # type: ignore[no-any-return]


class _OnlyCode(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return self._without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [one for one in node.body if getattr(one, "name", "") != "exact"]
        node.body = node.body or [ast.Pass()]
        return self._without_docstring(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Name("typed", ast.Load())
        return self.generic_visit(node)

    def _without_docstring(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)


@cache
def _source_file(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    origin = getattr(loaded, "__file__", None)
    if origin is None and module != "__main__":
        spec = importlib.util.find_spec(module)
        origin = spec.origin if spec else None
    return Path(origin) if origin and origin.endswith(".py") else None


@cache
def _is_project(module: str) -> bool:
    """Whether a module is ours to hash: simstudy, or outside the installed libraries."""
    top = module.split(".")[0]
    if top in ("simstudy", "__main__"):
        return True
    if not top or top in sys.stdlib_module_names:
        return False
    path = _source_file(top)
    installed = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    return path is not None and not any(str(path).startswith(root) for root in installed)


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def _loose_source(part: Any) -> str:
    """Source of something without a file: a notebook's cell, or failing that its bytecode."""
    try:
        return ast.unparse(_only_code(ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]))
    except (OSError, TypeError, SyntaxError):
        members = vars(part).values() if isinstance(part, type) else [part]
        code = [getattr(one, "__code__", None) for one in members]
        return repr([(c.co_code, c.co_names, repr(c.co_consts)) for c in code if c])


@cache
def library_version(top: str) -> str:
    """Version of an installed top-level package, or `unknown`."""
    version = getattr(sys.modules.get(top), "__version__", None)
    if version is not None:
        return str(version)
    for name in (top, DISTRIBUTIONS.get(top, top)):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


def _hash(text: str) -> str:
    return "#" + hashlib.sha256(text.encode()).hexdigest()[:16]
