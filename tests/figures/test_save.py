import re
import subprocess
import sys
from io import BytesIO
from itertools import combinations

import matplotlib
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from simstudy.errors import FigureError
from simstudy.figures import agreement_plot, dots_plot, errors_plot, measure_curves, save_figure
from simstudy.figures.save import (
    as_printed,
    drawn_figure,
    fit_texts,
    move_caption_to_edge,
    printed,
    with_minus,
)
from simstudy.figures.theme import FULL_WIDTH
from tests.figures.data import make_replicates, make_summary, text_of
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


def test_what_is_no_figure_is_refused(tmp_path):
    with pytest.raises(FigureError, match="type DataFrame cannot be saved as a figure"):
        save_figure(pd.DataFrame(), tmp_path, "1")


def test_the_backend_in_use_stays(tmp_path):
    import matplotlib.pyplot as plt

    before, figures = plt.get_backend(), plt.get_fignums()
    save_figure(curves(), tmp_path, "1", dpi=40)
    assert (matplotlib.get_backend(), plt.get_fignums()) == (before, figures)


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


# ---------------------------------------------------------------- captions
LONG = "A caption of many words, each of which a reader has to see to the end. " * 4


def drawn(aspect_ratio: float | None, at_edge: bool):
    """A figure of one row of panels, laid out, with what it says beneath."""
    plot = printed(curves() + p9.labs(caption=LONG) + p9.theme(figure_size=(6.5, 3)))
    plot = plot + p9.theme(aspect_ratio=aspect_ratio) if aspect_ratio else plot
    figure = plot.draw()
    figure.savefig(BytesIO())  # puts everything in its place
    if at_edge:
        move_caption_to_edge(figure, plot)
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


DPI = 200
TITLES = [f"{letter} generous shrinkage estimator with its own weights" for letter in "MWO"]
BIAS = make_summary().query("measure == 'bias' and method == 't' and n == 5").iloc[[0]]


def laid_out(plot, *, fits=True):
    """A drawn figure as it is saved, or without the fit."""
    with as_printed():
        figure = drawn_figure(printed(plot), DPI)
        fit_texts(figure) if fits else figure.draw_without_rendering()
    return figure


def strips(figure):
    return [text for text in figure.artists if hasattr(text, "draw_info")]


def fits_its_box(strip):
    title, box = strip.draw_info, strip.get_window_extent()
    side = "width" if title.position == "top" else "height"
    return getattr(box, side) < getattr(title.ax.bbox, side)


def labels(figure, axis="xaxis"):
    ticks = [t for axes in figure.axes for t in getattr(axes, axis).get_major_ticks()]
    found = [tick.label1 for tick in ticks]
    return [label for label in found if label.get_visible() and label.get_text()]


def touching(figure, axis="xaxis"):
    boxes = [(label.get_text(), label.get_window_extent()) for label in labels(figure, axis)]
    return [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]


def over(levels, column="n", **more):
    """A row of a summary for each level of a factor."""
    return pd.concat([BIAS.assign(**{column: level}, **more) for level in levels])


def by_method():
    return pd.concat([make_replicates().query("method == 't'").assign(method=n) for n in TITLES])


