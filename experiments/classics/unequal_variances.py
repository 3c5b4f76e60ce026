"""Student, Welch or Wilcoxon under unequal variances?

Aims         Which test of two samples keeps 5% when variances and sizes differ, and at what cost?
Data         Samples of sizes (10, 10), (10, 30) and (30, 10), the second with a standard deviation
             of 1, 2 or 4; normal, or lognormal about its mean.
Estimands    The difference of means: 0, or one root mean square of the standard deviations.
Methods      Student's and Welch's t, the rank-sum test of Wilcoxon, and that of Brunner and Munzel
             (2000), which lets variances differ.
Performance  Rejection rate at 5%, with its exact value for t tests of normal samples. One MCSE
             is 0.15 points of a size of 5% at 20,000 replicates.

Welch (1938), Biometrika 29, 350-362; Pratt (1964), J. Am. Stat. Assoc. 59, 665-680; for the reach
of such statements see Zimmerman (2004), Psicologica 25, 103-133.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Study, grid, option, published, zipped
from simstudy.claims import is_above, is_below, is_near, statement
from simstudy.figures import captions, measure_curves
from simstudy.lazy import p9, special, stats
from simstudy.measures import rejection_rate
from simstudy.tables import in_words


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
        rates = [t_test_rejection(self, pooled=pooled) for pooled in (True, False)]
        return {"rejection_rate": np.array([*rates, np.nan, np.nan])}


def t_test_rejection(of, *, pooled, alpha=0.05, n_nodes=200):
    """Exact rejection rate of Student's or Welch's test of normal samples.

    Given the share of the first sample in the sum of squares, which is a beta variate, the degrees
    of freedom are fixed and the statistic is a multiple of a noncentral t (Wang 1971, J. Am. Stat.
    Assoc. 66, 605-608). The beta variate is integrated out by Gauss-Jacobi quadrature.
    """
    df1, df2 = of.n1 - 1, of.n2 - 1
    nodes, weights = special.roots_jacobi(n_nodes, df2 / 2 - 1, df1 / 2 - 1)
    share, df = (1 + nodes) / 2, df1 + df2
    true = 1 / of.n1 + of.sd**2 / of.n2  # variance of the difference of means
    v1, v2 = share * df / df1 / of.n1, (1 - share) * df / df2 * of.sd**2 / of.n2
    if pooled:
        estimate, test_df = (v1 * of.n1 * df1 + v2 * of.n2 * df2) / df * (1 / of.n1 + 1 / of.n2), df
    else:
        estimate, test_df = v1 + v2, (v1 + v2) ** 2 / (v1**2 / df1 + v2**2 / df2)
    effect = of.shift * np.sqrt((1 + of.sd**2) / 2 / true)
    reach = special.stdtrit(test_df, 1 - alpha / 2) * np.sqrt(estimate / true)
    rejected = special.nctdtr(df, -effect, -reach) + special.nctdtr(df, effect, -reach)
    return weights @ rejected / weights.sum()


def student(x, y):
    return {"p": stats.ttest_ind(x, y, axis=1).pvalue}


def welch(x, y):
    return {"p": stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue}


def wilcoxon(x, y):
    return {"p": stats.mannwhitneyu(x, y, axis=1, method="asymptotic").pvalue}


def brunner_munzel(x, y):
    """Welch's test for ranks: each sample has its own variance of placements in the other."""
    n1, n2 = x.shape[1], y.shape[1]
    ranks = stats.rankdata(np.hstack([x, y]), axis=1)
    places = ranks[:, :n1] - stats.rankdata(x, axis=1), ranks[:, n1:] - stats.rankdata(y, axis=1)
    shares = [each.mean(axis=1) / n for each, n in zip(places, (n2, n1), strict=True)]
    v1, v2 = places[0].var(axis=1, ddof=1) / n2**2 / n1, places[1].var(axis=1, ddof=1) / n1**2 / n2
    t = (shares[0] - shares[1]) / 2 / np.sqrt(np.maximum(v1 + v2, 1e-12))
    df = (v1 + v2) ** 2 / np.maximum(v1**2 / (n1 - 1) + v2**2 / (n2 - 1), 1e-24)
    return {"p": 2 * special.stdtr(np.maximum(df, 1), -np.abs(t))}


