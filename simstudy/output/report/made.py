"""How results were made, as a manifest says it, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simstudy.output.formatting import number

NOT_MADE = ("figures_not_drawn", "tables_not_made")
ELSEWHERE = ("config", "captions", "question", "noticed", "protocol", *NOT_MADE)  # in the page


def settings(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What was asked for."""
    return {name: in_words(value) for name, value in manifest["config"].items()}


def provenance(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What came of it, with what, and how long it took."""
    rest = {name: value for name, value in manifest.items() if name not in ELSEWHERE}
    return {name: in_words(value) for name, value in rest.items()}


def in_words(value: Any) -> str:
    """A value of a manifest in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {in_words(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value)) or "none"
    return number(value) if isinstance(value, float) else str(value)
