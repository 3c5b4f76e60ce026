"""What a module's source does when it is imported, beside binding names.

A call, a loop, a choice, an assignment to another module's name or to a place in a table: what
these change may be anywhere, so they count wherever the module takes part.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType

from simstudy.identity.fingerprint.modules.bare import compiled_bare
from simstudy.identity.fingerprint.modules.imports import Imports, is_for_the_command_line, source
from simstudy.identity.fingerprint.modules.places import source_file
from simstudy.identity.fingerprint.what_counts import HAS_EFFECTS

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def effects(module: str) -> list[CodeType]:
    """Statements of a module that do something other than bind a name: each compiled alone."""
    path = source_file(module)
    return list(_compiled_effects(path.read_bytes())) if path and source(module) else []


@lru_cache(maxsize=512)
def _compiled_effects(text: bytes) -> tuple[CodeType, ...]:
    statements = _with_effects(ast.parse(text).body)
    return tuple(compiled_bare(ast.Module([statement], [])) for statement in statements)


def _with_effects(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if not _only_binds(statement) and not is_for_the_command_line(statement):
            yield statement


def _only_binds(statement: ast.stmt) -> bool:
    if isinstance(statement, Imports | ast.Pass):
        return True
    if isinstance(statement, Definition):  # what a project's own fills is seen in its table
        return _says_types(statement) or not any(map(_reaches_out, statement.decorator_list))
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        return all(map(_is_plain_target, statement.targets))
    return isinstance(statement, ast.AnnAssign) and _is_plain_target(statement.target)


def _says_types(statement: Definition) -> bool:
    """Whether it is one of the signatures of a function, which has no body: not numba's."""
    return [*map(ast.unparse, statement.decorator_list)] == ["overload"] and (
        [*map(ast.unparse, statement.body)] == ["..."]
    )


def _reaches_out(decorator: ast.expr) -> bool:
    return HAS_EFFECTS.search(ast.unparse(decorator)) is not None


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_is_plain_target, target.elts))
    return isinstance(target, ast.Name) and set(target.id) != {"_"}
