"""Leave-one-out R², RMSE and elpd of a user's model, with standard errors; two models compared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.applied.answers import Answer, curves, loo_errors
from simstudy.documents.applied.settings import LooSettings
from simstudy.documents.applied.tables import Source, Table, Values, check_same_length, numbers_of
from simstudy.documents.stats.leave_one_out.bayesian_bootstrap import bayesian_bootstrap
from simstudy.documents.stats.leave_one_out.importance import smoothed_log_weights
from simstudy.documents.stats.leave_one_out.priors import default_prior
from simstudy.documents.stats.leave_one_out.regression import exact_leave_one_out
from simstudy.documents.stats.leave_one_out.utilities import UTILITIES, Pointwise, linearised
from simstudy.errors import ConfigError, DesignError, SimstudyError, describe
from simstudy.lazy import ggplot, pd, special
from simstudy.options import build

SHOWN = {"r2": "r2_mean_square", "rmse": "rmse", "mae": "mae", "elpd": "elpd"}
BOOTSTRAPPED = SHOWN | {"r2": "r2_variance"}
MIN_OBS = 3
SPREADS = 1e-69, 1e69  # range of numbers whose fourth powers keep all digits
WEIGHT_LIMIT = 2 * 10**8  # draws times rows: beyond, the bootstrap takes minutes, and equals Taylor
OFF = 0.1  # relative error of a standard error in the study, from which the warning is printed
PARETO_K_LIMIT = 0.7  # beyond, importance sampling is not to be trusted
NAME_WIDTH = 60  # characters of a model's name; longer ones are replaced by the number of features
Row = tuple[str, float, float, float | None]


@dataclass(frozen=True, repr=False)
class LooEstimate(Answer):
    """Leave-one-out utilities with their standard errors.

    Parameters
    ----------
    n, n_feature
        Observations, and features of the (first) linear model; None if predictions were given.
    utilities
        Name, estimate, Taylor's standard error and the Bayesian bootstrap's (None if not drawn), of
        R², RMSE, MAE and elpd (the last if there are densities). R² is 1 - MSE / V, the bootstrap
        of its variance form 1 - Var(e) / Var(y).
    differences
        The same of the first model less the second; empty for one model.
    models
        Description of the models.
    errors
        Leave-one-out errors of the first model, in the units of the response.
    """

    method: ClassVar[str] = "loo"

    n: int
    n_feature: int | None
    utilities: tuple[Row, ...]
    differences: tuple[Row, ...]
    models: tuple[str, ...]
    errors: Values = field(compare=False)

    symbols: ClassVar[Mapping[str, str]] = {
        "r2": "R²", "rmse": "RMSE", "mae": "MAE", "elpd": "elpd",
    }  # fmt: skip

    @property
    def study_errors(self) -> tuple[int, int, dict[str, tuple[float, float]]]:
        """Relative errors of the standard errors in the study's nearest cell."""
        return loo_errors(self.n, self.n_feature or 1)

    def figure(self) -> ggplot:
        """Draw the distribution of the leave-one-out errors.

        Returns
        -------
        ggplot
            The figure; None where there is none.
        """
        ordered = np.sort(self.errors)
        if len(ordered) > 1000:
            ordered = np.quantile(ordered, np.linspace(0, 1, 1001))
        share = np.linspace(0, 1, len(ordered))
        spread = float(np.std(self.errors)) or 1.0
        normal = special.ndtr((ordered - np.mean(self.errors)) / spread)
        frame = pd.concat([
            pd.DataFrame({"error": ordered, "share": values, "law": law})
            for law, values in (("leave-one-out errors", share), ("normal law", normal))
        ])  # fmt: skip
        return curves(
            frame, "error", "share", "law", color="",
            title=f"Leave-one-out errors of {self.n:,} observations",
            x="leave-one-out error, in the units of the response", y="share of smaller errors",
        )  # fmt: skip


