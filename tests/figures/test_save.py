import re
import subprocess
import sys
from io import BytesIO

import matplotlib
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from simstudy.errors import FigureError
from simstudy.figures import agreement_plot, measure_curves, save_figure
from simstudy.figures.panels import facets
from simstudy.figures.save import drawn_figure, printed, with_caption_at_edge, with_minus
from simstudy.figures.theme import FULL_WIDTH, TALLEST
from tests.figures.data import make_summary
from tests.support import ROOT

ELSEWHERE = """
import sys
import simstudy.figures
from simstudy.figures import measure_curves, save_figure
for name in ("plotnine", "matplotlib"):
    assert name not in sys.modules, name
from tests.figures.data import make_summary
import matplotlib
matplotlib.rcParams["axes.facecolor"] = "red"
before = dict(matplotlib.rcParams)
summary = make_summary()
summary = summary[summary["dgp"] == "normal"]
save_figure(measure_curves(summary, x="n", y="coverage", color="method"), sys.argv[1], "a")
changed = {k for k, v in matplotlib.rcParams.items() if before[k] != v} - {"backend"}
assert not changed, changed
assert matplotlib.get_backend().lower() == "agg"
"""


def curves():
    summary = make_summary()
    return measure_curves(summary[summary["dgp"] == "normal"], x="n", y="coverage", color="method")


def test_the_same_figure_is_the_same_bytes_here_again_and_elsewhere(tmp_path):
    plot = curves()
    first, again = (save_figure(plot, tmp_path / f, "a") for f in ("first", "again"))
    subprocess.run(
        [sys.executable, "-c", ELSEWHERE, tmp_path / "else"],
        cwd=ROOT,
        check=True,
        env={"PYTHONHASHSEED": "7", "PATH": ""},
    )
    for path, other in zip(first[:2], again, strict=False):
        assert path.read_bytes() == other.read_bytes()
        assert path.read_bytes() == (tmp_path / "else" / path.name).read_bytes()


def dense(n: int = 6_000) -> pd.DataFrame:
    a, b = np.random.default_rng(2).standard_normal((2, n))
    return pd.DataFrame({"a": a, "b": b})


def test_a_dense_figure_stays_small_and_keeps_its_words(tmp_path):
    """A light one has no pixels, and of one with a bar of colours only the bar is."""
    assert "<image" not in save_figure(curves(), tmp_path, "1").svg.read_text()
    colored = agreement_plot(dense(60), x="a", y="b", color="a")
    assert save_figure(colored, tmp_path, "2").svg.stat().st_size < 200_000
    paths = save_figure(agreement_plot(dense(), x="a", y="b"), tmp_path, "1B")
    svg = paths.svg.read_text()
    assert paths.svg.stat().st_size < 1_000_000
    assert svg.count("<image") == 1
    assert svg.count("<use") > 50


def test_a_matplotlib_figure_is_saved_and_left_as_it_was(tmp_path):
    figure = Figure()
    dots = figure.add_subplot().scatter(*np.random.default_rng(1).standard_normal((2, 5_000)))
    paths = save_figure(figure, tmp_path / "new" / "folder", "scatter", dpi=50)
    assert paths.svg.read_text().count("<image") == 1
    assert paths.svg.stat().st_size < 1_000_000
    assert not dots.get_rasterized()
    assert paths.png.read_bytes() == save_figure(figure, tmp_path, "x", dpi=50).png.read_bytes()


def test_both_files_have_one_layout_which_is_found_once_and_stays(tmp_path):
    figure = Figure(layout="constrained", dpi=72)
    figure.add_subplot().set_ylabel("as wide as it is")
    layout, found = figure.get_layout_engine(), []
    execute = layout.execute
    layout.execute = lambda drawn: found.append(drawn.dpi) or execute(drawn)
    save_figure(figure, tmp_path, "laid_out", dpi=50)
    assert found == [50]
    assert figure.get_layout_engine() is layout
    assert figure.dpi == 72


def test_two_files_have_the_pixels_asked_for_and_no_date(tmp_path):
    paths = save_figure(Figure(figsize=(2, 1)), tmp_path, "1", dpi=50)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.png", "1.svg"]
    png, svg = paths.png.read_bytes(), paths.svg.read_text()
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (100, 50)
    assert not re.search(r"<dc:date>|matplotlib\.org/\d|v\d+\.\d+\.\d+", svg)


def test_an_axes_is_saved_as_its_figure(tmp_path):
    figure = Figure(figsize=(2, 1))
    axes = figure.subplots()
    axes.plot([0, 1], [1, 0])
    one, other = (save_figure(drawn, tmp_path, "1", dpi=50) for drawn in (figure, axes))
    assert one.png.read_bytes() == other.png.read_bytes()
    with pytest.raises(FigureError, match="of type list cannot be saved"):
        save_figure([axes], tmp_path, "1")


def test_the_backend_in_use_stays(tmp_path):
    import matplotlib.pyplot as plt

    before, figures = plt.get_backend(), plt.get_fignums()
    save_figure(curves(), tmp_path, "1", dpi=40)
    assert (matplotlib.get_backend(), plt.get_fignums()) == (before, figures)


