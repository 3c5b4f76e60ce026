"""Markdown in small: tables, texts of a user's own, and places that a person fills in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from simstudy.tables.grid import escaped

PLACE = re.compile(r"\[to fill in: ")


def to_fill_in(what: str) -> str:
    """A marked place for what only a person knows."""
    return f"[to fill in: {what}]"


def n_places(text: str) -> int:
    """How many places are left to fill in."""
    return len(PLACE.findall(text))


def code(text: object) -> str:
    """A name or a value as it is typed, also between the pipes of a table."""
    plain = " ".join(str(text).split()).replace("|", "\\|")
    fence = "``" if "`" in plain else "`"
    pad = " " if "`" in plain else ""
    return f"{fence}{pad}{plain}{pad}{fence}" if plain else ""


def prose(text: str) -> str:
    """What a user wrote, in paragraphs, whose letters are themselves."""
    return "\n\n".join(escaped(part) for part in text.split("\n\n") if part.strip())


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, whose cells are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(texts: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {text}" for text in texts)
