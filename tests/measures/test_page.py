"""The page on measures names all of them in its table."""

import re

from simstudy.measures.formulas import FORMULAS
from tests.measures.test_contract import ADJUSTED, MEASURES, RESAMPLED
from tests.support import ROOT

PAGE = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")


def test_every_measure_is_in_the_table():
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    assert set(MEASURES) | RESAMPLED | ADJUSTED <= set(re.findall(r"`(\w+)`", table))


def test_the_table_of_formulas_is_that_of_the_code():
    rows = [f"| `{kind}` | {found.estimate} | {found.mcse} |" for kind, found in FORMULAS.items()]
    unescaped = PAGE.replace("\\|", "|")
    assert [row for row in rows if row not in unescaped] == []
