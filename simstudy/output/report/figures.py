"""Figures within a page: with their captions in a report, made small in the index."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from simstudy.remote.paths import Place

PAGE_PIXELS = 96  # to an inch, as a page counts
WIDTH, HIGHEST = 320, 1280  # of a thumbnail, in the page's pixels
DENSITY = 2  # of a thumbnail's own pixels to each of them
QUALITY = 60  # of WebP, at which letters of this size have no fringes
THUMBNAIL = re.compile(
    rb'data-of="([0-9a-f]{32})" src="(data:image/webp;base64,[A-Za-z0-9+/=]+)"'
    rb' width="(\d+)" height="(\d+)"'
)  # as the index has them


class ShownFigure(NamedTuple):
    """A figure of a report, its size in the page's pixels; `pdfs` names columns of journals."""

    name: str
    title: str
    caption: str
    data: str
    width: int
    height: int
    pdfs: list[str]


class Thumbnail(NamedTuple):
    """A figure made small: `digest` is that of the figure, `source` holds the picture itself."""

    digest: str
    source: str
    width: int
    height: int


def title_of(name: str) -> str:
    """What a figure is called: "Figure 3A" by a document's number, else its name in words."""
    words = name.replace("_", " ")
    return f"Figure {words}" if words[:1].isdigit() else words[:1].upper() + words[1:]


def shown_figures(files: Iterable[Place], manifest: Mapping[str, Any]) -> list[ShownFigure]:
    """The PNGs among some files, with the captions that the manifest keeps, and their PDFs."""
    files, shown = list(files), []
    for path in files:
        if path.suffix == ".png":
            name, content = path.stem, path.read_bytes()
            pdfs = [other.parent.name for other in files if other.name == f"{name}.pdf"]
            caption, data = manifest["captions"].get(name, ""), base64.b64encode(content).decode()
            shown.append(ShownFigure(name, title_of(name), caption, data, *_size(content), pdfs))
    return shown


def _size(png: bytes) -> tuple[int, int]:
    """Width and height that a picture has on paper, in the page's pixels."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as figure:
        per_inch = figure.info.get("dpi", (0.0, 0.0))[0] or PAGE_PIXELS
        width, height = (round(side * PAGE_PIXELS / per_inch) for side in figure.size)
    return width, height


def thumbnails_in(page: Place) -> dict[str, Thumbnail]:
    """The thumbnails of an index, by the digests of their figures; none where there is no page."""
    found = THUMBNAIL.findall(page.read_bytes()) if page.exists() else ()
    return {
        digest.decode(): Thumbnail(digest.decode(), source.decode(), int(width), int(height))
        for digest, source, width, height in found
    }


def thumbnail(path: Place, listed: str, kept: Mapping[str, Thumbnail]) -> Thumbnail | None:
    """A figure made small; None where its file cannot be read.

    Parameters
    ----------
    listed
        Digest of the file as its manifest says it.
    kept
        Those that were made before, by digest: nothing is read for them.
    """
    if listed in kept:
        return kept[listed]
    try:
        return _make_thumbnail(path.read_bytes())
    except Exception:  # whatever a decoder raises
        return None


def _make_thumbnail(png: bytes) -> Thumbnail:
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=["PNG"]) as figure:
        wide, high = figure.size
        paper = Image.new("RGBA", figure.size, "white")  # behind what can be seen through
        paper.alpha_composite(figure.convert("RGBA"))
    small, written = paper.convert("RGB"), io.BytesIO()
    small.thumbnail((WIDTH * DENSITY, HIGHEST * DENSITY), Image.Resampling.LANCZOS, reducing_gap=3)
    small.save(written, "WEBP", quality=QUALITY, method=2)
    scale = min(1, WIDTH / wide, HIGHEST / high)
    source = f"data:image/webp;base64,{base64.b64encode(written.getvalue()).decode()}"
    digest = hashlib.sha256(png).hexdigest()[:32]
    return Thumbnail(digest, source, *(max(1, round(side * scale)) for side in (wide, high)))
