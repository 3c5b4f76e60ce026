"""Statistics of accuracy checks beside the plain loops they replace, timed in the same run."""

import numpy as np
from scipy import stats

from benchmarks.timing import least, seconds
from simstudy.documents.stats.accuracy import paired
from simstudy.documents.stats.accuracy import two_binomials as tb

N, M = 300, 300


def plain_fisher_counts(n, m, alpha, references):
    """One result after the other, from the fewest successes of the check upwards."""
    critical = []
    for x in references:
        y = 0
        while y <= m and stats.hypergeom.cdf(y, n + m, x + y, m) <= alpha:
            y += 1
        critical.append(y - 1)
    return critical


def test_fisher_counts_are_over_100_times_faster_a_count(benchmark):
    def counts():
        return tb.critical_counts("fisher", N, M, 0.05)

    found = benchmark.pedantic(counts, rounds=3, warmup_rounds=1)
    some = [60, 150, 240]
    assert plain_fisher_counts(N, M, 0.05, some) == found[some].tolist()
    plain = seconds(plain_fisher_counts, N, M, 0.05, some) / len(some)
    ours = least([counts], rounds=5)[0] / (N + 1)
    benchmark.extra_info.update(ratio=plain / ours)
    assert plain / ours >= 100


def plain_rejection(critical, n, m, p, q):
    """Over all results, by SciPy's masses."""
    return sum(
        stats.binom.pmf(x, n, p) * stats.binom.pmf(np.arange(critical[x] + 1), m, q).sum()
        for x in range(n + 1)
    )


def test_rejection_rates_are_over_100_times_faster_a_probability(benchmark):
    critical, p = tb.critical_counts("z_pooled", N, M, 0.05), np.linspace(0.05, 0.95, 400)

    def rates():
        return tb.rejection_probability(critical, N, M, p, p - 0.04)

    found = benchmark.pedantic(rates, rounds=3, warmup_rounds=1)
    plain_rate = plain_rejection(critical, N, M, p[100], p[100] - 0.04)
    np.testing.assert_allclose(found[100], plain_rate, rtol=1e-10)
    plain = seconds(plain_rejection, critical, N, M, 0.5, 0.46)
    ours = least([rates], rounds=5)[0] / p.size
    benchmark.extra_info.update(ratio=plain / ours)
    assert plain / ours >= 100


def plain_boschloo(x, y, n, m):
    """Over all results, at a thousand probabilities."""
    p = np.linspace(0, 1, 1001)
    limit, rate = stats.hypergeom.cdf(y, n + m, x + y, m), np.zeros_like(p)
    for i in range(n + 1):
        for j in range(m + 1):
            if stats.hypergeom.cdf(j, n + m, i + j, m) <= limit * (1 + 1e-12):
                rate += stats.binom.pmf(i, n, p) * stats.binom.pmf(j, m, p)
    return rate.max()


def test_boschloo_s_p_value_is_over_10_times_faster(benchmark):
    result = (30, 22, 40, 40)

    def p_value():
        return tb.p_values("boschloo", *result)

    found = benchmark.pedantic(p_value, rounds=3, warmup_rounds=1)
    np.testing.assert_allclose(found, plain_boschloo(*result), rtol=1e-4)
    plain, ours = seconds(plain_boschloo, *result), least([p_value], rounds=5)[0]
    benchmark.extra_info.update(ratio=plain / ours)
    assert plain / ours >= 10


def plain_paired_rejection(critical, n, loss, gain):
    law = stats.multinomial(n, [loss, gain, 1 - loss - gain])
    return sum(
        law.pmf([[b, c, n - b - c] for b in range(critical[c], n - c + 1)]).sum()
        for c in range(n + 1)
        if critical[c] <= n - c
    )


def test_paired_rates_are_over_100_times_faster_a_probability(benchmark):
    n, p = 200, np.linspace(0.01, 0.3, 400)
    critical = paired.critical_losses("mcnemar", n, 0.05)

    def rates():
        return paired.rejection_probability(critical, n, p, p / 2)

    found = benchmark.pedantic(rates, rounds=3, warmup_rounds=1)
    plain_rate = plain_paired_rejection(critical, n, p[100], p[100] / 2)
    np.testing.assert_allclose(found[100], plain_rate, rtol=1e-9)
    plain = seconds(plain_paired_rejection, critical, n, 0.1, 0.05)
    ours = least([rates], rounds=5)[0] / p.size
    benchmark.extra_info.update(ratio=plain / ours)
    assert plain / ours >= 100
