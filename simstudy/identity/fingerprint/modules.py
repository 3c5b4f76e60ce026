"""Modules: whose they are, and what their sources say that no definition does.

A module is `project` code, whose content counts, or it comes from elsewhere: of the standard
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
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from simstudy.identity.fingerprint.code import Code, read_code

_NAMES = """
arch arviz beartype blackjax bokeh cloudpickle cupy cvxpy cython dask distributed einops equinox
flax formulaic h5py hydra hypothesis interpret ipykernel IPython jax jaxlib jaxtyping joblib keras
lifelines lightgbm linearmodels llvmlite matplotlib mizani mpmath networkx numba numexpr numpy
numpyro omegaconf optax optuna pandas patsy PIL plotnine polars psutil py pyarrow pydantic pymc
pytensor pytest rich scipy seaborn shap skimage sklearn statsmodels submitit sympy tensorflow
tensorflow_probability threadpoolctl torch torchvision tqdm transformers typeguard typing_extensions
umap xarray xgboost yaml zarr
"""
WELL_KNOWN = frozenset(_NAMES.split())
"""Libraries that many hands check: their version says enough."""

DISTRIBUTIONS = {
    "sklearn": "scikit-learn", "yaml": "PyYAML", "PIL": "pillow", "skimage": "scikit-image",
    "umap": "umap-learn",
}  # fmt: skip
"""Where a distribution is not named as what it installs."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Imports = ast.Import | ast.ImportFrom
IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_EFFECTS = "register implements overload intrinsic lower hook plugin accessor extension unbox"
HAS_EFFECTS = re.compile("|".join(_EFFECTS.split()))
COMPILES = re.compile(
    rb"^\s*(?:from|import)\s.*\b(?:numba|llvmlite|compiled\.kernel)\b", re.MULTILINE
)
GENERATED = ("namedtuple_", "__mp_main__")


# ---------------------------------------------------------------- whose a module is
def is_project(module: str) -> bool:
    """Whether a module's content counts: simstudy's own and the user's, not an installed one."""
    top = module.split(".")[0]
    if top in ("simstudy", "__main__", "__mp_main__"):
        return True
    return bool(top) and _place(module) == "project"


@cache
def _place(module: str) -> str:
    """`project`, `installed` or `standard`, by where the module's file lies."""
    if module in sys.builtin_module_names:
        return "standard"
    top = module.split(".")[0]
    if module not in sys.modules and top != module and _place(top) in ("installed", "standard"):
        return _place(top)  # to look for the module itself would import its package
    origin = _origin(module)
    if origin is None:
        return _place_of_folders(module)
    if origin in ("built-in", "frozen"):
        return "standard"
    return _place_of_file(Path(origin))


def _place_of_file(path: Path) -> str:
    if {"site-packages", "dist-packages"} & set(path.parts):
        return "installed"
    roots = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib")}
    inside = any(path.is_relative_to(root) for root in roots if root)
    return "standard" if inside else "project"


def _place_of_folders(module: str) -> str:
    """Of a package without a file of its own, by its folders; of what cannot be found, unknown."""
    folders = [Path(one) for one in getattr(sys.modules.get(module), "__path__", ())]
    return _place_of_file(folders[0]) if folders else "unknown"


@cache
def _origin(module: str) -> str | None:
    """File of a module, imported or not."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        found = getattr(loaded, "__file__", None)
        spec = getattr(loaded, "__spec__", None)
        return found or (spec.origin if spec else None)
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return spec.origin if spec else None


def source_file(module: str) -> Path | None:
    """The `.py` file of a module; None for a notebook and for compiled modules."""
    origin = _origin(module)
    return Path(origin) if origin and origin.endswith(".py") and Path(origin).exists() else None


def sources_loaded() -> frozenset[str]:
    """Files of all the modules that are loaded."""
    files = (getattr(one, "__file__", None) for one in list(sys.modules.values()))
    return frozenset(os.path.normpath(one) for one in files if isinstance(one, str))


def forget_modules() -> None:
    """Look again at which modules there are and what their files say."""
    for one in (_place, _origin, _is_below, is_kernel):
        one.cache_clear()


# ---------------------------------------------------------------- libraries
def is_standard(module: str) -> bool:
    """Whether a module is of the standard library."""
    return _place(module.split(".")[0]) == "standard"


def is_known(module: str) -> bool:
    """Whether a module is found somewhere, and not made up by code that was executed."""
    return (bool(module) and _place(module) in ("standard", "installed")) or _is_made_up(module)


def is_project_file(file: str) -> bool:
    """Whether a source file is neither of an installed package nor of the standard library."""
    return _place_of_file(Path(file)) == "project"


def bound_by_import(module: str, name: str, value: object) -> str:
    """The library's name of what a module imports from it; its version speaks for it."""
    maker = type(value).__module__
    if not is_project(maker) and vars(sys.modules.get(maker, object)).get(name) is value:
        return f"{maker}.{name}"
    for node in (source(module) or NOTHING).at_import:
        if not isinstance(node, ast.ImportFrom) or node.level or is_project(node.module or ""):
            continue
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                own = getattr(sys.modules.get(node.module or ""), alias.name, None)
                return f"{node.module}.{alias.name}" if own is value else ""
    return ""


