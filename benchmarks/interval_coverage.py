"""Coverage of 95% intervals: every measure, six laws, and 5 to 1,000 replicates.

    python -m benchmarks.interval_coverage > docs/tables/interval_coverage.csv

Then `python docs/write.py` writes `docs/interval_coverage.md` from it. Each study of n replicates
gives an interval; the table has the share of intervals that hold the true value, which is an
integral over the law, and the share of studies with a warning.

Values x are drawn from the law; y is the mean of x and another value; standard errors are absolute
values of a third; intervals for coverage and scores are x ± 1.5 standard deviations. Shares have
other rates for each law, and ten events in the binomial one (half of five). The weights
of `weighted_mean` and `weighted_proportion` shift a normal value by one standard deviation.
"""

import csv
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special, stats

from simstudy import measures as m
from simstudy.measures import Estimates

SIZES = (5, 20, 100, 1000)
N_STUDIES = 2000
N_BOOT = 200
Z = np.linspace(-12, 12, 96_001)
WEIGHTS = np.exp(-Z * Z / 2) / np.exp(-Z * Z / 2).sum()


@dataclass(frozen=True)
class Law:
    """A law as a function of standard normal values, and rates of its shares."""

    name: str
    of: Callable[[np.ndarray], np.ndarray]
    with_effect: float
    without: float

    def mean(self, function: Callable[[np.ndarray], np.ndarray] = lambda x: x) -> float:
        """Expectation of a function, by the trapezoidal rule."""
        return float(WEIGHTS @ function(self.values))

    @cached_property
    def values(self) -> np.ndarray:
        return self.of(Z)

    def quantile(self, p: float) -> float:
        return float(self.of(np.array([special.ndtri(p)]))[0])

    def below(self, limit: float) -> float:
        return self.mean(lambda x: (x < limit) + 0.5 * (x == limit))

    @cached_property
    def sd(self) -> float:
        center = self.mean()
        return float(np.sqrt(self.mean(lambda x: (x - center) ** 2)))


def student_3(z: np.ndarray) -> np.ndarray:
    return np.sign(z) * stats.t.isf(special.ndtr(-np.abs(z)), 3)


def laws(n: int) -> Iterator[Law]:
    """The six laws; the binomial one has ten events of n, or half of five."""
    rate = min(0.5, 10 / n)
    yield Law("normal", lambda z: z, 0.9, 0.05)
    yield Law("uniform", special.ndtr, 0.5, 0.2)
    yield Law("t, 3 df", student_3, 0.99, 0.02)
    yield Law("lognormal(1)", np.exp, 0.2, 0.05)
    yield Law("lognormal(2)", lambda z: np.exp(2 * z), 0.998, 0.5)
    yield Law("binomial", lambda z: (z > special.ndtri(1 - rate)) + 0.0, 0.5, min(0.5, 20 / n))


CENTRED = 1.5  # half width of intervals, in standard deviations