CASES = {
    "titles of columns": lambda: errors_plot(by_method(), method="method"),
    "titles of rows": lambda: measure_curves(
        pd.concat([over([5, 10], method=name) for name in TITLES[:2]]),
        x="n", y="bias", rows="method",
    ),
    "a long word": lambda: errors_plot(
        by_method().assign(method=lambda rows: rows["method"].str.replace(" ", "_")),
        method="method",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_title_that_is_longer_than_its_box_is_wrapped(case):
    plot = CASES[case]()
    assert not all(map(fits_its_box, strips(laid_out(plot, fits=False))))
    wrapped = strips(laid_out(plot))
    assert all(map(fits_its_box, wrapped))
    said = {text.get_text().replace("\n", " ") for text in wrapped}
    assert len(said) == len(wrapped), "no title loses letters"


def test_a_title_that_fits_stays_as_it_is():
    plot = errors_plot(make_replicates(), method="method")
    texts = [[text.get_text() for text in strips(laid_out(plot, fits=fits))] for fits in (0, 1)]
    assert texts[0] == texts[1]


def test_labels_of_a_logarithmic_axis_that_would_touch_are_left_out():
    several = pd.concat([over([5, 10, 100, 500, 1000], part=part) for part in range(6)])
    plot = measure_curves(several, x="n", y="bias", log_x=True, panel="part", rows="method")
    assert touching(laid_out(plot, fits=False))
    figure = laid_out(plot)
    assert not touching(figure)
    said = [label.get_text() for label in labels(figure)]
    assert said[-1] == "1,000"
    assert said.count("5") == 6, "each panel has its ends"


def test_labels_of_neighbouring_panels_do_not_touch():
    measures = ["bias", "empirical_se", "rmse", "width"]
    ends = zip(measures, (0.0449, 0.96, 0.169, 0.1201), strict=True)
    rows = pd.concat(
        [BIAS.assign(measure=name, estimate=end * share, method=share, lower=np.nan, mcse=end / 100)
         for name, end in ends for share in (0.9, 1.0)]
    )  # fmt: skip
    plot = dots_plot(rows, measure=measures, y="method")
    plot = plot + p9.theme(panel_spacing_x=0, axis_text_x=p9.element_text(size=10))
    assert touching(laid_out(plot, fits=False))
    figure = laid_out(plot)
    assert not touching(figure)
    assert len(labels(figure)) >= 2 * len(measures)


def test_categories_are_thinned_out_too():
    names = [f"sample size {n}" for n in range(60)]
    plot = measure_curves(over(names), x="n", y="bias")
    figures = [laid_out(plot, fits=fits) for fits in (False, True)]
    many, few = (len(labels(figure)) for figure in figures)
    assert many == 60
    assert 15 < few < 60
    letter = labels(figures[1])[0].get_fontsize() * DPI / 72
    ends = np.sort([label.get_window_extent().x1 for label in labels(figures[1])])
    assert np.diff(ends).min() > letter, "turned lines lie side by side"


def test_evenly_spaced_labels_are_every_second():
    values = np.repeat([1e-3, 1.0], 9)
    rows = pd.Categorical(np.tile(np.arange(9), 2))
    frame = pd.DataFrame({"a": values, "b": values, "row": rows, "column": "all"})
    figure = laid_out(agreement_plot(frame, x="a", y="b", rows="row", panel="column", log=True))
    said = [label.get_text() for label in labels(figure)]
    assert said in (["0.001", "0.1"], ["0.01", "1"], ["0.001", "0.01", "0.1", "1"])
    assert not touching(figure)
    assert not touching(figure, "yaxis")


# ---------------------------------------------------------------- points that agree
def agreeing(distance):
    """A row for each of three methods, of which the last two differ by a share of the range."""
    values = {"low": 0.0, "one": 1.0 - distance, "other": 1.0}
    rows = [BIAS.assign(method=name, estimate=value, n=n) for name, value in values.items()
            for n in (5, 20)]  # fmt: skip
    return pd.concat(rows).assign(lower=np.nan, upper=np.nan, mcse=0.001)


def mark_distances(figure):
    """Distances between all pairs of points, in diameters of a mark."""
    drawn = [(axes, found) for axes in figure.axes for found in axes.findobj(PathCollection)]
    at = np.concatenate([axes.transData.transform(f.get_offsets()) for axes, f in drawn])
    diameter = np.sqrt(drawn[0][1].get_sizes()[0]) * DPI / 72
    return [np.hypot(*(a - b)) / diameter for a, b in combinations(at, 2)]


@pytest.mark.parametrize("n_panels", [1, 3])
def test_points_that_agree_stand_beside_each_other(n_panels):
    rows = pd.concat([agreeing(0.0).assign(part=part) for part in range(n_panels)])
    plot = measure_curves(rows, x="n", y="bias", color="method", panel="part")
    assert min(mark_distances(laid_out(plot))) > 1
    assert "hide" not in text_of(plot)
    assert "set apart by colour" in text_of(plot)


@pytest.mark.parametrize(("distance", "hidden"), [(0.0, True), (0.2, False)])
def test_points_that_stay_on_each_other_are_named(distance, hidden):
    plot = measure_curves(agreeing(distance), x="n", y="bias", color="method", dodge=False)
    assert ("Points that others hide: one 2." in text_of(plot)) == hidden
    assert (min(mark_distances(laid_out(plot))) < 0.5) == hidden


def test_a_panel_without_points_says_so():
    rows = pd.concat([agreeing(0.2).assign(part=part, row=part) for part in ("a", "b")])
    more = agreeing(0.2).assign(part="a", row="b")
    plot = measure_curves(
        pd.concat([rows, more]), x="n", y="bias", color="method", panel="part", rows="row"
    )
    figure = laid_out(plot)
    found = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert found == [[], ["no estimate"], [], []]