def library(module: str) -> tuple[str, str] | None:
    """Name and version of what a module that is not the project's belongs to."""
    if is_project(module):
        return None
    top = module.split(".")[0]
    place = _place(top)
    if place == "unknown":
        place = _place(module)
    if not top or place == "standard" or _is_made_up(module):
        return None
    if place == "installed" and top not in WELL_KNOWN:
        return top, f"{library_version(top)} {_installed_content(top)}"
    return top, library_version(top)


def _is_made_up(module: str) -> bool:
    return module.startswith(GENERATED) or "<" in module


@cache
def library_version(top: str) -> str:
    """Version of an installed top-level package, or `unknown`."""
    for name in (DISTRIBUTIONS.get(top, top), top):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return str(getattr(sys.modules.get(top), "__version__", "unknown"))


@cache
def _installed_content(top: str) -> str:
    """Hash of every file of an installed package, and of those that it imports in turn.

    As they are when this process first looks: what is edited later, it has not loaded.
    """
    digest = hashlib.sha256()
    for one in sorted(_with_dependencies(top)):
        for path in sorted(_files_of(one)):
            digest.update(str(path.name).encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return "#" + digest.hexdigest()[:16]


def _with_dependencies(top: str) -> set[str]:
    """An installed package, and those that its files import, as far as they are not well known."""
    found: set[str] = set()
    ahead = [top]
    while ahead:
        one = ahead.pop()
        if one not in found and one not in WELL_KNOWN and _place(one) == "installed":
            found.add(one)
            texts = (path.read_bytes() for path in _files_of(one) if path.suffix == ".py")
            ahead += {name.decode() for text in texts for name in IMPORTED.findall(text)}
    return found or {top}


def _files_of(top: str) -> Iterator[Path]:
    origin = _origin(top)
    loaded = sys.modules.get(top)
    folders = [Path(one) for one in getattr(loaded, "__path__", ())]
    if origin and Path(origin).name == "__init__.py":
        folders = [Path(origin).parent]
    if not folders and origin:
        yield Path(origin)
    for folder in folders:
        files = (path for path in folder.rglob("*") if path.is_file())
        yield from (path for path in files if path.suffix not in (".pyc", ".pyo", ".nbi", ".nbc"))


# ---------------------------------------------------------------- sources
@dataclass(frozen=True)
class Source:
    """What there is to know about a source, gathered in one walk over its tree."""

    imports: tuple[ast.Import | ast.ImportFrom, ...]
    at_import: tuple[ast.Import | ast.ImportFrom, ...]  # those that importing the module executes
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
    imports: list[ast.Import | ast.ImportFrom] = []
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


def _executed_imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Outside of functions, and of what is there for type checkers and the command line."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Imports):
            yield child
        elif not (isinstance(child, FUNCTIONS) or _is_for_the_command_line(child)):
            yield from _executed_imports(child)


def imported_modules(module: str, *, at_import_only: bool = False) -> list[str]:
    """Project modules that a module's source imports, anywhere in it, and its parent packages."""
    parts = module.split(".")
    found = dict.fromkeys(".".join(parts[:n]) for n in range(1, len(parts)))
    said = source(module) or NOTHING
    for node in said.at_import if at_import_only else said.imports:
        found |= dict.fromkeys(_targets(module, node))
    return [one for one in found if one != module and is_project(one)]


def modules_behind(module: str) -> list[str]:
    """A project module and those that it imports, near or far; of simstudy's own none."""
    found: dict[str, None] = {}
    ahead = [module] if module and is_project(module) else []
    while ahead:
        name = ahead.pop()
        if name not in found and name.split(".")[0] != "simstudy":
            found[name] = None
            ahead += imported_modules(name)
    return sorted(found)


def _targets(module: str, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            parts = alias.name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))
        return
    base = absolute(module, node.module or "", node.level)
    yield base
    for alias in node.names:  # a name may be a module below the one named
        if f"{base}.{alias.name}" in sys.modules or _is_below(base, alias.name):
            yield f"{base}.{alias.name}"


