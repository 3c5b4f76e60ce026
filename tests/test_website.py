"""The site's table of contents has every page, and docstrings become what they say."""

import pytest

from tests.support import ROOT
from website.api import documented, filled, listed, tidied
from website.contents import parts, with_contents

DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


def test_every_page_stands_once_in_the_contents():
    there = [page for _, pages in parts(INDEX) for _, page in pages]
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(there) == sorted(pages - {"index"})


def test_the_contents_are_the_lists_below_headings():
    page = "# Title\n\n## A\n\n- [one](a.md): words\n\n## B\n\ntext [no](b.md)\n"
    assert with_contents(page).removeprefix(page).strip() == (
        "````{toctree}\n:caption: A\n:hidden:\n\none <a>\n````"
    )


def test_every_package_of_statistics_has_a_page():
    asked = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("api/*.md"))
    packages = [path.parent.name for path in (ROOT / "simstudy" / "stats").glob("*/__init__.py")]
    missing = [name for name in packages if f"simstudy.stats.{name}\n" not in asked]
    assert missing == ["compiled"], "which is no statistic"


def test_a_package_is_what_it_offers_and_modules_are_sections():
    assert ":members: AccuracyCheck, accuracy_check, threshold_table" in documented(
        "simstudy.applied"
    )
    claims = documented("simstudy.claims")
    assert " of_row" in claims
    assert "Rival" not in claims, "it is on the page of simstudy"
    assert "``simstudy.stats.bootstrap.losses``\n---" in documented("simstudy.stats.bootstrap")
    assert "_kernels" not in documented("simstudy.stats.bootstrap")


def test_only_a_block_that_asks_is_filled():
    assert filled("`{api} simstudy.tables`") == "`{api} simstudy.tables`"
    assert "automodule:: simstudy.tables" in filled("```{api} simstudy.tables\n```")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("arrays of (rep, *axes).", r"arrays of (rep, \*axes)."),
        ("`correlation`^|i - j|.", r"``correlation``\ ^\|i - j\|."),
        (":param \\*linked: `x`", ":param \\*linked: ``x``\\ "),
        (':returns: *Float[a, "*rep"]* -- it', ':returns: ``Float[a, "*rep"]``\\  -- it'),
        ("*Bits.* σ = √`variance`", "*Bits.* σ = √\\ ``variance``\\ "),
        (">>> 2 * x | y", ">>> 2 * x | y"),
        ("the *document* says", "the *document* says"),
    ],
)
def test_chance_makes_no_markup(line, shown):
    assert list(tidied([line], displays=True)) == [shown]


def test_formulas_and_tables_stay_as_they_are_typed():
    lines = ["It is", "", "    a | b", "", "    c*d", "", "====  ====", "x     y|z", "", "`end`"]
    assert list(tidied(lines, displays=True)) == [
        *("It is", "", "::", "", "       a | b", "   ", "       c*d", "   "),
        *("::", "", "   ====  ====", "   x     y|z", "", "``end``\\ "),
    ]


def test_names_in_a_list_are_links():
    lines = ["Tests", "    power      rejections", "    mse        errors", "", "    plain text"]
    assert list(listed(lines)) == [
        *("Tests", "", "- :py:obj:`power`: rejections", "- :py:obj:`mse`: errors", ""),
        "    plain text",
    ]
