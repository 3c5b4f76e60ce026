"""The page on measures: its examples run, and its table names all of them."""

import re
import sys
from pathlib import Path
from types import ModuleType

from simstudy.measures.formulas import FORMULAS
from tests.measures.test_contract import MEASURES, RESAMPLED

PAGE = (Path(__file__).parents[2] / "docs" / "measures.md").read_text()


def test_the_examples_run_in_order(monkeypatch):
    module = ModuleType("measures_page")
    monkeypatch.setitem(sys.modules, "measures_page", module)
    for code in re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE):
        exec(compile(code, "docs/measures.md", "exec"), vars(module))


def test_every_measure_is_in_the_table():
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    assert set(MEASURES) | RESAMPLED <= set(re.findall(r"`(\w+)`", table))


def test_the_table_of_formulas_is_that_of_the_code():
    rows = [f"| `{kind}` | {found.estimate} | {found.mcse} |" for kind, found in FORMULAS.items()]
    unescaped = PAGE.replace("\\|", "|")
    assert [row for row in rows if row not in unescaped] == []
