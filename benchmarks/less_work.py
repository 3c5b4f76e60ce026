"""What conditional expectations, groups and weights save on a two-stage trial.

`python -m benchmarks.less_work` prints the tables of `benchmarks/README.md`; with that file's
name after it, puts them there.
"""

import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from benchmarks.pages import print_or_put
from simstudy import Result, Rules, Study, grid
from simstudy.design.plan import number_factors
from simstudy.documents.stats.two_stage import critical_value
from simstudy.documents.stats.two_stage import power as power_of_trial
from simstudy.measures import (
    Measure,
    MeasureContext,
    conditional,
    mean,
    power,
    type_1_error,
    weighted_proportion,
)
from simstudy.measures.core import bind

PAIR = 2  # replicates in a group of antithetic draws
SMALLEST = 2.0**-54  # half of the smallest uniform above 0, in place of 0


def antithetic_normals(rng, n_rep, n_obs):
    """Standard normals in pairs of replicates: z, and -z after it."""
    first = rng.standard_normal((n_rep // PAIR, n_obs))
    return np.stack([first, -first], axis=1).reshape(n_rep, n_obs)


def stratified_normals(rng, n_rep, n_obs, *, n_strata):
    """Standard normals in groups; each group has one draw in every stratum (Latin hypercube)."""
    groups = (n_rep // n_strata, n_strata, n_obs)
    order = rng.random(groups).argsort(axis=1, kind="stable")
    uniforms = ((order + rng.random(groups)) / n_strata).reshape(n_rep, n_obs)
    return special.ndtri(np.maximum(uniforms, SMALLEST))


@functools.cache
def limit_of(alpha, k, n1, n2):
    """The critical value, solved once for all blocks of a scenario."""
    return float(critical_value(alpha, k, n1, n2))


def outcome(trial, errors):
    """The outcome of a trial from the errors of its two means, in standard errors of each.

    `p_reject` is the probability of rejecting, given the first stage alone.
    """
    z1, z2 = errors.T
    limit = limit_of(trial.alpha, trial.k, trial.n1, trial.n2)
    distance, r = z1 + trial.k, np.sqrt(trial.n2 / trial.n1)
    s2 = z2 - r * distance
    return {
        "s2": s2,
        "null_is_false": distance > 0,
        "null_is_true": distance <= 0,
        "reject": s2 < limit,
        "p_reject": special.ndtr(limit + r * distance),
    }


@dataclass(frozen=True)
class TwoStageInGroups:
    """A two-stage trial whose errors are independent, antithetic, or stratified in groups."""

    k: float
    n1: int
    n2: int
    alpha: float = 0.05
    draws: str = "independent"
    group_size: int = 1

    def simulate(self, streams, n_rep):
        rng = streams("data")
        if self.draws == "antithetic":
            return outcome(self, antithetic_normals(rng, n_rep, 2))
        if self.draws == "stratified":
            return outcome(self, stratified_normals(rng, n_rep, 2, n_strata=self.group_size))
        return outcome(self, rng.standard_normal((n_rep, 2)))

    def exact(self):
        return {
            "power": float(power_of_trial(self.alpha, self.k, self.n1, self.n2)),
            "type_1_error": self.alpha,
            "mean_s2": -self.k * float(np.sqrt(self.n2 / self.n1)),
        }


@dataclass(frozen=True)
class TwoStageWhereItRejects:
    """A two-stage trial of which a share is drawn around the likeliest rejection of a true null.

    `weight` is the likelihood ratio of a trial, given that the null is true, over what was drawn.
    """

    k: float
    n1: int
    n2: int
    alpha: float = 0.05
    shifted: float = 1.0

    def simulate(self, streams, n_rep):
        center = np.array([-self.k, limit_of(self.alpha, self.k, self.n1, self.n2)])
        errors = streams("data").standard_normal((n_rep, 2))
        moved = streams("where").random(n_rep) < self.shifted
        errors = errors + moved[:, None] * center
        columns = outcome(self, errors)
        with np.errstate(over="ignore"):  # weight 0 there
            density = np.exp(errors @ center - center @ center / 2)
        weight = columns["null_is_true"] / (self.shifted * density + 1 - self.shifted)
        return {**columns, "weight": weight / special.ndtr(-self.k)}

    def exact(self):
        return {"type_1_error": self.alpha}


N_REP, N_RUNS = 2_000_000, 1000  # the runs are pieces of one: 2,000 replicates each
SAID = 100_000  # replicates, of which the page says what they are worth
TRIAL = {"k": 1.5, "n1": 100, "n2": 200}
RARE = {**TRIAL, "alpha": 1e-6}

POWER = power("reject", given="null_is_false")
SIZE = type_1_error("reject", given="null_is_true")
EXPECTED_POWER = conditional(mean("p_reject", given="null_is_false"), raw=POWER)
EXPECTED_SIZE = conditional(mean("p_reject", given="null_is_true"), raw=SIZE)


@dataclass(frozen=True)
class Way:
    """A way to estimate, and the study that it takes."""

    label: str
    measure: Measure
    exact: str
    draws: dict[str, object] = field(default_factory=dict)

    def result(self) -> Result:
        size = int(str(self.draws.get("group_size", 1)))
        kind = TwoStageWhereItRejects if "shifted" in self.draws else TwoStageInGroups
        trial = RARE if "shifted" in self.draws else TRIAL
        scenarios = grid(kind, **trial, **self.draws)
        study = Study("less_work", scenarios, [self.measure], rules=Rules(group_size=size))
        return study.run(N_REP, backend="inline", n_jobs=1)

    def row(self, plain: float) -> list[str]:
        """The whole run against theory, and its pieces against their own errors.

        Parameters
        ----------
        plain
            Variance of the plain measure over pieces.
        """
        result = self.result()
        (scenario,) = result.plan.scenarios
        exact, found = scenario.exact()[self.exact], result.summary.iloc[0]
        pieces = of_pieces(result, self.measure)
        stated = float(found.get("variance_reduction", 1.0))
        covered = np.mean((pieces.lower <= exact) & (exact <= pieces.upper))
        numbers = [
            rounded(found["estimate"], found["mcse"]),
            rounded(found["mcse"], found["mcse"]),
            f"{(found['estimate'] - exact) / found['mcse']:+.1f}".replace("-", "−"),
            ratio_in_words(stated),
            ratio_in_words(plain / float(np.mean((pieces.estimate - exact) ** 2))),
            worth(SAID * stated),
            f"{covered:.3f}",
        ]
        return [self.label, *numbers]


def rounded(value: float, error: float) -> str:
    """A number with two digits of its error; small ones as powers of ten."""
    if error < 1e-5:
        return f"{value:.3g}" if value > 10 * error else f"{value:.2g}"
    return f"{value:.{1 - int(np.floor(np.log10(error)))}f}"


def worth(n: float) -> str:
    """A number of replicates, to three digits."""
    return f"{float(f'{n:.3g}'):,.0f}"


def ratio_in_words(ratio: float) -> str:
    return f"{ratio:,.2f}" if ratio < 10 else f"{ratio:,.0f}"


def of_pieces(result: Result, measure: Measure):
    """The measure of each piece of a run: pieces are an axis."""
    (scenario,) = result.plan.scenarios
    factors = {name for name in measure.reads if name in number_factors(scenario)}
    names = [name for name in measure.reads if name not in factors]
    columns = result.columns(scenario, *names)
    cut = {name: column.reshape(N_RUNS, -1).T for name, column in columns.items()}
    constants = {name: np.asarray(number_factors(scenario)[name]) for name in factors}
    context = MeasureContext({}, "less_work", 1, result.plan.rules.group_size)
    return bind(measure, context).estimate({**cut, **constants})


ANTITHETIC = {"draws": "antithetic", "group_size": 2}
STRATIFIED = {"draws": "stratified", "group_size": 20}

POWERS = [
    Way("plain", POWER, "power"),
    Way("conditional expectation", EXPECTED_POWER, "power"),
    Way("antithetic pairs", POWER, "power", ANTITHETIC),
    Way("20 strata", POWER, "power", STRATIFIED),
    Way("20 strata, conditional expectation", EXPECTED_POWER, "power", STRATIFIED),
]
SIZES = [
    Way("plain", SIZE, "type_1_error"),
    Way("conditional expectation", EXPECTED_SIZE, "type_1_error"),
    Way("antithetic pairs", SIZE, "type_1_error", ANTITHETIC),
]
RARES = [
    Way(label, weighted_proportion("reject", weight="weight"), "type_1_error", {"shifted": shifted})
    for shifted, label in [(1.0, "all shifted"), (0.5, "half of them shifted")]
]

HEAD = [
    *("way", "estimate", "MCSE", "z", "variance reduction", "measured", f"worth of {SAID:,}"),
    "coverage",
]  # fmt: skip


def table(ways: Sequence[Way], plain: float) -> str:
    """As Markdown."""
    rows = [HEAD, ["---", *["---:"] * (len(HEAD) - 1)], *(way.row(plain) for way in ways)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def plain_variance(way: Way) -> float:
    """Of the plain measure, over pieces."""
    result = way.result()
    exact = result.plan.scenarios[0].exact()[way.exact]
    return float(np.mean((of_pieces(result, way.measure).estimate - exact) ** 2))


def tables() -> str:
    """Power, size, and a size that is rare."""
    alpha = RARE["alpha"]
    binomial = alpha * (1 - alpha) * N_RUNS / N_REP  # nobody waits for the plain measure
    titles = [
        ("Power, given that the null is false:", POWERS, plain_variance(POWERS[0])),
        ("Type-I error, given that the null is true:", SIZES, plain_variance(SIZES[0])),
        ("Type-I error at α = 0.000001:", RARES, binomial),
    ]
    return "\n\n".join(f"{title}\n\n{table(ways, plain)}" for title, ways, plain in titles)


if __name__ == "__main__":
    print_or_put(tables(), sys.argv[1:], "less work")
