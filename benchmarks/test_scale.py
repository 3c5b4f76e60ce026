"""The page of large runs has the tables of its command, in their places."""

import pytest

from benchmarks.pages import around, print_or_put
from benchmarks.timing import ROOT


def test_a_page_of_several_parts_has_one_of_them_measured_anew(tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text((ROOT / "benchmarks" / "README.md").read_text())
    documents = around(copy.read_text(), "documents")
    print_or_put("measured anew", [str(copy)], "beyond")
    written = copy.read_text()
    assert around(written, "beyond")[1].strip() == "measured anew"
    assert around(written, "documents")[:2] == documents[:2]
    with pytest.raises(SystemExit, match="no line '<!-- measured: nothing -->'"):
        print_or_put("measured anew", [str(copy)], "nothing")
    assert copy.read_text() == written


def test_the_page_of_large_runs_has_a_place_for_its_tables():
    assert "| shares |" in around((ROOT / "benchmarks" / "README.md").read_text(), "scale")[1]
