"""How many events per variable does logistic regression need?

Aims         Bias, coverage and significance of logistic regression by events per variable (EPV).
Data         Four binary covariates (shares 0.1 to 0.5) and three normal ones, one without effect;
             an event in about 37%; 7 EPV / 0.37 patients.
Estimands    The seven coefficients.
Methods      Maximum likelihood, and Firth's penalized likelihood, which the paper did not have: by
             Newton's method for all replicates of a block at once. A fit without a maximum
             (separation) has no estimate.
Performance  Bias, coverage of 90% Wald intervals, model over empirical SE, rejections, significant
             estimates of the wrong sign, fits without a maximum. One MCSE of a coverage of 90% is
             0.2 points at 20,000 replicates; the paper had 500.

Peduzzi, Concato, Kemper, Holford & Feinstein (1996), J. Clin. Epidemiol. 49, 1373-1379. They drew
from a cardiac trial, which is not public: covariates and coefficients here are made up.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Rules, Study, grid, option, published
from simstudy.claims import is_above, is_below, is_far, is_near, statement
from simstudy.figures import captions, measure_curves
from simstudy.lazy import special
from simstudy.measures import bias, coverage, mean, relative_error_model_se
from simstudy.tables import in_words

SHARE = np.array([0.1, 0.2, 0.3, 0.5])
BETA = {"rare": 0.8, "fifth": 0.6, "third": 0.5, "half": 0.3}
BETA |= {"strong": 0.5, "weak": 0.2, "none": 0.0}  # the last three are normal


@dataclass(frozen=True)
class Trial:
    epv: int
    prevalence: float = 0.37
    intercept: float = -1.09  # gives a prevalence of 37%

    def draw(self, streams, n_rep):
        size = (n_rep, round(7 * self.epv / self.prevalence))
        binary = streams("binary").random((*size, 4)) < SHARE
        x = np.concatenate([binary, streams("normal").normal(size=(*size, 3))], axis=2)
        rate = special.expit(self.intercept + x @ np.array([*BETA.values()]))
        return {"x": x, "y": (streams("outcome").random(size) < rate) * 1.0}


def fit(x, y, firth=False, n_steps=100):
    """Fit by Newton's method; Firth adds half the log determinant and may need shorter steps."""
    design = np.concatenate([np.ones((*y.shape, 1)), x], axis=2)
    b = np.zeros((len(y), 8, 1))
    for _ in range(n_steps):
        p = special.expit(design @ b)
        w = p * (1 - p)
        inverse = np.linalg.inv(design.mT @ (w * design) + 1e-9 * np.eye(8))
        residual = y[..., None] - p
        if firth:
            leverage = w * ((design @ inverse) * design).sum(axis=2, keepdims=True)
            residual = residual + leverage * (0.5 - p)
        step = np.clip(inverse @ (design.mT @ residual), -1, 1)
        b = np.clip(b + step * (0.5 if firth else 1), -30, 30)
        if np.abs(step).max() < 1e-6:
            break
    variance = np.diagonal(inverse, axis1=1, axis2=2)
    found = (np.abs(step) < 1e-4).all(axis=(1, 2)) & (variance < 100).all(axis=1)
    with np.errstate(invalid="ignore"):
        columns = {"estimate": b[..., 0], "se": np.sqrt(variance)}
    return {name: np.where(found[:, None], each, np.nan)[:, 1:] for name, each in columns.items()}


TRUE, Z = np.array([*BETA.values()]), 1.645
DERIVED = {
    "truth": lambda estimate: np.broadcast_to(TRUE, estimate.shape) * 1.0,
    "found": lambda estimate: ~np.isnan(estimate) * 1.0,
    "significant": lambda estimate, se, found: np.where(found, abs(estimate) > Z * se, np.nan),
    "wrong_way": lambda estimate, significant: ((estimate * TRUE < 0) & (significant == 1)) * 1.0,
}


