"""Titles of panels fit their boxes, labels of axes do not touch, points do not hide others."""

from itertools import combinations

import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from matplotlib.collections import PathCollection

from simstudy.figures import agreement_plot, dots_plot, errors_plot, measure_curves
from simstudy.figures.fit import fit_texts
from simstudy.figures.save import as_printed, drawn_figure, printed
from tests.figures.data import make_replicates, make_summary, text_of

DPI = 200
LONG = [f"{letter} generous shrinkage estimator with its own weights" for letter in "MWO"]
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
    return pd.concat([make_replicates().query("method == 't'").assign(method=n) for n in LONG])


CASES = {
    "titles of columns": lambda: errors_plot(by_method(), method="method"),
    "titles of rows": lambda: measure_curves(
        pd.concat([over([5, 10], method=name) for name in LONG[:2]]),
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
