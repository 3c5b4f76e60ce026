"""The protocols that docs/parts.md shows are those of the code."""

import inspect
import re

import pytest

from simstudy.engine.executors import Executor
from simstudy.store.files import Files
from tests.pages import blocks
from tests.support import ROOT

PAGE = ROOT / "docs" / "parts.md"


@pytest.mark.parametrize("protocol", [Executor, Files], ids=lambda protocol: protocol.__name__)
def test_a_protocol_is_shown_as_it_is(protocol):
    (shown,) = [text for text in blocks(PAGE, "text") if f"class {protocol.__name__}(" in text]
    said = dict(re.findall(r"def (\w+)\((.*?)\) ->", shown))
    asked = {name: f for name, f in vars(protocol).items() if inspect.isfunction(f)}
    asked.pop("__init__", None)
    asked.pop("__subclasshook__", None)
    assert set(said) == set(asked)
    for name, parameters in said.items():
        expected = list(inspect.signature(asked[name]).parameters)
        plain = re.sub(r"\[(\[.*?\]|.)*?\]", "", parameters)
        assert re.findall(r"(?:^|, )\*?(\w+)", plain) == expected
