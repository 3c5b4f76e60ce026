"""Best subset, forward stepwise, lasso or relaxed lasso?

Aims         Which of them predicts best, by the signal-to-noise ratio?
Data         100 observations of 10 normal features, correlated by 0.35^|i-j|; the first 5 have a
             coefficient of 1; noise for a signal-to-noise ratio of 0.05 to 6. Another 100
             observations tune each method.
Estimands    The regression function.
Methods      Best subset (all 1023), forward stepwise, the lasso at 50 penalties, and the relaxed
             lasso, its 10 mixtures with least squares of the same features; by coordinate descent
             and batched solves for all replicates of a block at once.
Performance  Test error relative to the noise, share of variance explained, nonzero coefficients;
             differences are paired. One MCSE of a difference is about 0.001 at 1000 replicates; the
             paper had 10.

Hastie, Tibshirani & Tibshirani (2020), Statistical Science 35, 579-592: their low setting.
"""

from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from simstudy import Study, grid, option, published
from simstudy.claims import is_more, statement
from simstudy.figures import caption, captions, in_order, measure_curves
from simstudy.figures.theme import MUTED
from simstudy.lazy import p9
from simstudy.measures import mean
from simstudy.tables import in_words

P, N_PENALTIES, N_SWEEPS = 10, 50, 60
SUBSETS = [np.array(list(combinations(range(P), k))) for k in range(1, P + 1)]


@dataclass(frozen=True)
class Regression:
    snr: float
    n_obs: int = 100
    n_signal: int = 5
    correlation: float = 0.35

    def covariance(self):
        return self.correlation ** np.abs(np.subtract.outer(np.arange(P), np.arange(P)))

    def beta(self):
        return (np.arange(P) < self.n_signal) * 1.0

    def noise(self):
        """The variance of the noise."""
        return self.beta() @ self.covariance() @ self.beta() / self.snr

    def draw(self, streams, n_rep):
        root, size, data = np.linalg.cholesky(self.covariance()), (n_rep, self.n_obs), {}
        for purpose, new in (("training", ""), ("validation", "new_")):
            x = streams(purpose).normal(size=(*size, P)) @ root.T
            y = x @ self.beta() + streams(purpose + " noise").normal(0, self.noise() ** 0.5, size)
            data |= {new + "gram": x.mT @ x, new + "inner": (x.mT @ y[..., None])[..., 0]}
        return data


def tuned(gram, inner, new_gram, new_inner, scenario, path_of):
    """Performance of the coefficients of a path, (rep, any, P), with the least validation error."""
    path = path_of(gram, inner)
    error = ((path @ new_gram) * path).sum(axis=2) - 2 * (path @ new_inner[..., None])[..., 0]
    best = path[np.arange(len(path)), error.argmin(axis=1)]
    beta, covariance, noise = scenario.beta(), scenario.covariance(), scenario.noise()
    risk = (((best - beta) @ covariance) * (best - beta)).sum(axis=1)
    found = {"test_error": risk / noise + 1, "nonzeros": (best != 0).sum(axis=1) * 1.0}
    return found | {"explained": 1 - (risk + noise) / (beta @ covariance @ beta + noise)}


def refitted(gram, inner, chosen):
    """Least squares with the chosen features only: (..., P) each."""
    masked = np.where(chosen[..., :, None] & chosen[..., None, :], gram, np.eye(P))
    return np.linalg.solve(masked, np.where(chosen, inner, 0.0)[..., None])[..., 0] * chosen


def best_subset(gram, inner):
    path = [np.zeros_like(inner)]
    for subsets in SUBSETS:
        part, right = gram[:, subsets[:, :, None], subsets[:, None, :]], inner[:, subsets]
        explained = (np.linalg.solve(part, right[..., None])[..., 0] * right).sum(axis=2)
        chosen = np.zeros(inner.shape, bool)
        np.put_along_axis(chosen, subsets[explained.argmax(axis=1)], True, axis=1)
        path.append(refitted(gram, inner, chosen))
    return np.stack(path, axis=1)


def forward(gram, inner):
    chosen, path = np.zeros(inner.shape, bool), [np.zeros_like(inner)]
    for _ in range(P):
        trials = chosen[:, None, :] | np.eye(P, dtype=bool)
        fits = refitted(gram[:, None], inner[:, None], trials)
        explained = (fits * inner[:, None]).sum(axis=2)
        best = np.where(chosen, -np.inf, explained).argmax(axis=1)
        chosen, fit = (each[np.arange(len(best)), best] for each in (trials, fits))
        path.append(fit)
    return np.stack(path, axis=1)


