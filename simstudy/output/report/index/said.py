"""A manifest's values by their types: what is of another type is noted, and left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simstudy.errors import describe, in_one_line
from simstudy.output.report.index.folders import CannotBeRead, Folder
from simstudy.store.manifest import MANIFEST
from simstudy.store.seconds import MOST_SECONDS

LONGEST = 300  # letters that a text of another's file may have


@dataclass
class Said:
    """What a manifest says.

    Parameters
    ----------
    odd
        Names of values that were asked for and are of no type that they can be.
    """

    content: Mapping[str, Any]
    odd: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        """A text in one line; empty where there is none."""
        return short(self._typed(name, str) or "")

    def count(self, name: str) -> int | None:
        """A number of things; None where there is none."""
        found: int | None = self._typed(name, int)
        if isinstance(found, bool) or (found is not None and found < 0):
            self._note(name)
            return None
        return found

    def seconds(self, name: str) -> float | None:
        """Seconds; None where there are none."""
        found = self._typed(name, int | float)
        if found is None or (not isinstance(found, bool) and 0 <= found < MOST_SECONDS):
            return None if found is None else float(found)
        self._note(name)
        return None

    def mapping(self, name: str) -> dict[str, Any]:
        """An object; an empty one where there is none."""
        return self._typed(name, dict) or {}

    def texts(self, name: str) -> dict[str, str]:
        """An object of texts, each in one line."""
        return {short(key): short(value) for key, value in self.mapping(name).items()}

    def names(self, name: str) -> list[str]:
        """A list of texts."""
        return [short(each) for each in self._typed(name, list) or []]

    def _typed(self, name: str, kind: Any) -> Any:
        found = self.content.get(name)
        if found is None or isinstance(found, kind):
            return found
        self._note(name)
        return None

    def _note(self, name: str) -> None:
        if name not in self.odd:
            self.odd.append(name)


def short(value: Any) -> str:
    """Anything as a text in one line that a page has room for."""
    text = in_one_line(value if isinstance(value, str) else str(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def read_manifest(folder: Folder) -> dict[str, Any]:
    """The object that a manifest holds.

    Raises
    ------
    CannotBeRead
        Saying why.
    """
    content = folder.content(MANIFEST)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CannotBeRead(f"cannot be read: {short(describe(error))}") from None
    if not isinstance(found, dict):
        raise CannotBeRead("is of another program: it holds no object")
    if "replicates" not in found:
        raise CannotBeRead("is of another program: it names no replicates")
    return found
