"""What a page says of source files: their lines of code, and what was measured beside them."""

from __future__ import annotations

import ast
import csv
import io
import tokenize
from pathlib import Path

from writing.refusals import PageError, listed

IGNORED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def code_lines(root: Path, path: str, function: str = "") -> int:
    """Lines of a file, or of one of its functions, without blanks, comments and docstrings.

    Raises
    ------
    PageError
        Where the file has no such function.
    """
    text = (root / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in IGNORED:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            lines -= _lines_of(node.body[0])
    if not function:
        return len(lines)
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if function not in found:
        raise PageError(f"{path} has no function {function!r}; it has {listed(found)}.")
    return len(lines & _lines_of(found[function]))


def _lines_of(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def csv_rows(root: Path, path: str) -> list[dict[str, str]]:
    """The rows of a CSV file, by the names of their columns."""
    with (root / path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def measured(root: Path, path: str) -> dict[str, dict[str, str]]:
    """The rows of a CSV file that a benchmark wrote, by what their first column names."""
    return {next(iter(row.values())): row for row in csv_rows(root, path)}