@pytest.mark.parametrize(
    ("figure", "name", "said"),
    [
        (Figure(), "", "'' is not a file name for a figure"),
        (Figure(), "../a", "'../a' is not a file name for a figure"),
        (pd.DataFrame(), "1", "type DataFrame cannot be saved as a figure"),
    ],
)
def test_what_cannot_be_saved_is_refused(figure, name, said, tmp_path):
    with pytest.raises(FigureError, match=said):
        save_figure(figure, tmp_path, name)


# ---------------------------------------------------------------- as printed
SMALLEST = 7  # points, on paper


def test_a_wide_figure_is_printed_a_page_wide_and_its_caption_with_it():
    wide = printed(curves() + p9.theme(figure_size=(11, 5)))
    assert wide.theme.getp("figure_size") == (6.5, 5)
    narrow = printed(curves() + p9.theme(figure_size=(3.4, 12)))
    assert narrow.theme.getp("figure_size") == (3.4, 9)
    assert len(narrow.labels.caption.splitlines()) > len(wide.labels.caption.splitlines())


def test_in_one_of_two_columns_all_text_is_readable_and_on_the_page():
    figure = printed(curves() + p9.theme(figure_size=(3.4, 3))).draw()
    figure.savefig(BytesIO())  # puts everything in its place
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= SMALLEST
    page = figure.bbox.padded(1)
    ticks = [label for ax in figure.axes for label in ax.get_xticklabels() + ax.get_yticklabels()]
    assert len(figure.texts) == 3  # both axes' titles and the caption
    for text in [*figure.texts, *ticks]:
        box = text.get_window_extent()
        assert page.contains(box.x0, box.y0), text.get_text()
        assert page.contains(box.x1, box.y1), text.get_text()


def test_every_figure_is_as_wide_as_a_page():
    for n_panel in (1, 2, 12):
        drawn = pd.DataFrame({"panel": pd.Categorical(range(n_panel))})
        width, height = facets(drawn)[1].getp("figure_size")
        assert (width, height <= TALLEST) == (FULL_WIDTH, True)


# ---------------------------------------------------------------- PDF
def pdf(figure, folder) -> bytes:
    return save_figure(figure, folder, "1", pdf=True).pdf.read_bytes()


def test_the_same_figure_is_the_same_pdf_in_embedded_truetype(tmp_path):
    plot = curves()
    content = pdf(plot, tmp_path / "a")
    assert content == pdf(plot, tmp_path / "b")
    assert not re.search(rb"/Type3|/CreationDate|/Producer", content)
    assert b"/FontFile2" in content
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", content)
    assert float(box[1]) == pytest.approx(72 * FULL_WIDTH)
    assert save_figure(plot, tmp_path, "1").pdf is None


def test_a_dense_layer_is_pixels_in_a_pdf_and_the_rest_is_not(tmp_path):
    content = pdf(agreement_plot(dense(), x="a", y="b"), tmp_path)
    assert content.count(b"/Subtype /Image") in (1, 2)  # and its mask
    assert b"/FontFile2" in content


# ---------------------------------------------------------------- captions
LONG = "A caption of many words, each of which a reader has to see to the end. " * 4


def drawn(aspect_ratio: float | None, at_edge: bool):
    """A figure of one row of panels, laid out, with what it says beneath."""
    summary = make_summary()
    plot = measure_curves(summary[summary["dgp"] == "normal"], x="n", y="coverage", color="method")
    plot = printed(plot + p9.labs(caption=LONG) + p9.theme(figure_size=(6.5, 3)))
    plot = plot + p9.theme(aspect_ratio=aspect_ratio) if aspect_ratio else plot
    figure = with_caption_at_edge(plot.draw(), plot) if at_edge else plot.draw()
    figure.savefig(BytesIO())  # puts everything in its place
    (caption,) = (text for text in figure.texts if text.get_text() == plot.labels.caption)
    return figure, caption.get_window_extent()


def test_a_caption_under_narrow_panels_ends_on_the_page():
    figure, box = drawn(3.0, at_edge=True)
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_that_test_catches_a_caption_that_starts_at_the_panels():
    figure, box = drawn(3.0, at_edge=False)
    assert box.x1 > figure.bbox.x1


@pytest.mark.parametrize("aspect_ratio", [None, 0.1])
def test_where_panels_fill_the_width_nothing_moves(aspect_ratio):
    places = [drawn(aspect_ratio, at_edge)[1].x0 for at_edge in (True, False)]
    assert places[0] == pytest.approx(places[1])


# ---------------------------------------------------------------- minus signs
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-1.5", "−1.5"),
        ("from -2 to -.5", "from −2 to −.5"),
        ("(-3)", "(−3)"),
        ("type-1 error", "type-1 error"),
        ("10-20", "10-20"),
        ("f(x)-1", "f(x)-1"),
        ("--n", "--n"),
    ],
)
def test_only_negative_numbers_have_the_sign(text, said):
    assert with_minus(text) == said


def test_ticks_and_words_of_a_figure_have_it():
    rows = pd.DataFrame({"x": [-2.0, 0.0, 1.0], "label": ["type-1", "-3", "5"]})
    plot = p9.ggplot(rows, p9.aes("x", "x", label="label")) + p9.geom_text()
    drawn = drawn_figure(plot, 100)
    drawn.canvas.draw()
    (axes,) = drawn.axes
    ticks = [
        label.get_text() for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()
    ]
    assert {"−2", "0", "1"} <= set(ticks)
    assert not any("-" in tick for tick in ticks)
    assert {text.get_text() for text in axes.texts} == {"type-1", "−3", "5"}
