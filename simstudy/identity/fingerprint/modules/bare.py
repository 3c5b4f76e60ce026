"""Sources compiled without what no number depends on: docstrings and annotations."""

import ast
import hashlib
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import cast

from simstudy.identity.fingerprint.instructions import read_code
from simstudy.identity.fingerprint.modules.imports import source
from simstudy.identity.fingerprint.modules.places import is_kernel, origin, source_file

Function = ast.FunctionDef | ast.AsyncFunctionDef


def whole_digest(module: str) -> str:
    """What a module's source does, all of it; of a compiled module, its bytes.

    Of simstudy's own kernels the bytes of the source, by which their machine code is found, too.
    """
    code = None if module.startswith("simstudy.") and is_kernel(module) else _whole_code(module)
    if code is not None:
        return read_code(code).digest
    file = origin(module)
    if file and Path(file).is_file():
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return ""


def _whole_code(module: str) -> CodeType | None:
    path = source_file(module)
    return bare_code(path.read_bytes()) if path and source(module) else None


@lru_cache(maxsize=512)
def bare_code(text: bytes) -> CodeType:
    """A source, compiled without docstrings and annotations."""
    return compiled_bare(ast.parse(text))


def compiled_bare(node: ast.Module) -> CodeType:
    """Code of statements, which are changed: without docstrings and annotations."""
    bare = cast(ast.Module, ast.fix_missing_locations(_OnlyCode().visit(node)))
    return compile(bare, "<source>", "exec", dont_inherit=True)


class _OnlyCode(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._without_annotations(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._without_annotations(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def _without_annotations(self, node: Function) -> ast.AST:
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return self._without_docstring(node)

    def _without_docstring(self, node: Function | ast.ClassDef | ast.Module) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)
