"""Figures in the report."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from simstudy.remote.paths import Place

FRAME = re.compile(r'width="[\d.]+pt" height="[\d.]+pt" viewBox="0 0 ([\d.]+) ([\d.]+)"')
TEXT_LINE = re.compile(r'<!-- (.+?) -->\s*<g [^>]*transform="translate\([-\d.]+ ([\d.]+)\)')
MIN_LETTERS = 30  # letters; a shorter text may be that of an axis or a panel
CAPTION_LINE = 9.0  # points between the figure and the baseline of the caption's first line


class ShownFigure(NamedTuple):
    """A figure of a report.

    Parameters
    ----------
    source
        Picture as a data URI: an SVG without its caption, or a PNG if there is no SVG.
    has_pdf
        Whether there is a PDF of it.
    """

    name: str
    title: str
    caption: str
    source: str
    has_pdf: bool


def title_of(name: str) -> str:
    """The title of a figure: "Figure 3A", or its name in words."""
    words = name.replace("_", " ")
    return f"Figure {words}" if words[:1].isdigit() else words[:1].upper() + words[1:]


def figures_to_show(files: Iterable[Place], manifest: Mapping[str, Any]) -> list[ShownFigure]:
    """The figures to show, in order, with captions."""
    files, shown = list(files), []
    for path in files:
        if path.suffix == ".png":
            name, svg = path.stem, path.with_suffix(".svg")
            caption = manifest["captions"].get(name, "")
            source = _source(svg, caption) if svg in files else _data_uri("png", path.read_bytes())
            has_pdf = path.with_suffix(".pdf") in files
            shown.append(ShownFigure(name, title_of(name), caption, source, has_pdf))
    return shown


def _source(svg: Place, caption: str) -> str:
    text = svg.read_text(encoding="utf-8")
    return _data_uri("svg+xml", without_caption(text, caption).encode())


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def without_caption(svg: str, caption: str) -> str:
    """Crop an SVG above its caption, which the page shows as text.

    Matplotlib writes each line of text as a comment before its glyphs. The figure is not cropped if
    none of these in its lower half is a line of the caption.
    """
    frame = FRAME.search(svg)
    if frame is None:
        return svg
    width, height = map(float, frame.groups())
    tops = [
        float(y)
        for line, y in TEXT_LINE.findall(svg)
        if float(y) > height / 2 and len(line) >= MIN_LETTERS and html.unescape(line) in caption
    ]
    if not tops:
        return svg
    cropped = min(tops) - CAPTION_LINE
    size = f'width="{width:g}pt" height="{cropped:g}pt" viewBox="0 0 {width:g} {cropped:g}"'
    return svg[: frame.start()] + size + svg[frame.end() :]
