import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from simstudy.errors import FigureError
from simstudy.figures import agreement_plot, format_mean
from simstudy.figures.agreement import decades
from tests.figures.data import points, segments, text_of, texts


def pairs(n: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    truth = rng.uniform(1, 2, 2 * n)
    frame = pd.DataFrame({"truth": truth, "estimate": truth + rng.normal(0.1, 0.05, 2 * n)})
    return frame.assign(sample=np.repeat(["test", "later"], n), error=0.05)


def test_every_row_is_a_point_and_equality_a_dashed_line():
    frame = pairs()
    plot = agreement_plot(frame, x="truth", y="estimate", panel="sample")
    drawn = plot.draw()
    found = points(drawn)
    order = np.lexsort(found.T)
    wanted = frame[["truth", "estimate"]].to_numpy()
    np.testing.assert_allclose(found[order], wanted[np.lexsort(wanted.T)])
    assert text_of(plot).startswith("Dashed: equality. In the panels, ±: 2 Monte Carlo")


def test_each_panel_says_its_mean_difference():
    frame = pairs()
    plot = agreement_plot(frame, x="truth", y="estimate", panel="sample")
    gap = frame["estimate"] - frame["truth"]
    wanted = {f"mean difference = {format_mean(rows)}" for _, rows in gap.groupby(
        frame["sample"])}  # fmt: skip
    assert {word.strip() for word in texts(plot.draw())} == wanted


def test_a_panel_may_say_something_else_below_the_diagonal():
    """In a corner that is free, so no room is made for it and both axes stay the same."""
    plot = agreement_plot(
        pairs(), x="truth", y="estimate", say=lambda rows: f"{len(rows)} rows", right=True, low=True
    )
    (ax,) = plot.draw().axes
    (words,) = ax.texts
    assert words.get_text().strip() == "100 rows"
    place = words.get_position()
    assert place == (pytest.approx(ax.get_xlim()[1]), pytest.approx(ax.get_ylim()[0]))
    assert (words.get_ha(), words.get_va()) == ("right", "bottom")
    assert ax.get_xlim() == pytest.approx(ax.get_ylim())


def test_errors_of_x_are_two_standard_errors_either_side():
    frame = pairs(4)
    drawn = agreement_plot(frame, x="truth", y="estimate", error_x="error").draw()
    bars = [bar for bar in segments(drawn) if np.ptp(bar[:, 1]) == 0]
    assert sorted(bar[:, 0].min() for bar in bars) == pytest.approx(sorted(frame["truth"] - 0.1))
    far = frame.assign(error=10.0)  # which ends on a logarithmic axis where there is no logarithm
    drawn = agreement_plot(far, x="truth", y="estimate", error_x="error", log=True).draw()
    ends = [bar[:, 0].max() for bar in segments(drawn) if np.ptp(bar[:, 1]) == 0]
    assert max(ends) == pytest.approx(np.log10(frame["truth"] + 20).max())


def test_rows_without_both_values_are_counted():
    frame = pairs()
    frame.loc[3, "estimate"] = np.nan
    plot = agreement_plot(frame, x="truth", y="estimate")
    assert "1 of 100 rows are omitted: a value is undefined." in text_of(plot)
    assert len(points(plot.draw())) == 99
    with pytest.raises(FigureError, match="None of the 100 rows has a finite value in both"):
        agreement_plot(frame.assign(estimate=np.nan), x="truth", y="estimate")


def test_a_mean_comes_with_two_standard_errors_and_ends_where_they_do():
    assert format_mean([0.0, 1.0, 2.0, np.nan]) == f"+1.0 ± {2 / np.sqrt(3):.1f}"
    assert format_mean([1.0]) == "+1 ± unknown"
    values = 0.000669 + 0.001 * np.array([-1.0, 1.0] * 2)
    assert format_mean(values) == "+0.0007 ± 0.0012"
    assert format_mean(100 * values, unit="%") == "+0.07% ± 0.12"
    assert format_mean(1 + values, signed=False) == "1.0007 ± 0.0012"


def test_words_are_of_all_rows_though_fewer_are_drawn():
    frame = pairs()
    whole = agreement_plot(frame, x="truth", y="estimate", panel="sample")
    few = agreement_plot(frame, x="truth", y="estimate", panel="sample", at_most=7)
    assert "Numbers in the panels use all 50 replicates." in text_of(whole)
    assert "Numbers in the panels use all 50 replicates; the first 7 are drawn." in text_of(few)
    assert list(few.data.groupby("panel", observed=True).size()) == [7, 7]
    assert texts(few.draw()) == texts(whole.draw())


def test_a_quantity_colours_the_points():
    frame = pairs().assign(share=np.linspace(0, 1, 100))
    plot = agreement_plot(frame, x="truth", y="estimate", color="share", color_limits=(-1, 1))
    drawn = plot.draw().findobj(PathCollection)
    assert len({tuple(color) for dots in drawn for color in dots.get_facecolor()}) > 20
    assert plot.scales.get_scales("color").limits == (-1, 1)


def test_logarithmic_axes_say_values_and_leave_out_what_has_no_logarithm():
    frame = pairs()
    frame.loc[[3, 8], "estimate"] = [0.0, -1.0]
    plot = agreement_plot(
        frame, x="truth", y="estimate", log=True, say=lambda rows: f"{rows['y'].max():.6f}"
    )
    drawn = plot.draw()
    kept = frame[frame["estimate"] > 0]
    order = np.argsort(kept["truth"])
    wanted = np.log10(kept[["truth", "estimate"]].to_numpy()[order])
    np.testing.assert_allclose(points(drawn)[np.argsort(points(drawn)[:, 0])], wanted)
    assert texts(drawn)[0].strip() == f"{frame['estimate'].max():.6f}"
    assert "2 of 100 rows are omitted: a value is undefined." in text_of(plot)


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ((-1.0, 0.1), [0.1, 0.2, 0.5, 1]),
        ((0.0, 2.0), [1, 3, 10, 30, 100]),
        ((-3.0, 1.0), [0.001, 0.01, 0.1, 1, 10]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round(limits, wanted):
    np.testing.assert_allclose(10 ** np.array(decades(limits)), wanted)


@pytest.mark.parametrize("scales", ["free", "fixed"])
def test_both_axes_of_a_panel_have_the_same_limits(scales):
    """Equality is then the diagonal of a square, and a cloud beside it is a bias."""
    frame = pairs().assign(estimate=lambda f: f["truth"] * np.where(f["sample"] == "test", 3, 9))
    plot = agreement_plot(frame, x="truth", y="estimate", panel="sample", scales=scales)
    assert plot.theme.getp("aspect_ratio") == 1
    limits = [(ax.get_xlim(), ax.get_ylim()) for ax in plot.draw().axes]
    for across, up in limits:
        assert across == pytest.approx(up)
    assert len({across for across, _ in limits}) == (2 if scales == "free" else 1)
