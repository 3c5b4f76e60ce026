"""Figures at the widths of a journal's columns: nothing small, cut off or on something else."""

import pickle
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from experiments.two_stage.study import Config, study
from simstudy.errors import FigureError
from simstudy.figures import agreement_plot, dots_plot, save_pdfs
from simstudy.figures.journal.copies import copy_of
from simstudy.figures.journal.crowding import crowding
from simstudy.figures.journal.lines import in_lines
from simstudy.figures.journal.outlines import marks_of
from simstudy.figures.journal.pdf import EMBEDDED, _draw, drawn_at, pdf_of
from simstudy.figures.journal.room import lengthened
from simstudy.figures.page import abreast, laid_out_for, page_width
from simstudy.figures.save import as_printed
from simstudy.figures.theme import INK, color_scales, theme_study

SINGLE, DOUBLE = 3.5, 7.2


def long_words(kind: str) -> p9.ggplot:
    """A figure of a page's width with whatever a column has no room for."""
    rows = pd.DataFrame(
        [(f"the {w} sample", f"with {v} variances", f"method number {m} of four", x, x * m / 1e4)
         for w in ("first", "second") for v in ("equal", "unequal", "random", "unknown")
         for m in range(1, 5) for x in (0, 10_000, 20_000, 30_000)],
        columns=["rows", "panel", "method", "x", "y"],
    )  # fmt: skip
    rows = rows.assign(level=rows["x"].map(lambda x: f"a level named {x}"))
    few = rows["method"].str.contains("1") & rows["panel"].str.contains(" equal")
    words = rows[few].assign(said="an estimate: 0.123 (0.045)")
    x = "level" if kind == "levels" else "x"
    facet = {
        "grid": p9.facet_grid("rows", "panel"),
        "wrap": p9.facet_wrap("panel", ncol=4),
        "levels": p9.facet_wrap("rows"),
        "words": p9.facet_wrap("rows", ncol=2),
    }[kind]
    return (
        p9.ggplot(rows, p9.aes(x, "y", color="method"))
        + (p9.geom_blank() if kind == "words" else p9.geom_point())
        + [p9.geom_text(p9.aes(label="said"), words, size=7.5, color=INK)] * (kind == "words")
        + facet
        + theme_study()
        + p9.theme(figure_size=(6.5, 4), legend_position="right")
        + p9.labs(x="what is on this axis, in units that take long to say, on a linear scale",
                  y="how far the estimate is from what is estimated, in its own standard errors")
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["grid", "wrap", "levels", "words"])
def test_what_has_no_room_in_a_column_is_laid_out_anew(kind):
    with as_printed(EMBEDDED):
        as_it_was = _draw(long_words(kind) + p9.theme(figure_size=(SINGLE, 4)))
        assert crowding(as_it_was), "the figure is no test"
        drawn = drawn_at(long_words(kind), SINGLE)
    assert crowding(drawn) == []
    width, height = drawn.get_size_inches()
    assert width == SINGLE
    assert height <= 9


def test_a_studys_figures_can_be_read_at_both_widths():
    result = study(Config(k=[0.0, 1.0, 2.0], n2=[50, 500], n_rep=50)).run(50)
    for name, width in (("1C", SINGLE), ("1C", DOUBLE), ("boundary", SINGLE)):
        with as_printed(EMBEDDED):
            assert crowding(drawn_at(result.figure(name, width=width), width)) == []


def covered(drawn) -> int:
    """Points of marks that are under words."""
    renderer, found = drawn._get_renderer(), 0
    for axes in drawn.axes:
        for text in axes.texts:
            box, marks = text.get_window_extent(renderer), marks_of(axes) * drawn.dpi
            found += int(((marks > box.min) & (marks < box.max)).all(axis=1).sum())
    return found


