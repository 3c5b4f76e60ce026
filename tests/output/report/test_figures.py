"""Figures in a page have the size that they have on paper, and the caption that was kept."""

import struct
import zlib

from simstudy.output.report.figures import shown_figures


def chunk(kind, content):
    whole = kind + content
    return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))


def picture(path, *chunks):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 400, 200, 8, 0, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks))
    return path


def sizes(path):
    (figure,) = shown_figures([path], {})
    return figure.width, figure.height


def test_a_picture_is_as_large_as_its_pixels_are_dense(tmp_path):
    dense = chunk(b"pHYs", struct.pack(">IIB", 7874, 7874, 1))  # 200 to an inch
    assert sizes(picture(tmp_path / "1.png", dense)) == (192, 96)
    assert sizes(picture(tmp_path / "2.png")) == (400, 200), "where it does not say"
    none = chunk(b"pHYs", struct.pack(">IIB", 0, 0, 0))
    assert sizes(picture(tmp_path / "3.png", none)) == (400, 200)


def test_captions_are_those_of_the_manifest(tmp_path):
    files = [picture(tmp_path / name) for name in ("1.png", "1B.png")] + [tmp_path / "1.svg"]
    found = shown_figures(files, {"captions": {"1B": "Bars."}})
    assert [(figure.name, figure.caption) for figure in found] == [("1", ""), ("1B", "Bars.")]
    assert shown_figures(files, {})[1].caption == "", "as earlier versions had none"
