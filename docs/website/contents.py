"""The table of contents: index.md has a part per heading, other pages list their subpages.

Pages are plain Markdown on a code host. Sphinx's directives are added when it reads them:

- index.md: each second-level heading is a part of the sidebar; its list of links are the pages.
- any other page: the list of links before its first second-level heading are its subpages.
"""

import re
from collections.abc import Iterator
from typing import Any

from website.fences import fenced

PART = re.compile(r"^## (.+)\n((?:(?!^#).*\n?)*)", re.MULTILINE)
LINK = re.compile(r"^- \[([^\]]+)\]\(([\w/]+)\.md\)", re.MULTILINE)


def parts(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each second-level heading with the (title, page) pairs of the list below it."""
    for heading, below in PART.findall(text):
        pages = LINK.findall(below)
        if pages:
            yield heading, pages


def subpages(text: str) -> list[tuple[str, str]]:
    """Return the (title, page) pairs that a page lists before its first second-level heading."""
    return LINK.findall(text.partition("\n## ")[0])


def with_contents(text: str) -> str:
    """Return index.md with a hidden table of contents per part, which the sidebar shows."""
    trees = [_tree(pages, f":caption: {heading}") for heading, pages in parts(text)]
    return "\n\n".join([text, *trees])


def with_subpages(text: str) -> str:
    """Return a page with a hidden table of contents of its subpages, if it lists any."""
    pages = subpages(text)
    return f"{text}\n\n{_tree(pages)}" if pages else text


def _tree(pages: list[tuple[str, str]], *options: str) -> str:
    entries = (f"{words} <{page}>" for words, page in pages)
    return fenced("{toctree}", *options, ":hidden:", "", *entries)


def _read(_: Any, name: str, source: list[str]) -> None:
    complete = with_contents if name == "index" else with_subpages
    source[0] = complete(source[0])


def setup(app: Any) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