@cache
def _is_below(package: str, name: str) -> bool:
    """Whether a package of the project has a module of that name; nothing is imported for it."""
    if not is_project(package):
        return False
    origin = _origin(package)
    folders = [Path(origin).parent] if origin and Path(origin).name == "__init__.py" else []
    folders += [Path(one) for one in getattr(sys.modules.get(package), "__path__", ())]
    return any((one / f"{name}.py").is_file() or (one / name).is_dir() for one in folders)


def absolute(module: str, name: str, level: int) -> str:
    """The full name of what `from ...name import` means in a module."""
    if not level:
        return name
    path = source_file(module)
    is_package = path is not None and path.name == "__init__.py"
    parts = module.split(".")
    package = parts[: len(parts) - level + is_package]
    return ".".join([*package, *([name] if name else [])])


def libraries_of(module: str, *, unused_only: bool = False) -> Iterator[str]:
    """Modules from elsewhere that a source imports; those whose names it never reads again."""
    said = source(module) or NOTHING
    for node in said.at_import if unused_only else said.imports:
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            name = alias.name if isinstance(node, ast.Import) else node.module or ""
            if not (unused_only and bound in said.read) and not getattr(node, "level", 0):
                yield name


@cache
def is_kernel(module: str) -> bool:
    """Whether a module holds code to be compiled: it imports numba, or our own compiler."""
    path = source_file(module)
    return path is not None and COMPILES.search(path.read_bytes()) is not None


# ---------------------------------------------------------------- what a source does when imported
def effects(module: str) -> list[CodeType]:
    """Statements of a module that do something other than bind a name: each compiled alone.

    A call, a loop, a choice, an assignment to another module's name or to a place in a table: what
    these change may be anywhere, so they count wherever the module takes part.
    """
    path = source_file(module)
    return list(_compiled_effects(path.read_bytes())) if path and source(module) else []


@lru_cache(maxsize=512)
def _compiled_effects(text: bytes) -> tuple[CodeType, ...]:
    return tuple(_compiled(ast.Module([one], [])) for one in _effects(ast.parse(text).body))


