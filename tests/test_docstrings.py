"""Public docstrings have the sections of numpydoc: parameters, what is returned, what is raised.

The public API is what the pages of `docs/api/` list.
"""

import ast
import dataclasses
import doctest
import importlib
import inspect
import operator
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

import pytest

import simstudy
from tests.support import ROOT
from website.api import API_BLOCK, reexported_names

ALSO = ("simstudy.design",)  # what scenarios and grids are made of; on no page of its own
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", re.MULTILINE)
PROPERTY = (property, cached_property)
METHOD = (FunctionType, classmethod, staticmethod, *PROPERTY)
OF_SCENARIOS = {"simulate", "draw", "exact"}  # methods that `Scenario` describes


def api_modules() -> list[str]:
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages]
    return [*(name for text in texts for name in API_BLOCK.findall(text)), *ALSO]


def public(module: ModuleType) -> Iterator[Any]:
    """Functions and classes of a page: what a package re-exports, or what its modules define."""
    names = reexported_names(module)
    below = [] if names else pkgutil.iter_modules(getattr(module, "__path__", ()))
    for file in below:
        if file.name[0] != "_":
            yield from public(importlib.import_module(f"{module.__name__}.{file.name}"))
    for name in names or [name for name in vars(module) if name[0] != "_"]:
        value = getattr(module, name)
        home = getattr(value, "__module__", "")
        is_own = str(home).startswith("simstudy") and bool(names) == (home != module.__name__)
        if is_own and (inspect.isclass(value) or inspect.isroutine(value)):
            yield value


def methods(kind: type) -> dict[str, Any]:
    """Public methods and properties that a class defines, and nothing above it describes."""
    here = vars(sys.modules[kind.__module__]).values()
    protocols = [each for each in here if getattr(each, "_is_protocol", False)]
    above = [each for each in (*kind.__mro__[1:], *protocols) if each is not kind]
    described = {name for known in above for name, each in vars(known).items() if each.__doc__}
    described |= OF_SCENARIOS
    stated = {name for one in kind.__mro__ for name in inspect.get_annotations(one)}
    return {
        name: vars(kind)[name]
        for name in vars(kind).keys() - stated
        if name[0] != "_" and isinstance(vars(kind)[name], METHOD)
        if vars(kind)[name].__doc__ or name not in described
    }


def parameters(of: Any) -> list[str]:
    if dataclasses.is_dataclass(of):
        fields = {field.name for field in dataclasses.fields(of) if field.init}
        names = [name for name in inspect.get_annotations(of) if name in fields]
    elif inspect.isclass(of) and not in_our_source(vars(of).get("__init__")):
        names = list(getattr(of, "_fields", ()))
    else:
        names = list(inspect.signature(of).parameters)
    return [name for name in names if name[0] != "_" and name not in ("self", "cls")]


def raises(of: Any) -> bool:
    """Whether a function, or what makes a class, raises an error itself."""
    if inspect.isclass(of):
        makers = ("__init__", "__post_init__", "__new__")
        return any(raises(vars(of)[name]) for name in makers if in_our_source(vars(of).get(name)))
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(of)))
    inside = list(ast.parse(source).body[0].body)
    for node in inside:  # which grows
        if isinstance(node, ast.Raise) and node.exc is not None:
            return True
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            inside += ast.iter_child_nodes(node)
    return False


def in_our_source(function: Any) -> bool:
    """Whether a function is written in a file: dataclasses and named tuples make some."""
    code = getattr(inspect.unwrap(function), "__code__", None) if function else None
    return code is not None and code.co_filename.startswith(str(ROOT))


def described(text: str) -> set[str]:
    names = [name for entry in ENTRY.findall(text) for name in entry.split(",")]
    return {name.strip(" *") for name in names}


def sections(of: Any) -> dict[str, str]:
    parts = HEADING.split(inspect.getdoc(of) or "")
    return {"first line": parts[0].partition("\n")[0]} | dict(
        zip(parts[1::2], parts[2::2], strict=True)
    )


def missing(of: Any) -> list[str]:
    """What the docstring of a public function, class or property lacks."""
    is_property = isinstance(of, PROPERTY)
    if is_property:
        of = of.fget if isinstance(of, property) else of.func
    found = sections(of)
    named = described(found.get("Parameters", "") + found.get("Attributes", ""))
    lacks = [] if found["first line"].endswith(".") else ["first line with a period"]
    if not is_property and not inspect.isclass(of):
        returned = str(inspect.signature(of).return_annotation)
        if returned not in ("None", "NoReturn", "Never") and not {"Returns", "Yields"} & set(found):
            lacks.append("Returns")
    if not is_property:
        lacks += [f"parameter {name}" for name in parameters(of) if name not in named]
    return lacks + ["Raises"] * (raises(of) and "Raises" not in found)


def missing_of_each(module: str) -> Iterator[tuple[str, list[str]]]:
    for value in public(importlib.import_module(module)):
        yield value.__qualname__, missing(value)
        attributes = described(sections(value).get("Attributes", ""))
        for name, each in methods(value).items() if inspect.isclass(value) else ():
            if each.__doc__ or not isinstance(each, PROPERTY):
                yield f"{value.__qualname__}.{name}", missing(getattr(each, "__func__", each))
            elif name not in attributes:
                yield f"{value.__qualname__}.{name}", ["docstring"]


@pytest.mark.parametrize("module", api_modules())
def test_public_docstrings_have_their_sections(module):
    found = dict(missing_of_each(module))
    assert found
    assert {name: lacks for name, lacks in found.items() if lacks} == {}


CORE = [
    *(name for name in simstudy.__all__ if inspect.isfunction(getattr(simstudy, name))),
    *(f"Result.{name}" for name in ("row", "select", "values", "contrast")),
]


def run_example(of: Any, name: str, names: dict[str, Any]) -> int:
    """Run the example of a docstring, which adds to `names`; the number of its lines of code."""
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(of), names, name, None, None)
    assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
    names |= example.globs
    return len(example.examples)


@pytest.fixture(scope="module")
def names_of_study() -> dict[str, Any]:
    """The study and the result of the example of `Study`."""
    names: dict[str, Any] = {"__name__": "__main__"}
    assert run_example(simstudy.Study, "Study", names) > 8
    return names


@pytest.mark.parametrize("name", CORE)
def test_the_example_of_a_core_function_runs(name, names_of_study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    of = operator.attrgetter(name)(simstudy)
    assert "Examples" in sections(of)
    assert run_example(of, name, dict(names_of_study)) or name == "published"
