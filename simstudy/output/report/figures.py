"""Figures within a page, with their captions."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simstudy.remote.paths import Place

SIZE = slice(16, 24)  # bytes of a PNG that hold its width and height
DENSITY = b"pHYs"  # begins what it says of its pixels per metre
INCH = 0.0254  # in metres
PAGE_PIXELS = 96  # to an inch, as a page counts


@dataclass(frozen=True)
class ShownFigure:
    """A figure as it stands in a page: width and height in the page's pixels.

    `pdfs` names the columns for which there is a PDF.
    """

    name: str
    caption: str
    data: str
    width: int
    height: int
    pdfs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return title_of(self.name)


def title_of(name: str) -> str:
    """What a figure is called: "Figure 3A" by a document's number, else its name in words."""
    words = name.replace("_", " ")
    return f"Figure {words}" if words[:1].isdigit() else words[:1].upper() + words[1:]


def shown_figures(files: Iterable[Place], manifest: Mapping[str, Any]) -> list[ShownFigure]:
    """The PNGs among some files, with the captions that the manifest keeps, and their PDFs."""
    files = list(files)
    captions = manifest.get("captions", {})
    pictures = (path for path in files if path.suffix == ".png")
    pdfs = [path for path in files if path.suffix == ".pdf"]
    return [_shown(path, captions.get(path.stem, ""), pdfs) for path in pictures]


def _shown(path: Place, caption: str, pdfs: Iterable[Place]) -> ShownFigure:
    content = path.read_bytes()
    sizes, scale = content[SIZE], PAGE_PIXELS / _per_inch(content)
    width, height = (round(_whole(side) * scale) for side in (sizes[:4], sizes[4:]))
    data = base64.b64encode(content).decode()
    columns = tuple(pdf.parent.name for pdf in pdfs if pdf.stem == path.stem)
    return ShownFigure(path.stem, caption, data, width, height, columns)


def _per_inch(png: bytes) -> float:
    """Pixels of a picture to an inch of paper; those of a page, where it does not say."""
    _, found, after = png.partition(DENSITY)
    return _whole(after[:4]) * INCH if found and _whole(after[:4]) else PAGE_PIXELS


def _whole(digits: bytes) -> int:
    return int.from_bytes(digits, "big")
