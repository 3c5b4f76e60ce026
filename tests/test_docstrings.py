"""Public docstrings have the sections of numpydoc: parameters, what is returned, what is raised.

The public API is what the pages of `docs/api/` list. It is read from the source, not imported.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import ROOT

ALSO = ("simstudy.design",)  # what scenarios and grids are made of; on no page of its own
API_BLOCK = re.compile(r"^```\{api\} ([\w.]+)\n```$", re.MULTILINE)
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Public(NamedTuple):
    """A public function, method or class; of a method, the class that it belongs to."""

    module: str
    node: Function | ast.ClassDef
    owner: ast.ClassDef | None = None

    @property
    def name(self) -> str:
        owner = f"{self.owner.name}." if self.owner else ""
        return f"{self.module}.{owner}{self.node.name}"


def api_modules() -> list[str]:
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages]
    return [*(name for text in texts for name in API_BLOCK.findall(text)), *ALSO]


def path_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


def imported(module: str) -> dict[str, str]:
    """Names that a module takes from other modules, and the modules."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def home(module: str, name: str) -> str:
    """The module that defines a name."""
    while not any(getattr(node, "name", "") == name for node in tree_of(module).body):
        module = imported(module).get(name, "")
        if not module.startswith("simstudy"):
            return ""
    return module


def public_nodes(module: str) -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Functions and classes that the site lists: exports of a package, or all of its modules."""
    path = path_of(module)
    exported = [
        (name, home(source, name))
        for name, source in imported(module).items()
        if path.name == "__init__.py" and source.startswith(f"{module}.") and name in listed(module)
    ]
    if not exported:
        below = sorted(path.parent.glob("*.py")) if path.name == "__init__.py" else []
        for each in [module, *(f"{module}.{file.stem}" for file in below if file.stem[0] != "_")]:
            exported += [(getattr(node, "name", "_"), each) for node in tree_of(each).body]
    for name, source in exported:
        for node in tree_of(source).body if source and name[0] != "_" else ():
            is_named = isinstance(node, Function | ast.ClassDef) and node.name == name
            if is_named and "overload" not in decorators(node):
                yield source, node


def listed(module: str) -> list[str]:
    """What `__all__` holds; without one, every imported name that has no underscore."""
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return [name for name in imported(module) if name[0] != "_"]


def public(module: str) -> Iterator[Public]:
    for source, node in public_nodes(module):
        yield Public(source, node)
        for each in node.body if isinstance(node, ast.ClassDef) else ():
            is_public = isinstance(each, Function) and each.name[0] != "_"
            if is_public and (
                ast.get_docstring(each) or not is_documented_above(source, node, each.name)
            ):
                yield Public(source, each, node)


def is_documented_above(module: str, node: ast.ClassDef, method: str) -> bool:
    """Whether a base class, or a protocol that the class may follow, documents the method."""
    above = [*bases(module, node), *protocols(module), *protocols("simstudy.design.grid")]
    return any(
        ast.get_docstring(each)
        for owner in above
        if owner is not node
        for each in owner.body
        if isinstance(each, Function) and each.name == method
    )


def bases(module: str, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """The classes of ours that this one is derived from."""
    for name in map(ast.unparse, node.bases):
        source = home(module, name)
        for base in tree_of(source).body if source else ():
            if isinstance(base, ast.ClassDef) and base.name == name:
                yield base
                yield from bases(source, base)


def protocols(module: str) -> list[ast.ClassDef]:
    return [
        each
        for each in tree_of(module).body
        if isinstance(each, ast.ClassDef) and "Protocol" in map(ast.unparse, each.bases)
    ]


def decorators(node: Function | ast.ClassDef) -> str:
    return " ".join(ast.unparse(each) for each in node.decorator_list)


def own_statements(node: ast.AST) -> Iterator[ast.AST]:
    """What a function does itself, without the functions and classes inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.ClassDef | ast.Lambda):
            yield child
            yield from own_statements(child)


def raises(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Raise) and each.exc for each in own_statements(node))


def parameters(node: Function) -> list[str]:
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [each for each in (arguments.vararg, arguments.kwarg) if each]
    return [each.arg for each in every if each.arg not in ("self", "cls") and each.arg[0] != "_"]


def fields(node: ast.ClassDef) -> list[str]:
    """Fields that a dataclass or named tuple is made of."""
    made = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    return [
        ast.unparse(each.target)
        for each in made
        if "ClassVar" not in ast.unparse(each.annotation)
        and "init=False" not in ast.unparse(each)
        and not ast.unparse(each.target).startswith("_")
    ]


def sections(docstring: str) -> dict[str, str]:
    parts = HEADING.split(docstring)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(text: str) -> set[str]:
    """Names that a section describes."""
    names = [name for entry in ENTRY.findall(text) for name in entry.split(",")]
    return {name.strip(" *") for name in names}


def missing(entry: Public) -> list[str]:
    """What the docstring of a public function or class lacks."""
    docstring = ast.get_docstring(entry.node) or ""
    if entry.owner and not docstring and "property" in decorators(entry.node):
        above = sections(ast.get_docstring(entry.owner) or "")
        return [] if entry.node.name in described(above.get("Attributes", "")) else ["docstring"]
    lacks = [] if docstring.partition("\n")[0].endswith(".") else ["first line with a period"]
    parts = sections(docstring)
    if isinstance(entry.node, ast.ClassDef):
        wanted, fails = of_class(entry.node)
        named = described(parts.get("Parameters", "")) | described(parts.get("Attributes", ""))
    else:
        wanted, fails = parameters(entry.node), raises(entry.node)
        named = described(parts.get("Parameters", ""))
        if "property" in decorators(entry.node):
            wanted = []
        elif returns(entry.node) and not {"Returns", "Yields"} & set(parts):
            lacks.append("Returns")
    lacks += [f"parameter {name}" for name in wanted if name not in named]
    return lacks + ["Raises"] * (fails and "Raises" not in parts)


def returns(node: Function) -> bool:
    annotation = ast.unparse(node.returns) if node.returns else "None"
    return annotation not in ("None", "NoReturn", "Never")


def of_class(node: ast.ClassDef) -> tuple[list[str], bool]:
    """What a class is made of, and whether making one can be refused."""
    above = [ast.unparse(base) for base in node.bases]
    makers = [
        each
        for each in node.body
        if isinstance(each, Function) and each.name in ("__init__", "__post_init__", "__new__")
    ]
    fails = any(raises(each) for each in makers)
    if "dataclass" in decorators(node) or "NamedTuple" in above:
        return fields(node), fails
    return [name for each in makers for name in parameters(each)], fails


@pytest.mark.parametrize("module", api_modules())
def test_public_docstrings_have_their_sections(module):
    found = {entry.name: missing(entry) for entry in public(module)}
    assert {name: lacks for name, lacks in found.items() if lacks} == {}


def test_a_docstring_without_its_sections_is_found():
    source = """def half(x: float, *, name: str = "") -> float:
    '''Halve a number.

    Parameters
    ----------
    x
        The number.
    '''
    if x < 0:
        raise ValueError(name)
    return x / 2
"""
    (node,) = ast.parse(source).body
    assert missing(Public("here", node)) == ["Returns", "parameter name", "Raises"]