# ---------------------------------------------------------------- functions
def estimate_loo(
    y: Any,
    features: Any = None,
    *,
    against: Any = None,
    prediction: Sequence[Any] = (),
    log_density: Sequence[Any] = (),
    cluster: Any = None,
    n_draw: int = 4000,
    seed: int = 1,
) -> LooEstimate:
    """Estimate leave-one-out utilities of one model, or compare two on the same data.

    Parameters
    ----------
    y
        Responses.
    features
        Features (obs, feature) of a Bayesian linear regression with rstanarm's default prior, whose
        leave-one-out predictions are exact.
    against
        Features of a second model.
    prediction, log_density
        In place of features: leave-one-out predictions of one model or two, and the logs of their
        predictive densities at y, as a sequence of arrays.
    cluster
        Group of each observation, if those of a group depend on each other: Taylor's errors are
        then those of sums over groups.
    n_draw, seed
        Draws of the Bayesian bootstrap, and the seed of its random numbers.

    Returns
    -------
    LooEstimate
        Printed, it reads as a short report.

    Raises
    ------
    DesignError
        For values that are no numbers, fewer than 3 observations, or a constant response.
    """
    settings = build(LooSettings, {"n_draw": n_draw, "seed": seed})
    designs = [_matrix(each) for each in (features, against) if each is not None]
    models = [_Model(f"{design.shape[1]} features", design) for design in designs]
    given = [numbers_of("prediction", each) for each in prediction]
    models += _predicted(given, [numbers_of("log_density", each) for each in log_density])
    if designs and given:
        raise DesignError("give features or predictions, not both: predictions stand for a model")
    table = Table({"y": y, "cluster": cluster}, settings)
    return _estimate(table, table.numbers("y"), models)


def estimate_table(table: Table) -> LooEstimate:
    """Estimate with the columns of a table."""
    settings: LooSettings = table.settings
    y = table.numbers("y")
    if settings.prediction is None and settings.log_density is not None:
        raise ConfigError(
            "log_density= needs the leave-one-out predictions beside it: name them with prediction="
        )
    if settings.prediction is not None:
        given = [table.numbers("prediction", name) for name in settings.prediction]
        densities = [table.numbers("log_density", name) for name in settings.log_density or []]
        return _estimate(table, y, _predicted(given, densities, settings.prediction))
    names = settings.features or _other_numbers(table)
    if not names:
        raise ConfigError(
            f"{table.name} has no column of numbers beside {settings.y}, so nothing can "
            "predict it. Name the columns with features=[...], or give prediction="
        )
    models = []
    for each in filter(None, (names, settings.against)):
        design = np.stack([table.numbers("features", name) for name in each], axis=1)
        models.append(_Model(", ".join(each), design))
    notes = [] if settings.features else _notes_on_columns(table, names)
    return _estimate(table, y, models, notes)


