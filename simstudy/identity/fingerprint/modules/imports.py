"""What a module's source imports, and what its names mean that come from elsewhere."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from simstudy.identity.fingerprint.modules.places import is_below, is_project, source_file
from simstudy.identity.fingerprint.what_counts import is_ours

Imports = ast.Import | ast.ImportFrom
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Source:
    """What there is to know about a source, gathered in one walk over its tree."""

    imports: tuple[Imports, ...]
    at_import: tuple[Imports, ...]  # those that importing the module executes
    read: frozenset[str]  # names that are read somewhere, or stand in a text such as __all__


NOTHING = Source((), (), frozenset())


def source(module: str) -> Source | None:
    """A module's source as it stands on disk; None where it has none that can be read."""
    path = source_file(module)
    try:
        return _read_source(path.read_bytes()) if path else None
    except (SyntaxError, OSError, ValueError):
        return None


@lru_cache(maxsize=512)
def _read_source(text: bytes) -> Source:
    imports: list[Imports] = []
    read: set[str] = set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, Imports):
            imports.append(node)
        elif isinstance(node, ast.Name):
            read.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            read.add(node.value)
    return Source(tuple(imports), tuple(_executed_imports(tree)), frozenset(read))


def _executed_imports(node: ast.AST) -> Iterator[Imports]:
    """Outside of functions, and of what is there for type checkers and the command line."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Imports):
            yield child
        elif not (isinstance(child, FUNCTIONS) or is_for_the_command_line(child)):
            yield from _executed_imports(child)


def is_for_the_command_line(node: ast.AST) -> bool:
    """Whether only a program that is started, or a type checker, gets into a statement."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    names = {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
    return names in ({"__name__"}, {"TYPE_CHECKING"})


# ---------------------------------------------------------------- modules of the project
def imported_modules(module: str, *, at_import_only: bool = False) -> list[str]:
    """Project modules that a module's source imports, anywhere in it, and its parent packages."""
    parts = module.split(".")
    found = dict.fromkeys(".".join(parts[:n]) for n in range(1, len(parts)))
    said = source(module) or NOTHING
    for statement in said.at_import if at_import_only else said.imports:
        found |= dict.fromkeys(_targets(module, statement))
    return [name for name in found if name != module and is_project(name)]


def modules_behind(module: str) -> list[str]:
    """A project module and those that it imports, near or far; of simstudy's own none."""
    found: set[str] = set()
    ahead = [module] if module and is_project(module) else []
    while ahead:
        name = ahead.pop()
        if name not in found and not is_ours(name):
            found.add(name)
            ahead += imported_modules(name)
    return sorted(found)


def _targets(module: str, statement: Imports) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            parts = alias.name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))
        return
    base = absolute(module, statement.module or "", statement.level)
    yield base
    for alias in statement.names:  # a name may be a module below the one named
        if f"{base}.{alias.name}" in sys.modules or is_below(base, alias.name):
            yield f"{base}.{alias.name}"


def absolute(module: str, name: str, level: int) -> str:
    """The full name of what `from ...name import` means in a module."""
    if not level:
        return name
    path = source_file(module)
    is_package = path is not None and path.name == "__init__.py"
    parts = module.split(".")
    package = parts[: len(parts) - level + is_package]
    return ".".join([*package, *([name] if name else [])])


# ---------------------------------------------------------------- from elsewhere
def libraries_of(module: str, *, unused_only: bool = False) -> Iterator[str]:
    """Modules from elsewhere that a source imports; those whose names it never reads again."""
    said = source(module) or NOTHING
    for statement in said.at_import if unused_only else said.imports:
        for alias in statement.names:
            bound = alias.asname or alias.name.split(".")[0]
            name = alias.name if isinstance(statement, ast.Import) else statement.module or ""
            if not (unused_only and bound in said.read) and not getattr(statement, "level", 0):
                yield name


def bound_by_import(module: str, name: str, value: object) -> str:
    """The library's name of what a module imports from it; its version speaks for it."""
    maker = type(value).__module__
    if not is_project(maker) and vars(sys.modules.get(maker, object)).get(name) is value:
        return f"{maker}.{name}"
    for statement in (source(module) or NOTHING).at_import:
        if isinstance(statement, ast.ImportFrom) and _is_from_elsewhere(statement):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return _same_there(statement.module or "", alias.name, value)
    return ""


def _is_from_elsewhere(statement: ast.ImportFrom) -> bool:
    return not statement.level and not is_project(statement.module or "")


def _same_there(library: str, name: str, value: object) -> str:
    """The full name, if a library's name still means what the module has."""
    there = getattr(sys.modules.get(library), name, None)
    return f"{library}.{name}" if there is value else ""
