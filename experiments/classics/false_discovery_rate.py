"""What does control of the false discovery rate gain over familywise control?

Aims         Power and error rates of tests of many hypotheses, by their number and the share of
             true nulls.
Data         m independent normal statistics; those of false nulls have means L/4, L/2, 3L/4 and L
             in equal, decreasing or increasing numbers, with L = 5.
Estimands    Which hypotheses are false.
Methods      Bonferroni, Hochberg (1988) and Benjamini-Hochberg at 0.05, two-sided; and the adaptive
             procedure of Storey (2002), with the share of nulls estimated from p above 1/2.
Performance  Average power, false discovery rate (with its exact value for Benjamini-Hochberg) and
             familywise error rate. One MCSE of an FDR of 5% is about 0.15 points.

Benjamini & Hochberg (1995), J. R. Statist. Soc. B 57, 289-300; 20,000 replicates, as there.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Study, grid, option, published
from simstudy.claims import decide, is_more, is_near, mc_margin, statement
from simstudy.figures import measure_curves
from simstudy.lazy import special
from simstudy.measures import mean, rejection_rate
from simstudy.tables import in_words

Q = 0.05
SHARES = {"equal": (1, 1, 1, 1), "decreasing": (4, 3, 2, 1), "increasing": (1, 2, 3, 4)}


@dataclass(frozen=True)
class ManyTests:
    m: int
    null_share: float
    pattern: str
    length: float = 5.0

    def means(self):
        n_false = self.m - round(self.m * self.null_share)
        shares = np.cumsum(SHARES[self.pattern]) / sum(SHARES[self.pattern])
        step = 1 + np.searchsorted(shares, (np.arange(n_false) + 0.5) / n_false)
        return np.append(np.zeros(self.m - n_false), step * self.length / 4)

    def draw(self, streams, n_rep):
        z = self.means() + streams("data").normal(size=(n_rep, self.m))
        return {"p": 2 * special.ndtr(-np.abs(z))}

    def exact(self):
        """The FDR of the step-up of independent tests: Q times the share of true nulls."""
        fdr = Q * np.mean(self.means() == 0)
        return {"fdr": np.array([np.nan, np.nan, fdr, np.nan])}


def bonferroni(p, scenario):
    return scored(p <= Q / p.shape[1], scenario)


def hochberg(p, scenario):
    return scored(step_up(p, Q / np.arange(p.shape[1], 0, -1)), scenario)


def benjamini_hochberg(p, scenario):
    return scored(step_up(p, Q * np.arange(1, p.shape[1] + 1) / p.shape[1]), scenario)


def storey(p, scenario):
    m = p.shape[1]
    nulls = np.minimum(2 * ((p > 0.5).sum(axis=1, keepdims=True) + 1), m)
    limits = np.minimum(Q * np.arange(1, m + 1) / nulls, 0.5)
    return scored(step_up(p, limits), scenario)


def step_up(p, limits):
    """Reject all up to the largest ordered p-value that is within its limit."""
    ordered = np.sort(p, axis=1)
    largest = np.where(ordered <= limits, ordered, -1).max(axis=1, keepdims=True)
    return p <= largest


def scored(reject, scenario):
    is_null = scenario.means() == 0
    wrong, power = reject[:, is_null].sum(axis=1), reject[:, ~is_null].mean(axis=1)
    return {"power": power, "fdp": wrong / np.maximum(reject.sum(axis=1), 1), "any": wrong > 0}


def keeps_power(result, method):
    """Whether power falls by less than 0.1 from 4 to 64 tests, for false nulls only."""
    where = {"method": method, "null_share": 0, "pattern": "equal"}
    few, many = (result.row("power", m=m, **where) for m in (4, 64))
    loss, error = few["estimate"] - many["estimate"], np.hypot(few["mcse"], many["mcse"])
    return decide(0.1 - loss, mc_margin(error, few["n_rep"]), f"power falls by {loss:.3f}")


gain = {"measure": "power", "by": -1e-3}  # no less, to a thousandth
fdr_of_bh = {"measure": "fdr", "method": "BH", "value": "exact", "margin": 0.01}
# statement, check, arguments, arguments of a wrong alternative, whether it is scored
STATEMENTS = [
    ("Benjamini-Hochberg has at least the power of Hochberg",
     is_more, gain | {"first": "BH", "second": "Hochberg"}, {"first": "Bonferroni"}),
    ("Hochberg has at least the power of Bonferroni",
     is_more, gain | {"first": "Hochberg", "second": "Bonferroni"}, {"second": "BH"}),
    ("Power against many tests is lost slowly",
     keeps_power, {"method": "BH"}, "Bonferroni"),
    ("The FDR is the share of true nulls times q", is_near, fdr_of_bh, {"value": Q}),
    ("Storey's procedure has at least the power of Benjamini-Hochberg",
     is_more, gain | {"first": "Storey", "second": "BH"}, {"first": "Hochberg"}, False),
]  # fmt: skip


def curves(result, y, nominal=None):
    rows = result.summary.rename(columns={"null_share": "true nulls"})
    shown = {"color": "method", "panel": "true nulls", "rows": "pattern", "log_x": True}
    return measure_curves(rows, x="m", y=y, nominal=nominal, **shown)


@published(__file__)
class Config:
    m: list[int] = option("hypotheses", at_least=4)
    null_share: list[float] = option("share of true nulls", at_least=0, below=1)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result):
    """Mean power and largest error rates of each procedure."""
    power = result.select(measure="power").groupby("method")["estimate"].mean()

    def most(measure, method):
        rows = result.select(measure=measure, method=method)
        return in_words(rows.loc[rows["estimate"].idxmax()], percent=True, decimals=1)

    return (
        f"Power: on average over these cases {power['BH']:.0%} with Benjamini and Hochberg's "
        f"procedure and {power['Hochberg']:.0%} with Hochberg's. The price is familywise error, "
        f"up to {most('fwer', 'BH')} and {most('fwer', 'Hochberg')}, while the largest false "
        f"discovery rate is {most('fdr', 'BH')}."
    )


def study(config):
    tests = {"Bonferroni": bonferroni, "Hochberg": hochberg, "BH": benjamini_hochberg}
    factors = {"m": config.m, "null_share": config.null_share, "pattern": list(SHARES)}
    rates = mean("fdp", name="fdr"), rejection_rate("any", name="fwer")
    return Study(
        name="false_discovery_rate",
        scenarios=grid(ManyTests, **factors),
        methods=tests | {"Storey": storey},
        measures=[mean("power", name="power"), *rates],
        figures={"power": partial(curves, y="power"), "fdr": partial(curves, y="fdr", nominal=Q)},
        labels={"m": "hypotheses m (log scale)", "fdr": "false discovery rate"},
        answer=answer,
        claims=[statement(*each, source="sections 3 and 4") for each in STATEMENTS],
        n_rep=config.n_rep,
    )
