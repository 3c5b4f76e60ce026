"""Figures in a report: SVG without the caption, which the page shows as text."""

import base64
import re

import pandas as pd
import plotnine as p9
from matplotlib.figure import Figure

from simstudy.figures import save_figure
from simstudy.figures.captions import caption_of
from simstudy.output.report.study_page import figures_to_show, title_of, without_caption

CAPTION = "Bars: 95% Monte Carlo intervals & their <limits>, of 2,000 replicates per point."
SIZE = re.compile(r'height="([\d.]+)pt"')


def svg_of(folder, figure, name="1"):
    return save_figure(figure, folder, name).svg.read_text(encoding="utf-8")


def plot(caption):
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]})
    figure = p9.ggplot(frame, p9.aes("x", "y")) + p9.geom_point()
    return figure + p9.labs(caption=caption)


def test_an_svg_ends_above_its_caption_and_below_its_axis(tmp_path):
    figure = plot(CAPTION)
    whole = svg_of(tmp_path, figure)
    cropped = without_caption(whole, caption_of(figure))
    before, after = (float(SIZE.search(text)[1]) for text in (whole, cropped))
    plain = float(SIZE.search(svg_of(tmp_path, plot(None), "2"))[1])
    assert plain == before, "as tall without a caption"
    assert 5 < before - after < 60
    assert 'viewBox="0 0 ' in cropped
    for other in ("", "Something else that stands nowhere in the figure."):
        assert without_caption(whole, other) == whole
    assert without_caption("<svg/>", CAPTION) == "<svg/>"


def test_a_report_shows_the_svg_or_else_the_png(tmp_path):
    figure = Figure(figsize=(3, 2))
    figure.add_subplot()
    paths = save_figure(figure, tmp_path, "1B")
    manifest = {"captions": {"1B": "Text."}}
    (shown,) = figures_to_show(paths[:2], manifest)
    assert (shown.title, shown.caption, shown.has_pdf) == ("Figure 1B", "Text.", False)
    kind, _, data = shown.source.partition(";base64,")
    assert kind == "data:image/svg+xml"
    assert base64.b64decode(data) == paths.svg.read_bytes()
    (bare,) = figures_to_show([paths.png], {"captions": {}})
    assert bare.source.startswith("data:image/png;base64,")
    assert bare.caption == ""
    assert title_of("exact_tests") == "Exact tests"
