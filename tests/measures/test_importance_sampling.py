"""Weighted means and shares: their formulas, rare events whose rates are known, wrong weights."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.less_work import TwoStageWhereItRejects
from simstudy import measures as m
from simstudy.errors import StudyError
from simstudy.provenance.streams import Streams
from tests.support import critical_z, replicates_to_catch

N = 200


def drawn(n_rep=N):
    rng = np.random.default_rng(1)
    return {
        "y": rng.standard_normal((n_rep, 2)),
        "hit": rng.random((n_rep, 2)) < 0.3,
        "w": rng.standard_exponential((n_rep, 2)),
    }


@pytest.mark.parametrize("is_share", [False, True])
def test_it_is_its_formula(is_share):
    columns = drawn()
    make, name = (m.weighted_proportion, "hit") if is_share else (m.weighted_mean, "y")
    found = make(name, weight="w").estimate(columns)
    for cell in range(2):
        pairs = [*zip(columns[name][:, cell].astype(float), columns["w"][:, cell], strict=True)]
        estimate = math.fsum(w * y for y, w in pairs) / N
        psi = [w * y - estimate for y, w in pairs]
        mcse = math.sqrt(math.fsum(p * p for p in psi) / (N - (not is_share)) / N)
        carried = math.fsum(abs(w * y) for y, w in pairs) ** 2 / math.fsum(
            (w * y) ** 2 for y, w in pairs
        )
        spread = math.fsum(w * (y - estimate) ** 2 for y, w in pairs)
        plain = estimate * (1 - estimate) / N if is_share else spread / N / (N - 1)
        assert found.estimate[cell] == pytest.approx(estimate, rel=1e-12)
        assert found.mcse[cell] == pytest.approx(mcse, rel=1e-12)
        assert found.n_effective[cell] == pytest.approx(carried, rel=1e-12)
        assert found.variance_reduction[cell] == pytest.approx(plain / mcse**2, rel=1e-9)


# ---------------------------------------------------------------- a rate of one in a million
ALPHA, PIECE = 1e-6, 3000
OWN_ERROR = 0.02  # by which an interval may miss its level that some twenty replicates carry
N_STUDIES = replicates_to_catch(0.2, sd=np.sqrt(0.5))


@functools.cache
def columns_of(shifted):
    trial = TwoStageWhereItRejects(0.5, 100, 200, ALPHA, shifted)
    drawn = trial.simulate(Streams(1, "rare", "trial", 0), PIECE * N_STUDIES)
    return {
        name: np.asarray(drawn[name]).reshape(PIECE, N_STUDIES) for name in ("reject", "weight")
    }


def studies(shifted, *, power=1.0):
    """Of many studies of the size of a test, whose weights are taken to some power."""
    cut = columns_of(shifted)
    cut = cut | {"weight": cut["weight"] ** power}
    return m.weighted_proportion("reject", weight="weight").estimate(cut)


@pytest.mark.parametrize("shifted", [1.0, 0.5])
@pytest.mark.slow
def test_a_rate_of_one_in_a_million_is_found_with_its_error(shifted):
    found = studies(shifted)
    error = found.estimate.std() / np.sqrt(N_STUDIES)
    assert abs(found.estimate.mean() - ALPHA) < critical_z() * error
    assert error < 0.01 * ALPHA
    ratio = found.estimate.std() / np.sqrt(np.mean(found.mcse**2))
    assert abs(ratio - 1) < critical_z() * np.sqrt(1 / N_STUDIES)
    covered = np.mean((found.lower <= ALPHA) & (found.upper >= ALPHA))
    assert abs(covered - 0.95) < critical_z() * np.sqrt(0.95 * 0.05 / N_STUDIES) + OWN_ERROR


def test_that_test_catches_weights_that_are_wrong_by_little():
    found = studies(1.0, power=0.99)
    error = found.estimate.std() / np.sqrt(N_STUDIES)
    assert abs(found.estimate.mean() - ALPHA) > critical_z() * error


def test_of_weights_that_suit_the_event_nothing_is_said():
    warning = studies(1.0).warning
    assert warning is None or (warning == "").mean() > 0.99


# ---------------------------------------------------------------- diagnosis
def test_a_mean_where_the_law_asked_about_was_hardly_drawn_is_said():
    z = np.random.default_rng(3).standard_normal((2000, 100)) + 2
    columns = {"x": z, "hit": z > 3, "w": np.exp(2 - 2 * z)}
    found = m.weighted_mean("x", weight="w").estimate(columns)
    assert np.mean((found.lower < 0) & (found.upper > 0)) < 0.85, "the error is not to be believed"
    assert np.mean(["make up their spread" in said for said in found.warning]) > 0.8
    rate = m.weighted_proportion("hit", weight="w").estimate(columns)
    assert rate.warning is None, "of shares where it was drawn nothing is said"
    fewer = {name: column[:50] for name, column in columns.items()}
    tiny = m.weighted_mean("x", weight="w").estimate(fewer | {"w": np.full((50, 100), 1e-90)})
    assert "make up" not in str(tiny.warning)


def test_weights_without_mean_1_are_said():
    columns = drawn(2000) | {"w": 1.3 * drawn(2000)["w"]}
    said = m.weighted_mean("y", weight="w").estimate(columns).warning
    assert all("standard errors from the 1 of likelihood ratios" in text for text in said)
    assert m.weighted_mean("y", weight="w").estimate(drawn(2000)).warning is None


def test_an_event_that_nothing_carries_is_said_and_is_not_certain():
    columns = {"hit": np.zeros(50), "w": np.ones(50)}
    found = m.weighted_proportion("hit", weight="w").estimate(columns)
    assert (found.estimate, found.n_effective) == (0, 0)
    assert found.upper > 0.05
    assert found.warning.item().startswith("0 of 50 replicates carry it, so its error is not known")


def test_an_estimate_beyond_1_has_the_normal_interval():
    columns = {"hit": np.ones(4), "w": np.array([1.0, 2.0, 1.0, 2.0])}
    found = m.weighted_proportion("hit", weight="w").estimate(columns)
    assert found.estimate == 1.5
    assert found.upper - found.estimate == pytest.approx(stats.t.ppf(0.975, 3) * 0.25)


def test_weights_of_any_size_have_an_estimate_and_infinite_ones_a_reason():
    columns = {"y": np.ones(3), "w": np.array([1e80, 2e80, 3e80])}
    found = m.weighted_mean("y", weight="w").estimate(columns)
    assert found.estimate == pytest.approx(2e80)
    assert found.mcse == pytest.approx(1e80 / np.sqrt(3))
    assert found.n_effective == pytest.approx(36 / 14)
    lost = m.weighted_mean("y", weight="w").estimate(columns | {"w": np.array([1, 2, np.inf])})
    assert np.isnan(lost.mcse)
    assert str(lost.reason) == "a replicate is infinite"


def test_what_is_no_weight_is_refused():
    with pytest.raises(StudyError, match="has negative weights"):
        m.weighted_mean("y", weight="w").estimate({"y": np.ones(3), "w": np.array([1, 1, -1])})
    with pytest.raises(StudyError, match="should say yes or no"):
        m.weighted_proportion("y", weight="w").estimate({"y": np.full(3, 0.5), "w": np.ones(3)})
