"""Modules that count whole: all that a source says, what is loaded, and what it imports."""

import secrets
from types import ModuleType

from simstudy.identity.fingerprint.modules.bare import whole_digest
from simstudy.identity.fingerprint.modules.imports import imported_modules, libraries_of
from simstudy.identity.fingerprint.modules.places import is_kernel, is_project, loaded_module
from simstudy.identity.fingerprint.objects import home_of, is_code, is_plain
from simstudy.identity.fingerprint.walk.bindings import binding
from simstudy.identity.fingerprint.walk.notes import Walk
from simstudy.identity.fingerprint.what_counts import is_ours

WHOLE = "(all of it)"  # marks the entry of a module's whole source


def module_as_value(walk: Walk, module: ModuleType) -> str:
    """A module handed on as a value: nobody can say what of it is used."""
    whole_or_library(walk, module.__name__)
    return f"<module {module.__name__}>"


def whole_or_library(walk: Walk, module: str) -> None:
    """Count all of a module of the project; one from elsewhere by what it belongs to."""
    if is_project(module):
        whole(walk, module)
    else:
        walk.library(module)


def whole(walk: Walk, module: str) -> None:
    """Count all of a module of the project."""
    if module in walk.wholes or walk.is_left_out(module):
        return
    walk.wholes.add(module)
    walk.takes_part(module)
    digest = whole_digest(module)
    if digest:
        walk.enter(f"{module} {WHOLE}", digest)
        _imports(walk, module)
        _loaded_names(walk, module)
    elif module == "__main__":  # a notebook, which has no source
        walk.unfollowed[module] = "names looked up by text"
        walk.enter(module, secrets.token_hex(8))


def _imports(walk: Walk, module: str) -> None:
    """All that a module imports, whole; of simstudy kernels, which cannot be followed."""
    for name in libraries_of(module):
        walk.library(name)
    for name in imported_modules(module):
        if name != "simstudy" and (not is_ours(name) or is_kernel(name)):
            whole(walk, name)


def _loaded_names(walk: Walk, module: str) -> None:
    """What a module's names are bound to now, as far as that is code or plain data."""
    if is_ours(module) and is_kernel(module):
        return
    loaded = loaded_module(module)
    for name, value in sorted(vars(loaded).items()) if loaded else ():
        if name.startswith("__") or isinstance(value, ModuleType):
            continue
        if is_code(value) and is_project(home_of(value)):
            walk.token(value, f"{module}:{name}")
        elif is_plain(value):
            binding(walk, module, name, value)
