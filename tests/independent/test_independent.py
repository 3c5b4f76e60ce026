"""The independent check itself: it shares nothing with the project, compares as it says, and holds.

`pytest -m slow tests/independent` recomputes every number.
"""

import math
import re
from pathlib import Path

import pytest

from tests.independent.checks import (
    CHECKS,
    Answer,
    Committed,
    compare,
    falls_for_its_rival,
    in_digits,
)
from tests.independent.table import BEGIN, END, MODULES, PAGE, committed_cell, computed, markdown
from tests.support import needs_results

HERE = Path(__file__).parent
OURS = ("simstudy", "experiments", "docs", "writing")


IMPORT = re.compile(r"^ *(?:from|import) ([\w.]+)", re.MULTILINE)


def shared(source: str) -> set[str]:
    """Modules of the project that a file imports, in functions too, but for the check's own."""
    names = {name for name in IMPORT.findall(source) if not name.startswith("tests.independent")}
    return {name for name in names if name.partition(".")[0] in (*OURS, "tests", "")}


def test_no_file_imports_anything_of_the_project():
    files = {path.stem: path for path in HERE.glob("*.py") if path.stem != Path(__file__).stem}
    assert {*MODULES, "checks", "table", "__main__"} <= set(files)
    assert {name: shared(path.read_text()) for name, path in files.items()} == {
        name: set() for name in files
    }


def test_a_gap_may_be_what_both_errors_allow_and_no_more():
    committed = Committed(0.5, mcse=0.003, rounding=0.001)
    allowed = 4.417 * 0.005 + 0.001 + 0.0005
    for gap, agrees in [(0.99 * allowed, True), (1.01 * allowed, False)]:
        for sign in (-1, 1):
            found = Answer(0.5 + sign * gap, error=0.004, bound=0.0005)
            assert compare(found, committed).agrees is agrees
    assert not compare(Answer(400, bound=0.0), Committed(399, 0.0, 0.0)).agrees
    assert not compare(Answer(math.nan), committed).agrees


def test_a_printed_number_is_known_to_half_of_its_last_digit():
    assert in_digits("0.1394") == (0.1394, pytest.approx(0.00005))
    assert in_digits("−2.19") == (-2.19, pytest.approx(0.005))
    assert in_digits("30,913") == (30913.0, 0.0)


def test_numbers_of_all_five_documents_are_there_each_once():
    assert len({check.document for check in CHECKS}) == 5
    assert len({check.what for check in CHECKS}) == len(CHECKS) >= 20


def page_rows() -> list[str]:
    tables = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    rows = [line for line in tables.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.startswith(("| number |", "| --- |"))]


@needs_results
def test_the_page_has_every_number_as_it_is_committed():
    shown = [row.split(" | ")[:2] for row in page_rows()]
    there = [[f"| {check.what}", committed_cell(check.committed())] for check in CHECKS]
    assert shown == there, "run `python -m tests.independent --write`"


QUICK = [check for check in CHECKS if check.what.startswith("outcomes at n2 = 399")]


@needs_results
def test_the_table_of_outcomes_is_found_anew_and_no_other():
    assert len(QUICK) == 8
    for row in computed(QUICK):
        assert row.verdict.agrees, row
        assert not falls_for_its_rival(row.check, row.found)


@needs_results
@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.what)
def test_a_committed_number_is_found_anew_and_its_rival_is_not(check):
    (row,) = computed([check])
    assert row.verdict.agrees, row
    assert not falls_for_its_rival(check, row.found)
    assert markdown(row) in page_rows(), "run `python -m tests.independent --write`"