@pytest.mark.parametrize("kind", ["in a corner", "in a lower one", "beside marks", "on points"])
def test_words_make_room_and_cover_no_marks(kind):
    bars = pd.DataFrame({"x": range(8), "y": [6, 8, 6, 8, 8, 6, 5, 2]})
    if kind == "in a lower one":
        said = pd.DataFrame({"x": np.inf, "y": -np.inf, "said": ["a share of\n12% of all bars"]})
        look = {"ha": "right", "va": "bottom"}
        plot = p9.ggplot(bars, p9.aes("x", "y")) + p9.geom_point()
    elif kind == "on points":
        said = bars.assign(said=[f"{n}" for n in range(8)])
        look = {"ha": "center", "va": "bottom"}
        plot = p9.ggplot(bars, p9.aes("x", "y")) + p9.geom_point()
    elif kind == "in a corner":
        said = pd.DataFrame(
            {"x": -np.inf, "y": np.inf, "said": ["\n".join(["a share of 12%"] * 6)]}
        )
        look = {"ha": "left", "va": "top"}
        plot = p9.ggplot(bars, p9.aes("x", "y")) + p9.geom_col(width=1)
    else:
        said = bars.iloc[-1:].assign(x=7.4, said="0.1234 (0.0056)")
        look = {"ha": "left"}
        plot = p9.ggplot(bars, p9.aes("x", "y")) + p9.geom_point()
    plot += p9.geom_text(p9.aes("x", "y", label="said"), said, size=7.5, **look)
    plot += theme_study() + p9.theme(figure_size=(6.5, 2.5))
    with as_printed(EMBEDDED):
        as_it_was = _draw(plot + p9.theme(figure_size=(SINGLE, 2.5)))
        as_it_was.draw_without_rendering()
        drawn = drawn_at(plot, SINGLE)
        assert crowding(drawn) == []
    assert covered(drawn) == 0
    assert covered(as_it_was) > 0 or crowding(as_it_was), "the figure is no test"


def test_room_in_one_panel_takes_nothing_from_another():
    """By marks that reach less far than words, an axis was made shorter, and bars cut off."""
    rows = pd.DataFrame(
        {"x": [*range(8)] * 2, "y": [9] * 8 + [1] * 7 + [9], "panel": list("aaaaaaaabbbbbbbb")}
    )
    said = pd.DataFrame({"x": -np.inf, "y": np.inf, "panel": ["a", "b"], "said": "words\nhere"})
    plot = (
        p9.ggplot(rows, p9.aes("x", "y"))
        + p9.geom_col()
        + p9.geom_text(p9.aes(label="said"), said, size=7.5, ha="left", va="top")
        + p9.facet_wrap("panel", ncol=1, scales="free_y")
        + theme_study()
        + p9.theme(figure_size=(6.5, 4))
    )
    plot += p9.geom_blank(p9.aes(y="y"), pd.DataFrame({"x": 0, "y": [12.0], "panel": ["b"]}))
    with as_printed(EMBEDDED):
        drawn = drawn_at(plot, SINGLE)
        assert crowding(drawn) == []
    tops = [axes.get_ylim()[1] for axes in drawn.axes]
    assert tops[0] > 10, "the figure is no test"
    assert tops[1] >= 12


@pytest.mark.parametrize("low", [False, True])
def test_panels_that_are_square_stay_square_and_fill_their_page(low):
    rows = pd.DataFrame({"x": np.linspace(0, 1, 40)}).assign(y=lambda r: r["x"], panel="a title")
    rows = pd.concat([rows, rows.assign(panel="another")])
    plot = agreement_plot(rows, x="x", y="y", panel="panel", right=low, low=low,
                          say=lambda _: "what is said of all points of this panel")  # fmt: skip
    with as_printed(EMBEDDED):
        drawn = drawn_at(plot, SINGLE)
        assert crowding(drawn) == []
    renderer, dpi = drawn._get_renderer(), drawn.dpi
    boxes = [axes.get_window_extent(renderer) for axes in drawn.axes]
    assert [box.width for box in boxes] == pytest.approx([box.height for box in boxes], rel=0.01)
    for axes in drawn.axes:
        assert np.ptp(axes.get_xlim()) == pytest.approx(np.ptp(axes.get_ylim()))
    strips = [artist for artist in drawn.artists if hasattr(artist, "draw_info")]
    highest = max(strip.patch.get_window_extent(renderer).y1 for strip in strips)
    assert drawn.bbox.height - highest < 0.2 * dpi, "white above the panels"


def test_rows_with_names_are_as_far_apart_as_on_a_page():
    """With panels no higher than wide, dots of one row stood on those of the next."""
    names = [f"method {at}" for at in range(9)]
    rows = pd.DataFrame(
        [(name, color, measure, at / 10)
         for at, name in enumerate(names) for color in "ab" for measure in ("power", "size")],
        columns=["method", "kind", "measure", "estimate"],
    ).assign(mcse=0.01, n_rep=100, n_failed=0)  # fmt: skip
    with as_printed(EMBEDDED), laid_out_for(SINGLE):
        plot = dots_plot(rows, measure=["power", "size"], y="method", color="kind")
        drawn = drawn_at(plot, SINGLE)
        drawn.draw_without_rendering()
    places = [label.get_window_extent(drawn._get_renderer()).y0 / drawn.dpi
              for label in drawn.axes[0].get_yticklabels()]  # fmt: skip
    assert min(np.abs(np.diff(places))) > 0.25