def lasso(gram, inner):
    """Coordinate descent with warm starts."""
    b, path = np.zeros_like(inner), []
    for factor in np.geomspace(1, 1e-3, N_PENALTIES):
        penalty = factor * np.abs(inner).max(axis=1)
        for _ in range(N_SWEEPS):
            before = b.copy()
            for j in range(P):
                z = inner[:, j] - (gram[:, j] * b).sum(axis=1) + gram[:, j, j] * b[:, j]
                b[:, j] = np.sign(z) * np.maximum(np.abs(z) - penalty, 0) / gram[:, j, j]
            if np.abs(b - before).max() < 1e-6:
                break
        path.append(b.copy())
    return np.stack(path, axis=1)


def relaxed(gram, inner):
    path = lasso(gram, inner)
    full = refitted(gram[:, None], inner[:, None], path != 0)
    mixtures = [share * path + (1 - share) * full for share in np.linspace(0, 1, 10)]
    return np.concatenate(mixtures, axis=1)


METHODS = {"best subset": best_subset, "forward": forward, "lasso": lasso, "relaxed": relaxed}


SOURCE = "abstract, section 4"
low, high, all_over = [0.05, 0.09, 0.14], [3.52, 6.0], [0.05, 0.25, 0.71, 2.07, 6.0]
worse = {"measure": "test_error", "by": -0.01, "snr": all_over, "first": "lasso"}
# statement, arguments, arguments of a wrong alternative
STATEMENTS = [
    ("With little signal the lasso beats best subset",
     worse | {"by": 0, "first": "best subset", "second": "lasso", "snr": low}, {"snr": high}),
    ("With much signal best subset beats the lasso",
     worse | {"by": 0, "second": "best subset", "snr": high}, {"snr": low}),
    ("Stepwise selection is as good, to 0.01",
     worse | {"first": "best subset", "second": "forward"}, {"second": "lasso"}),
    ("The relaxed lasso is as good as the lasso, to 0.01",
     worse | {"second": "relaxed"}, {"second": "best subset"}),
    ("And as best subset, to 0.01",
     worse | {"first": "best subset", "second": "relaxed"}, {"second": "lasso"}),
]  # fmt: skip


TITLES = {
    "test_error": "test error, in noise variances",
    "explained": "share of variance explained",
    "nonzeros": "nonzero coefficients",
}
SAME = ["n_obs", "n_signal", "correlation"]
SETTING = "100 observations of 10 features, correlated by 0.35^|i-j|; 5 have a coefficient of 1."


def errors(result):
    rows = result.summary[result.summary["measure"].isin(TITLES)].drop(columns=SAME)
    rows = rows.assign(measure=in_order(rows["measure"], TITLES))
    shown = {"y": list(TITLES.values()), "color": "method", "log_x": True}
    return captions.add_words(measure_curves(rows, x="snr", **shown), SETTING)


def crossing(result):
    """Best subset minus lasso, with its error here and with that of ten replicates."""
    rows = result.contrast("test_error", axis="method", first="best subset", second="lasso")
    ten = 2 * rows["mcse"] * np.sqrt(rows["n_rep"] / 10)
    grey = rows.assign(low=rows["estimate"] - ten, high=rows["estimate"] + ten)
    bars = p9.aes("snr", ymin="low", ymax="high")
    words = "Dashed: no difference. Grey: 2 MCSE of 10 replicates, as many as the paper had."
    words = f"{words} {SETTING}"
    return (
        measure_curves(rows, x="snr", y="test_error", nominal=0.0, log_x=True, joined=False)
        + p9.geom_linerange(bars, grey, inherit_aes=False, color=MUTED, alpha=0.3, size=3)
        + p9.labs(y="test error: best subset less lasso", caption=caption(captions.BARS, words))
    )


@published(__file__)
class Config:
    snr: list[float] = option("signal-to-noise ratio", above=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result):
    """Test errors at the ends, and how far the relaxed lasso is from the best anywhere."""
    rows = result.select(measure="test_error")
    errors = rows.pivot(index="snr", columns="method", values="estimate")
    most = (errors["relaxed"] - errors.min(axis=1)).max()
    low, high = errors.index.min(), errors.index.max()

    def error(method, snr):
        return in_words(result.row("test_error", method=method, snr=snr), decimals=3)

    return (
        f"The relaxed lasso: its test error is at most {most:.3f} above the best at any "
        f"signal-to-noise ratio. At {low:g} the lasso has {error('lasso', low)} and best subset "
        f"{error('best subset', low)} (relaxed: {error('relaxed', low)}); at {high:g} "
        f"{error('lasso', high)} and {error('best subset', high)} ({error('relaxed', high)})."
    )


def study(config):
    return Study(
        name="subset_or_lasso",
        scenarios=grid(Regression, snr=config.snr),
        methods={name: partial(tuned, path_of=path) for name, path in METHODS.items()},
        measures=[mean(name, name=name) for name in ("test_error", "explained", "nonzeros")],
        figures={"errors": errors, "crossing": crossing},
        labels={"snr": "signal-to-noise ratio (log scale)"},
        answer=answer,
        claims=[statement(words, is_more, *each, source=SOURCE) for words, *each in STATEMENTS],
        n_rep=config.n_rep,
        block_size=200,
    )
