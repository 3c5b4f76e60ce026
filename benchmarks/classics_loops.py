"""The classics as plain loops: one data set after the other, with the libraries at hand.

Each function below is a study as it is usually written: one scenario, its data, its methods and one
measure; without Monte Carlo errors, claims, figures, stored replicates or workers.

`python -m benchmarks.classics_loops` times each against its study, on one core and in turn, and
checks that both find the same. It prints a table and writes `benchmarks/classics_loops.csv`, from
which `docs/classics.md` has the least and the largest ratio. With names of studies it measures
these alone, and writes nothing. Times are processor time, so that other work matters less.
"""

import csv
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import statsmodels.api as sm
from scipy import optimize, special, stats
from sklearn.linear_model import lasso_path
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning
from threadpoolctl import threadpool_limits

from benchmarks.pages import table

MEASURED = Path(__file__).with_suffix(".csv")
COLUMNS = ("study", "loop_us", "study_us", "ratio")
ROUNDS = 3
SURE = 4.5  # standard errors that two simulations of one thing may differ by


# ---------------------------------------------------------------- loops
def binomial_intervals(rng, n_rep):
    n, p = 50, 0.1
    methods = {
        "Wald": "normal",
        "Wilson": "wilson",
        "Agresti-Coull": "agresti_coull",
        "Jeffreys": "jeffreys",
        "Clopper-Pearson": "beta",
    }
    covered = {name: [] for name in methods}
    for _ in range(n_rep):
        count = rng.binomial(n, p)
        for name, method in methods.items():
            lower, upper = proportion_confint(count, n, method=method)
            covered[name].append(lower <= p <= upper)
    return covered


def unequal_variances(rng, n_rep):
    rejected = {name: [] for name in ("Student", "Welch", "Wilcoxon", "Brunner-Munzel")}
    for _ in range(n_rep):
        x, y = rng.normal(size=30), rng.normal(scale=4, size=10)
        rejected["Student"].append(stats.ttest_ind(x, y).pvalue < 0.05)
        rejected["Welch"].append(stats.ttest_ind(x, y, equal_var=False).pvalue < 0.05)
        ranks = stats.mannwhitneyu(x, y, method="asymptotic")
        rejected["Wilcoxon"].append(ranks.pvalue < 0.05)
        rejected["Brunner-Munzel"].append(stats.brunnermunzel(x, y).pvalue < 0.05)
    return rejected


def false_discovery_rate(rng, n_rep):
    means = np.append(np.zeros(8), np.repeat([1.25, 2.5, 3.75, 5.0], 2))
    methods = {"Bonferroni": "bonferroni", "Hochberg": "simes-hochberg", "BH": "fdr_bh"}
    power = {name: [] for name in [*methods, "Storey"]}
    for _ in range(n_rep):
        p = 2 * stats.norm.sf(np.abs(rng.normal(means)))
        for name, method in methods.items():
            reject = multipletests(p, alpha=0.05, method=method)[0]
            power[name].append(reject[8:].mean())
        nulls = min(2 * (np.sum(p > 0.5) + 1), 16)
        ordered, reject = np.sort(p), np.zeros(16, bool)
        for i in range(16):
            if ordered[i] <= min(0.05 * (i + 1) / nulls, 0.5):
                reject = p <= ordered[i]
        power["Storey"].append(reject[8:].mean())
    return power


def events_per_variable(rng, n_rep):
    beta = np.array([-1.09, 0.8, 0.6, 0.5, 0.3, 0.5, 0.2, 0.0])
    n, covered = round(7 * 10 / 0.37), {"likelihood": [], "Firth": []}

    def firth(x, y):
        b = np.zeros(8)
        for _ in range(100):
            p = special.expit(x @ b)
            inverse = np.linalg.inv(x.T @ (x * (p * (1 - p))[:, None]))
            leverage = p * (1 - p) * np.einsum("ij,jk,ik->i", x, inverse, x)
            step = inverse @ x.T @ (y - p + leverage * (0.5 - p))
            b = b + step / 2
            if np.abs(step).max() < 1e-6:
                break
        return b, np.sqrt(np.diag(inverse))

    for _ in range(n_rep):
        binary = rng.random((n, 4)) < [0.1, 0.2, 0.3, 0.5]
        x = np.column_stack([np.ones(n), binary, rng.normal(size=(n, 3))])
        y = 1.0 * (rng.random(n) < special.expit(x @ beta))
        fit = sm.Logit(y, x).fit(disp=0)
        for name, b, se in (("likelihood", fit.params, fit.bse), ("Firth", *firth(x, y))):
            covered[name].append(abs(b[-1] - beta[-1]) <= 1.645 * se[-1])
    return covered


