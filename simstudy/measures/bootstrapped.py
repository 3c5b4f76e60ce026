"""Measures that are any function of the columns, with bootstrap Monte Carlo errors."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.errors import DesignError, StudyError, in_one_line
from simstudy.measures.columns import Columns, Keep, Sample
from simstudy.measures.core import Estimates, Formula, Influence, Measure, MeasureContext
from simstudy.provenance.streams import generator
from simstudy.validation import check_whole

N_BOOT = 1000  # default resamples: the error is then known to 1/sqrt(2000), about 2%


def bootstrapped(
    function: Callable[..., Any], *, name: str | None = None, n_boot: int = N_BOOT
) -> Measure:
    """A function of columns; its MCSE is the standard deviation over resampled replicates.

    Functions of means, quantiles or shares have measures that are faster and need no resampling
    (`MomentMeasure` takes any smooth function of means).

    Parameters
    ----------
    function
        Function whose parameters without a default are names of columns. It receives arrays of
        shape (rep, *axes) and returns a number for each cell: an array over the axes, or over the
        first of them if it combines the others (such as methods), or one number. It is called
        `n_boot` times, more often if replicates failed.
    name
        Name of the measure in the summary. Default: the name of the function.
    n_boot
        Resamples, at least 2.

    Returns
    -------
    Measure
        The measure, in the units of what the function returns.

    Raises
    ------
    DesignError
        If the function names no columns or has no name.
    ConfigError
        If `n_boot` is not a whole number of at least 2.

    Notes
    -----
    Whole rows are drawn with replacement, so the error is right for functions that are smooth in
    the distribution of the replicates (not for extremes). Each cell uses the replicates that did
    not fail in it, as with any measure. If cells failed in different replicates, the function is
    called once for each set of replicates, with NaN in the other cells, whose results are ignored.
    The rows drawn depend only on the study's name and seed and the measure's name, so the error
    has the same bits on every machine, and contrasts of methods or scenarios resample both alike.

    References
    ----------
    Efron (1979), Annals of Statistics 7, 1-26. Koehler, Brown & Haneuse (2009), The American
    Statistician 63, 155-162, for the Monte Carlo error of a simulation study.
    """
    check_whole("n_boot", n_boot, least=2, counts="resamples", usual=N_BOOT)
    label = getattr(function, "__name__", "") if name is None else name
    if not label.isidentifier():
        raise DesignError(
            f"bootstrapped: {in_one_line(repr(function))} has no name for the summary. Give it "
            "one, as in bootstrapped(function, name='skewness')."
        )
    return _Bootstrapped(
        name=label,
        formula=Formula(
            "the study's own function of the columns",
            "standard deviation of the function over resamples of the replicates",
        ),
        reads=_parameters(function),
        function=function,
        n_boot=n_boot,
        undefined="the function gives no number for these replicates",
        needs_independence="single replicates are resampled, as if they were independent",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Bootstrapped(Measure):
    function: Callable[..., Any]
    n_boot: int
    study: str = ""
    seed: int = 1

    def bind(self, context: MeasureContext) -> Measure:
        return replace(self, study=context.study, seed=context.seed)

    def influence(self, columns: Columns, *, keep: Keep = None) -> Influence:
        """Compute influences: one row of `psi` per resample, scaled so that its SD is the error."""
        data = self.sample(columns, keep=keep)
        shape = self._shape_of_cells(data)
        used = np.asarray(data.used.all(axis=tuple(range(1 + len(shape), data.used.ndim))))
        n = np.asarray(used.sum(axis=0))
        estimate, draws = np.full(shape, np.nan), np.full((self.n_boot, *shape), np.nan)
        for rows, cells in _alike(used):
            estimate[cells] = self._called(data, rows)[cells]
            for k, chosen in enumerate(self._resampled(rows)):
                draws[k, ...][cells] = self._called(data, chosen)[cells]
        return Influence(estimate, _scaled(draws, n), n, len(used) - n, n.astype(float))

    def report(self, influence: Influence, mcse: np.ndarray, *, level: float) -> Estimates:
        found = super().report(influence, mcse, level=level)
        lost = np.isfinite(found.estimate) & ~np.isfinite(mcse) & (found.n_rep > 1)
        why = "the function gives no number for a resample of these replicates"
        return found._replace(reason=np.where(lost, why, found.reason))

    def _resampled(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Draw rows with replacement; the draws depend on the number of rows only."""
        rng = generator(self.seed, self.study, "bootstrap", self.name)
        for _ in range(self.n_boot):
            yield rows[rng.integers(len(rows), size=len(rows))]

    def _called(self, data: Sample, rows: np.ndarray) -> np.ndarray:
        """Apply the function to some rows."""
        whole = data.used.shape
        given = {name: np.broadcast_to(data.columns[name], whole)[rows] for name in self.reads}
        with np.errstate(all="ignore"):
            found = self.function(**given)
        try:
            if found is None:
                raise TypeError("nothing was returned")
            return np.asarray(found, dtype=float)
        except (TypeError, ValueError) as error:
            raise StudyError(
                f"{self.name}: the function returned {in_one_line(repr(found))}, which is not "
                "a number of a cell. Return a number, or an array over the axes."
            ) from error

    def _shape_of_cells(self, data: Sample) -> tuple[int, ...]:
        """Find the shape of the function's result on the replicates used in every cell.

        If there are none, all replicates are used.
        """
        axes = data.used.shape[1:]
        complete = np.flatnonzero(data.used.all(axis=tuple(range(1, data.used.ndim))))
        found = self._called(data, complete if len(complete) else np.arange(len(data.used)))
        if found.shape != axes[: found.ndim]:
            raise StudyError(
                f"{self.name}: the function returned the shape {found.shape}, but the cells have "
                f"the shape {axes}. Return one number, or an array over all axes or the first of "
                "them, without the axis of replicates."
            )
        return found.shape


def _alike(
    used: Bool[np.ndarray, " rep *cells"],
) -> Iterator[tuple[np.ndarray, Bool[np.ndarray, " *cells"]]]:
    """Group cells that use the same rows; cells without rows are left out."""
    patterns, which = np.unique(used.reshape(len(used), -1), axis=1, return_inverse=True)
    for k, pattern in enumerate(patterns.T):
        if pattern.any():
            yield np.flatnonzero(pattern), (which.ravel() == k).reshape(used.shape[1:])


def _scaled(draws: np.ndarray, n: np.ndarray) -> Float[np.ndarray, " draw *cells"]:
    """Deviations from the mean, scaled so that their standard error formula gives their SD.

    Infinite in cells where a resample gave no number, so that these have no error.
    """
    with np.errstate(all="ignore"):
        apart = draws - draws.mean(axis=0)
        scaled = apart * np.sqrt(n * (n - 1.0) / (len(draws) - 1))
    return np.where(np.isfinite(draws).all(axis=0), scaled, np.inf)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    columns = tuple(each.name for each in parameters if each.default is each.empty)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if not columns or any(each.kind not in by_name for each in parameters):
        raise DesignError(
            f"bootstrapped: {in_one_line(repr(function))} does not name the columns it needs. "
            "Give a function whose parameters without a default have the names of columns."
        )
    return columns
