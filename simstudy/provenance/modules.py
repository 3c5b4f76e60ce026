"""Modules: project or library, location, and imports.

Modules count in a fingerprint in four ways: the project's by their content; those of the standard
library by the version of Python; those of a well-known library by its version; those of any other
installed package by its version and the content of its files.
"""

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import itertools
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from types import FunctionType, ModuleType

from simstudy.provenance import policy
from simstudy.provenance.contents import Import, compiled, definition_of, hash_of

INSTALL_FOLDERS = {"site-packages", "dist-packages"}
STANDARD_FOLDERS = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
CACHE_SUFFIXES = (".pyc", ".pyo", ".nbi", ".nbc")  # Python's and numba's caches
DYNAMIC_IMPORT = re.compile(rb"\bimportlib\b|\b__import__\b|\bexec\(")
PACKAGE = Path(__file__).parents[1]
ENTRY_MODULES = ("__main__", "__mp_main__")  # a process's main module, not the same in workers
TEMPLATES = PACKAGE / "output" / "report" / "templates"


# ---------------------------------------------------------------- project or library
@cache
def is_project(module: str) -> bool:
    """Whether a module belongs to simstudy or the user, not to an installed library."""
    top = module.split(".")[0]
    return top in ("simstudy", *ENTRY_MODULES) or module_kind(module) == "project"


def is_made_up(module: str) -> bool:
    """Whether a module name has no file."""
    return module.startswith(policy.GENERATED) or "<" in module


def is_project_code(code: object, module: str) -> bool:
    """Whether a function or class is the project's, by its module or a function's file."""
    if is_project(module) or not isinstance(code, FunctionType):
        return is_project(module)
    if is_made_up(module) or (module and module_kind(module) in ("standard", "installed")):
        return False
    file = code.__code__.co_filename
    return "<frozen" not in file if file.startswith("<") else file_kind(Path(file)) == "project"


@cache
def module_kind(module: str) -> str:
    """Return `project`, `installed`, `standard` or `unknown`, by the module's location.

    A module that code has made, as some notebooks do, is the project's.
    """
    top = module.split(".")[0]
    if (
        module not in sys.modules
        and top != module
        and module_kind(top) in ("installed", "standard")
    ):
        return module_kind(top)  # a search for the module itself would import its package
    file = origin(module)
    if file in ("built-in", "frozen"):
        return "standard"
    made = sys.modules.get(module)
    if made is not None and not file and vars(made).get("__spec__") is None:
        return "project"
    lies_in = Path(file) if file else next(iter(folders_of(module)), None)
    return file_kind(lies_in) if lies_in else "unknown"


def file_kind(path: Path) -> str:
    """Return `project`, `installed`, `standard` or `unknown`, by the file's location."""
    if INSTALL_FOLDERS & set(path.parts):
        return "installed"
    return "standard" if any(map(path.is_relative_to, STANDARD_FOLDERS)) else "project"


@cache
def origin(module: str) -> str | None:
    """Find the file of a module, imported or not."""
    loaded = sys.modules.get(module)
    if loaded is not None:  # a module's own __getattr__ is not asked
        spec, file = (vars(loaded).get(name) for name in ("__spec__", "__file__"))
        return str(file) if file else getattr(spec, "origin", None)
    with contextlib.suppress(Exception):  # it imports the package, which may raise anything
        found = importlib.util.find_spec(module)
        return found.origin if found else None
    return None


def source_file(module: str) -> Path | None:
    """Find the `.py` file of a module; None for a notebook and for compiled modules."""
    file = origin(module)
    return Path(file) if file and file.endswith(".py") and Path(file).exists() else None


