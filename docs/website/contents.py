"""The table of contents: the links of index.md, a part for each of its headings.

So the page is plain Markdown for whoever reads it on a code host, and says once which pages there
are and in which order.
"""

import re
from collections.abc import Iterator
from typing import Any

from website.fences import fenced

PART = re.compile(r"^## (.+)\n((?:(?!^#).*\n?)*)", re.MULTILINE)
LINK = re.compile(r"^- \[([^\]]+)\]\(([\w/]+)\.md\)", re.MULTILINE)


def parts(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each second heading of the page; of each link in the list below it the words and the page."""
    for heading, below in PART.findall(text):
        pages = LINK.findall(below)
        if pages:
            yield heading, pages


def with_contents(text: str) -> str:
    """The page with a table of contents that only the sidebar shows."""
    trees = [
        fenced(
            "{toctree}",
            f":caption: {heading}",
            ":hidden:",
            "",
            *(f"{words} <{page}>" for words, page in pages),
        )
        for heading, pages in parts(text)
    ]
    return "\n\n".join([text, *trees])


def _read(_: Any, name: str, source: list[str]) -> None:
    if name == "index":
        source[0] = with_contents(source[0])


def setup(app: Any) -> dict[str, bool]:
    """Sphinx's hook."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