def survival_models(rng, n_rep):
    theta, gamma, n = -0.5, 1.5, 500
    errors = {name: [] for name in ("exponential", "Weibull", "Cox")}

    def loss(parameters, design, log_time, died):
        linear, shape = design @ parameters[:2], np.exp(parameters[2])
        hazard = np.exp(linear + shape * log_time)
        value = hazard.sum() - died @ (linear + np.log(shape) + (shape - 1) * log_time)
        slope = ((hazard - died) * shape * log_time).sum() - died.sum()
        return value, np.append(design.T @ (hazard - died), slope)

    for _ in range(n_rep):
        treated = rng.random(n) < 0.5
        time = (rng.exponential(size=n) / (0.1 * np.exp(theta * treated))) ** (1 / gamma)
        died, time = time < 5, np.minimum(time, 5)
        rates = [died[treated == arm].sum() / time[treated == arm].sum() for arm in (0, 1)]
        errors["exponential"].append(np.log(rates[1] / rates[0]) - theta)
        data = np.column_stack([np.ones(n), treated]), np.log(time), died
        weibull = optimize.minimize(loss, np.array([-2.0, 0.0, 0.0]), args=data, jac=True)
        errors["Weibull"].append(weibull.x[1] - theta)
        cox = PHReg(time, 1.0 * treated, status=died).fit()
        errors["Cox"].append(cox.params[0] - theta)
    return errors


def bootstrap_intervals(rng, n_rep):
    methods = {"percentile": "percentile", "basic": "basic", "BCa": "BCa"}
    truth, covered = np.exp(0.5), {name: [] for name in ["Student", *methods, "bootstrap-t"]}
    for _ in range(n_rep):
        x = rng.lognormal(size=20)
        se = x.std(ddof=1) / np.sqrt(20)
        limits = {"Student": stats.t.interval(0.95, 19, x.mean(), se)}
        for name, method in methods.items():
            done = stats.bootstrap((x,), np.mean, n_resamples=399, method=method, rng=rng)
            limits[name] = done.confidence_interval
        again = rng.choice(x, (399, 20))
        t = (again.mean(axis=1) - x.mean()) / (again.std(axis=1, ddof=1) / np.sqrt(20))
        upper, lower = np.quantile(t, [0.025, 0.975])
        limits["bootstrap-t"] = x.mean() - lower * se, x.mean() - upper * se
        for name, (lower, upper) in limits.items():
            covered[name].append(lower <= truth <= upper)
    return covered


def weak_instruments(rng, n_rep):
    n, k, strength, rho = 250, 10, 4.0, 0.99
    z = np.linalg.qr(rng.normal(size=(n, k)))[0]
    rejected = {name: [] for name in ("OLS", "2SLS", "LIML", "Anderson-Rubin")}
    for _ in range(n_rep):
        u, e = rng.normal(size=(2, n))
        x = z @ np.full(k, np.sqrt(strength)) + rho * u + np.sqrt(1 - rho**2) * e
        y = np.column_stack([u, x])  # the outcome, of which the truth is 0, and the regressor
        full, fitted = y.T @ y, (z.T @ y).T @ (z.T @ y)
        residual = full - fitted
        liml = np.linalg.eigvals(np.linalg.solve(residual, full)).real.min()
        for name, kappa in (("OLS", 0.0), ("2SLS", 1.0), ("LIML", liml)):
            inner = full - kappa * residual
            b = inner[0, 1] / inner[1, 1]
            variance = np.sum((y[:, 0] - b * x) ** 2) / (n - 1) / inner[1, 1]
            rejected[name].append(2 * stats.norm.sf(abs(b) / np.sqrt(abs(variance))) < 0.05)
        f = fitted[0, 0] / k / (residual[0, 0] / (n - k))
        rejected["Anderson-Rubin"].append(stats.f.sf(f, k, n - k) < 0.05)
    return rejected


