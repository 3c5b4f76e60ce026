"""The protocol that docs/parts.md shows is that of the code."""

from tests.support import ROOT

PAGE = ROOT / "docs" / "parts.md"
