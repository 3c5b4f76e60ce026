"""Which interval for a proportion covers it?

Aims         How erratic is the coverage of the Wald interval, and what should replace it?
Data         One binomial count: n = 50 over p, and the paper's lucky and unlucky n and p.
Estimands    p.
Methods      Wald, Wilson, Agresti-Coull, Jeffreys and Clopper-Pearson intervals at 95%, computed
             once for each possible count.
Performance  Coverage, with its exact value, a sum over all counts. One MCSE is 0.15 points of a
             coverage of 95% at 20,000 replicates.

Brown, Cai & DasGupta (2001), Statistical Science 16, 101-133. Claims are compared with the
exact values; a separate claim is that the simulation agrees with them.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Claim, Finding, Study, WrongValue, option, published
from simstudy.claims import is_near, statement
from simstudy.figures import caption, captions, colors_of, in_order, measure_curves, theme_study
from simstudy.lazy import p9, pd, special, stats
from simstudy.measures import rejection_rate

Z = 1.959963984540054


def wald(x, n):
    return x / n + Z * np.sqrt(x / n * (1 - x / n) / n) * np.array([[-1], [1]])


def wilson(x, n):
    half = Z * np.sqrt(n) / (n + Z**2) * np.sqrt(x / n * (1 - x / n) + Z**2 / (4 * n))
    return (x + Z**2 / 2) / (n + Z**2) + half * np.array([[-1], [1]])


def agresti_coull(x, n):
    return wald(x + Z**2 / 2, n + Z**2)


def from_beta(x, n, a, b):
    """Quantiles of beta(x + a, n - x + b) below and of beta(x + b, n - x + a) above."""
    lower = special.betaincinv(np.maximum(x + a, 1e-9), n - x + b, 0.025)
    upper = special.betaincinv(x + b, np.maximum(n - x + a, 1e-9), 0.975)
    return np.array([np.where(x == 0, 0, lower), np.where(x == n, 1, upper)])


METHODS = {
    "Wald": wald,
    "Wilson": wilson,
    "Agresti-Coull": agresti_coull,
    "Jeffreys": partial(from_beta, a=0.5, b=0.5),
    "Clopper-Pearson": partial(from_beta, a=0, b=1),
}


@dataclass(frozen=True)
class Count:
    n: int
    p: float

    def covers(self):
        """Whether the interval of each count covers p, by each method: (count, method)."""
        limits = [method(np.arange(self.n + 1), self.n) for method in METHODS.values()]
        return np.column_stack([(lower <= self.p) & (self.p <= upper) for lower, upper in limits])

    def simulate(self, streams, n_rep):
        return {"covers": self.covers()[streams("data").binomial(self.n, self.p, size=n_rep)]}

    def exact(self):
        weights = stats.binom.pmf(np.arange(self.n + 1), self.n, self.p)
        return {"coverage": weights @ self.covers()}


def holds(result, method, criterion):
    """Whether a criterion holds for a method's exact coverages, those over p at n = 50 first."""
    found = result.select(method=method)["exact"].to_numpy()
    said = f"mean {found[:N_P].mean():.4f}, least {found.min():.4f}"
    return Finding(float(criterion(found)), detail=said)


N_P = 25
PRINTED = [(30, 0.2, 0.946), (98, 0.2, 0.928), (17, 0.5, 0.951), (40, 0.5, 0.919)]
PRINTED += [(591, 0.005, 0.945), (592, 0.005, 0.792)]  # n, p, coverage of Wald in examples 1 to 3
unlucky = {"criterion": lambda c: c[-1] < c[-2] - 0.1}  # n = 592 and 591
on_average = {"criterion": lambda c: abs(c[:N_P].mean() - 0.95) < 0.01}
summed = {"measure": "coverage", "value": "exact", "margin": 0.03}
never_below = {"criterion": lambda c: c.min() >= 0.95}
# statement, check, arguments, arguments of a wrong alternative, whether it is scored
STATEMENTS = [
    ("One observation more can cost Wald's interval ten points",
     holds, unlucky | {"method": "Wald"}, "Wilson"),
    ("Wilson's interval covers 95% on average over p",
     holds, on_average | {"method": "Wilson"}, "Wald"),
    ("Agresti and Coull's covers 95% on average over p",
     holds, on_average | {"method": "Agresti-Coull"}, "Wald"),
    ("Jeffreys' interval covers 95% on average over p",
     holds, on_average | {"method": "Jeffreys"}, "Wald"),
    ("Clopper and Pearson's never covers less",
     holds, never_below | {"method": "Clopper-Pearson"}, "Jeffreys"),
    ("The sum over counts is what a simulation of Wald's finds",
     is_near, summed | {"method": "Wald"}, {"value": 0.95}, False),
]  # fmt: skip


