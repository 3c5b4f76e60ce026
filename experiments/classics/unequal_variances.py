"""Student, Welch or Wilcoxon under unequal variances?

Aims         Which test of two samples keeps 5% when variances and sizes differ, and at what cost?
Data         Samples of sizes (10, 10), (10, 30) and (30, 10), the second with a standard deviation
             of 1, 2 or 4; normal, or lognormal about its mean.
Estimands    The difference of means: 0, or one root mean square of the standard deviations.
Methods      Student's and Welch's t, the rank-sum test of Wilcoxon, and that of Brunner and Munzel
             (2000), which lets variances differ.
Performance  Rejection rate at 5%, beside its exact value for t tests of normal samples. One MCSE
             is 0.15 points of a size of 5% at 20,000 replicates.

Welch (1938), Biometrika 29, 350-362; Pratt (1964), J. Am. Stat. Assoc. 59, 665-680; for the reach
of such statements see Zimmerman (2004), Psicologica 25, 103-133.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Claim, Rival, Study, grid, option, published, together
from simstudy.claims import chance_reach, decided
from simstudy.figures import measure_curves
from simstudy.lazy import pd, special, stats
from simstudy.measures import rejection_rate_at
from simstudy.stats.two_sample import theory


@dataclass(frozen=True)
class TwoSamples:
    n1: int
    n2: int
    sd: float
    shape: str = "normal"
    shift: float = 0.0

    def draw(self, streams, n_rep):
        rng = streams("data")
        x, y = (self.noise(rng, (n_rep, n)) for n in (self.n1, self.n2))
        return {"x": x, "y": self.sd * y + self.shift * np.sqrt((1 + self.sd**2) / 2)}

    def noise(self, rng, size):
        if self.shape == "normal":
            return rng.normal(size=size)
        return (rng.lognormal(size=size) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)

    def exact(self):
        if self.shape != "normal":
            return {"rejection_rate": np.full(4, np.nan)}
        scale = np.sqrt((1 + self.sd**2) / 2) / np.sqrt(1 / self.n1 + self.sd**2 / self.n2)
        known = theory.student_rejection, theory.welch_rejection
        rates = [of(self.n1, self.n2, self.sd**-2, effect=self.shift * scale) for of in known]
        return {"rejection_rate": np.array([*rates, np.nan, np.nan])}


def student(x, y):
    return {"p": stats.ttest_ind(x, y, axis=1).pvalue}


def welch(x, y):
    return {"p": stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue}


def wilcoxon(x, y):
    return {"p": stats.mannwhitneyu(x, y, axis=1, method="asymptotic").pvalue}


def brunner_munzel(x, y):
    """Welch's idea for ranks: each sample has a variance of its placements among the other."""
    n1, n2 = x.shape[1], y.shape[1]
    ranks = stats.rankdata(np.hstack([x, y]), axis=1)
    places = ranks[:, :n1] - stats.rankdata(x, axis=1), ranks[:, n1:] - stats.rankdata(y, axis=1)
    shares = [each.mean(axis=1) / n for each, n in zip(places, (n2, n1), strict=True)]
    v1, v2 = places[0].var(axis=1, ddof=1) / n2**2 / n1, places[1].var(axis=1, ddof=1) / n1**2 / n2
    t = (shares[0] - shares[1]) / 2 / np.sqrt(np.maximum(v1 + v2, 1e-12))
    df = (v1 + v2) ** 2 / np.maximum(v1**2 / (n1 - 1) + v2**2 / (n2 - 1), 1e-24)
    return {"p": 2 * special.stdtr(np.maximum(df, 1), -np.abs(t))}


def compare(result, method, level, sign, n1=30, n2=10, sd=4.0, shape="normal"):
    """Whether the size is above a level (sign 1), below it (-1), or everywhere near 5% (0)."""
    if sign:
        chosen = {"n1": n1, "n2": n2, "sd": sd, "shape": shape, "shift": 0.0, "method": method}
        rows = pd.DataFrame([result.row("rejection_rate", **chosen)])
        excess = sign * (rows["estimate"] - level)
    else:
        rows = result.summary.query(f"method == '{method}' and shape == '{shape}' and shift == 0")
        excess = level - (rows["estimate"] - 0.05).abs()
    reach = chance_reach(rows["mcse"], rows["n_rep"], len(rows))
    return decided(excess, reach, ", ".join(f"{rate:.4f}" for rate in rows["estimate"]))


liberal = partial(compare, level=0.075, sign=1)
conservative = partial(compare, level=0.025, sign=-1, n1=10, n2=30)
kept = partial(compare, level=0.015, sign=0)
STATEMENTS = [  # what holds for the first method and must not for the second
    ("Student's test is liberal if the smaller sample varies more", liberal, "Student", "Welch"),
    ("It is conservative if the larger sample varies more", conservative, "Student", "Welch"),
    ("Wilcoxon's test is no remedy for unequal variances", liberal, "Wilcoxon", "Welch"),
    ("Of normal samples Welch's test keeps 5% to 1.5 points", kept, "Welch", "Student"),
]


def claims():
    source, note = "Welch (1938), Pratt (1964)", "Liberal is beyond 7.5%, conservative below 2.5%."
    for words, check, method, other in STATEMENTS:
        found, rival = partial(check, method=method), Rival(other, partial(check, method=other))
        yield Claim(words, words, source, found, True, rival=rival, note=note)
    words, normal = "Skewness makes Welch's test liberal", partial(liberal, method="Welch")
    skewed, rival = partial(normal, shape="lognormal"), Rival("normal samples", normal)
    yield Claim(words, words, source, skewed, True, rival=rival, note=note, ours=True)


def with_sizes(result, where):
    rows = result.summary.query(where)
    return rows.assign(sizes=rows["n1"].astype(str) + " and " + rows["n2"].astype(str))


def size(result):
    rows = with_sizes(result, "shift == 0")
    shown = {"color": "method", "panel": "sizes", "rows": "shape", "nominal": 0.05}
    return measure_curves(rows, x="sd", y="rejection_rate", log_x=True, **shown)


def power(result):
    """What each test finds, where its size is right: the cost of its protection."""
    rows = with_sizes(result, "shift == 1")
    shown = {"color": "method", "panel": "sizes", "rows": "shape"}
    return measure_curves(rows, x="sd", y="rejection_rate", log_x=True, **shown)


@published(__file__)
@dataclass
class Config:
    sd: list[float] = option("standard deviation of the second sample", above=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def study(config):
    sizes = together(n1=[10, 10, 30], n2=[10, 30, 10])
    factors = {"sd": config.sd, "shape": ["normal", "lognormal"], "shift": [0.0, 1.0]}
    tests = {"Student": student, "Welch": welch, "Wilcoxon": wilcoxon}
    return Study(
        name="unequal_variances",
        scenarios=grid(TwoSamples, sizes, **factors),
        methods=tests | {"Brunner-Munzel": brunner_munzel},
        measures=[rejection_rate_at("p")],
        figures={"size": size, "power": power},
        labels={"sd": "standard deviation of the second sample (log scale)"},
        claims=list(claims()),
        n_rep=config.n_rep,
    )