def _effects(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if not _only_binds(node) and not _is_for_the_command_line(node):
            yield node


def _is_for_the_command_line(node: ast.AST) -> bool:
    """Whether only a program that is started, or a type checker, gets into it."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    names = {one.id for one in ast.walk(node.test) if isinstance(one, ast.Name)}
    return names in ({"__name__"}, {"TYPE_CHECKING"})


def _only_binds(node: ast.stmt) -> bool:
    if isinstance(node, Imports | ast.Pass):
        return True
    if isinstance(node, Definition):  # what a project's own decorator fills is seen in its table
        return not any(HAS_EFFECTS.search(ast.unparse(one)) for one in node.decorator_list)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(map(_is_plain_target, targets))
    return False


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_is_plain_target, target.elts))
    return isinstance(target, ast.Name) and set(target.id) != {"_"}


# ---------------------------------------------------------------- a whole module
def whole_digest(module: str) -> str:
    """What a module's source does, all of it; of a compiled module, its bytes.

    Of simstudy's own kernels the bytes of the source, by which their machine code is found, too.
    """
    code = None if module.startswith("simstudy.") and is_kernel(module) else whole_code(module)
    if code is not None:
        return read_code(code).digest
    origin = _origin(module)
    if origin and Path(origin).is_file():
        return hashlib.sha256(Path(origin).read_bytes()).hexdigest()
    return ""


def whole_code(module: str) -> CodeType | None:
    """A module's source, compiled without what no number depends on."""
    path = source_file(module)
    return _compiled_whole(path.read_bytes()) if path and source(module) else None


@lru_cache(maxsize=512)
def _compiled_whole(text: bytes) -> CodeType:
    return _compiled(ast.parse(text))


def _compiled(node: ast.Module) -> CodeType:
    """Code of statements, which are changed: without docstrings and annotations."""
    bare = ast.fix_missing_locations(_OnlyCode().visit(node))
    return compile(bare, "<source>", "exec", dont_inherit=True)


class _OnlyCode(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._bare(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._bare(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def _bare(self, node: Any) -> ast.AST:
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return self._without_docstring(node)

    def _without_docstring(self, node: Any) -> ast.AST:
        has = node.body and isinstance(node.body[0], ast.Expr)
        if has and isinstance(getattr(node.body[0].value, "value", None), str):
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)


CLOCKS_APART = 10.0  # seconds that a file server's clock may be ahead of ours, or behind


@cache
def _process_start() -> float:
    """When this process started, in seconds since the epoch; 0 where the system does not say.

    A file whose last change is older was not edited after this process imported it.
    """
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0.0
    return time.time() - age


_seen: dict[str, tuple[object, str]] = {}


def loaded_otherwise(module: str) -> str:
    """Hash of a module as it runs, where that is not what its file says; else empty.

    A source edited after it was imported says one thing and does another: the numbers are those
    of what was loaded, so that counts too. Functions are compared as they run; the rest of a
    source with what it was when this process first looked at it.
    """
    loaded, path = sys.modules.get(module), source_file(module)
    if loaded is None or path is None or path.stat().st_ctime < _process_start() - CLOCKS_APART:
        return ""
    if type(loaded.__loader__) is not SourceFileLoader:
        return ""  # made on the way from file to code, as test runners do
    source = path.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    spec, first = _seen.setdefault(module, (loaded.__spec__, digest))
    if spec is not loaded.__spec__:  # loaded again meanwhile
        _seen[module] = (loaded.__spec__, digest)
        first = digest
    try:
        on_disk = set(_digests(compile(source, str(path), "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        on_disk = set()
    running = {read_code(one).digest for one in _codes_of(loaded, source)}
    if first == digest and running <= on_disk:
        return ""
    return hashlib.sha256(repr((first, sorted(running))).encode()).hexdigest()


def read_function(code: CodeType, module: str) -> Code:
    """What a loaded function does, annotations of functions inside it aside.

    Where an import hook made other code of the source, what the source says: test runners rewrite
    assertions and checkers of types decorate functions; no number depends on that, and workers
    import without it.
    """
    found = read_code(code)
    loader = getattr(sys.modules.get(module), "__loader__", None)
    is_hooked = loader is not None and type(loader) is not SourceFileLoader
    path = source_file(module) if found.annotates or is_hooked else None
    if path is None:
        return found
    text = path.read_bytes()
    if is_hooked or read_code(_nearest(_codes_by_name(text), code)).digest == found.digest:
        return read_code(_nearest(_bare_codes_by_name(text), code))
    return found


def _nearest(known: Mapping[str, list[CodeType]], code: CodeType) -> CodeType:
    namesakes = known.get(code.co_qualname, (code,))
    return min(namesakes, key=lambda one: abs(one.co_firstlineno - code.co_firstlineno))


@lru_cache(maxsize=512)
def _codes_by_name(text: bytes) -> dict[str, list[CodeType]]:
    return _by_name(compile(text, "<source>", "exec", dont_inherit=True))


@lru_cache(maxsize=512)
def _bare_codes_by_name(text: bytes) -> dict[str, list[CodeType]]:
    return _by_name(_compiled_whole(text))


def _by_name(code: CodeType) -> dict[str, list[CodeType]]:
    found: dict[str, list[CodeType]] = {}
    ahead = [code]
    while ahead:
        one = ahead.pop()
        found.setdefault(one.co_qualname, []).append(one)
        ahead += [inner for inner in one.co_consts if isinstance(inner, CodeType)]
    return found


def loaded_digest(module: str) -> str:
    """Hash of the functions of a module, and of its classes' methods, as they are loaded."""
    loaded = importlib.import_module(module)
    kinds = [one for one in vars(loaded).values() if isinstance(one, type)]
    names = [vars(one) for one in kinds if one.__module__ == module] + [vars(loaded)]
    plain = [one for some in names for one in some.values() if isinstance(one, FunctionType)]
    own = [one.__code__ for one in plain if one.__code__.co_filename == loaded.__file__]
    return hashlib.sha256(repr(sorted(read_code(one).digest for one in own)).encode()).hexdigest()


def _digests(code: CodeType) -> Iterator[str]:
    yield read_code(code).digest
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _digests(one)


def _codes_of(loaded: Any, text: bytes) -> Iterator[CodeType]:
    """Code of the functions that a module binds and its source defines, compiled ones included."""
    for name, value in list(vars(loaded).items()):
        if type(value).__module__.startswith("numba."):
            value = getattr(value, "py_func", None) or getattr(value, "_defn", None)
        is_own = f"def {name}".encode() in text  # another is left from before it was loaded again
        code = value.__code__ if is_own and isinstance(value, FunctionType) else None
        if code is not None and code.co_filename == loaded.__file__:
            yield code