def placebo_laws(rng, n_rep):
    rho, n, n_year, n_boot = 0.8, 20, 21, 199
    names = ("least squares", "AR(1)", "cluster", "block bootstrap", "wild bootstrap", "collapsed")
    rejected = {name: [] for name in names}

    def within(v):
        return v - v.mean(axis=1, keepdims=True) - v.mean(axis=0) + v.mean()

    def fit(y, law):
        y, d = within(y), within(law)
        b = (d * y).sum() / (d * d).sum()
        return b, d, y - b * d

    def least_squares(y, law):
        b, d, e = fit(y, law)
        df = y.size - sum(y.shape)
        se = np.sqrt((e * e).sum() / df / (d * d).sum())
        return b, se, 2 * stats.t.sf(abs(b) / se, df)

    def clustered(y, law):
        b, d, e = fit(y, law)
        return b * (d * d).sum() / np.sqrt(((d * e).sum(axis=1) ** 2).sum())

    for _ in range(n_rep):
        y = rng.normal(size=(n, n_year))
        y[:, 0] /= np.sqrt(1 - rho**2)
        for t in range(1, n_year):
            y[:, t] += rho * y[:, t - 1]
        after = np.arange(n_year) >= rng.integers(6, 17)
        law = 1.0 * np.outer(np.arange(n) < n // 2, after)
        b, se, p = least_squares(y, law)
        rejected["least squares"].append(p < 0.05)
        e = fit(y, law)[2]
        r = (e[:, 1:] * e[:, :-1]).sum() / (e * e).sum()
        corrected = least_squares(y[:, 1:] - r * y[:, :-1], law[:, 1:] - r * law[:, :-1])
        rejected["AR(1)"].append(corrected[2] < 0.05)
        t = clustered(y, law)
        rejected["cluster"].append(2 * stats.t.sf(abs(t) * np.sqrt((n - 1) / n), n - 1) < 0.05)
        extreme = 0
        for _ in range(n_boot):
            states = rng.integers(n, size=n)
            if 0 < law[states].any(axis=1).sum() < n:
                b_again, se_again, _ = least_squares(y[states], law[states])
                extreme += abs(b_again - b) / se_again >= abs(b) / se
        rejected["block bootstrap"].append((1 + extreme) / (1 + n_boot) < 0.05)
        null, extreme = within(y), 1
        for _ in range(n_boot - 1):
            signs = rng.choice([-1.0, 1.0], size=(n, 1))
            extreme += abs(clustered(signs * null, law)) >= abs(t) - 1e-9
        rejected["wild bootstrap"].append(extreme / n_boot < 0.05)
        change = y[:, after].mean(axis=1) - y[:, ~after].mean(axis=1)
        test = stats.ttest_ind(change[: n // 2], change[n // 2 :])
        rejected["collapsed"].append(test.pvalue < 0.05)
    return rejected


def missing_covariates(rng, n_rep):
    n, m = 300, 10
    errors = {name: [] for name in ("all data", "complete cases", "imputed")}

    def slope(x, z, y):
        return sm.OLS(y, np.column_stack([np.ones_like(x), x, z])).fit().params[1]

    for _ in range(n_rep):
        x = rng.normal(size=n)
        z = 0.5 * x + np.sqrt(0.75) * rng.normal(size=n)
        y = x + z + 2 * rng.normal(size=n)
        seen = rng.random(n) >= special.expit(0.5 * y)
        design = np.column_stack([np.ones(n), z, y])
        model = sm.OLS(x[seen], design[seen]).fit()
        found = []
        for _ in range(m):
            sigma = np.sqrt(model.ssr / rng.chisquare(model.df_resid))
            b = rng.multivariate_normal(model.params, sigma**2 * model.normalized_cov_params)
            found.append(slope(np.where(seen, x, design @ b + sigma * rng.normal(size=n)), z, y))
        errors["all data"].append(slope(x, z, y) - 1)
        errors["complete cases"].append(slope(x[seen], z[seen], y[seen]) - 1)
        errors["imputed"].append(np.mean(found) - 1)
    return errors


def subset_or_lasso(rng, n_rep):
    n, p, beta = 100, 10, np.repeat([1.0, 0.0], 5)
    covariance = 0.35 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    noise = beta @ covariance @ beta / 0.71
    errors = {name: [] for name in ("best subset", "forward", "lasso", "relaxed")}

    def data():
        x = rng.multivariate_normal(np.zeros(p), covariance, size=n)
        return x, x @ beta + rng.normal(scale=np.sqrt(noise), size=n)

    def refitted(x, y, chosen):
        b = np.zeros(p)
        b[chosen] = np.linalg.lstsq(x[:, chosen], y)[0]
        return b, np.sum((y - x @ b) ** 2)

    for _ in range(n_rep):
        (x, y), (new_x, new_y) = data(), data()
        best, chosen, stepwise = [np.zeros(p)], [], [np.zeros(p)]
        for size in range(1, p + 1):
            fits = [refitted(x, y, list(subset)) for subset in combinations(range(p), size)]
            best.append(min(fits, key=lambda fit: fit[1])[0])
            left = [j for j in range(p) if j not in chosen]
            chosen.append(min(left, key=lambda j: refitted(x, y, [*chosen, j])[1]))
            stepwise.append(refitted(x, y, chosen)[0])
        penalties = np.abs(x.T @ y).max() / n * np.geomspace(1, 1e-3, 50)
        lasso = list(lasso_path(x, y, alphas=penalties)[1].T)
        full = [refitted(x, y, list(np.flatnonzero(b)))[0] for b in lasso]
        shares = np.linspace(0, 1, 10)
        relaxed = [a * b + (1 - a) * c for b, c in zip(lasso, full, strict=True) for a in shares]
        paths = {"best subset": best, "forward": stepwise, "lasso": lasso, "relaxed": relaxed}
        for name, path in paths.items():
            b = min(path, key=lambda b: np.sum((new_y - new_x @ b) ** 2))
            errors[name].append((b - beta) @ covariance @ (b - beta) / noise + 1)
    return errors


# ---------------------------------------------------------------- against the studies
class Case(NamedTuple):
    """The scenario of a loop by its factors, its measure, and replicates of both to be timed."""

    loop: Callable[..., Mapping[str, list[float]]]
    scenario: Mapping[str, Any]
    row: Mapping[str, Any]
    n_loop: int
    n_study: int


CASES = {
    "binomial_intervals": Case(
        binomial_intervals, {"n": 50, "p": 0.1}, {"measure": "coverage"}, 1000, 50_000
    ),
    "unequal_variances": Case(
        unequal_variances,
        {"n1": 30, "n2": 10, "sd": 4.0, "shape": "normal", "shift": 0.0},
        {"measure": "rejection_rate"}, 300, 5000,
    ),
    "false_discovery_rate": Case(
        false_discovery_rate,
        {"m": 16, "null_share": 0.5, "pattern": "equal"}, {"measure": "power"}, 2000, 20_000,
    ),
    "events_per_variable": Case(
        events_per_variable,
        {"epv": 10}, {"measure": "coverage", "coefficient": "none"}, 500, 2000,
    ),
    "survival_models": Case(
        survival_models, {"gamma": 1.5}, {"measure": "bias"}, 200, 4000
    ),
    "bootstrap_intervals": Case(
        bootstrap_intervals,
        {"shape": "lognormal", "n_obs": 20}, {"measure": "coverage"}, 500, 2000,
    ),
    "weak_instruments": Case(
        weak_instruments,
        {"strength": 4.0, "n_instruments": 10, "rho": 0.99},
        {"measure": "rejection_rate"}, 1000, 100_000,
    ),
    "placebo_laws": Case(
        placebo_laws, {"rho": 0.8, "n_state": 20}, {"measure": "rejection_rate"}, 100, 1000
    ),
    "missing_covariates": Case(
        missing_covariates,
        {"missing_by": "y", "strength": 1.0}, {"measure": "bias", "coefficient": "x"}, 300, 2000,
    ),
    "subset_or_lasso": Case(
        subset_or_lasso, {"snr": 0.71}, {"measure": "test_error"}, 30, 400
    ),
}  # fmt: skip


def measure(name: str) -> list[str]:
    """Microseconds per replicate of the loop and of the study, and their ratio."""
    case = CASES[name]
    module = import_module(f"experiments.classics.{name}")
    whole = module.study(module.Config())
    here = [each for each in whole.scenarios if case.scenario.items() <= vars(each).items()]
    study = replace(whole, scenarios=here, figures={}, claims=())
    found: dict[str, Any] = {}

    def looped() -> None:
        found["loop"] = case.loop(np.random.default_rng(1), case.n_loop)

    def studied() -> None:
        result = study.run(case.n_study, backend="inline", n_jobs=1, progress=False)
        found["rows"] = result.select(**case.row)

    study.run(2 * study.block_size, backend="inline", n_jobs=1, progress=False)
    loop, fast = np.min([[cost(looped), cost(studied)] for _ in range(ROUNDS)], axis=0)
    check_same(name, found["loop"], found["rows"])
    each = 1e6 * loop / case.n_loop, 1e6 * fast / case.n_study
    return [name, *(two_digits(number) for number in (*each, each[0] / each[1]))]


def two_digits(number: float) -> str:
    """More do not stay from one measurement to the next."""
    return f"{float(f'{number:.2g}'):g}"


def cost(work: Callable[[], None]) -> float:
    """Seconds of processor time."""
    before = process_time()
    work()
    return process_time() - before


def check_same(name: str, loop: Mapping[str, list[float]], rows: Any) -> None:
    """Stop where the two simulations do not estimate one thing."""
    for _, row in rows.iterrows():
        drawn = np.asarray(loop[row["method"]], float)
        error = np.hypot(max(drawn.std(ddof=1), 1e-3) / np.sqrt(drawn.size), row["mcse"])
        if abs(drawn.mean() - row["estimate"]) > SURE * error:
            raise SystemExit(
                f"{name}, {row['method']}: the loop finds {drawn.mean():.4f}, and the study "
                f"{row['estimate']:.4f} with an error of {error:.4f} of both."
            )


def main(names: list[str]) -> None:
    """Measure some studies, or all and write it down."""
    warnings.simplefilter("ignore", PerfectSeparationWarning)
    with threadpool_limits(1):
        rows = [measure(name) for name in names or CASES]
    print(table(["study", "loop (µs)", "study (µs)", "ratio"], rows))
    if not names:
        with MEASURED.open("w", newline="\n", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main(sys.argv[1:])
