import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from matplotlib.figure import Figure

from simstudy.figures.captions import (
    WIDTH,
    caption,
    caption_of,
    dashed_at,
    format_failures,
    format_replicates,
    format_undefined,
    titles,
    with_scale,
    wrapped_to,
)


def test_failures_are_counted_by_point():
    rows = pd.DataFrame({"n_rep": [100, 100, 50], "n_failed": [0, 7, 2]})
    assert format_failures(rows) == (
        "Failed replicates: 2 of 3 points have some, at most 7 of 107."
    )
    assert format_replicates(rows) == "Replicates per point: 50 to 100."
    assert (
        format_replicates(rows.assign(n_given=[9, np.nan, 50])) == "Replicates per point: 9 to 100."
    )
    assert format_failures(rows.assign(n_failed=np.nan)) == ""


def test_replicates_are_counted_by_measure_where_a_share_has_a_condition():
    rows = pd.DataFrame(
        {
            "measure": ["power", "power", "type_1_error", "type_1_error"],
            "n_rep": [5000] * 4,
            "n_given": [4900.0, 4800.0, 100.0, 200.0],
        }
    )
    assert format_replicates(rows) == (
        "Replicates per point: power 4,800 to 4,900; type 1 error 100 to 200."
    )
    alike = rows.assign(n_given=[4900.0, 4900.0, 100.0, 100.0])
    assert format_replicates(alike) == "Replicates per point: power 4,900; type 1 error 100."


def test_a_caption_is_wrapped_to_a_width_in_inches():
    assert caption("One.", "", "Two.") == "One. Two."
    text = caption(*["A sentence of some length."] * 9)
    assert max(map(len, text.splitlines())) <= WIDTH
    column, page = (wrapped_to(inches, text).splitlines() for inches in (3.4, 6.5))
    assert max(map(len, column)) <= 60 < max(map(len, page)) <= WIDTH
    assert " ".join(column) == " ".join(page) == " ".join(text.split())


def test_estimates_and_errors_that_are_not_there_are_counted():
    rows = pd.DataFrame(
        {"estimate": [1.0, np.nan, 2.0], "lower": [0, np.nan, np.nan], "upper": [2, np.nan, 3]}
    )
    assert format_undefined(rows) == (
        "1 of 3 estimates are not finite and not drawn. "
        "1 of 3 points have no Monte Carlo error to show."
    )


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([], ""),
        ([0.9, 0.95], "Dashed: the level asked for."),
        ([0.0], "Dashed: 0."),
        ([0.0, 0.95], "Dashed: 0, or the level asked for."),
    ],
)
def test_a_dashed_line_is_named_by_its_level(levels, said):
    assert dashed_at(levels) == said
    assert dashed_at(levels, "no bias") == ("Dashed: no bias." if levels else "")


def test_titles_replace_only_what_is_said():
    plot = p9.ggplot() + p9.labs(x="n", y="power", caption="Bars.")
    plot += titles("Dots.", "Lines.", y="", size=(3, 2))
    assert (plot.labels.x, plot.labels.y, plot.labels.caption) == ("n", "", "Dots. Lines.")
    assert plot.theme.getp("figure_size") == (3, 2)
    assert (p9.ggplot() + p9.labs(caption="Bars.") + titles(x="k")).labels.caption == "Bars."


# ---------------------------------------------------------------- of a finished figure
DATA = pd.DataFrame({"x": [1, 2], "y": [1, 2]})


def plot(**said):
    return p9.ggplot(DATA, p9.aes("x", "y")) + p9.geom_point() + p9.labs(**said)


def test_the_texts_of_a_finished_figure_are_one_line_without_repeats():
    assert caption_of(plot(title="Power", caption="Bars: 95%\nintervals.")) == (
        "Power. Bars: 95% intervals."
    )
    both = plot(title="First", caption="Bars.") | plot(title="Second?", caption="Bars.")
    assert caption_of(both / plot(caption="Third")) == "First. Bars. Second? Third."
    figure = Figure()
    assert caption_of(plot()) == caption_of(figure) == ""
    figure.suptitle("All of it")
    assert caption_of(figure) == "All of it."


def test_a_scale_takes_the_place_of_another_without_a_warning(recwarn):
    rows = pd.DataFrame({"x": [1, 10], "y": [1, 2]})
    own = p9.ggplot(rows, p9.aes("x", "y")) + p9.geom_point() + p9.scale_x_log10()
    made = with_scale(own, p9.scale_x_continuous(breaks=[1, 10]))
    assert [type(scale).__name__ for scale in made.scales] == ["scale_x_continuous"]
    assert [type(scale).__name__ for scale in own.scales] == ["scale_x_log10"]
    assert not recwarn.list