def drawn(law: Law, n: int, n_studies: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    z, z2, moved = (rng.standard_normal((n, n_studies)) for _ in range(3))
    u, v = (rng.random((n, n_studies)) for _ in range(2))
    x, x2, effect = law.of(z), law.of(z2), v < 0.5
    half = CENTRED * law.sd
    p = -np.expm1(-np.abs(x) / 4)
    return {
        "x": x,
        "y": (x + x2) / 2,
        "both": np.stack([x, (x + x2) / 2], axis=1),
        "size": np.abs(x2),
        "lower": x - half,
        "upper": x + half,
        "wide": x + np.abs(x2),
        "effect": effect,
        "reject": u < np.where(effect, law.with_effect, law.without),
        "r2": u < np.where(effect, 0.95 * law.with_effect, law.without),
        "p": p,
        "event": rng.random((n, n_studies)) < p,
        "xw": law.of(moved + 1),
        "hit": law.of(moved + 1) > law.quantile(0.9),
        "w": np.exp(-(moved + 1) + 0.5),
    }  # fmt: skip


def _score_above_miss(law: Law) -> float:
    center, half = law.mean(), CENTRED * law.sd
    return 2 * half + 40 * law.mean(lambda x: np.maximum(np.abs(x - center) - half, 0.0))


Columns = dict[str, np.ndarray]
Row = tuple[str, Callable[[Columns], Estimates], Callable[[Law], float]]


def rows() -> list[Row]:
    """Name, estimates of columns, and the true value."""

    def plain(measure: m.Measure, truth: Callable[[Law], float], name: str = "") -> Row:
        return name or measure.name, measure.estimate, truth

    def rms(law: Law) -> float:
        return float(np.sqrt(law.mean(lambda x: x * x)))

    def size(law: Law) -> float:
        return law.mean(np.abs)

    power = m.power("reject")
    smooth = m.conditional(m.mean("p"), raw=m.power("event"), name="conditional")
    rates = [
        (power, lambda law: (law.with_effect + law.without) / 2),
        (m.sensitivity("reject", effect="effect"), lambda law: law.with_effect),
        (m.specificity("reject", effect="effect"), lambda law: 1 - law.without),
    ]
    return [
        plain(m.mean("x"), Law.mean, "mean"),
        plain(m.mean("x", given="effect"), Law.mean, "mean, given"),
        plain(m.bias("x", 1.0), lambda law: law.mean() - 1),
        plain(m.relative_bias("x", 2.0), lambda law: law.mean() / 2 - 1),
        plain(m.standardised_bias("x", 0.0), lambda law: law.mean() / law.sd),
        plain(m.median("x"), lambda law: law.quantile(0.5), "median"),
        plain(m.quantile("x", 0.9), lambda law: law.quantile(0.9), "quantile .9"),
        plain(m.mse("x", 0.0), lambda law: rms(law) ** 2),
        plain(m.rmse("x", 0.0), rms),
        plain(m.mae("x", 0.0), size),
        plain(m.variance("x"), lambda law: law.sd**2),
        plain(m.empirical_se("x"), lambda law: law.sd),
        plain(m.model_se("size"), rms),
        plain(m.relative_error_model_se("x", "size"), lambda law: rms(law) / law.sd - 1),
        (
            "relative_precision",
            lambda c: m.relative_precision("both").estimate(c).map(lambda part: part[1]),
            lambda _: 1.0,
        ),
        plain(m.correlation("x", "y"), lambda _: np.sqrt(0.5)),
        plain(
            m.coverage("lower", "upper", "mean"),
            lambda law: law.mean(lambda x: np.abs(x - law.mean()) <= CENTRED * law.sd),
        ),
        plain(
            m.tail_miss("lower", "upper", "mean", side="above"),
            lambda law: law.mean(lambda x: x - law.mean() > CENTRED * law.sd),
        ),
        plain(
            m.bias_eliminated_coverage("x", "lower", "upper"),
            lambda law: law.mean(lambda x: np.abs(x - law.mean()) <= CENTRED * law.sd),
        ),
        plain(m.interval_width("x", "wide"), size),
        plain(m.interval_score("lower", "upper", "mean"), _score_above_miss),
        *(plain(measure, truth) for measure, truth in rates),
        plain(m.weighted_mean("xw", weight="w", name="weighted_mean"), Law.mean),
        plain(
            m.weighted_proportion("hit", weight="w", name="weighted_proportion"),
            lambda law: law.mean(lambda x: x > law.quantile(0.9)),
        ),
        plain(smooth, lambda law: law.mean(lambda x: -np.expm1(-np.abs(x) / 4))),
        *(
            (f"paired {name}", lambda c, of=of: _paired(*of, c), truth)
            for name, of, truth in _contrasts(rms)
        ),
    ]


def _contrasts(rms: Callable[[Law], float]) -> list[tuple[str, tuple, Callable]]:
    def rms_of_mean(law: Law) -> float:
        return float(np.sqrt(law.sd**2 / 2 + law.mean() ** 2))

    of_x, of_reject = ("x", "y"), ("reject", "r2")
    return [
        ("mean", (m.mean("x"), "x", of_x, "difference"), lambda _: 0.0),
        ("rmse", (m.rmse("x", 0.0), "x", of_x, "difference"),
         lambda law: rms(law) - rms_of_mean(law)),
        ("empirical_se, ratio", (m.empirical_se("x"), "x", of_x, "ratio"), lambda _: np.sqrt(2)),
        ("median", (m.median("x"), "x", ("x", "x_again"), "difference"), lambda _: 0.0),
        ("correlation", (m.correlation("x", "control"), "x", of_x, "difference"), None),
        ("power", (m.power("reject"), "reject", of_reject, "difference"),
         lambda law: 0.025 * law.with_effect),
    ]  # fmt: skip


def _paired(
    measure: m.Measure, column: str, names: tuple[str, str], scale: str, columns: Columns
) -> Estimates:
    first, second = ({**columns, column: columns[name]} for name in names)
    return m.paired(measure, first, second, scale=scale)


def true_value(truth: Callable[[Law], float] | None, estimate: Callable, law: Law) -> float:
    """The integral over the law; from a large sample where there is none."""
    if truth is not None:
        return float(truth(law))
    large = drawn(law, 200_000, 8, np.random.default_rng(7))
    return float(np.nanmean(estimate(completed(large, law)).estimate))


def completed(columns: Columns, law: Law) -> Columns:
    """With the law's mean, and a second sample of the same law."""
    again = np.roll(columns["x"], 1, axis=1)
    return {**columns, "mean": np.array(law.mean()), "x_again": again}


@dataclass(frozen=True)
class Cell:
    """Coverage of a measure's intervals, the share of studies with a warning, and both at once."""

    measure: str
    law: str
    n: int
    covers: float
    warned: float
    known: float


def cells(names: tuple[str, ...] = (), sizes: tuple[int, ...] = SIZES) -> Iterator[Cell]:
    for n in sizes:
        for law in laws(n):
            start = time.perf_counter()
            rng = np.random.default_rng([n, len(law.name)])
            columns = completed(drawn(law, n, N_STUDIES, rng), law)
            for name, estimate, truth in rows():
                if names and name not in names:
                    continue
                value = true_value(truth, estimate, law)
                with np.errstate(all="ignore"):
                    found = estimate(columns)
                known = ~np.isnan(found.lower)
                rounding = 1e-6 * abs(value)
                inside = (found.lower <= value + rounding) & (value - rounding <= found.upper)
                warned = np.zeros(known.shape) if found.warning is None else found.warning != ""
                share = float(known.mean())
                covers = float(inside[known].mean()) if share else np.nan
                yield Cell(name, law.name, n, covers, float(np.mean(warned)), share)
            print(n, law.name, f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


def main() -> None:
    found = list(cells(tuple(sys.argv[1:])))
    silent = [c for c in found if c.covers < 0.9 and c.warned < 0.5 and c.known >= 0.5]
    for cell in silent:
        print(cell, file=sys.stderr)
    print(len([c for c in silent if c.n >= 20]), "silent cells from n = 20 on", file=sys.stderr)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(("measure", "law", "n", "coverage", "warned"))
    order = [(law, name) for law in dict.fromkeys(c.law for c in found) for name in names_of(found)]
    for law, name in order:
        for cell in (c for c in found if (c.law, c.measure) == (law, name)):
            table.writerow((name, law, cell.n, *in_digits(cell)))


def names_of(found: list[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.measure for cell in found))


def in_digits(cell: Cell) -> tuple[str, str]:
    """Coverage and the share of warnings; both empty if most studies have no interval."""
    if cell.known < 0.5 or np.isnan(cell.covers):
        return "", ""
    return f"{cell.covers:.3f}", f"{cell.warned:.2f}"


if __name__ == "__main__":
    main()
