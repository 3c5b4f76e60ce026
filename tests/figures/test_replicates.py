import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from simstudy.errors import DesignError, FigureError
from simstudy.figures import density_plot, errors_plot, estimates_plot, rank_plot, zip_plot
from simstudy.figures.replicates import MAX_POINTS, _kernel_before, kernel_density
from tests.figures.data import LEVEL, make_replicates, points, segments, text_of, texts

MANY = make_replicates(700)
FEW = MANY[MANY["rep"] < 40]


def of_one(replicates, method="t", dgp="normal", n=5):
    is_it = replicates[["method", "dgp", "n"]].eq([method, dgp, n]).all(axis=1)
    return replicates[is_it]


def test_points_stand_at_their_method_and_on_no_other():
    figure = estimates_plot(of_one(FEW), method="method").draw()
    assert sorted(points(figure)[:, 1]) == pytest.approx(sorted(of_one(FEW)["estimate"]))
    two = estimates_plot(MANY[(MANY["n"] == 5) & (MANY["dgp"] == "normal")], method="method").draw()
    assert np.abs(points(figure)[:, 0]).max() < 0.5
    at = points(two)[:, 0]
    assert set(np.round(at)) == {0, 1}
    assert len(np.unique(at)) == len(at)  # no two of a method stand above each other


def test_of_many_the_first_are_drawn_and_those_far_out():
    one = of_one(MANY).assign(estimate=lambda rows: rows["rep"])
    drawn = points(estimates_plot(one).draw())[:, 1]
    assert sorted(drawn) == [*range(MAX_POINTS), *range(695, 700)]


def test_means_are_of_all_replicates_with_their_errors():
    one = of_one(MANY)
    lines = segments(estimates_plot(one).draw())
    mean, half = one["estimate"].mean(), 2 * one["estimate"].std() / np.sqrt(len(one))
    across = next(line for line in lines if line[0, 1] == line[1, 1])
    upright = next(line for line in lines if line[0, 0] == line[1, 0])
    assert across[0, 1] == pytest.approx(mean)
    assert upright[:, 1] == pytest.approx([mean - half, mean + half])


def test_what_is_left_out_is_said():
    lacking = of_one(MANY).assign(estimate=lambda rows: rows["estimate"].where(rows["rep"] > 2))
    said = text_of(estimates_plot(lacking, truth=0.0))
    assert "Not drawn, missing or not finite: 3 of 700." in said
    n_points = len(points(estimates_plot(lacking).draw()))
    assert f"Points: {n_points} of 697 replicates, the first and the outermost." in said
    assert "Points:" not in text_of(estimates_plot(of_one(FEW)))


def test_the_truth_is_a_line_where_it_is_one_and_refused_where_it_is_several():
    both = MANY.assign(truth=MANY["n"])
    figure = estimates_plot(both[both["n"] == 5], method="method", truth="truth")
    assert "Dashed: what is estimated." in text_of(figure)
    assert "Dashed" not in text_of(estimates_plot(of_one(FEW)))
    with pytest.raises(FigureError, match="truth has 2 values"):
        estimates_plot(both, method="method", truth="truth")


def test_lines_of_standard_errors_are_what_they_say_they_are():
    large = MANY[MANY["n"] == 20]
    plot = errors_plot(large, method="method", truth=0.0)
    told = next(
        layer._data
        for layer in plot.layers
        if isinstance(layer._data, pd.DataFrame) and "model_se" in layer._data
    )
    rows = large[large["method"] == "z"]
    found = told[told["panel"] == "z"].iloc[0]
    assert found["spread"] == pytest.approx(rows["estimate"].std())
    assert found["model_se"] == pytest.approx(np.sqrt((rows["std_error"] ** 2).mean()))
    plot.draw()


def test_far_out_standard_errors_are_drawn_too():
    one = of_one(MANY).assign(std_error=lambda rows: rows["std_error"] + 50 * (rows["rep"] == 650))
    assert points(errors_plot(one).draw())[:, 1].max() > 50