at_2 = {"method": "likelihood", "epv": 2}
biased = at_2 | {"measure": "bias", "value": 0, "margin": 0.1}
off = at_2 | {"measure": "coverage", "value": 0.9, "margin": 0.03}
model_se = at_2 | {"measure": "relative_error_model_se", "value": 0, "margin": 0.1}
wrong = at_2 | {"measure": "wrong_way", "coefficient": "half", "limit": 0.01}
rejected = at_2 | {"measure": "significant", "coefficient": "none", "limit": 0.1}
downward = at_2 | {"measure": "bias", "coefficient": [*BETA][:-1], "limit": -0.02}
some, at_10, at_25 = {"everywhere": False}, {"epv": 10}, {"epv": 25}
# statement, check, arguments, arguments of a wrong alternative
STATEMENTS = [
    ("With 10 no coefficient has a bias of 0.1", is_near, biased | at_10, {"epv": 2}),
    ("With 10 coverage is 90% to 3 points", is_near, off | at_10, {"epv": 2}),
    ("With 2 coefficients are biased", is_far, biased | some, at_25),
    ("With 2 intervals do not have proper coverage", is_far, off | some, at_25),
    ("With 2 model variances are off the empirical ones", is_far, model_se | some, at_25),
    ("With 2 effects are significant in the wrong direction", is_above, wrong, at_25),
    ("With 2 the Wald test of no effect is conservative", is_below, rejected, {}),
    ("With 2 some coefficients are biased towards zero", is_below, downward | some, {}),
]


KEYS = (
    "Events in 37%. Coefficients of binary covariates, by their share: rare (0.1), fifth, third "
    "(0.3), half; and of normal ones: strong (0.5), weak (0.2), none (0)."
)


def errors(result):
    shown = {"color": "coefficient", "panel": "method", "nominal": {"bias": 0, "coverage": 0.9}}
    rows, measures = result.summary.drop(columns=["prevalence", "intercept"]), ["bias", "coverage"]
    dashed = "no bias above, 90% below"
    figure = measure_curves(rows, x="epv", y=measures, log_x=True, dashed=dashed, **shown)
    return captions.add_words(figure, KEYS)


def found(result):
    rows = result.select(coefficient="none")
    return measure_curves(rows, x="epv", y="found", color="method", log_x=True)


@published(__file__)
class Config:
    epv: list[int] = option("events per variable", at_least=1)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result):
    """The largest bias by events per variable."""
    bias = result.select(measure="bias")
    few = bias["epv"].min()

    def largest(method, **where):
        rows = result.select(measure="bias", method=method, **where)
        return in_words(rows.loc[rows["estimate"].abs().idxmax()], decimals=2)

    return (
        f"About ten with maximum likelihood: the largest bias of a coefficient is "
        f"{largest('likelihood', epv=few)} with {few} events per variable and "
        f"{largest('likelihood', epv=10)} with 10. With Firth's penalty the largest is "
        f"{largest('Firth')} for any number here."
    )


def study(config):
    return Study(
        name="events_per_variable",
        scenarios=grid(Trial, epv=config.epv),
        methods={"likelihood": fit, "Firth": partial(fit, firth=True)},
        axes={"coefficient": tuple(BETA)},
        derived=DERIVED,
        measures=[
            bias("estimate", truth="truth"),
            coverage(estimate="estimate", se="se", truth="truth", level=0.9),
            relative_error_model_se("estimate", "se"),
            *(mean(name, name=name) for name in ("found", "significant", "wrong_way")),
        ],
        rules=Rules(may_be_missing=("estimate", "se")),
        figures={"bias": errors, "found": found},
        labels={"epv": "events per variable (log scale)", "found": "fits with a maximum"},
        answer=answer,
        claims=[statement(*each, source="abstract") for each in STATEMENTS],
        n_rep=config.n_rep,
        block_size=200,
    )
