"""Small pictures of figures: they stand in the page, which keeps them by the figures' hashes."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from simstudy.output.report.figures import SIZE
from simstudy.output.report.index.folders import CannotBeRead, Folder
from simstudy.remote.paths import Place

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH, HIGHEST = 320, 1280  # of the page's pixels
DENSITY = 2  # of a picture's own pixels to each of them
QUALITY = 60  # of WebP, at which letters of this size have no fringes
MOST = 400  # in one page: some 15 MB
MOST_PIXELS = 50_000_000  # of a figure: more is no figure, but a trap for who unpacks it
PNG = b"\x89PNG\r\n\x1a\n"
KEPT = re.compile(
    rb'data-of="([0-9a-f]{32})" src="data:image/(webp|png);base64,([A-Za-z0-9+/=]+)"'
    rb' width="(\d{1,3})" height="(\d{1,4})"'
)


@dataclass(frozen=True)
class Picture:
    """A figure made small: `data` in base 64 of a `kind` of file, its size in a page's pixels.

    Parameters
    ----------
    of
        Hash of the figure.
    """

    of: str
    kind: str
    data: str
    width: int
    height: int


@dataclass
class Pictures:
    """Those of one page: kept from the page of before, or made.

    Parameters
    ----------
    n_left
        How many more the page has room for.
    """

    kept: Mapping[str, Picture] = field(default_factory=dict)
    n_left: int = MOST

    @classmethod
    def of_page(cls, page: Place) -> Pictures:
        """With those of the page that is there, if one is."""
        try:
            folder = Folder(page.parent, frozenset({page.name} if page.exists() else ()))
            return cls({each.of: each for each in _pictures_in(folder.content(page.name))})
        except CannotBeRead:
            return cls()

    def of_figure(self, folder: Folder, file: str, listed: str) -> tuple[Picture | None, bool]:
        """A figure's picture, None where the page is full; and whether the file is as was listed.

        Parameters
        ----------
        listed
            Hash of the file as its manifest says it; empty where it says none. Beyond this
            machine it is believed, so that nothing is fetched twice.

        Raises
        ------
        CannotBeRead
            Saying why.
        """
        if self.n_left <= 0 and file in folder.files:
            return None, True
        is_far = not isinstance(folder.path, Path)
        if is_far and file in folder.files and listed in self.kept:
            self.n_left -= 1
            return self.kept[listed], True
        content = folder.content(file)
        of = hashlib.sha256(content).hexdigest()[:32]
        picture = self.kept.get(of) or made_small(content, of)
        self.n_left -= 1
        return picture, listed in ("", of)


def _pictures_in(page: bytes) -> Iterator[Picture]:
    for of, kind, data, width, height in KEPT.findall(page):
        yield Picture(of.decode(), kind.decode(), data.decode(), int(width), int(height))


def made_small(content: bytes, of: str) -> Picture:
    """A figure's picture.

    Parameters
    ----------
    content
        Of a PNG.

    Raises
    ------
    CannotBeRead
        Where it is none, or too large to be a figure.
    """
    if not content.startswith(PNG):
        raise CannotBeRead("is no PNG" if content else "is empty")
    wide, high = (int.from_bytes(side, "big") for side in (content[SIZE][:4], content[SIZE][4:]))
    if wide * high > MOST_PIXELS:
        raise CannotBeRead(f"has {wide:,} by {high:,} pixels, too many for a figure")
    try:
        kind, data = _drawn_small(content)
    except Exception:  # whatever is in a file of that name
        raise CannotBeRead("is damaged") from None
    shown = min(1, WIDTH / wide, HIGHEST / high)
    width, height = (max(1, round(side * shown)) for side in (wide, high))
    return Picture(of, kind, base64.b64encode(data).decode(), width, height)


def _drawn_small(content: bytes) -> tuple[str, bytes]:
    """The kind of file, and its bytes."""
    from PIL import features
    from PIL.Image import Resampling
    from PIL.Image import open as opened

    with opened(io.BytesIO(content), formats=["PNG"]) as figure:
        small = _on_paper(figure)
    size = (WIDTH * DENSITY, HIGHEST * DENSITY)
    small.thumbnail(size, Resampling.LANCZOS, reducing_gap=3.0)  # what is smaller stays so
    written = io.BytesIO()
    if features.check("webp"):
        small.save(written, "WEBP", quality=QUALITY, method=2)
        return "webp", written.getvalue()
    small.quantize(64).save(written, "PNG", optimize=True)
    return "png", written.getvalue()


def _on_paper(figure: Image) -> Image:
    """Without what can be seen through."""
    from PIL.Image import new

    if figure.mode == "RGBA" and figure.getchannel("A").getextrema() == (255, 255):
        return figure.convert("RGB")
    paper = new("RGBA", figure.size, "white")
    paper.alpha_composite(figure.convert("RGBA"))
    return paper.convert("RGB")
