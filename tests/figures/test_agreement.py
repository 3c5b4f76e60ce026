import numpy as np
import pytest

from simstudy.errors import FigureError
from simstudy.figures import agreement_plot
from simstudy.figures.agreement import paired
from tests.figures.data import make_replicates, points, text_of, texts

RNG = np.random.default_rng(9)
REPLICATES = make_replicates().assign(value=RNG.standard_normal(320))
SMALL = REPLICATES[REPLICATES["n"] == 5]
ONE = SMALL[SMALL["dgp"] == "normal"]


def sides(rows):
    t, z = (rows[rows["method"] == m].set_index("rep")["value"] for m in ("t", "z"))
    return t, z.loc[t.index]


def test_each_replicate_is_a_point_whatever_the_order_of_the_rows():
    shuffled = ONE.sample(frac=1, random_state=1)
    figure = agreement_plot(shuffled, value="value", pair=("t", "z")).draw()
    expected = np.column_stack(sides(ONE))
    drawn = points(figure)
    np.testing.assert_allclose(drawn[np.argsort(drawn[:, 0])], expected[expected[:, 0].argsort()])


def test_bland_altman_draws_difference_against_mean():
    plot = agreement_plot(ONE, value="value", pair=("t", "z"), bland_altman=True)
    t, z = sides(ONE)
    np.testing.assert_allclose(plot.data["x"], (t + z) / 2)
    np.testing.assert_allclose(plot.data["y"], z - t)
    limits = plot.layers[1]._data.iloc[0]
    difference = z - t
    error = difference.std() / np.sqrt(40)
    assert limits["mcse"] == pytest.approx(error)
    assert limits["band_high"] == pytest.approx(difference.mean() + 2 * error)
    assert limits["low"] == pytest.approx(difference.mean() - 1.959963984540054 * difference.std())


def test_panels_say_their_mean_difference_and_its_error():
    figure = agreement_plot(SMALL, value="value", pair=("t", "z"), panel="dgp").draw()
    for rows, words in zip((ONE, SMALL[SMALL["dgp"] == "skewed"]), texts(figure), strict=True):
        t, z = sides(rows)
        d = z - t
        assert words == f"  mean difference {d.mean():.3g}, MCSE {d.sem():.2g}\n  n = 40"


def test_replicates_without_a_partner_are_counted():
    rows = ONE[~((ONE["method"] == "z") & (ONE["rep"] < 3))].reset_index(drop=True)
    rows.loc[39, "value"] = np.nan
    plot = agreement_plot(rows, value="value", pair=("t", "z"))
    assert len(plot.data) == 36
    assert "Failed replicates, without a value under both: 4 of 40." in text_of(plot)


def test_pairs_keep_the_order_of_the_panels():
    mapped = {"panel": "dgp", "rows": None}
    both = paired(SMALL[::-1], "value", ("t", "z"), "method", mapped)
    assert both["dgp"].unique().tolist() == ["skewed", "normal"]


def test_an_unknown_method_is_refused_with_what_there_is():
    with pytest.raises(FigureError, match=r"There is no method 'tt' among .*: did you mean 't'\?"):
        agreement_plot(ONE, value="value", pair=("tt", "z"))


def test_a_method_is_not_compared_with_itself():
    with pytest.raises(FigureError, match="compares method 't' with itself"):
        agreement_plot(ONE, value="value", pair=("t", "t"))


def test_hidden_replicates_are_refused():
    with pytest.raises(FigureError, match=r"80 points would .* differ in dgp \(2 levels\) once re"):
        agreement_plot(SMALL, value="value", pair=("t", "z"))


def test_nothing_to_compare_is_refused():
    with pytest.raises(FigureError, match="None of the 40 replicates has a finite value under bo"):
        agreement_plot(ONE.assign(value=np.nan), value="value", pair=("t", "z"))
