"""Which bootstrap interval for the mean of skewed data?

Aims         Do bootstrap intervals repair what skewness does to Student's t, and how fast do the
             errors vanish?
Data         Lognormal (sigma 1) or exponential samples of 10 to 80.
Estimands    The mean.
Methods      Student's t; percentile, basic, BCa and bootstrap-t intervals from the same 399
             resamples of each sample.
Performance  Coverage of 95%, misses on either side, width. One MCSE of a coverage of 95% is 0.24
             points at 8000 replicates.

Efron (1987), J. Am. Stat. Assoc. 82, 171-185; Hall (1988), Ann. Statist. 16, 927-953, with the
orders of error: 1/sqrt(n) on one side (1/n for BCa and bootstrap-t), and 1/n on both sides.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Study, grid, option, published
from simstudy.claims import is_more, statement
from simstudy.figures import measure_curves
from simstudy.lazy import special, stats
from simstudy.measures import coverage, interval_width, tail_miss
from simstudy.tables import in_words

SOURCE = "Efron (1987), Hall (1988)"
METHODS = ("Student", "percentile", "basic", "BCa", "bootstrap-t")
TAILS = np.array([0.025, 0.975])


@dataclass(frozen=True)
class Skewed:
    shape: str
    n_obs: int
    n_boot: int = 399

    def simulate(self, streams, n_rep):
        rng, size = streams("data"), (n_rep, self.n_obs)
        lognormal = self.shape == "lognormal"
        x = rng.lognormal(size=size) if lognormal else rng.exponential(size=size)
        picks = streams("resamples")
        limits = np.array([intervals(each, self.n_boot, picks) for each in x])
        truth = np.exp(0.5) if lognormal else 1.0
        return {"lower": limits[..., 0], "upper": limits[..., 1], "truth": np.full(n_rep, truth)}


def intervals(x, n_boot, rng):
    """All intervals of one sample, from one set of resamples: (method, 2)."""
    n_obs, center = len(x), x.mean()
    again = x[rng.integers(n_obs, size=(n_boot, n_obs))]
    means, squares = again.mean(axis=1), (again * again).mean(axis=1)
    root = np.sqrt(n_obs - 1)
    ses, se = np.sqrt(np.maximum(squares - means**2, 0)) / root, x.std() / root
    below = (np.sum(means < center) + np.sum(means == center) / 2) / n_boot
    z0 = special.ndtri(np.clip(below, 1e-3, 1 - 1e-3))
    skew = ((x - center) ** 3).sum() / (6 * ((x - center) ** 2).sum() ** 1.5)
    z = z0 + special.ndtri(TAILS)
    adjusted = special.ndtr(z0 + z / (1 - skew * z))
    quantiles = np.quantile(means, [*TAILS, *adjusted])
    pivots = np.quantile((means - center) / np.where(ses > 0, ses, np.inf), TAILS)
    return np.array([
        center + special.stdtrit(n_obs - 1, TAILS) * se,
        quantiles[:2],
        2 * center - quantiles[1::-1],
        quantiles[2:],
        center - pivots[::-1] * se,
    ])  # fmt: skip


def hall(n_obs, method, skewness=2.0):
    """Share of intervals below the mean, to order 1/sqrt(n), by default for exponential samples."""
    z = stats.norm.isf(0.025)
    terms = {"Student": 2 * z**2 + 1, "percentile": z**2 + 2, "basic": 3 * z**2}
    first_order = stats.norm.pdf(z) * skewness * terms.get(method, 0.0) / 6
    return 0.025 + first_order / np.sqrt(n_obs)


covered = {"measure": "coverage", "n_obs": 20, "shape": "lognormal"}
below = {"measure": "miss_below", "n_obs": 80, "shape": "exponential"}
wider = covered | {"measure": "interval_width"}
# statement, arguments, arguments of a wrong alternative
STATEMENTS = [
    ("Of 20 lognormal values BCa covers more often than percentile",
     covered | {"first": "BCa", "second": "percentile"}, {"first": "basic"}),
    ("Of 20 lognormal values bootstrap-t covers more often than BCa",
     covered | {"first": "bootstrap-t", "second": "BCa"}, {"first": "percentile"}),
    ("Of 20 lognormal values percentile covers more often than basic",
     covered | {"first": "percentile", "second": "basic"}, {"second": "BCa"}),
    ("Of 80 exponential values percentile lies below more often than BCa",
     below | {"first": "percentile", "second": "BCa"}, {"first": "bootstrap-t"}),
    ("Of 80 exponential values Student lies below more often than bootstrap-t",
     below | {"first": "Student", "second": "bootstrap-t"}, {"second": "basic"}),
    ("Of 20 lognormal values bootstrap-t is wider than Student",
     wider | {"first": "bootstrap-t", "second": "Student"}, {"first": "percentile"}),
]  # fmt: skip


def covers(result):
    shown = {"color": "method", "panel": "shape", "nominal": 0.95, "log_x": True}
    return measure_curves(result.summary, x="n_obs", y="coverage", **shown)


def below_mean(result):
    """Intervals below the mean, for exponential samples, with the expansion."""
    rows = result.select(shape="exponential")
    theory = {"exact": hall, "solid": "theory to order 1/sqrt(n)", "nominal": 0.025}
    return measure_curves(rows, x="n_obs", y="miss_below", panel="method", log_x=True, **theory)


@published(__file__)
class Config:
    n_obs: list[int] = option("sample sizes", at_least=5)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result):
    """Coverage at the smallest and the largest sample."""
    rows = result.select(measure="coverage", shape="lognormal")
    few, many = (rows[rows["n_obs"] == n] for n in (rows["n_obs"].min(), rows["n_obs"].max()))
    best = few.loc[few["estimate"].idxmax(), "method"]
    is_best = few["method"] == best
    covers = partial(in_words, percent=True, decimals=1)
    return (
        f"{best}: with {few['n_obs'].iloc[0]} lognormal values it covers {covers(few[is_best])} "
        f"where 95% is asked for, the others {covers(few[~is_best])}; with "
        f"{many['n_obs'].iloc[0]} it covers {covers(many[many['method'] == best])}."
    )


def study(config):
    misses = [tail_miss("lower", "upper", "truth", side=side) for side in ("below", "above")]
    return Study(
        name="bootstrap_intervals",
        scenarios=grid(Skewed, shape=["lognormal", "exponential"], n_obs=config.n_obs),
        axes={"method": METHODS},
        measures=[coverage("lower", "upper", "truth"), *misses, interval_width("lower", "upper")],
        figures={"coverage": covers, "misses": below_mean},
        labels={
            "n_obs": "sample size n (log scale)",
            "n_boot": "bootstrap samples",
            "miss_below": "intervals below the mean",
        },
        answer=answer,
        claims=[statement(words, is_more, *each, source=SOURCE) for words, *each in STATEMENTS],
        n_rep=config.n_rep,
        block_size=100,
    )
