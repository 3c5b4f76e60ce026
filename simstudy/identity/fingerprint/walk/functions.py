"""Functions: what they do, what they read, and what they were made with."""

from types import FunctionType

from simstudy.identity.fingerprint.modules.loaded import read_function
from simstudy.identity.fingerprint.modules.places import (
    is_project,
    is_project_function,
    is_standard,
)
from simstudy.identity.fingerprint.objects import (
    attributes_of,
    cells_of,
    has_code,
    is_code,
    module_of,
    unchecked,
)
from simstudy.identity.fingerprint.walk.notes import Walk, hash_of
from simstudy.identity.fingerprint.walk.references import references
from simstudy.identity.fingerprint.what_counts import WELL_KNOWN, is_passed_over


def function_token(walk: Walk, function: FunctionType) -> str:
    """A function by name and content, which is an entry; a checker of types is what it calls."""
    plain = unchecked(function)
    if not isinstance(plain, FunctionType):
        return walk.token(plain, module_of(function))
    module = module_of(plain)
    name = f"{module}.{plain.__code__.co_qualname}"
    if is_passed_over(module):
        return f"<{name}>"
    if not is_project_function(plain, module):
        return _foreign(walk, plain, module)
    code = read_function(plain.__code__, module)
    _remember(walk, function, f"<{name} {code.digest[:16]}>")
    walk.takes_part(module)
    held = made_with(walk, function, f"{module}:{plain.__code__.co_qualname}")
    own = hash_of(f"{code.digest}{held}{references(walk, code, plain.__globals__, module)}")
    walk.enter(name, own)
    return f"<{name} {own}>"


def _remember(walk: Walk, function: FunctionType, text: str) -> None:
    """Also under the function that a checker calls: it may come up within itself."""
    walk.remember(function, text)
    walk.remember(unchecked(function), text)


def made_with(walk: Walk, function: FunctionType, where: str) -> str:
    """Defaults, closed-over values and attributes."""
    plain = unchecked(function)
    held = plain.__defaults__, plain.__kwdefaults__, cells_of(plain), attributes_of(function)
    return walk.tokens(held, where, between="|")


def method_token(walk: Walk, function: FunctionType, kind: type, where: str) -> str:
    """A function that counts as part of its class, and is no entry."""
    plain = unchecked(function)
    module = module_of(plain)
    code = read_function(plain.__code__, module)
    _remember(walk, function, f"<{kind.__qualname__}.{where.rpartition('.')[2]}>")
    refers = references(walk, code, plain.__globals__, module)
    return f"{code.digest} {made_with(walk, function, where)} {refers}"


def _foreign(walk: Walk, function: FunctionType, module: str) -> str:
    """A library's function by name; one that a decorator made, with what it holds."""
    walk.library(module)
    name = f"{module}.{function.__code__.co_qualname}"
    held = [*cells_of(function), *vars(function).values()]
    if module.split(".")[0] in WELL_KNOWN or is_standard(module):
        held = [value for value in held if _may_be_the_projects(value)]
    walk.remember(function, f"<{name}>")
    return f"<{name} {walk.tokens(held, name)}>"


def _may_be_the_projects(value: object) -> bool:
    """Whether what a library's function holds may be code, or an object, of the project."""
    return is_code(value) or has_code(value) or is_project(type(value).__module__)
