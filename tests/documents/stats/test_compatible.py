"""Combined p-values and shares of compatible predictions against plain loops, mpmath and theory."""

from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import optimize, special, stats

from simstudy.documents.stats import compatible
from simstudy.documents.stats.compatible import ESTIMATORS, Mixture, fisher, harmonic_mean
from tests.documents.stats import plain_shares as plain

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
    p = plain.lists(n, n_rep=8)
    known = [PLAIN[name](row.tolist()) for row in p]
    # The spline's penalty is known to some 1e-10 from a root of its own.
    rtol = 1e-6 if name == "storey_smoother" else 1e-12
    np.testing.assert_allclose(ESTIMATORS[name](p), known, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_lists_are_apart_and_a_missing_value_costs_its_own(name):
    p = plain.lists(7, n_rep=12)
    together = ESTIMATORS[name](p)
    np.testing.assert_array_equal(ESTIMATORS[name](p.reshape(3, 4, 7)).ravel(), together)
    shuffled = np.random.default_rng(2).permuted(p, axis=1)
    np.testing.assert_allclose(ESTIMATORS[name](shuffled), together, rtol=1e-12)
    p[1, 3] = np.nan
    assert np.flatnonzero(np.isnan(ESTIMATORS[name](p))).tolist() == [1]


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
    weights, as_usual = likeliest(p), compatible.langaas(p)
    rows, near = plain.components(p), 1e-9
    assert (rows / (weights @ rows)).mean(axis=1).max() < 1 + near  # nothing would add more
    # A log likelihood within 1e-9 n of its maximum is √(2e-9 n) standard errors from it.
    usual = np.sqrt(2 * compatible.TOLERANCE * len(p))
    assert as_usual == pytest.approx(weights[0], abs=usual)
    monkeypatch.setattr(compatible, "TOLERANCE", near)
    assert compatible.langaas(p) == pytest.approx(weights[0], abs=np.sqrt(2 * near * len(p)))


MP = mpmath.mp.clone()
MP.dps = 60


def mp_fisher(log_p):
    half = -MP.fsum(log_p)
    return MP.log(MP.gammainc(len(log_p), half, MP.inf, regularized=True))


def mp_harmonic_mean(log_p):
    """Landau's tail as the integral of a Laplace transform, for inverses far above its center."""
    n = len(log_p)
    at = MP.fsum(MP.exp(-value) for value in log_p) / n - MP.log(n) - 1 + MP.euler

    def integrand(u):
        t = u / at
        return MP.exp(-u - t * MP.log(t)) * MP.sin(MP.pi * t) / u

    return MP.log(MP.quad(integrand, [0, 1e-6, 1e-3, 1, 10, 40, 100]) / MP.pi)


SMALL = {
    "168 of 1e-12": [np.log(1e-12)] * 168,
    "mixed": [-1e-3, -2.0, -50.0, -1000.0],
    "far beyond": [-1e5, -0.5, -3e5],
    "near the center": [-6.0, -5.0, -1.0, -0.5],
}
NEAR_1 = {f"{n} near 1": [np.log1p(-1e-3)] * n for n in (2, 40)}
CASES = [(fisher, mp_fisher, case) for case in SMALL | NEAR_1]
CASES += [(harmonic_mean, mp_harmonic_mean, case) for case in SMALL]


@pytest.mark.parametrize(("ours", "known", "case"), CASES)
def test_combined_p_values_have_the_digits_of_mpmath(ours, known, case):
    """Where p itself would underflow, and near 1, where 1 - p would lose its digits."""
    log_p = (SMALL | NEAR_1)[case]
    expected = float(known([MP.mpf(value) for value in log_p]))
    assert float(ours(np.array(log_p))) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("combine", [fisher, harmonic_mean])
def test_one_p_value_is_itself_a_zero_gives_zero_and_a_missing_one_nothing(combine):
    log_p = np.array([[-1e-5], [-0.5], [-40.0], [-1e4]])
    np.testing.assert_allclose(combine(log_p), log_p[:, 0], rtol=1e-9)
    assert combine(np.array([-np.inf, -0.5, -1.0])) == -np.inf
    assert np.isnan(combine(np.array([[-1.0, np.nan], [-1.0, -2.0]]))).tolist() == [True, False]


HARMONIC = np.cumsum(1 / np.arange(1, 169))


def uniform(n: int) -> Mixture:
    return Mixture(n, 0, lambda s: s)


@pytest.mark.parametrize("n", [1, 2, 5, 168])
def test_uniform_p_values_have_the_means_of_beta_variables(n):
    """E min(p(i) / a, 1) of the order statistics of n uniforms, Beta(i, n - i + 1)."""
    i, found = np.arange(1, n + 1), uniform(n).means()

    def capped(ends):
        below = stats.beta.cdf(ends, i + 1, n - i + 1) * i / (n + 1) / ends
        return below + stats.beta.sf(ends, i, n - i + 1)

    rates, clipped = capped(i / n), capped(i / (n * HARMONIC[:n]))
    later = np.floor(1.6 * i + 0.5).astype(int)
    assert found["cfdr_by_p"] == pytest.approx((HARMONIC[:n] * rates).mean(), rel=1e-10)
    assert found["cfdr_by_p_clipped"] == pytest.approx(clipped.mean(), rel=1e-10)
    total = rates[later[later <= n] - 1].sum() + (later > n).sum()
    assert found["rfdr_by_p"] == pytest.approx(total / n, rel=1e-10)


@pytest.mark.parametrize("lists", [(2, 1), (1, 3), (0, 4)])
def test_counts_are_those_of_every_way_to_be_below(lists):
    n_null, n_other = lists
    law = Mixture(n_null, n_other, np.sqrt).counts(np.array([0.3, 0.0, 1.0]))
    for place, row in zip((0.3, 0.0, 1.0), law, strict=True):
        known = np.zeros(n_null + n_other + 1)
        chances = [place] * n_null + [place**0.5] * n_other
        for below in product((0, 1), repeat=len(chances)):
            parts = [c if b else 1 - c for b, c in zip(below, chances, strict=True)]
            known[sum(below)] += np.prod(parts)
        np.testing.assert_allclose(row, known, atol=1e-14)


def test_storeys_moments_are_those_of_a_binomial():
    count = np.arange(31)
    estimate, law = np.minimum(count / 15, 1), stats.binom.pmf(count, 30, 0.5)
    mean = law @ estimate
    known = mean, np.sqrt(law @ estimate**2 - mean**2), law.max()
    assert uniform(30).storey() == pytest.approx(known)


def test_langaas_of_lists_without_a_compatible_prediction():
    """No step makes a density 0, also where the uniform is not needed any more."""
    p = stats.norm.sf(np.abs(3.0 + np.random.default_rng(1).standard_normal((50, 168)))) * 2
    found = compatible.langaas(p)
    assert np.isfinite(found).all()
    assert found.mean() < 0.05
