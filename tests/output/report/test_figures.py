"""Figures in a report: SVG, or else PNG."""

import base64

from matplotlib.figure import Figure

from simstudy.figures import save_figure
from simstudy.output.report.study_page import figures_to_show, title_of


def test_a_report_shows_the_svg_or_else_the_png(tmp_path):
    figure = Figure(figsize=(3, 2))
    figure.add_subplot()
    paths = save_figure(figure, tmp_path, "1B")
    manifest = {"captions": {"1B": "Text."}}
    (shown,) = figures_to_show(paths[:2], manifest)
    assert (shown.title, shown.alt, shown.has_pdf) == ("Figure 1B", "Text.", False)
    kind, _, data = shown.source.partition(";base64,")
    assert kind == "data:image/svg+xml"
    assert base64.b64decode(data) == paths.svg.read_bytes()
    (bare,) = figures_to_show([paths.png], {"captions": {}})
    assert bare.source.startswith("data:image/png;base64,")
    assert bare.alt.startswith("Figure 1B of ")
    assert title_of("exact_tests") == "Exact tests"