@pytest.mark.parametrize(
    ("changed", "asked", "said"),
    [
        ({"estimate": np.nan}, {}, "None of the 40 replicates has a finite estimate"),
        ({}, {"estimate": "dgp"}, "column 'dgp' holds .*Name a column of numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changed, asked, said):
    with pytest.raises(FigureError, match=said):
        estimates_plot(of_one(FEW).assign(**changed), **asked)


@pytest.mark.parametrize("plot", [estimates_plot, errors_plot])
def test_labels_of_rows_may_repeat_as_those_of_two_results_do(plot):
    two = [FEW[FEW["method"] == name].reset_index(drop=True) for name in ("t", "z")]
    stacked = pd.concat(two)
    assert stacked.index.has_duplicates
    asked = {"method": "method", "truth": 0.0}
    fresh, repeated = (plot(rows, **asked) for rows in (stacked.reset_index(drop=True), stacked))
    np.testing.assert_array_equal(points(fresh.draw()), points(repeated.draw()))


def test_more_methods_than_colours_stand_side_by_side_in_one():
    """Each has its label, so that colours need not tell them apart."""
    one = pd.DataFrame({"estimate": [0.0, 1.0]})
    frame = pd.concat([one.assign(method=f"method {i}") for i in range(9)])
    plot = estimates_plot(frame, method="method")
    assert len(set(plot.scales.get_scales("color").palette(9).values())) == 1


SOME = make_replicates(300)
INTERVAL = ["low", "high", "centile", "end"]
T = SOME[(SOME["method"] == "t") & (SOME["dgp"] == "normal") & (SOME["n"] == 5)]


def test_limits_and_standard_errors_make_the_same_intervals():
    half = stats.norm.isf((1 - LEVEL) / 2) * T["std_error"]
    limits = T.assign(lower=T["estimate"] - half, upper=T["estimate"] + half)
    by_limits = zip_plot(limits, lower="lower", upper="upper", truth=0.0, level=LEVEL)
    by_error = zip_plot(T, std_error="std_error", truth=0.0, level=LEVEL)
    pd.testing.assert_frame_equal(by_limits.data[INTERVAL], by_error.data[INTERVAL])
    assert len(segments(by_error.draw())) >= len(T)


def test_the_colour_changes_at_the_coverage():
    found = zip_plot(T, lower="lower", upper="upper", truth=0.0, level=LEVEL).data
    covered = T["covers"].mean()
    below = found["centile"] < 100 * covered
    assert (found["end"][below] == "covers").all()
    assert (found["end"][~below] == "misses").all()


def test_lopsided_intervals_are_ranked_by_the_side_of_the_truth():
    rows = pd.DataFrame({"estimate": [0.0, 1, -1], "low": [-1, -1, -3], "high": [1, 9, 0.5]})
    found = zip_plot(rows, lower="low", upper="high", truth=0.0).data
    assert list(found["low"]) == [-1, -1, -3]  # 0, then 1/2 of its lower half, then 1/1.5


def test_of_many_every_so_many_is_drawn_and_all_are_counted():
    several = pd.concat([T, T])
    plot = zip_plot(several, lower="lower", upper="upper", truth=0.0, level=LEVEL)
    assert len(plot.data) == 300
    assert "Drawn: 300 of 600 intervals, evenly in their order." in text_of(plot)
    share = 100 * T["covers"].mean()
    assert any(said.strip().startswith(f"{share:.1f}"[:2]) for said in texts(plot.draw()))
    wide = zip_plot(T.assign(lower=-100.0, upper=100.0), lower="lower", upper="upper", truth=0.0)
    said = [text.strip() for text in texts(wide.draw())]
    assert "100.00% ± 0.66" in said, "as if one of 300 more had gone the other way"


def test_each_panel_is_ranked_alone_and_what_is_missing_is_said():
    lacking = SOME.assign(std_error=SOME["std_error"].where(SOME["rep"] > 2))
    plot = zip_plot(lacking, std_error="std_error", truth=0.0, method="method", rows="n")
    assert "Not drawn, missing or not finite: 24 of 2,400." in text_of(plot)
    largest = plot.data.groupby(["panel", "rows"], observed=True)["centile"].max()
    assert largest.min() > 99
    plot.draw()


REFUSED = [
    ({}, FigureError, "std_error=None, lower=None.*standard errors, or both"),
    (
        {"std_error": "std_error", "lower": "lower", "upper": "upper"},
        FigureError, "do not define one kind of interval",
    ),
    (
        {"lower": "upper", "upper": "lower"},
        FigureError, "300 intervals have a lower limit above the upper.*Exchange",
    ),
    ({"std_error": "estimate"}, FigureError, "take negative standard errors out"),
    ({"std_error": "std_error", "level": 95}, DesignError, "level=95 is not"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "error", "text"), REFUSED)
def test_what_makes_no_sense_is_refused_with_what_to_do(asked, error, text):
    with pytest.raises(error, match=text):
        zip_plot(T, truth=0.0, **asked)


N = 3000
NORMAL = np.random.default_rng(5).standard_normal(N)


def test_each_colour_has_its_curve_and_its_median():
    frame = pd.DataFrame({"value": [*NORMAL[:50], *NORMAL[50:100] + 1],
                          "sample": np.repeat(["a", "b"], 50)})  # fmt: skip
    plot = density_plot(frame, x="value", color="sample")
    medians = next(la._data for la in plot.layers if type(la.geom).__name__ == "geom_vline")
    assert medians["value"].tolist() == pytest.approx(
        [np.median(NORMAL[:50]), np.median(NORMAL[50:100]) + 1]
    )
    assert len(plot.data) == 2 * 200
    plot.draw()


def test_the_widest_band_is_a_share_of_its_own_panels_highest_density():
    samples = {"wide": NORMAL[:50], "narrow": NORMAL / 1000}
    frame = pd.concat(pd.DataFrame({"value": drawn, "panel": name, "sample": "all"})
                      for name, drawn in samples.items())  # fmt: skip
    curve = kernel_density(NORMAL[:50])
    half = 100 * (curve.upper - curve.density).max() / curve.density.max()
    plot = density_plot(frame, x="value", color="sample", panel="panel")
    assert f"at most {half:.2g}% of the highest density" in text_of(plot)


# ---------------------------------------------------------------- the estimate
def bandwidth(values):
    return 0.9 * min(values.std(), stats.iqr(values) / 1.349) * len(values) ** -0.2


def test_the_density_is_the_sum_of_its_kernels():
    curve, h = kernel_density(NORMAL), bandwidth(NORMAL)
    plain = [stats.norm.pdf(place, NORMAL, h).mean() for place in curve.value]
    # Values within a bin of 1/2000 of the range are moved by half of it at most.
    moved = np.ptp(NORMAL) / 2000 / 2 * stats.norm.pdf(1) / h**2
    np.testing.assert_allclose(curve.density, plain, atol=moved)


def test_its_band_is_two_standard_errors_to_first_order():
    curve, h = kernel_density(NORMAL), bandwidth(NORMAL)
    half = curve.upper - curve.density
    squared_kernel, _ = integrate.quad(lambda x: stats.norm.pdf(x) ** 2, -9, 9)
    np.testing.assert_allclose(half, 2 * np.sqrt(curve.density * squared_kernel / (N * h)))


def exponential_before(end: float, n: int = N) -> np.ndarray:
    """Quantiles of a density that rises to 1 at its end, so that only smoothing is in error."""
    return end + np.log((np.arange(n) + 0.5) / n)


def test_a_density_that_rises_to_its_end_is_not_levelled_there():
    """The bias of a local linear fit to exp(x) at 0 is 0.375 h², before terms of h³."""
    values = exponential_before(2.0)
    h, curve = bandwidth(values), kernel_density(values, at_most=2.0)
    assert curve.value.max() == 2.0
    near = curve.value > 2.0 - 4 * h
    np.testing.assert_allclose(curve.density[near], np.exp(curve.value[near] - 2.0), rtol=h**2)
    reflected = 2 * stats.norm.pdf(2.0, values, h).mean()
    assert abs(reflected - 1) > 3 * h**2


@pytest.mark.parametrize("room", [0.0, 0.3, 2.0, 40.0])
def test_the_kernel_before_an_end_has_a_whole_integral_and_no_mean(room):
    constant, slope, squared = _kernel_before(np.array([room]))[:, 0]

    def integral(power, of):
        return integrate.quad(lambda u: u**power * of(u), -12, min(room, 12))[0]

    def kernel(u):
        return (constant + slope * u) * stats.norm.pdf(u)

    assert integral(0, kernel) == pytest.approx(1)
    assert integral(1, kernel) == pytest.approx(0, abs=1e-7)
    assert integral(0, lambda u: kernel(u) ** 2) == pytest.approx(squared)


def test_no_density_is_below_zero():
    values = stats.norm.ppf((np.arange(N) + 0.5) / N)
    assert kernel_density(values, at_most=values.max() + 0.1).density.min() >= 0


def test_values_that_are_all_the_same_are_refused():
    with pytest.raises(DesignError, match="7 equal values have no density to draw"):
        kernel_density(np.full(7, 2.0))


RNG = np.random.default_rng(2)
UNIFORM, NARROW = RNG.integers(0, 100, 300), np.clip(RNG.normal(50, 60, 300), 0, 99).astype(int)
RANKS = pd.DataFrame(
    {"rank": np.concatenate([UNIFORM, NARROW]), "prior": ["its own"] * 300 + ["another"] * 300}
)


def test_each_panel_has_the_counts_of_its_ranks_and_their_binomial_limits():
    plot = rank_plot(RANKS, n_draws=99, panel="prior")
    for ranks, prior in [(UNIFORM, "its own"), (NARROW, "another")]:
        bins = plot.data[plot.data["panel"].str.contains(prior)]
        for one in bins.itertuples():
            assert one.count == sum(one.left < rank < one.right for rank in ranks)
            assert (one.lower, one.upper) == stats.binom(300, 0.05).interval(0.95)
        assert bins["expected"].tolist() == pytest.approx([15.0] * 20)
    said = {text.strip() for text in texts(plot.draw())}
    assert "p < 0.0001, 300 ranks" in said
    assert len(said) == 2
