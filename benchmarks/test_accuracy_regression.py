"""An accuracy check beside the loop that draws every answer.

Ours is a whole block of the scenario, with everything that it stores: fourteen tests. The plain
loop asks every prompt twice, and tests as the document does, or as the libraries do whose tests are
among ours. Both sides run in one process of their own; times of whole studies are printed and not
asserted.
"""

import numpy as np
from scipy import stats

from benchmarks.timing import least_alone
from simstudy.documents.scenarios.accuracy import METHODS, AccuracyCheck
from simstudy.documents.stats.accuracy.prompts import chances
from simstudy.provenance.streams import Streams

N, ACCURACY, CORRELATION, SIGMA, ALPHA = 512, 0.8, 0.4, 0.5, 0.05
BLOCK, N_PLAIN, N_TESTED = 10_000, 2000, 20

# Asserted, and as measured.
FASTER_THAN_DOCUMENT = 200  # 300 to 600
FASTER_THAN_TESTS = 8_000  # 17,000 to 40,000


def draw_block() -> None:
    """References and checks, fourteen tests of each, and the difference."""
    check = AccuracyCheck(N, ACCURACY, correlation=CORRELATION)
    check.simulate(Streams(1, "benchmark", "scenario", 0), BLOCK)


def answers(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Every prompt asked twice, the second time with an answer that goes with the first."""
    chance = chances(ACCURACY, ACCURACY, CORRELATION)
    first = rng.random(N) < ACCURACY
    right = np.where(first, 1 - chance.lost_if_right, chance.gained_if_wrong)
    return first, rng.random(N) < right


def plain_document() -> None:
    """The document's test alone, with a margin that is worked out once."""
    rng, margin = np.random.default_rng(1), stats.norm.ppf(ALPHA) * np.sqrt(2 * SIGMA**2 / N)
    for _ in range(N_PLAIN):
        reference, check = answers(rng)
        _ = check.mean() <= reference.mean() + margin


def plain_tests() -> None:
    """Tests from SciPy of what ours decides, where it has them: the t test, Fisher's, McNemar's."""
    rng = np.random.default_rng(1)
    for _ in range(N_TESTED):
        reference, check = answers(rng)
        right = [[check.sum(), N - check.sum()], [reference.sum(), N - reference.sum()]]
        lost, changed = (reference & ~check).sum(), (reference ^ check).sum()
        stats.ttest_ind(check, reference, equal_var=False, alternative="less")
        stats.fisher_exact(right, alternative="less")
        stats.binomtest(lost, changed, alternative="greater")
        stats.ttest_rel(check.astype(float), reference.astype(float), alternative="less")


def test_a_replicate_is_over_200_times_faster_than_the_documents(benchmark):
    calls = ["draw_block", "plain_document", "plain_tests"]
    ours, document, tests = least_alone(benchmark, __name__, calls, rounds=9)
    per_check = ours / BLOCK
    ratios = document / N_PLAIN / per_check, tests / N_TESTED / per_check
    benchmark.extra_info.update(nanoseconds=1e9 * per_check, ratios=ratios)
    print(
        f"a check of {N} prompts, {len(METHODS)} tests: {1e9 * per_check:.0f} ns; {ratios[0]:.0f} "
        f"times faster than the document's test alone, {ratios[1]:.0f} than four of SciPy's"
    )
    assert ratios[0] >= FASTER_THAN_DOCUMENT
    assert ratios[1] >= FASTER_THAN_TESTS