def estimate_inference(path: str, settings: LooSettings) -> LooEstimate:
    """Estimate with an ArviZ file, by Pareto-smoothed importance sampling.

    It needs the groups `observed_data`, `log_likelihood` and `posterior_predictive`, each with one
    variable of one dimension besides chain and draw.
    """
    try:
        source, groups = Source.of_file(path), _read_groups(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as an ArviZ file: {describe(error)}") from None
    for group, values in groups.items():
        if len(values) != 1:
            raise DesignError(
                f"{path} has {len(values)} variables in {group}, and one is needed: store the "
                "likelihood of each observation, and predictive draws of it."
            )
    (y,), *others = groups.values()
    y = y.ravel().astype(float)
    log_likelihood, draws = (
        each.reshape(each.shape[0] * each.shape[1], -1).T for (each,) in others
    )
    check_same_length(observed_data=y, log_likelihood=log_likelihood)
    log_weights, pareto_k = smoothed_log_weights(-log_likelihood)
    model = _Model(
        f"draws of {source.name}",
        prediction=(np.exp(log_weights) * draws).sum(axis=1),
        log_density=special.logsumexp(log_weights + log_likelihood, axis=1),
    )
    far = int((pareto_k > PARETO_K_LIMIT).sum())
    note = f"{far} of {len(y):,} observations have a Pareto k above 0.7: refit without them"
    notes = [note] if far else []
    return _estimate(Table({settings.y: y}, settings, source), y, [model], notes)


def _read_groups(path: str) -> dict[str, list[np.ndarray]]:
    """Variables of the groups of an ArviZ file, as every version of ArviZ writes it."""
    try:
        import xarray
    except ImportError as error:
        raise SimstudyError(
            f"{path} is read by xarray, which is not installed. Install the extra, "
            "pip install 'simstudy[loo]', or give a table with features= or prediction=."
        ) from error
    with xarray.open_datatree(path, engine="h5netcdf") as file:
        sets, none = file.to_dict(), xarray.Dataset()
        return {
            group: [each.to_numpy() for each in sets.get(f"/{group}", none).values()]
            for group in ("observed_data", "log_likelihood", "posterior_predictive")
        }


# ---------------------------------------------------------------- models
@dataclass(frozen=True)
class _Model:
    """A linear model of a design, or leave-one-out predictions with their log densities."""

    name: str
    design: Float[np.ndarray, "obs feature"] | None = None
    prediction: Values | None = None
    log_density: Values | None = None

    def pointwise(self, y: Values) -> Pointwise:
        """Leave-one-out errors and log densities."""
        for part in (self.design, self.prediction, self.log_density):
            if part is not None:
                check_same_length(y=y, features=part)
        if self.design is not None:
            _check_units("a feature", self.design)
            block = self.design[None]
            return exact_leave_one_out(block, y[None], default_prior(block, y[None])).pointwise
        error = y - self.prediction
        _check_units("an error of prediction", np.append(error, 0.0))
        density = None if self.log_density is None else self.log_density[None]
        return Pointwise(y[None], error[None], density)

    def __str__(self) -> str:
        if self.design is None or len(self.name) <= NAME_WIDTH:
            return self.name
        return f"{self.design.shape[1]} features"


def _predicted(
    predictions: Sequence[Values], densities: Sequence[Values], names: Sequence[str] = ("", "")
) -> list[_Model]:
    """Models of which predictions are given, and log densities of all or none."""
    if densities and len(densities) != len(predictions):
        raise DesignError(
            f"{len(densities)} log densities for {len(predictions)} predictions: give one of each "
            "for every model, or no log densities."
        )
    parts = itertools.zip_longest(names, predictions, densities)
    return [_Model(n or "", None, p, density) for n, p, density in parts if p is not None]


def _matrix(features: Any) -> Float[np.ndarray, "obs feature"]:
    frame = pd.DataFrame(features)
    columns = [numbers_of(f"feature {name}", frame[name]) for name in frame]
    return np.stack(columns, axis=1) if columns else np.empty((len(frame), 0))


def _other_numbers(table: Table) -> list[str]:
    """The columns of numbers that are neither the response nor the groups."""
    used = (table.settings.y, table.settings.cluster)
    return [str(name) for name in table.columns.select_dtypes("number") if name not in used]


def _notes_on_columns(table: Table, names: Sequence[str]) -> Iterator[str]:
    """Notes on columns that are left out, or that should perhaps be."""
    used = {*names, table.settings.y, table.settings.cluster}
    absent = [str(name) for name in table.columns if name not in used]
    if absent:
        yield f"not among the features, since they are no numbers: {', '.join(absent)}"
    counts = [n for n in names if (np.diff(table.columns[n]) == 1).all()]  # such as 1, 2, 3, ...
    if counts:
        others = ",".join(name for name in names if name not in counts)
        yield (
            f"{counts[0]} numbers the rows and is among the features: to leave it out, "
            f"features=[{others}]"
        )


def _check_units(what: str, columns: np.ndarray) -> None:
    spread = np.ptp(columns, axis=0)
    if (off := (spread > 0) & ((spread < SPREADS[0]) | (spread > SPREADS[1]))).any():
        raise DesignError(
            f"{what} spreads over {np.max(spread[off]):.1g}, and the variance of its squares is no "
            f"double. Give it in other units, between {SPREADS[0]:g} and {SPREADS[1]:g}."
        )


# ---------------------------------------------------------------- estimates
def _estimate(
    table: Table, y: Values, models: Sequence[_Model], notes: Iterable[str] = ()
) -> LooEstimate:
    settings: LooSettings = table.settings
    n = len(y)
    if n < MIN_OBS:
        raise DesignError(
            f"{n} observations are too few to leave one out, which needs at least {MIN_OBS}."
        )
    if not 1 <= len(models) <= 2:
        raise DesignError("give features, or predictions, of one model or of two to compare.")
    if np.ptp(y) == 0:
        raise DesignError(f"every response is {y[0]:g}, so there is nothing to predict. Look at y.")
    _check_units("the response", y)
    codes, parts = table.codes(n), [model.pointwise(y) for model in models]
    drawn: list[Any] = [None] * len(parts)
    if is_drawn := codes is None and n * settings.n_draw <= WEIGHT_LIMIT:
        rng = np.random.default_rng(settings.seed)
        drawn = bayesian_bootstrap(parts, rng, n_draw=settings.n_draw)
    own, *theirs = map(linearised, parts)
    rows = [
        tuple(_rows(own, other, codes, errors))
        for other, errors in zip([None, *theirs], drawn, strict=True)
    ]
    first, *others = models
    kind = "predictions" if first.design is None else "Bayesian linear regression on"
    n_feature = None if first.design is None else first.design.shape[1]
    inputs = (m.prediction if m.design is None else m.design for m in models)
    return LooEstimate(
        n=n, n_feature=n_feature, utilities=rows[0], differences=rows[1] if others else (),
        models=(f"{kind} {first}".strip(), *(f"less that on {other}" for other in others)),
        errors=parts[0].error[0], source=table.source_or(y, *inputs), settings=vars(settings),
        notes=(*_notes(n, n_feature, codes, is_drawn), *notes),
    )  # fmt: skip


def _rows(
    own: Mapping[str, Any], other: Mapping[str, Any] | None,
    codes: Int[np.ndarray, " row"] | None, drawn: Any,
) -> Iterator[Row]:  # fmt: skip
    """Each utility, or its difference, with both standard errors; Taylor's from sums of groups."""
    for name, utility in SHOWN.items():
        value, psi = (part[0] for part in own[utility])
        if other is not None:
            value, psi = value - other[utility][0][0], psi - other[utility][1][0]
        if math.isnan(value):  # elpd without densities
            continue
        sums = psi if codes is None else np.bincount(codes, weights=psi)
        std_error = math.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(psi)
        at = UTILITIES.index(BOOTSTRAPPED[name])
        yield name, float(value), std_error, float(drawn.std_error[0, at]) if drawn else None


def _notes(n: int, p: int | None, codes: Any, is_drawn: bool) -> Iterator[str]:
    errors = [error for ends in loo_errors(n, p or 1)[2].values() for error in ends]
    if p is not None and p >= n:
        yield (
            f"{p} features of {n} observations: both standard errors are far too small, since "
            "leave-one-out errors share a fit. Use fewer features, or more observations."
        )
    elif max(map(abs, errors)) > OFF:
        what = f"{n} observations" + ("" if p is None else f" and {p} features")
        yield f"with {what} neither standard error can be trusted: see the line above"
    if codes is not None:
        yield (
            "observations of a group were left out one by one: to predict new groups, leave out a "
            "group at a time and give prediction="
        )
    elif not is_drawn:
        yield "with so many rows the Bayesian bootstrap, not drawn, has the same standard errors"