def folders_of(module: str) -> list[Path]:
    """List the folders of a package; empty for a plain module."""
    file, loaded = Path(origin(module) or ""), sys.modules.get(module)
    own = [file.parent] if file.name == "__init__.py" else []
    return [*own, *map(Path, vars(loaded).get("__path__", ()) if loaded else ())]


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the `.py` files of a folder and of the packages in it, not of an environment in it."""
    yield from (path for path in folder.glob("*.py") if path.is_file())
    for package in folder.glob("*/__init__.py"):
        yield from files_in(package.parent)


@cache
def is_below(package: str, name: str) -> bool:
    """Whether a package of the project has a module of this name, without an import."""
    return is_project(package) and any(
        (folder / f"{name}.py").is_file() or (folder / name).is_dir()
        for folder in folders_of(package)
    )


def loaded_module(module: str) -> ModuleType | None:
    """Return a project module, imported if necessary; None if it cannot be imported."""
    with contextlib.suppress(Exception):  # the study's own import will raise it again
        return importlib.import_module(module)
    return None


@cache
def text_of(module: str) -> str:
    """Read the source of a module; of a notebook, its cells in the order of execution."""
    path = source_file(module)
    if path:
        return path.read_text(encoding="utf-8", errors="replace")
    cells = vars(sys.modules[module]).get("In", ()) if module == "__main__" else ()
    return "\n".join(cell for cell in map(str, cells) if compiled(cell) is not None)


def forget_modules() -> None:
    """Clear the caches of modules and sources."""
    for remembering in (is_project, module_kind, origin, is_below, text_of):
        remembering.cache_clear()


# ---------------------------------------------------------------- imports of a source
def imported_modules(module: str) -> list[str]:
    """List the modules that a source imports, and the parent packages of all of them."""
    parts = module.split(".")
    found = dict.fromkeys(".".join(parts[:n]) for n in range(1, len(parts)))
    code = compiled(text_of(module))
    for statement in definition_of(code).imports if code else ():
        found |= dict.fromkeys(_targets(module, statement))
    return [name for name in found if name != module]


def modules_behind(module: str) -> list[str]:
    """List a project module and all project modules that it imports, directly or not."""
    found: set[str] = set()
    ahead = [module]
    while ahead:
        name = ahead.pop()
        if name not in found and is_project(name) and not policy.is_ours(name):
            found.add(name)
            ahead += imported_modules(name)
    return sorted(found)


def _targets(module: str, statement: Import) -> Iterator[str]:
    """Yield the modules of an import statement, with packages above and below."""
    base = absolute(module, statement)
    parts = base.split(".")
    yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))
    for name in statement.names:  # a name may be a submodule
        if f"{base}.{name}" in sys.modules or is_below(base, name):
            yield f"{base}.{name}"


def absolute(module: str, statement: Import) -> str:
    """Resolve the module of an import statement, which may be relative."""
    if not statement.level:
        return statement.module
    path = source_file(module)
    is_package = path is not None and path.name == "__init__.py"
    parts = module.split(".")
    package = parts[: len(parts) - statement.level + is_package]
    return ".".join([*package, *filter(None, [statement.module])])


# ---------------------------------------------------------------- whole modules
@cache
def hash_of_source(text: str) -> str:
    """Hash a source without its layout and comments."""
    tree = _parsed(text)
    return hash_of(text if tree is None else ast.dump(tree))[1:]


def _parsed(text: str) -> ast.Module | None:
    with contextlib.suppress(SyntaxError, ValueError):
        return ast.parse(text)
    return None


@cache
def effects_at_import(text: str) -> tuple[tuple[str, str], ...]:
    """Statements of a module that call a function by whose name it sets something, or set a part.

    Returns
    -------
    tuple
        For each the first name of what it calls or sets, such as `np` in `np.seterr(all="raise")`,
        and a hash. Those below `if __name__ == "__main__"` are left out.
    """
    return tuple(
        (name, hash_of(ast.dump(statement))[1:])
        for name, statement in _effects(_parsed(text))
        if name
    )


def _effects(node: ast.AST | None) -> Iterator[tuple[str, ast.stmt]]:
    for each in ast.iter_child_nodes(node) if node else ():
        is_body = isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if is_body or isinstance(each, ast.expr) or _is_main_guard(each):
            continue
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            called = each.value.func
            if policy.SETTERS.match(getattr(called, "attr", getattr(called, "id", ""))):
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


# ---------------------------------------------------------------- libraries
def library(module: str) -> dict[str, str]:
    """Return the version of the library that a module belongs to, by its name; empty for others."""
    top = module.split(".")[0]
    where = module_kind(module) if module_kind(top) == "unknown" else module_kind(top)
    if is_project(module) or not top or is_made_up(module) or where == "standard":
        return {}
    counts_by_content = where == "installed" and top not in policy.WELL_KNOWN
    content = f" {_installed_content(top)}" if counts_by_content else ""
    return {top: f"{library_version(top)}{content}"}


@cache
def library_version(top: str) -> str:
    """Return the version of an installed package, or `unknown`."""
    for name in (policy.DISTRIBUTIONS.get(top, top), top):
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return str(getattr(sys.modules.get(top), "__version__", "unknown"))


@cache
def _installed_content(top: str) -> str:
    """Hash all files of an installed package.

    The hash is kept, since this process does not load files that are edited later.
    """
    digest = hashlib.sha256()
    for path in sorted(_files_of(top)):
        digest.update(str(path.name).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return "#" + digest.hexdigest()[:16]


def _files_of(package: str) -> Iterator[Path]:
    file, folders = origin(package), folders_of(package)
    if file and Path(file).name == "__init__.py":
        folders = folders[:1]  # the installed one: other packages may have added further folders
    elif file and not folders:
        yield Path(file)
    for folder in folders:
        files = (path for path in folder.rglob("*") if path.is_file())
        yield from (path for path in files if path.suffix not in CACHE_SUFFIXES)


# ---------------------------------------------------------------- sources of an experiment
def is_own_file(file_name: str) -> bool:
    """Whether a file belongs to simstudy."""
    return Path(file_name).resolve().is_relative_to(PACKAGE.resolve())


def sources_digest(module_file: str | None) -> str:
    """Hash all code that turns replicates into outputs.

    Modules are searched again, because another project may have modules of the same names.
    """
    forget_modules()
    digest = hashlib.sha256()
    for path in source_files(module_file):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def source_files(module_file: str | None) -> list[Path]:
    """List the source files of simstudy, of an experiment, and of its project modules."""
    theirs = (path for path in experiment_files(module_file) if not path.is_relative_to(PACKAGE))
    return [*sorted([*files_in(PACKAGE), *TEMPLATES.iterdir()]), *theirs]


def experiment_files(module_file: str | None) -> list[Path]:
    """List the source files of an experiment and of the project modules that it imports."""
    if not module_file:
        return []
    found = (source_file(name) for name in modules_behind(module_at(module_file)))
    paths = {Path(module_file), *(path for path in found if path)}
    by_name = [path for path in paths if DYNAMIC_IMPORT.search(path.read_bytes())]
    # an editor's lock is a link without a target, which is not a file
    neighbours = (path for each in by_name for path in each.parent.glob("*.py") if path.is_file())
    return sorted(paths.union(neighbours))


def experiment_libraries(module_file: str | None) -> dict[str, str]:
    """Return the versions of the libraries that an experiment imports."""
    names = modules_behind(module_at(module_file or ""))
    known = (library(used).items() for name in names for used in imported_modules(name))
    return dict(sorted(itertools.chain(*known)))


def module_at(file: str) -> str:
    """Return the name of the loaded module with this source file; empty if there is none."""
    loaded = list(sys.modules.items())
    return next((name for name, module in loaded if getattr(module, "__file__", None) == file), "")
