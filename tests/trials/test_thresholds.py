"""Thresholds set on test sets, against the document's loop."""

import numpy as np
import pytest
from scipy import stats

from simstudy.stats.classifier.description import described
from simstudy.stats.classifier.thresholds import METHODS
from simstudy.trials.thresholds import Bound, Threshold
from tests.trials.draws import streams


def test_a_block_is_the_documents_loop():
    scenario, n_rep = Threshold(), 20
    found = scenario.simulate(streams(), n_rep)
    rng = streams()("data")
    true = 1 + stats.norm.ppf(1 - 0.95)
    for i, phat in enumerate(rng.standard_normal((n_rep, 50)) + 1):
        empirical, smallest = np.quantile(phat, 1 - 0.95), np.sort(phat)[0]
        for method, plain in {"empirical": empirical, "umbrella": smallest}.items():
            place = METHODS.index(method)
            assert found["threshold"][i, place] == pytest.approx(plain, rel=1e-12)
            assert found["safe"][i, place] == (plain <= true)
            kept = 1 - stats.norm.cdf(plain, 1, 1)
            assert found["sensitivity"][i, place] == pytest.approx(kept, rel=1e-12)


def test_only_bootstraps_change_with_the_number_of_resamples():
    exactly, drawn = (
        Threshold(n_boot=n_boot).simulate(streams(), 20)["threshold"] for n_boot in (0, 1000)
    )
    same = (exactly == drawn).all(axis=0)
    changed = {method for method, kept in zip(METHODS, same, strict=True) if not kept}
    assert {"normal", "bca strict"} <= changed
    assert not changed & {"empirical", "umbrella", "tolerance"}


def test_every_method_there_is_meets_the_same_test_sets():
    few, all_of_them = (kind().simulate(streams(), 20) for kind in (Threshold, Bound))
    assert Bound.methods[: len(METHODS)] == METHODS
    assert set(all_of_them) == {"safe", "sensitivity"}
    for name, column in all_of_them.items():
        assert column.shape == (20, len(Bound.methods))
        np.testing.assert_array_equal(column[:, : len(METHODS)], few[name])


def test_test_sets_are_described_where_bootstraps_are_exact():
    scenario, n_rep = Threshold(), 20
    x = scenario.scores.draw(streams()("data"), n_rep, scenario.n_obs)
    about = described(x, scenario.target, streams()("figure 2"))
    found = scenario.simulate(streams(), n_rep)
    for name, column in about.items():
        np.testing.assert_array_equal(found[name], column)
    assert not set(about) & set(Threshold(n_boot=50).simulate(streams(), n_rep))