SOURCE = {"source": "Welch (1938), Pratt (1964)"}
SOURCE |= {"note": "Liberal is beyond 7.5%, conservative below 2.5%."}
size = {"measure": "rejection_rate", "shift": 0.0, "shape": "normal"}
liberal = size | {"limit": 0.075, "n1": 30, "n2": 10, "sd": 4.0}
conservative = size | {"limit": 0.025, "n1": 10, "n2": 30, "sd": 4.0}
kept = size | {"value": 0.05, "margin": 0.015}
# statement, check, arguments, arguments of a wrong alternative, whether it is scored
STATEMENTS = [
    ("Student's test is liberal if the smaller sample varies more",
     is_above, liberal | {"method": "Student"}, "Welch"),
    ("It is conservative if the larger sample varies more",
     is_below, conservative | {"method": "Student"}, "Welch"),
    ("Wilcoxon's test is no remedy for unequal variances",
     is_above, liberal | {"method": "Wilcoxon"}, "Welch"),
    ("Of normal samples Welch's test keeps 5% to 1.5 points",
     is_near, kept | {"method": "Welch"}, "Student"),
    ("Skewness makes Welch's test liberal", is_above,
     liberal | {"method": "Welch", "shape": "lognormal"}, {"shape": "normal"}, False),
]  # fmt: skip


MEANS = {
    0: "Means are equal.",
    1: "Means differ by 1 in units of √((1 + sd²)/2), where sd is the second standard deviation.",
}


def curves(result, shift, nominal=None):
    """Rejection rates without a shift (size) or with one (power)."""
    rows = result.select(shift=shift).drop(columns="shift")
    rows = rows.assign(sizes="sizes " + rows["n1"].astype(str) + " and " + rows["n2"].astype(str))
    shown = {"color": "method", "panel": "sizes", "rows": "shape", "nominal": nominal}
    figure = measure_curves(rows, x="sd", y="rejection_rate", log_x=True, **shown)
    title = p9.labs(y="power" if shift else "type-I error")
    return captions.add_words(figure, MEANS[shift], "First standard deviation: 1.") + title


@published(__file__)
class Config:
    sd: list[float] = option("standard deviation of the second sample", above=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result):
    """The range of each test's size."""

    def says(shape, method):
        rows = result.select(shift=0.0, shape=shape, method=method)
        return f"{method} {in_words(rows, percent=True, decimals=1)}"

    return [
        "Welch, if data are normal: where 5% is asked for, "
        f"{says('normal', 'Welch')}, {says('normal', 'Student')}, {says('normal', 'Wilcoxon')}.",
        "With lognormal data none keeps its level: "
        f"{says('lognormal', 'Welch')}, {says('lognormal', 'Wilcoxon')}.",
    ]


def study(config):
    sizes = zipped(n1=[10, 10, 30], n2=[10, 30, 10])
    factors = {"sd": config.sd, "shape": ["normal", "lognormal"], "shift": [0.0, 1.0]}
    tests = {"Student": student, "Welch": welch, "Wilcoxon": wilcoxon}
    return Study(
        name="unequal_variances",
        scenarios=grid(TwoSamples, sizes, **factors),
        methods=tests | {"Brunner-Munzel": brunner_munzel},
        measures=[rejection_rate(p_value="p")],
        figures={"size": partial(curves, shift=0, nominal=0.05), "power": partial(curves, shift=1)},
        labels={"sd": "standard deviation of the second sample (log scale)"},
        answer=answer,
        claims=[statement(*each, **SOURCE) for each in STATEMENTS],
        n_rep=config.n_rep,
    )
