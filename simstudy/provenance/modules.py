"""Modules: project or library, location, imports, and dynamic look-ups.

A module is the project's, whose content counts, or it comes from elsewhere: of the standard
library, by the version of Python; of a well-known library, by its version; of any other installed
package, by its version and the content of its files.
"""

import ast
import hashlib
import importlib
import importlib.util
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from simstudy.provenance.bytecode import bare_code, compiled_bare, read_code
from simstudy.provenance.policy import (
    COMPILES,
    DISTRIBUTIONS,
    GENERATED,
    HAS_EFFECTS,
    WELL_KNOWN,
    is_ours,
)

INSTALLED_IN = {"site-packages", "dist-packages"}
MADE_BY_MACHINES = (".pyc", ".pyo", ".nbi", ".nbc")  # Python's and numba's caches
IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
LOOKS_UP = re.compile(rb"\bimportlib\b|\b__import__\b|\bexec\(")  # modules by their names
PACKAGE = Path(__file__).parents[1]
RESOLVED = PACKAGE.resolve()
STARTED = ("__main__", "__mp_main__")  # what a process was started with: each has another
TEMPLATES = str(PACKAGE / "output" / "report" / "templates")  # which make outputs, as code does

Imports = ast.Import | ast.ImportFrom
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Functions = ast.FunctionDef | ast.AsyncFunctionDef
STATEMENTS_IN = ("body", "handlers", "cases", "orelse", "finalbody")


# ---------------------------------------------------------------- whose it is
def is_project(module: str) -> bool:
    """Whether a module is simstudy's or the user's, not an installed library."""
    top = module.split(".")[0]
    if top in ("simstudy", *STARTED):
        return True
    return bool(top) and module_kind(module) == "project"


def is_standard(module: str) -> bool:
    """Whether a module is in the standard library."""
    return module_kind(module.split(".")[0]) == "standard"


def is_made_up(module: str) -> bool:
    """Whether a module name has no file."""
    return module.startswith(GENERATED) or "<" in module


def is_project_function(function: FunctionType, module: str) -> bool:
    """Whether a function is the project's, by its module or its file."""
    if is_project(module):
        return True
    if is_made_up(module) or (module and module_kind(module) in ("standard", "installed")):
        return False
    file = function.__code__.co_filename
    return "<frozen" not in file if file.startswith("<") else file_kind(Path(file)) == "project"


@cache
def is_kernel(module: str) -> bool:
    """Whether a module holds numba code."""
    path = source_file(module)
    return path is not None and COMPILES.search(path.read_bytes()) is not None


@cache
def module_kind(module: str) -> str:
    """`project`, `installed`, `standard` or `unknown`, by where the module's file lies."""
    if module in sys.builtin_module_names:
        return "standard"
    top = module.split(".")[0]
    if (
        module not in sys.modules
        and top != module
        and module_kind(top) in ("installed", "standard")
    ):
        return module_kind(top)  # to look for the module itself would import its package
    file = origin(module)
    if file in ("built-in", "frozen"):
        return "standard"
    lies_in = Path(file) if file else next(iter(folders_of(module)), None)
    return file_kind(lies_in) if lies_in else "unknown"


def file_kind(path: Path) -> str:
    """`project`, `installed`, `standard` or `unknown`, by the file's location."""
    if INSTALLED_IN & set(path.parts):
        return "installed"
    is_standard = any(map(path.is_relative_to, _standard_folders()))
    return "standard" if is_standard else "project"


