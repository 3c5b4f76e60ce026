"""The table of contents of the site lists every page; docstrings are shown as written."""

import re

import pytest

from tests.support import ROOT
from website import api
from website.contents import parts, subpages, with_contents, with_subpages

DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


def test_every_page_is_listed_once_in_the_contents():
    listed_pages = [page for _, pages in parts(INDEX) for _, page in pages]
    for page in listed_pages:  # grows: subpages may have subpages
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        folder = page.rpartition("/")[0]
        listed_pages += [f"{folder}/{sub}".lstrip("/") for _, sub in subpages(text)]
        assert len(listed_pages) == len(set(listed_pages)), page
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(listed_pages) == sorted(pages - {"index"})


def words_of(page):
    text = re.sub(r"^ *```.*?^ *```", "", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)]*\)", " ", text, flags=re.DOTALL)
    return [word for word in text.split() if re.search(r"[^\W\d]", word)]


def test_the_tool_has_11_500_words_and_the_site_30_000_apart_from_the_reference():
    case_study = {"reading_claims", "applied"}
    of_the_tool, of_the_case = [], []
    for path in [*DOCS.glob("*.md"), *DOCS.glob("documents/*.md")]:
        half = of_the_case if path.stem in case_study or path.parent != DOCS else of_the_tool
        half += words_of(path.read_text(encoding="utf-8"))
    assert len(of_the_tool) <= 11_500
    assert len(of_the_tool) + len(of_the_case) <= 30_000


def test_the_contents_are_the_lists_below_headings():
    page = "# Title\n\n## A\n\n- [one](a.md): words\n\n## B\n\ntext [no](b.md)\n"
    assert with_contents(page).removeprefix(page).strip() == (
        "````{toctree}\n:caption: A\n:hidden:\n\none <a>\n````"
    )


def test_subpages_are_the_list_above_the_first_part():
    page = "# Title\n\n- [one](a.md): words\n\n## A\n\n- [no](b.md)\n"
    added = with_subpages(page).removeprefix(page).strip()
    assert added == "````{toctree}\n:hidden:\n\none <a>\n````"
    assert with_subpages("# Title\n\n[no](b.md)\n") == "# Title\n\n[no](b.md)\n"


def test_a_package_lists_its_exports_or_a_section_per_module():
    assert ":members: AccuracyCheck, Answer, " in api.autodoc_directives(
        "simstudy.documents.applied"
    )
    claims = api.autodoc_directives("simstudy.claims")
    assert " of_row" in claims
    assert "Rival" not in claims, "documented on the page of simstudy"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("arrays of (rep, *axes).", r"arrays of (rep, \*axes)."),
        ("`correlation`^|i - j|.", r"``correlation``\ ^\|i - j\|."),
        (":param \\*linked: `x`", ":param \\*linked: ``x``\\ "),
        (':rtype: Float[a, "*rep"]', ':rtype: ``Float[a, "*rep"]``\\ '),
        ("*Bits.* σ = √`variance`", "*Bits.* σ = √\\ ``variance``\\ "),
        (">>> 2 * x | y", ">>> 2 * x | y"),
        ("the *document* says", "the *document* says"),
    ],
)
def test_accidental_markup_is_escaped(line, shown):
    assert list(api.escape_markup([line], displays=True)) == [shown]