def test_titles_of_panels_are_of_one_size_and_equations_whole():
    rows = pd.DataFrame({"panel": ["n1 = 10, n2 = 30", "n = 9", "n = 8"], "x": 1, "y": 1})
    plot = p9.ggplot(rows, p9.aes("x", "y")) + p9.geom_point() + p9.facet_grid(cols="panel")
    with as_printed(EMBEDDED):
        drawn = drawn_at(plot + theme_study(), SINGLE)
        drawn.draw_without_rendering()
    renderer = drawn._get_renderer()
    strips = [artist for artist in drawn.artists if hasattr(artist, "draw_info")]
    assert "n1 = 10,\nn2 = 30" in [strip.get_text() for strip in strips]
    heights = {round(strip.patch.get_window_extent(renderer).height, 3) for strip in strips}
    assert len(heights) == 1


def test_an_equation_breaks_before_its_sign_where_it_has_to():
    assert in_lines("n1 = 10, n2 = 30", 9) == "n1 = 10,\nn2 = 30"
    assert in_lines("sensitivity = 0.99", 11) == "sensitivity\n= 0.99"


def test_a_high_key_stands_in_two_columns():
    names = [f"the method named {letter}" for letter in "abcdefgh"]
    rows = pd.DataFrame({"method": pd.Categorical(names), "x": range(8), "y": range(8)})
    with laid_out_for(SINGLE):
        scales = color_scales(rows["method"], "method", is_quantity=False)
    assert scales[0].guide.ncol == 1, "the figure is no test"
    plot = p9.ggplot(rows, p9.aes("x", "y", color="method")) + p9.geom_point() + scales[0]
    with as_printed(EMBEDDED):
        drawn = drawn_at(plot + theme_study(), SINGLE)
        assert crowding(drawn) == []
    words = [text for text in drawn.findobj(Text) if text.get_text() in names]
    renderer = drawn._get_renderer()
    assert len({round(text.get_window_extent(renderer).y0) for text in words}) == 4


def test_crowding_sees_small_cut_and_covered_words():
    figure = Figure(figsize=(2, 2))
    figure.text(0.1, 0.5, "small", size=6)
    figure.text(0.9, 0.1, "beyond the page", size=8)
    figure.text(0.1, 0.8, "under", size=8)
    figure.text(0.1, 0.81, "over", size=8, rotation=10)
    assert crowding(figure) == [
        "'small' has 6 points", "'beyond the page' goes beyond the page", "'under' is on 'over'",
    ]  # fmt: skip


def test_turned_words_side_by_side_are_apart_though_their_boxes_are_not():
    figure = Figure(figsize=(2, 2))
    for x in (0.2, 0.35):
        figure.text(x, 0.3, "a long word", size=8, rotation=45)
    assert crowding(figure) == []


# ---------------------------------------------------------------- files
def test_the_same_figure_is_the_same_bytes_in_embedded_truetype(tmp_path):
    plot = long_words("wrap")
    paths = save_pdfs(plot, tmp_path, "1", columns={"single": SINGLE})
    content = paths["single"].read_bytes()
    assert paths["single"] == tmp_path / "single" / "1.pdf"
    assert content == pdf_of(plot, SINGLE)
    assert not re.search(rb"/Type3|/CreationDate|/Producer", content)
    assert b"/FontFile2" in content
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", content)
    assert float(box[1]) == pytest.approx(72 * SINGLE)


def test_a_dense_layer_is_pixels_and_the_rest_is_not():
    a, b = np.random.default_rng(1).standard_normal((2, 6_000))
    dense = p9.ggplot(pd.DataFrame({"a": a, "b": b}), p9.aes("a", "b")) + p9.geom_point()
    content = pdf_of(dense + theme_study(), SINGLE)
    assert content.count(b"/Subtype /Image") in (1, 2)  # and its mask
    assert b"/FontFile2" in content


def test_a_bar_of_colours_is_drawn_where_its_ticks_are():
    # As pixels of another resolution it would stand elsewhere, and small: over the caption.
    rows = pd.DataFrame({"x": range(5), "y": range(5)})
    bar = p9.ggplot(rows, p9.aes("x", "y", color="y")) + p9.geom_point() + theme_study()
    content = pdf_of(bar, SINGLE)
    assert b"/Subtype /Image" not in content
    assert b"/ShadingType" in content


def test_a_function_is_asked_for_each_width_and_a_matplotlib_figure_is_left_as_it_was(tmp_path):
    asked = []
    figure = Figure(figsize=(6, 3))
    figure.add_subplot().plot([0, 1])
    save_pdfs(lambda: asked.append(page_width()) or figure, tmp_path, "1")
    assert asked == [SINGLE, DOUBLE]
    assert figure.get_size_inches().tolist() == [6, 3]
    assert page_width() == 6.5


