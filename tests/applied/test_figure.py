"""The figure's areas are the errors, on the right sides of the threshold."""

import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

from simstudy.applied import accuracy_check
from simstudy.errors import FigureError

RNG = np.random.default_rng(11)
OLD = RNG.normal(70, 12, 50)
NEW = OLD + RNG.normal(-1, 6, 50)
RIGHT, WRONG = RNG.random(80) < 0.8, RNG.random(80) < 0.7

CHECKS = {
    "paired t": accuracy_check(OLD, NEW, theta=2.0),
    "welch": accuracy_check(OLD, NEW, paired=False),
    "z": accuracy_check(OLD, NEW, sigma=12.0, theta=4.0),
    "lower is better": accuracy_check(-OLD, -NEW, lower_is_better=True, theta=2.0),
    "two counts": accuracy_check(RIGHT, WRONG, paired=False),
    "changed answers": accuracy_check(RIGHT, WRONG, theta=0.2),
    "far apart": accuracy_check(OLD, OLD - 40 + RNG.normal(0, 1, 50), theta=2.0),
    "no threshold": accuracy_check([1, 0, 1, 1], [1, 0, 0, 1]),
    "two scores": accuracy_check([0.5, 0.7], [0.4, 0.65]),
}


def shaded(figure):
    """By error, the rows that are shaded."""
    (layer,) = [one for one in figure.layers if type(one.geom).__name__ == "geom_ribbon"]
    return dict(list(layer._data.groupby("law")))


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_it_is_drawn_without_a_word_of_warning(check):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = check.figure().draw()
    assert isinstance(drawn, Figure)


@pytest.mark.parametrize("name", ["paired t", "welch", "z", "lower is better", "far apart"])
def test_shaded_areas_are_the_errors(name):
    """But for a place at the threshold, and what lies beyond four standard errors."""
    check = CHECKS[name]
    areas = shaded(check.figure())
    step = np.diff(areas["nothing changed"]["worse"])[0]
    place = areas["nothing changed"]["density"].max() * step
    beyond = check.rule.law(0.0).sf(4 * check.standard_error)
    for law, error in (("nothing changed", check.level), ("worse by the effect", 1 - check.power)):
        rows = areas.get(law)
        area = 0.0 if rows is None else rows["density"].sum() * step
        largest = place if rows is None else rows["density"].max() * step
        assert area == pytest.approx(error, abs=largest + beyond)


@pytest.mark.parametrize("name", ["paired t", "lower is better"])
def test_false_alarms_are_on_the_worse_side_of_the_threshold(name):
    check = CHECKS[name]
    means = shaded(check.figure())["nothing changed"]["mean"]
    worse = means > check.threshold if check.lower_is_better else means < check.threshold
    assert worse.all()


def test_the_means_and_the_threshold_are_marked():
    check = CHECKS["z"]
    (layer,) = [one for one in check.figure().layers if type(one.geom).__name__ == "geom_vline"]
    expected = [check.reference_mean, check.candidate_mean, check.threshold]
    assert layer._data["place"].tolist() == expected


def test_scores_without_spread_have_no_figure():
    with pytest.raises(FigureError, match="these scores have no spread, so the candidate's mean"):
        accuracy_check([1, 1, 1], [1, 1, 1]).figure()


def test_the_caption_says_what_is_approximate():
    assert "Areas are approximate" in CHECKS["two counts"].figure().labels.caption
    assert "no effect would be detected" in " ".join(
        CHECKS["no threshold"].figure().labels.caption.split()
    )
    assert "Areas are approximate" not in CHECKS["z"].figure().labels.caption
