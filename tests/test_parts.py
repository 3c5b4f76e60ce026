"""The examples of docs/parts.md run, in order, and its protocols are those of the code."""

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from simstudy.engine.backends.protocol import Backend
from simstudy.store.files import Files

PAGE = (Path(__file__).parents[1] / "docs" / "parts.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def examples() -> list[str]:
    """Each example below so many blank lines that errors name the line of the page."""
    found = re.finditer(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    return ["\n" * PAGE[: each.start(1)].count("\n") + each.group(1) for each in found]


def test_the_examples_run_in_order(tmp_path, monkeypatch):
    """Each in the names of those before, as in a notebook."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType("parts")
    monkeypatch.setitem(sys.modules, "parts", module)
    for code in examples():
        exec(compile(code, "docs/parts.md", "exec"), vars(module))
    assert len(examples()) > 8


@pytest.mark.parametrize("protocol", [Backend, Files], ids=lambda protocol: protocol.__name__)
def test_a_protocol_is_shown_as_it_is(protocol):
    (shown,) = [text for text in blocks("text") if f"class {protocol.__name__}(" in text]
    said = dict(re.findall(r"def (\w+)\((.*?)\) ->", shown))
    asked = {name: f for name, f in vars(protocol).items() if inspect.isfunction(f)}
    asked.pop("__init__", None)
    asked.pop("__subclasshook__", None)
    assert set(said) == set(asked)
    for name, parameters in said.items():
        expected = list(inspect.signature(asked[name]).parameters)
        assert re.findall(r"(?:^|, )\*?(\w+)", parameters.split("[")[0]) == expected
