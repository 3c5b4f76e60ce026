"""Proportions of compatible predictions, rates and intervals against plain loops and theory."""

import numpy as np
import pytest
from scipy import optimize, special

from simstudy.documents.stats.compatible import null_proportion as shares
from simstudy.documents.stats.compatible.false_discovery import cfdr, nfdr, rfdr
from simstudy.documents.stats.compatible.null_proportion import (
    ESTIMATORS,
    TOLERANCE,
    rfdr_proportion,
)
from simstudy.errors import DesignError
from tests.documents.stats.compatible import plain
from tests.documents.stats.compatible.plain import lists

PLAIN = {
    "cfdr": lambda p: plain.mean(plain.cfdr(p)),
    "cfdr_clipped": lambda p: plain.mean(plain.cfdr(p, clipped=True)),
    "cfdr_by_p": lambda p: plain.mean(plain.cfdr(p, "p")),
    "cfdr_by_p_clipped": lambda p: plain.mean(plain.cfdr(p, "p", clipped=True)),
    "rfdr": lambda p: plain.mean(plain.rfdr(p)),
    "rfdr_by_p": lambda p: plain.mean(plain.rfdr(p, "p")),
    "storey": lambda p: min(plain.storey(p, 0.5), 1),
    "storey_smoother": plain.storey_smoother,
    "storey_bootstrap": plain.storey_bootstrap,
    "jiang_doerge": plain.jiang_doerge,
    "pounds_cheng": plain.pounds_cheng,
}


@pytest.mark.parametrize("n", [1, 2, 9, 40])
@pytest.mark.parametrize("name", PLAIN)
def test_an_estimate_is_that_of_the_plain_loop(name, n):
    p = lists(n, n_rep=8)
    known = [PLAIN[name](row.tolist()) for row in p]
    # The spline's penalty is known to some 1e-10 from a root of its own.
    rtol = 1e-6 if name == "storey_smoother" else 1e-12
    np.testing.assert_allclose(ESTIMATORS[name](p), known, rtol=rtol, atol=1e-12)


def test_every_estimator_has_a_plain_loop_but_the_one_that_maximises():
    assert {*ESTIMATORS} - {*PLAIN} == {"langaas"}


@pytest.mark.parametrize("name", ESTIMATORS)
class TestAll:
    def test_leading_axes_do_not_matter(self, name):
        p = lists(7, n_rep=12)
        together = ESTIMATORS[name](p)
        assert together.shape == (12,)
        np.testing.assert_array_equal(ESTIMATORS[name](p.reshape(3, 4, 7)).ravel(), together)
        assert ESTIMATORS[name](p[4]) == together[4]

    def test_the_order_of_predictions_does_not_matter(self, name):
        p = lists(30, n_rep=8)
        shuffled = np.random.default_rng(2).permuted(p, axis=1)
        np.testing.assert_allclose(ESTIMATORS[name](shuffled), ESTIMATORS[name](p), rtol=1e-12)

    def test_a_missing_value_costs_its_replicate_alone(self, name):
        p = lists(7, n_rep=3)
        p[1, 3] = np.nan
        assert np.isnan(ESTIMATORS[name](p)).tolist() == [False, True, False]

    @pytest.mark.parametrize("value", [0.0, 1.0])
    @pytest.mark.parametrize("n", [1, 168])
    def test_all_zeros_and_all_ones(self, name, value, n):
        found = float(ESTIMATORS[name](np.full(n, value)))
        if name.startswith("rfdr") and value == 0:
            assert found == pytest.approx({1: 1.0, 168: 63 / 168}[n])
        elif name in ("cfdr", "cfdr_by_p") and value == 1:
            assert found == pytest.approx(sum((n - k) / (k + 1) for k in range(n)) / n)
        else:
            # Of 20 bins the first is full, so the estimate before it counts among the twenty.
            known = 1 / 20 if (name, value) == ("jiang_doerge", 0) else value
            assert found == pytest.approx(known)


# ---------------------------------------------------------------- convex decreasing density
def likeliest(p: np.ndarray) -> np.ndarray:
    """Weights of the mixture, by least squares with weights of 0 or more (Wang 2007).

    Each step maximises the second-order expansion of the likelihood, |S w - 2|² with sum 1, and
    goes as far towards there as the likelihood rises.
    """
    rows = plain.components(p)
    weights = np.full(len(rows), 1 / len(rows))
    for _ in range(200):
        density = weights @ rows
        quadratic = np.vstack([(rows / density).T - 2, np.ones(len(rows))])
        better = optimize.nnls(quadratic, np.append(np.zeros(len(p)), 1), maxiter=10_000)[0]
        step, direction = 1.0, better / better.sum() - weights
        while np.log((weights + step * direction) @ rows).sum() < np.log(density).sum():
            step /= 2
            if step < 1e-12:
                return weights
        weights = weights + step * direction
    return weights


@pytest.mark.parametrize("row", range(4))
def test_convex_density_is_the_likeliest(row, monkeypatch):
    """As another algorithm finds it, where both go on until nothing is left to gain."""
    p = special.ndtr(np.random.default_rng(row).normal(-row, 1.0, 60))
    weights, as_usual = likeliest(p), shares.langaas(p)
    rows, near = plain.components(p), 1e-9
    assert (rows / (weights @ rows)).mean(axis=1).max() < 1 + near  # nothing would add more
    monkeypatch.setattr(shares, "TOLERANCE", near)
    # A log likelihood within 1e-9 n of its maximum is √(2e-9 n) standard errors from it.
    assert shares.langaas(p) == pytest.approx(weights[0], abs=np.sqrt(2 * near * len(p)))
    assert as_usual == pytest.approx(weights[0], abs=np.sqrt(2 * TOLERANCE * len(p)))


def test_uniform_scores_alone_are_the_uniform():
    assert shares.langaas((np.arange(100) + 0.5) / 100) == pytest.approx(1)


# ---------------------------------------------------------------- false discovery rates
@pytest.mark.parametrize("n", [1, 2, 3, 7, 50])
class TestPlainLoops:
    def test_nfdr(self, n):
        p = lists(n)
        np.testing.assert_allclose(nfdr(p), [plain.nfdr(row) for row in p], rtol=1e-14)

    @pytest.mark.parametrize("order", ["nfdr", "p"])
    @pytest.mark.parametrize("clipped", [False, True])
    def test_cfdr(self, n, order, clipped):
        p = lists(n)
        known = [plain.cfdr(row, order, clipped) for row in p]
        np.testing.assert_allclose(cfdr(p, order=order, clipped=clipped), known, rtol=1e-13)

    @pytest.mark.parametrize("order", ["nfdr", "p"])
    @pytest.mark.parametrize("ratio", [1.6, 1 / (1 - np.exp(-1)), 1.0])
    def test_rfdr(self, n, order, ratio):
        p = lists(n)
        known = [plain.rfdr(row, order, ratio) for row in p]
        np.testing.assert_allclose(rfdr(p, order=order, ratio=ratio), known, rtol=1e-14)


def test_no_list_is_refused():
    with pytest.raises(DesignError, match=r"p has (shape \(\), so its axes|nothing along 'n')"):
        nfdr(np.empty((3, 0)))


def test_a_ratio_beyond_every_rank_leaves_all_at_1():
    p = np.linspace(0.01, 0.3, 12)
    assert rfdr(p, ratio=1e18).tolist() == [1.0] * 12
    assert rfdr_proportion(p, ratio=1e300) == 1.0
