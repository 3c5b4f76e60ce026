"""The protocol that docs/parts.md shows is that of the code."""

import inspect
import re

from simstudy.engine.executors import Executor
from tests.pages import blocks
from tests.support import ROOT

PAGE = ROOT / "docs" / "parts.md"


def test_the_protocol_of_a_backend_is_shown_as_it_is():
    (shown,) = [text for text in blocks(PAGE, "text") if "class Executor(" in text]
    said = dict(re.findall(r"def (\w+)\((.*?)\) ->", shown))
    asked = {name: f for name, f in vars(Executor).items() if inspect.isfunction(f)}
    asked.pop("__init__", None)
    asked.pop("__subclasshook__", None)
    assert set(said) == set(asked)
    for name, parameters in said.items():
        expected = list(inspect.signature(asked[name]).parameters)
        plain = re.sub(r"\[(\[.*?\]|.)*?\]", "", parameters)
        assert re.findall(r"(?:^|, )\*?(\w+)", plain) == expected
