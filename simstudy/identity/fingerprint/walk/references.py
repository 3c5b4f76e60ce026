"""What some code reads: its global names, its imports, and names that it looks up by text."""

import hashlib
import re
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from simstudy.identity.fingerprint.instructions import Code, Import
from simstudy.identity.fingerprint.modules.imports import absolute
from simstudy.identity.fingerprint.modules.places import (
    is_kernel,
    is_project,
    loaded_module,
    source_file,
)
from simstudy.identity.fingerprint.walk.bindings import binding
from simstudy.identity.fingerprint.walk.notes import Walk
from simstudy.identity.fingerprint.walk.wholes import module_as_value, whole, whole_or_library
from simstudy.identity.fingerprint.what_counts import (
    BY_TEXT,
    UNFOLLOWED_ATTRIBUTES,
    UNFOLLOWED_BUILTINS,
    is_ours,
    is_passed_over,
)

A_NAME = re.compile(r"[A-Za-z_][\w.]*")


def references(walk: Walk, code: Code, names: Mapping[str, Any], module: str) -> str:
    """Follow what some code reads; gives what its names are bound to."""
    walk.attributes |= code.attributes | {chain[0] for chain in code.chains}
    walk.strings |= code.strings
    refers = [_chain(walk, chain, names, module) for chain in code.chains]
    for statement in code.imports:
        refers += _import_inside(walk, statement, module)
    if _is_dynamic(code):
        _by_text(walk, code, module)
    return "|".join(refers)


def _chain(walk: Walk, chain: tuple[str, ...], names: Mapping[str, Any], module: str) -> str:
    """A global name and the attributes read off it: through modules, to what is used."""
    name, *rest = chain
    if name not in names:
        return ""
    value, said = names[name], ".".join(chain)
    while rest and isinstance(value, ModuleType) and hasattr(value, rest[0]):
        walk.takes_part(value.__name__)
        walk.library(value.__name__)
        module, name, value = value.__name__, rest[0], getattr(value, rest[0])
        rest = rest[1:]
    if isinstance(value, ModuleType):
        return f"{said} is {module_as_value(walk, value)}"
    return f"{said} is {binding(walk, module, name, value)}"


# ---------------------------------------------------------------- imports inside functions
def _import_inside(walk: Walk, statement: Import, module: str) -> list[str]:
    """An import statement inside a function."""
    base = absolute(module, statement.module, statement.level)
    if is_passed_over(base):
        return [base]
    if not is_project(base):
        walk.library(base)
        return [base]
    if (is_ours(base) and is_kernel(base)) or not statement.names:
        whole(walk, base)
        return [base]
    loaded = loaded_module(base)
    return [_imported_name(walk, loaded, base, name) for name in statement.names]


def _imported_name(walk: Walk, loaded: ModuleType | None, base: str, name: str) -> str:
    if hasattr(loaded, name) and not isinstance(getattr(loaded, name), ModuleType):
        return _chain(walk, (name,), vars(loaded), base)
    below = f"{base}.{name}"
    whole_or_library(walk, below)
    return below


# ---------------------------------------------------------------- by text
def _is_dynamic(code: Code) -> bool:
    """Whether code finds names, or modules, by their text."""
    heads = {chain[0] for chain in code.chains}
    looks_up = ("sys", "modules") in {chain[:2] for chain in code.chains}
    by_text = code.attributes & BY_TEXT and any("@" in text for text in code.strings)
    named = (heads | code.attributes) & UNFOLLOWED_ATTRIBUTES
    return bool(looks_up or by_text or heads & UNFOLLOWED_BUILTINS or named)


def _by_text(walk: Walk, code: Code, module: str) -> None:
    """Names found by text: the module, those they may mean, and those beside it."""
    if walk.without_main and module == "__main__":
        return
    whole(walk, module)
    for text in code.strings:
        if A_NAME.fullmatch(text) and text in sys.modules:
            whole_or_library(walk, text)
    if not is_ours(module):
        _enter_neighbours(walk, module)


def _enter_neighbours(walk: Walk, module: str) -> None:
    """Every source in a module's folder: any of them may be imported."""
    path = source_file(module)
    if path is None:
        return
    folder = path.parent
    for neighbour in sorted(folder.rglob("*.py")):
        try:
            content = hashlib.sha256(neighbour.read_bytes()).hexdigest()
        except OSError:  # what cannot be read cannot be imported: an editor's lock, a folder, say
            continue
        walk.enter(f"{neighbour.relative_to(folder)} beside {module}", content)