def printed(n, p, known):
    """A claim about the exact coverage of Wald's interval at its nominal level."""
    words = f"Wald's interval covers p = {p} with probability {known} at n = {n}"
    check = lambda result: result.row("coverage", n=n, p=p, method="Wald")["exact"]  # noqa: E731
    rival = WrongValue("the level asked for", lambda _: 0.95)
    return Claim(words, words, "examples 1 to 3", check, known, rounding=5e-4, wrong_value=rival)


def exact(counts, **index):
    """The exact coverage for several counts, a row per count and method."""
    table = pd.DataFrame([count.exact()["coverage"] for count in counts], columns=[*METHODS])
    return table.assign(**index).melt([*index], var_name="method", value_name="exact")


def over_p(result):
    p = np.linspace(0.02, 0.98, 961)
    theory = exact([Count(50, each) for each in p], p=p)
    shown = {"panel": "method", "nominal": 0.95, "exact": False, "joined": False}
    figure = measure_curves(result.select(n=50).drop(columns="n"), x="p", y="coverage", **shown)
    exact_by = theory.assign(panel=in_order(theory["method"], {name: name for name in METHODS}))
    line = p9.geom_line(p9.aes("p", "exact"), exact_by, size=0.35, inherit_aes=False)
    words = f"{captions.LINES} 50 observations. Each interval has a scale of its own."
    return (
        captions.add_words(figure, words)
        + line
        + p9.facet_wrap("panel", scales="free_y")
        + p9.scale_x_continuous(breaks=[0, 0.5, 1], labels=["0", "0.5", "1"])
    )


def least(_):
    n, p = (each.ravel() for each in np.meshgrid(np.arange(10, 201, 5), np.linspace(0.1, 0.5, 41)))
    theory = exact(map(Count, n, p), n=n, p=p).groupby(["method", "n"], as_index=False).min()
    words = "The least coverage over p from 0.1 to 0.9, exact. Dashed: the level asked for."
    return (
        p9.ggplot(theory, p9.aes("n", "exact", color="method"))
        + p9.geom_hline(yintercept=0.95, linetype="dashed")
        + p9.geom_line()
        + p9.scale_color_manual(values=colors_of(sorted(METHODS)))
        + theme_study()
        + p9.labs(x="sample size n", y="least coverage", color="", caption=caption(words))
    )


@published(__file__)
class Config:
    n_rep: int = option("replicates of each n and p", at_least=1)


def answer(result):
    """The least and the mean coverage of each interval."""
    by_method = result.select(measure="coverage").groupby("method")["estimate"]
    least, mean = by_method.min(), by_method.mean()
    words = [f"{name} {least[name]:.1%} and {mean[name]:.1%}" for name in least.index]
    return (
        f"{(mean - 0.95).abs().idxmin()} is closest to 95% on average; {least.idxmax()} has the "
        f"largest coverage at worst. At worst and on average: {', '.join(words)}."
    )


def study(config):
    points = [(50, round(p, 2)) for p in np.arange(0.02, 1, 0.04)] + [each[:2] for each in PRINTED]
    return Study(
        name="binomial_intervals",
        scenarios=[Count(n, p) for n, p in points],
        axes={"method": tuple(METHODS)},
        measures=[rejection_rate("covers", name="coverage")],
        figures={"over_p": over_p, "least": least},
        labels={"p": "probability p"},
        answer=answer,
        claims=[printed(*each) for each in PRINTED]
        + [statement(*each, source="text") for each in STATEMENTS],
        n_rep=config.n_rep,
        block_size=5000,
    )
