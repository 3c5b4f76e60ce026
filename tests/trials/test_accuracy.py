"""Checks of an accuracy: decided as other libraries do, drawn in the law of single answers."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportions_ztest

from simstudy.stats.accuracy.counts import draw_counts
from simstudy.trials.accuracy import BY_RIGHT, METHODS, AccuracyCheck, document_counts, exact_shares
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch
from tests.trials.draws import streams

ALPHA = 0.05
Z = stats.norm.ppf(ALPHA)


# What each test decides: by other libraries, one check at a time ---------------------------------


def z_test(reference: int, check: int, n: int, sigma: float) -> bool:
    return (check - reference) / n <= Z * sigma * np.sqrt(2 / n)


def scores(n_right: int, n: int) -> np.ndarray:
    return np.repeat([1.0, 0.0], [n_right, n - n_right])


def welch(reference: int, check: int, n: int) -> float:
    x, y = scores(check, n), scores(reference, n)
    return stats.ttest_ind(x, y, equal_var=False, alternative="less").pvalue


def table(reference: int, check: int, n: int) -> list[list[int]]:
    return [[check, n - check], [reference, n - reference]]


def fisher_mid_p(reference: int, check: int, n: int) -> float:
    law = stats.hypergeom(2 * n, reference + check, n)
    return law.cdf(check) - law.pmf(check) / 2


def plain_p_values(reference: int, lost: int, gained: int, n: int) -> dict[str, float]:
    check, changed = reference - lost + gained, lost + gained
    both = table(reference, check, n)
    pair = [[0, lost], [gained, 0]]
    differences = np.repeat([-1.0, 1.0, 0.0], [lost, gained, n - changed])
    two_sided = mcnemar(pair, exact=False, correction=False).pvalue
    return {
        "estimated": welch(reference, check, n),
        "z_pooled": proportions_ztest([check, reference], [n, n], alternative="smaller")[1],
        "fisher": stats.fisher_exact(both, alternative="less").pvalue,
        "fisher_mid_p": fisher_mid_p(reference, check, n),
        "mcnemar": stats.binomtest(lost, changed, alternative="greater").pvalue,
        "mcnemar_mid_p": stats.binom.sf(lost, changed, 0.5)
        + stats.binom.pmf(lost, changed, 0.5) / 2,
        "paired_z": two_sided / 2 if lost > gained else 1 - two_sided / 2,
        "paired_t": stats.ttest_1samp(differences, 0, alternative="less").pvalue,
    }


def plain_decisions(
    trial: AccuracyCheck, reference: int, lost: int, gained: int
) -> dict[str, bool]:
    n, check = trial.n, reference - lost + gained
    gamma = np.floor(reference + Z * 0.5 * np.sqrt(2 * n) + 0.5)
    sigma = np.sqrt(trial.accuracy * (1 - trial.accuracy))
    decided = {
        "document": z_test(reference, check, n, 0.5),
        "document_strict": z_test(reference, check, n, 0.5),  # γ is never on the lattice
        "rounded": check <= gamma,
        "rounded_strict": check < gamma,
        "known": z_test(reference, check, n, sigma),
    }
    p_values = plain_p_values(reference, lost, gained, n)
    return decided | {test: p <= ALPHA for test, p in p_values.items()}


@pytest.mark.parametrize(
    "trial",
    [
        AccuracyCheck(n=40, accuracy=0.8, effect=0.7),
        AccuracyCheck(n=64, accuracy=0.6, effect=1, correlation=0.3),
        AccuracyCheck(n=33, accuracy=0.6, effect=0.8, quantile=0.9),
    ],
)
def test_a_block_is_decided_as_other_libraries_decide(trial):
    found = trial.simulate(streams(), 60)
    counts = draw_counts(streams()("data"), 60, trial.n, trial.chance, kept=trial.kept)
    for i, (reference, lost, gained) in enumerate(zip(*counts, strict=True)):
        assert found["difference"][i] == (gained - lost) / trial.n
        plain = plain_decisions(trial, reference, lost, gained)
        for test, decided in plain.items():
            assert found["reject"][i, METHODS.index(test)] == decided, (
                test,
                reference,
                lost,
                gained,
            )
    assert set(METHODS) - set(plain) == {"boschloo"}


def test_boschloo_fails_what_scipy_fails():
    n = 8
    critical = AccuracyCheck(n).critical.right[:, BY_RIGHT.index("boschloo")]
    for reference, check in np.ndindex(n + 1, n + 1):
        p = stats.boschloo_exact(table(reference, check, n), alternative="less").pvalue
        assert (check <= critical[reference]) == (p <= ALPHA), (reference, check, p)


def test_a_rounded_threshold_is_the_nearest_count():
    gamma = np.arange(33) + Z * 0.5 * np.sqrt(64)  # -6.58 from the reference: to -7
    at, strictly = (document_counts(32, ALPHA, rounded=True, strictly=s) for s in (False, True))
    np.testing.assert_array_equal(at, np.maximum(np.rint(gamma), -1))
    np.testing.assert_array_equal(strictly, np.maximum(np.rint(gamma) - 1, -1))


# What is drawn: single answers have the exact shares ---------------------------------------------


def answers(trial: AccuracyCheck, n_rep: int) -> np.ndarray:
    """Shares that fail by method, from one answer at a time to every prompt."""
    rng, n = np.random.default_rng(8), trial.n
    first = rng.random((n_rep, n)) < trial.accuracy
    if trial.kept is not None:
        first[:] = np.arange(n) < trial.kept
    if_right, if_wrong = 1 - trial.chance.lost_if_right, trial.chance.gained_if_wrong
    second = rng.random((n_rep, n)) < np.where(first, if_right, if_wrong)
    reference, check = first.sum(axis=1), second.sum(axis=1)
    lost, gained = (first & ~second).sum(axis=1), (~first & second).sum(axis=1)
    right, least = trial.critical
    by_right = check[:, np.newaxis] <= right[reference]
    by_lost = lost[:, np.newaxis] >= least[gained]
    return np.concatenate([by_right, by_lost], axis=1).mean(axis=0)


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
def test_single_answers_fail_as_often_as_is_exact(trial):
    known = trial.exact()["rejection_rate"]
    assert_within_mcse(answers(trial, N_REP), known, errors_of(known))


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_drawn_counts_fail_as_often_as_is_exact(trial):
    known = trial.exact()["rejection_rate"]
    drawn = trial.simulate(streams(), N_REP)["reject"].mean(axis=0)
    assert_within_mcse(drawn, known, errors_of(known))


def test_that_test_catches_a_correlation_that_is_left_out():
    known = exact_shares(AccuracyCheck(n=40, accuracy=0.7, effect=0.5))
    assert_caught(answers(TRIALS[2], N_REP), known, errors_of(known))


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_the_difference_has_the_exact_spread(trial):
    difference = trial.simulate(streams(), N_REP)["difference"]
    known = trial.exact()["empirical_se"]
    # The excess kurtosis of a difference of counts is a few percent at most with 40 prompts.
    assert_within_mcse(difference.std(), known, known * np.sqrt(1.1 / (2 * N_REP)))


def test_with_one_reference_only_the_check_varies():
    trial = TRIALS[3]
    found = trial.simulate(streams(), 50)["difference"] * trial.n
    right = stats.binom.ppf(0.9, 40, 0.7)
    assert trial.kept == right
    assert trial.luck == pytest.approx((right - 28) / np.sqrt(40 * 0.21))
    np.testing.assert_allclose(found, np.rint(found), atol=1e-12)
    assert trial.exact()["empirical_se"] == pytest.approx(np.sqrt(0.21 / 40))


@pytest.mark.parametrize("quantile", [0.025, 0.5, 0.9])
@pytest.mark.parametrize("n", [32, 33, 500])
def test_a_reference_lies_at_its_quantile(n, quantile):
    assert AccuracyCheck(n, quantile=quantile).kept == stats.binom.ppf(quantile, n, 0.5)


# Effects and refusals ----------------------------------------------------------------------------


def test_the_effect_is_in_units_of_the_documents():
    trial = AccuracyCheck(n=128, accuracy=0.8, effect=2)
    theta = -(stats.norm.ppf(0.05) + stats.norm.ppf(0.2)) * np.sqrt(2 * 0.25 / 128)
    assert trial.theta == pytest.approx(theta)
    chance = trial.chance
    assert chance.right + chance.gained == pytest.approx(0.8 - 2 * theta)