@pytest.mark.parametrize("width", [1, 89, "3.5", True, float("nan")])
def test_what_is_no_width_in_inches_is_refused(tmp_path, width):
    with pytest.raises(FigureError, match=r"a width is a number of inches from 2 to 20"):
        save_pdfs(Figure(), tmp_path, "1", columns={"single": width})


def test_a_width_named_like_no_folder_is_refused(tmp_path):
    with pytest.raises(FigureError, match="is no name of a width"):
        save_pdfs(Figure(), tmp_path, "1", columns={"../one": 3.5})


def test_rows_of_panels_are_equally_full():
    with laid_out_for(SINGLE):
        assert [abreast(n, 1.15) for n in (1, 2, 3, 4, 5)] == [1, 2, 2, 2, 2]
        assert [abreast(n, 0.85) for n in (3, 4)] == [3, 2]


def of_pyplot():
    """A figure whose axis has a formatter that cannot be pickled, and titles beyond a column."""
    figure, panel = plt.subplots(figsize=(6, 4))
    panel.loglog([1, 10, 1e4], [1, 1e-3, 1e6], "o-")
    panel.xaxis.set_major_formatter(lambda value, at: f"{value:.0f} mm")
    panel.set_title("a title of these axes that is longer than a column of a journal is wide")
    panel.tick_params(labelsize=14)
    panel.text(1, panel.get_ylim()[1], "words in the upper corner", va="top")
    panel.text(1, panel.get_ylim()[0], "words in the lower corner", va="bottom")
    return figure


def test_a_figure_of_pyplots_is_copied_unnoticed_and_its_axes_stay_on_the_page():
    figure, other = of_pyplot(), plt.figure()
    before = plt.get_fignums(), pickle.dumps(figure.get_size_inches())
    try:
        with as_printed(EMBEDDED):
            drawn = drawn_at(figure, SINGLE)
            unmoved = copy_of(figure)
            unmoved.set_size_inches(SINGLE, 4)
            assert any("beyond" in fault for fault in crowding(unmoved)), "the figure is no test"
            assert not [fault for fault in crowding(drawn) if "beyond" in fault]
        assert plt.gcf() is other
        assert (plt.get_fignums(), pickle.dumps(figure.get_size_inches())) == before
    finally:
        plt.close(figure)
        plt.close(other)


def test_an_axis_of_logs_goes_on_in_logs():
    axes = Figure().add_subplot()
    axes.loglog([1, 100], [1, 100])
    axes.set(xlim=(1, 100), ylim=(1, 100))
    assert lengthened(axes, "y", 0.5, 0) == pytest.approx(0.1)  # a decade of two below 1
    assert lengthened(axes, "x", 0.5, 1) == pytest.approx(1000)
    assert axes.get_ylim() == pytest.approx((0.1, 100))


def test_a_line_from_side_to_side_stays_one_where_its_axis_goes_on():
    axes = Figure().add_subplot()
    axes.set(xlim=(0, 2), ylim=(0, 1))
    marks = axes.add_collection(
        LineCollection([[(0, 0.5), (2, 0.5)], [(0, 0), (2, 1)], [(0, 0.2), (1.9, 0.2)]])
    )
    axes.set_xlim(0, 2)
    lengthened(axes, "x", 0.5, 1)
    level, slanted, short = (path.vertices.tolist() for path in marks.get_paths())
    assert level == [[0, 0.5], [3, 0.5]]
    assert slanted == [[0, 0], [2, 1]]  # it would run into what the axis makes room for
    assert short == [[0, 0.2], [1.9, 0.2]]


def test_names_that_nearly_touch_stand_in_lines_and_are_turned_only_where_these_do():
    def drawn(levels):
        rows = pd.DataFrame({"x": levels, "y": range(len(levels))})
        with as_printed(EMBEDDED):
            plot = p9.ggplot(rows, p9.aes("x", "y")) + p9.geom_point() + theme_study()
            return drawn_at(plot, SINGLE).axes[0].get_xticklabels()

    of_words = drawn([f"the level of {name}" for name in ("age", "sex", "arm", "site")])
    assert {label.get_rotation() for label in of_words} == {0}
    assert all("\n" in label.get_text() for label in of_words)
    of_one_word = drawn([f"{name}_of_a_person" for name in ("age", "sex", "arm", "site")])
    assert {label.get_rotation() for label in of_one_word} == {90}
    assert not any("\n" in label.get_text() for label in drawn(["age", "sex"]))
