"""Modules: project or library, location, and imports.

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
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from types import FunctionType, ModuleType

from simstudy.provenance.policy import (
    COMPILES,
    DISTRIBUTIONS,
    GENERATED,
    TEACHES_NUMBA,
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


def text_of(module: str) -> str:
    """The source of a module; of a notebook, its cells in the order of execution."""
    path = source_file(module)
    if path:
        return path.read_text(encoding="utf-8", errors="replace")
    cells = getattr(sys.modules.get(module), "In", ()) if module == "__main__" else ()
    return "\n".join(cell for cell in cells if _is_python(cell))


def _is_python(cell: object) -> bool:
    try:
        ast.parse(str(cell))
    except (SyntaxError, ValueError):
        return False
    return True


def defined_in(module: str, name: str, value: object) -> tuple[str, str]:
    """The module and name that a name was imported from; unchanged if it was not imported."""
    for statement, alias in _imported_as(_source(module)[0]).get(name, ()):
        base = absolute(module, statement.module or "", statement.level)
        if base != module and getattr(sys.modules.get(base), alias, None) is value:
            return defined_in(base, alias, value) if is_project(base) else (base, alias)
    return module, name


@lru_cache(maxsize=512)
def _imported_as(statements: tuple[Imports, ...]) -> dict[str, list[tuple[ast.ImportFrom, str]]]:
    """By name, the statements `from ... import` that bind it, with the name there."""
    found: dict[str, list[tuple[ast.ImportFrom, str]]] = {}
    for statement in statements:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                found.setdefault(alias.asname or alias.name, []).append((statement, alias.name))
    return found


@cache
def teaches_numba(module: str) -> bool:
    """Whether a module adds to numba, so that what it does is not reached by name."""
    path = source_file(module)
    return path is not None and bool(TEACHES_NUMBA.search(path.read_bytes()))


@cache
def is_kernel(module: str) -> bool:
    """Whether a module of simstudy is compiled: it counts as a whole, and need not be imported."""
    path = source_file(module) if is_ours(module) else None
    return path is not None and bool(COMPILES.search(path.read_bytes()))


def forget_modules() -> None:
    """Clear the caches of modules and sources."""
    for remembering in (module_kind, origin, is_below, teaches_numba, is_kernel):
        remembering.cache_clear()


# ---------------------------------------------------------------- what a source imports
@lru_cache(maxsize=512)
def _read_source(text: bytes) -> tuple[tuple[Imports, ...], frozenset[str]]:
    """The import statements of a source, and its strings."""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError):
        return (), frozenset()
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    strings = frozenset(text for text in constants if isinstance(text, str))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return tuple(node for node in nodes if isinstance(node, Imports)), strings | names


def _source(module: str) -> tuple[tuple[Imports, ...], frozenset[str]]:
    path = source_file(module)
    try:
        return _read_source(path.read_bytes()) if path else ((), frozenset())
    except OSError:
        return (), frozenset()


def imported_modules(module: str) -> list[str]:
    """The project modules that a source imports, with their parent packages."""
    parts = module.split(".")
    found = dict.fromkeys(".".join(parts[:n]) for n in range(1, len(parts)))
    for statement in _source(module)[0]:
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
    texts = _source(module)[1]
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


def libraries_of(module: str) -> Iterator[str]:
    """The modules that a source imports by absolute names."""
    for statement in _source(module)[0]:
        if not getattr(statement, "level", 0):
            if isinstance(statement, ast.ImportFrom):
                yield statement.module or ""
            else:
                yield from (alias.name for alias in statement.names)


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
