"""Marks that the theme leaves out, added to the written pages: levels of headings, keyboard access.

Without them a screen reader cannot place the headings of the sidebar, and a keyboard cannot scroll
code and tables that are wider than a phone.
"""

from pathlib import Path
from typing import Any

REPLACEMENTS = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper ': '<div tabindex="0" class="table-wrapper ',
    '<div class="math-wrapper ': '<div tabindex="0" class="math-wrapper ',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<th class="head"><p></p></th>': "<td></td>",
}


def accessible(page: str) -> str:
    """Return a written page with these marks; a page that has them stays as it is."""
    for without, marked in REPLACEMENTS.items():
        page = page.replace(without, marked)
    return page


def _finished(app: Any, error: Exception | None) -> None:
    for path in Path(app.outdir).rglob("*.html") if error is None else ():
        page = path.read_text(encoding="utf-8")
        path.write_text(accessible(page), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
