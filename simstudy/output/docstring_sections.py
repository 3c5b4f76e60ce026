"""An experiment's docstring taken apart: its question, and what stands under the five headings."""

from __future__ import annotations

import re
from typing import NamedTuple

HEADING = re.compile(r"^(Aims|Data|Estimands|Methods|Performance)\s+", re.MULTILINE)


class Headings(NamedTuple):
    """An experiment's docstring: its question, what else is said of it, and the five headings."""

    question: str
    paragraphs: list[str]
    parts: list[tuple[str, str]]


def headings_of(about: str) -> Headings:
    """Take an experiment's docstring apart."""
    lead, *parts = HEADING.split(about.strip())
    texts = [text for text in lead.split("\n\n") if text.strip()]
    return Headings("".join(texts[:1]), texts[1:], list(zip(parts[::2], parts[1::2], strict=True)))
