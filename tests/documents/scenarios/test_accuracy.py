"""Checks of an accuracy: each decided by its own test, as often as is exact."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.scenarios.accuracy import (
    METHODS,
    AccuracyCheck,
    exact_shares,
)
from simstudy.documents.stats.accuracy import counts as of_two
from simstudy.documents.stats.accuracy import paired
from simstudy.documents.stats.accuracy.paired import PAIRED_TESTS
from simstudy.documents.stats.accuracy.prompts import Counts, draw_counts
from tests.documents.draws import streams
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

ALPHA = 0.05
Z = stats.norm.ppf(ALPHA)


def z_test(reference: np.ndarray, check: np.ndarray, n: int, sigma: float) -> np.ndarray:
    return (check - reference) / n <= Z * sigma * np.sqrt(2 / n)


def decisions(trial: AccuracyCheck, counts: Counts) -> dict[str, np.ndarray]:
    """Of each test, by its p-value, which other libraries are held against."""
    n, reference, check = trial.n, counts.reference, counts.check
    gamma = np.floor(reference + Z * 0.5 * np.sqrt(2 * n) + 0.5)
    sigma = np.sqrt(trial.accuracy * (1 - trial.accuracy))
    decided = {
        "document": z_test(reference, check, n, 0.5),
        "document_strict": z_test(reference, check, n, 0.5),  # γ is never on the lattice
        "rounded": check <= gamma,
        "rounded_strict": check < gamma,
        "known": z_test(reference, check, n, sigma),
        "estimated": check <= of_two.welch_counts(n, n, ALPHA)[reference],
    }
    results = list(zip(reference, check, strict=True))
    p = {
        test: np.array([of_two.p_values(test, x, y, n, n) for x, y in results])
        for test in of_two.TESTS
    }
    p |= {test: paired.p_values(test, counts.lost, counts.gained, n) for test in PAIRED_TESTS}
    return decided | {test: value <= ALPHA for test, value in p.items()}


@pytest.mark.parametrize(
    "trial",
    [
        AccuracyCheck(n=40, accuracy=0.8, effect=0.7),
        AccuracyCheck(n=64, accuracy=0.6, effect=1, correlation=0.3),
        AccuracyCheck(n=33, accuracy=0.6, effect=0.8, quantile=0.9),
    ],
)
def test_every_test_decides_on_its_own_counts(trial):
    found = trial.simulate(streams(), 60)
    counts = draw_counts(streams()("data"), 60, trial.n, trial.chance, kept=trial.kept)
    np.testing.assert_array_equal(found["difference"], (counts.gained - counts.lost) / trial.n)
    plain = decisions(trial, counts)
    assert set(plain) == set(METHODS)
    for test, decided in plain.items():
        np.testing.assert_array_equal(found["reject"][:, METHODS.index(test)], decided, test)


TRIALS = [
    AccuracyCheck(n=40, accuracy=0.7),
    AccuracyCheck(n=40, accuracy=0.7, effect=1),
    AccuracyCheck(n=40, accuracy=0.7, effect=0.5, correlation=0.4),
    AccuracyCheck(n=40, accuracy=0.7, quantile=0.9),
    AccuracyCheck(n=40, accuracy=0.7, effect=1, correlation=0.3, quantile=0.2),
]
N_REP = replicates_to_catch(0.02, sd=0.5, comparisons=len(METHODS))  # two points must not pass


def errors_of(known: np.ndarray) -> np.ndarray:
    return np.sqrt(known * (1 - known) / N_REP)


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_drawn_counts_fail_as_often_and_differ_by_as_much_as_is_exact(trial):
    drawn, exact = trial.simulate(streams(), N_REP), trial.exact()
    known, spread = exact["rejection_rate"], exact["empirical_se"]
    assert_within_mcse(drawn["reject"].mean(axis=0), known, errors_of(known))
    # The excess kurtosis of a difference of counts is a few percent at most with 40 prompts.
    mcse = spread * np.sqrt(1.1 / (2 * N_REP))
    assert_within_mcse(drawn["difference"].std(), spread, mcse)


def test_that_test_catches_a_correlation_that_is_left_out():
    known = exact_shares(AccuracyCheck(n=40, accuracy=0.7, effect=0.5))
    assert_caught(
        TRIALS[2].simulate(streams(), N_REP)["reject"].mean(axis=0), known, errors_of(known)
    )


def test_with_one_reference_only_the_check_varies():
    trial = TRIALS[3]
    found = trial.simulate(streams(), 50)["difference"] * trial.n
    right = stats.binom.ppf(0.9, 40, 0.7)
    assert trial.kept == right
    assert trial.luck == pytest.approx((right - 28) / np.sqrt(40 * 0.21))
    np.testing.assert_allclose(found, np.rint(found), atol=1e-12)
    assert trial.exact()["empirical_se"] == pytest.approx(np.sqrt(0.21 / 40))


def test_the_effect_is_in_units_of_the_documents():
    trial = AccuracyCheck(n=128, accuracy=0.8, effect=2)
    theta = -(stats.norm.ppf(0.05) + stats.norm.ppf(0.2)) * np.sqrt(2 * 0.25 / 128)
    assert trial.theta == pytest.approx(theta)
    chance = trial.chance
    assert chance.right + chance.gained == pytest.approx(0.8 - 2 * theta)