@cache
def _standard_folders() -> frozenset[str]:
    found = (sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib"))
    return frozenset(filter(None, found))


@cache
def origin(module: str) -> str | None:
    """The file of a module, imported or not."""
    loaded = sys.modules.get(module)
    try:
        spec = getattr(loaded, "__spec__", None) if loaded else importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return getattr(loaded, "__file__", None) or (spec.origin if spec else None)


def source_file(module: str) -> Path | None:
    """The `.py` file of a module; None for a notebook and for compiled modules."""
    file = origin(module)
    return Path(file) if file and file.endswith(".py") and Path(file).exists() else None


def folders_of(module: str) -> list[Path]:
    """The folders of a package; empty for a plain module."""
    file = origin(module)
    own = [Path(file).parent] if file and Path(file).name == "__init__.py" else []
    return [*own, *map(Path, getattr(sys.modules.get(module), "__path__", ()))]


@cache
def is_below(package: str, name: str) -> bool:
    """Whether a package of the project has a module of this name; imports nothing."""
    return is_project(package) and any(
        (folder / f"{name}.py").is_file() or (folder / name).is_dir()
        for folder in folders_of(package)
    )


def loaded_module(module: str) -> ModuleType | None:
    """A project module, imported if necessary; None if it cannot be."""
    try:
        return importlib.import_module(module)
    except Exception:  # whatever its own statements raise: simulate will say so
        return None


def forget_modules() -> None:
    """Clear the caches of modules and sources."""
    for remembering in (module_kind, origin, is_below, is_kernel):
        remembering.cache_clear()


# ---------------------------------------------------------------- what a source says
@dataclass(frozen=True)
class Source:
    """What a source imports and does, cached by content.

    Attributes
    ----------
    imports, at_import
        All import statements, and those that importing the module executes.
    read
        Names that are read somewhere, or stand in a text such as `__all__`.
    effects
        Statements that do something other than bind a name: a call, a loop, a choice, an assignment
        to another module's name or into a table. What they change may be anywhere.
    """

    imports: tuple[Imports, ...] = ()
    at_import: tuple[Imports, ...] = ()
    read: frozenset[str] = frozenset()
    effects: tuple[CodeType, ...] = ()


def source(module: str) -> Source:
    """A module's source on disk; empty if it cannot be read."""
    path = source_file(module)
    try:
        return _read_source(path.read_bytes()) if path else Source()
    except (SyntaxError, OSError, ValueError):
        return Source()


@lru_cache(maxsize=512)
def _read_source(text: bytes) -> Source:
    tree = ast.parse(text)
    imports = tuple(_import_statements(tree))
    read = frozenset(_names_and_texts(tree))  # before annotations are taken away
    acts = [node for node in tree.body if not (_only_binds(node) or _is_for_programs(node))]
    effects = tuple(compiled_bare(ast.Module([statement], [])) for statement in acts)
    at_import = tuple(statement for statement, executed in imports if executed)
    return Source(tuple(statement for statement, _ in imports), at_import, read, effects)


def _inner_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements inside a statement, with handlers and cases, in order."""
    held = vars(node)
    for name in STATEMENTS_IN:
        if isinstance(held.get(name), list):  # of a lambda the body is an expression
            yield from held[name]


def _import_statements(node: ast.AST, executed: bool = True) -> Iterator[tuple[Imports, bool]]:
    """All import statements, and whether importing the module executes them."""
    for child in _inner_statements(node):
        if isinstance(child, Imports):
            yield child, executed
        else:
            is_later = isinstance(child, Functions) or _is_for_programs(child)
            yield from _import_statements(child, executed and not is_later)


def _names_and_texts(tree: ast.Module) -> Iterator[str]:
    """All names that are read or bound, and all strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _is_for_programs(node: ast.AST) -> bool:
    """Whether a statement runs only under `__main__` or `TYPE_CHECKING`."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    names = {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
    return names in ({"__name__"}, {"TYPE_CHECKING"})


def _only_binds(statement: ast.stmt) -> bool:
    if isinstance(statement, Imports | ast.Pass):
        return True
    if isinstance(statement, Definition):  # a registry of the project is seen in its table
        decorators = [*map(ast.unparse, statement.decorator_list)]
        is_signature = decorators == ["overload"] and ast.unparse(statement.body[0]) == "..."
        return is_signature or not any(map(HAS_EFFECTS.search, decorators))
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        return all(map(_is_plain_target, statement.targets))
    return isinstance(statement, ast.AnnAssign) and _is_plain_target(statement.target)


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_is_plain_target, target.elts))
    return isinstance(target, ast.Name) and set(target.id) != {"_"}


def whole_digest(module: str) -> str:
    """The digest of a module's complete source; of a compiled module, its bytes.

    Of simstudy's own kernels the bytes of the source, by which their machine code is found, too.
    """
    path, file = source_file(module), origin(module)
    if path and not (is_ours(module) and is_kernel(module)):
        try:
            return read_code(bare_code(path.read_bytes())).digest
        except (SyntaxError, ValueError):
            pass
    return (
        hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and Path(file).is_file() else ""
    )


# ---------------------------------------------------------------- what it imports
def imported_modules(module: str, *, at_import_only: bool = False) -> list[str]:
    """The project modules that a source imports, with their parent packages."""
    parts = module.split(".")
    found = dict.fromkeys(".".join(parts[:n]) for n in range(1, len(parts)))
    known = source(module)
    for statement in known.at_import if at_import_only else known.imports:
        found |= dict.fromkeys(_targets(module, statement))
    return [name for name in found if name != module and is_project(name)]


def modules_behind(module: str) -> list[str]:
    """A project module and all project modules that it imports, directly or not."""
    found: set[str] = set()
    ahead = [module] if module and is_project(module) else []
    while ahead:
        name = ahead.pop()
        if name not in found and not is_ours(name):
            found.add(name)
            ahead += [*imported_modules(name), *_discovered_modules(name)]
    return sorted(found)


def _discovered_modules(module: str) -> list[str]:
    """Loaded modules in the folders that a source passes to `simstudy.discover`."""
    texts = source(module).read
    if "discover" not in texts:
        return []
    below = (name for name in sys.modules if "." in name and name.rpartition(".")[0] in texts)
    return [name for name in sorted(below) if is_project(name)]


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
    """The absolute name of a relative import."""
    if not level:
        return name
    path = source_file(module)
    is_package = path is not None and path.name == "__init__.py"
    parts = module.split(".")
    package = parts[: len(parts) - level + is_package]
    return ".".join([*package, *([name] if name else [])])


def libraries_of(module: str, *, unused_only: bool = False) -> Iterator[str]:
    """Libraries that a source imports without using their names."""
    known = source(module)
    for statement in known.at_import if unused_only else known.imports:
        for alias in statement.names:
            bound = alias.asname or alias.name.split(".")[0]
            name = alias.name if isinstance(statement, ast.Import) else statement.module or ""
            if not (unused_only and bound in known.read) and not getattr(statement, "level", 0):
                yield name


def name_in_library(module: str, name: str, value: object) -> str:
    """The library name of an imported object."""
    maker = type(value).__module__
    if not is_project(maker) and vars(sys.modules.get(maker, object)).get(name) is value:
        return f"{maker}.{name}"
    for statement in source(module).at_import:
        library = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
        if library and not getattr(statement, "level", 0) and not is_project(library):
            for alias in statement.names:
                there = getattr(sys.modules.get(library), alias.name, None)
                if (alias.asname or alias.name) == name and there is value:
                    return f"{library}.{alias.name}"
    return ""


# ---------------------------------------------------------------- libraries
def library(module: str) -> tuple[str, str] | None:
    """Name and version of the library that a module belongs to."""
    top = module.split(".")[0]
    if is_project(module) or not top or is_made_up(module):
        return None
    where = module_kind(module) if module_kind(top) == "unknown" else module_kind(top)
    if where == "standard":
        return None
    if where == "installed" and top not in WELL_KNOWN:
        return top, f"{library_version(top)} {_installed_content(top)}"
    return top, library_version(top)


@cache
def library_version(top: str) -> str:
    """The version of an installed package, or `unknown`."""
    for name in (DISTRIBUTIONS.get(top, top), top):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return str(getattr(sys.modules.get(top), "__version__", "unknown"))


@cache
def _installed_content(top: str) -> str:
    """The hash of all files of an installed package and of its dependencies.

    As they are when this process first looks: what is edited later, it has not loaded.
    """
    digest = hashlib.sha256()
    for package in sorted(_with_dependencies(top)):
        for path in sorted(_files_of(package)):
            digest.update(str(path.name).encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return "#" + digest.hexdigest()[:16]


def _with_dependencies(top: str) -> set[str]:
    """An installed package and the packages that it imports, except well-known ones."""
    found: set[str] = set(STARTED)  # which packages may import
    ahead = [top]
    while ahead:
        name = ahead.pop()
        if name not in found and name not in WELL_KNOWN and module_kind(name) == "installed":
            found.add(name)
            sources = (path.read_bytes() for path in _files_of(name) if path.suffix == ".py")
            ahead += {word.decode() for text in sources for word in IMPORTED.findall(text)}
    return found.difference(STARTED) or {top}


def _files_of(package: str) -> Iterator[Path]:
    file, folders = origin(package), folders_of(package)
    if file and Path(file).name == "__init__.py":
        folders = folders[:1]  # where it was installed; it may have been extended from elsewhere
    elif file and not folders:
        yield Path(file)
    for folder in folders:
        files = (path for path in folder.rglob("*") if path.is_file())
        yield from (path for path in files if path.suffix not in MADE_BY_MACHINES)


# ---------------------------------------------------------------- sources of an experiment
def is_own_file(file_name: str) -> bool:
    """Whether a file belongs to simstudy."""
    return Path(file_name).is_relative_to(PACKAGE) or Path(file_name).is_relative_to(RESOLVED)


def sources_digest(module_file: str | None) -> str:
    """The hash of all code that turns replicates into outputs.

    Looked for anew: since the last time another project may have had modules of these names.
    """
    forget_modules()
    digest = hashlib.sha256()
    for path in source_files(module_file):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def source_files(module_file: str | None) -> list[Path]:
    """The source files of simstudy, of an experiment, and of its project modules."""
    theirs = (path for path in experiment_files(module_file) if not path.is_relative_to(PACKAGE))
    return [*map(Path, sorted(_own_files(), key=lambda name: name.split(os.sep))), *theirs]


def _own_files() -> Iterator[str]:
    """The files of simstudy that make outputs, as text: a run with nothing to do needs them."""
    for folder, _, names in os.walk(PACKAGE):
        for name in names:
            path = os.path.join(folder, name)
            if (name.endswith(".py") or folder == TEMPLATES) and os.path.isfile(path):
                yield path


def experiment_files(module_file: str | None) -> list[Path]:
    """The source files of an experiment and of the project modules that it imports."""
    if not module_file:
        return []
    found = (source_file(name) for name in modules_behind(module_at(module_file)))
    paths = {Path(module_file), *(path for path in found if path)}
    by_name = [path for path in paths if LOOKS_UP.search(path.read_bytes())]
    beside = (path for each in by_name for path in each.parent.glob("*.py") if path.is_file())
    return sorted(paths.union(beside))  # but for the link to nowhere that an editor locks one with


def experiment_libraries(module_file: str | None) -> dict[str, str]:
    """The versions of the libraries that an experiment imports."""
    names = modules_behind(module_at(module_file)) if module_file else []
    known = (library(used) for name in names for used in libraries_of(name))
    return dict(sorted(filter(None, known)))


def module_at(file: str) -> str:
    """The name of the loaded module with this source file; empty if there is none."""
    loaded = list(sys.modules.items())
    return next((name for name, module in loaded if getattr(module, "__file__", None) == file), "")
