"""Do predictive distributions fit? Their p-values, three measures, and the share that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.applied.answers import Answer
from simstudy.documents.applied.settings import PREDICTIVE_MEAN, PredictiveSettings
from simstudy.documents.applied.tables import Table, Values, check_same_length
from simstudy.documents.stats.compatible import cfdr, fisher, harmonic_mean, rfdr, storey
from simstudy.documents.stats.predictive import Normal, log_p_value, pit_distance
from simstudy.errors import ConfigError, DesignError
from simstudy.lazy import ggplot, p9, pd, stats
from simstudy.options import build

BINS = 10
MIN_PREDICTIONS = 2  # fewest predictions, or draws of one
COARSE = 100  # draws, below which the smallest p-value is above 0.02
RESAMPLED_LIMIT = 10**6  # p-values drawn for the intervals: beyond, fewer resamples
RANKED_LIMIT = 200_000  # predictions, beyond which CFDR and RFDR have no interval: sorting is slow
MIN_BOOT = 19  # resamples: the extremes are then the limits of a 90% interval
MEASURES: dict[str, Callable[[Values], Any]] = {
    "cfdr": partial(cfdr, clipped=True), "rfdr": rfdr, "storey": storey,
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class PredictiveFit(Answer):
    """How well predictive distributions fit the responses.

    Parameters
    ----------
    n
        Predictions.
    log10_p
        Log to the base 10 of the combined p-value: Fisher's; of groups Wilson's harmonic mean.
    cfdr, rfdr, share
        Means of the corrected (clipped at 1) and of the re-ranked false discovery rates, and
        Storey's estimate of the share of predictions that fit, each with its interval.
    distance, distance_p
        Kolmogorov's distance of the p-values from the uniform law, and its p-value. Those of ranks
        among draws are spread at random over the steps of their lattice.
    counts
        These p-values in ten bins from 0 to 1, each of n / 10 on average under fit.
    level
        Nominal coverage of the intervals.
    n_draw
        Draws of each predictive distribution; None for a mean and a standard deviation.
    is_clustered
        Whether groups were resampled.
    p_values
        P-value of each prediction.
    """

    method: ClassVar[str] = "predictive-pvalues"

    n: int
    log10_p: float
    cfdr: tuple[float, float, float]
    rfdr: tuple[float, float, float]
    share: tuple[float, float, float]
    distance: float
    distance_p: float
    counts: tuple[int, ...]
    level: float
    n_draw: int | None
    is_clustered: bool
    p_values: Values = field(compare=False)

    def figure(self) -> ggplot:
        """Draw the histogram of the p-values; lines: the count under fit ± 2 standard errors.

        Returns
        -------
        ggplot
            The figure; None where there is none.
        """
        from simstudy.figures.theme import PALE, theme_study

        middle = (np.arange(BINS) + 0.5) / BINS
        frame = pd.DataFrame({"p-value": middle, "predictions": self.counts})
        expected = self.n / BINS
        error = 2 * (expected * (1 - 1 / BINS)) ** 0.5
        figure = p9.ggplot(frame, p9.aes("p-value", "predictions"))
        figure += p9.geom_col(width=1 / BINS, fill=PALE, color="white")
        for height in (expected - error, expected, expected + error):
            style = "solid" if height == expected else "dashed"
            figure += p9.geom_hline(yintercept=max(height, 0), linetype=style)
        return figure + theme_study() + p9.labs(
            title=f"P-values of {self.n:,} predictions (lines: all fit, ± 2 standard errors)",
            x="predictive p-value", y="predictions",
        )  # fmt: skip

    def table(self) -> pd.DataFrame:
        """Return the p-value of each prediction.

        Returns
        -------
        DataFrame
            The table that is written.
        """
        return pd.DataFrame({"p_value": self.p_values})


# ---------------------------------------------------------------- functions
def check_predictions(
    y: Any,
    draws: Any = None,
    *,
    mean: Any = None,
    sd: Any = None,
    law: str = "draws",
    tail: str = "both",
    level: float = 0.9,
    cluster: Any = None,
    n_boot: int = 999,
    seed: int = 1,
) -> PredictiveFit:
    """Compare responses with their predictive distributions.

    Parameters
    ----------
    y
        Responses.
    draws
        Draws of each predictive distribution, (obs, draw).
    mean, sd
        In place of draws: means and standard deviations of normal predictive distributions.
    law
        "draws" ranks the response among its draws; "normal" fits a normal distribution to them, as
        document 001 does.
    tail
        Which values count as far: "both", "lower" or "upper".
    level, n_boot, seed
        Nominal coverage of the intervals, resamples behind them, and their seed.
    cluster
        Group of each prediction, if those of a group depend on each other.

    Returns
    -------
    PredictiveFit
        Printed, it reads as a short report.

    Raises
    ------
    DesignError
        For values that are no numbers, or shapes that do not fit.
    """
    settings = build(PredictiveSettings, {
        "law": law, "tail": tail, "level": level, "n_boot": n_boot, "seed": seed,
    })  # fmt: skip
    if draws is None and (mean is None or sd is None):
        raise DesignError("give draws, or mean and sd: without them there is nothing to compare")
    table = Table({"y": y, "mean": mean, "sd": sd, "cluster": cluster}, settings)
    return _check(table, None if draws is None else np.asarray(draws, dtype=float))


def check_tables(table: Table, draws: Table | None = None) -> PredictiveFit:
    """Compare the responses of a table with the draws of a second one, or with means and sds."""
    if draws is not None:
        columns = [draws.numbers("draw", str(name)) for name in draws.columns]
        return _check(table, np.stack(columns, axis=1))
    if table.settings.mean == PREDICTIVE_MEAN and PREDICTIVE_MEAN not in table.columns:
        raise ConfigError(
            "give a second file with the draws, one column for each, or name mean= and sd="
        )
    return _check(table, None)


# ---------------------------------------------------------------- p-values
def _check(table: Table, draws: Float[np.ndarray, "obs draw"] | None) -> PredictiveFit:
    """Summarise the p-values of responses, with draws or else means and standard deviations."""
    settings: PredictiveSettings = table.settings
    y, n_draw = table.numbers("y"), None
    if draws is None:
        read = [table.numbers("mean"), table.numbers("sd")]
        log_p = _normal_p(y, read[0], read[1], settings.tail)
        compared = np.exp(log_p)
    else:
        read = [draws]
        _refuse_odd_draws(y, draws)
        if settings.law == "normal":
            log_p = _normal_p(y, draws.mean(axis=1), draws.std(axis=1, ddof=1), settings.tail)
            compared = np.exp(log_p)
        else:
            n_draw = draws.shape[1]
            log_p, compared = _rank_p(y, draws, settings)
    n, p = len(y), np.exp(log_p)
    if n < MIN_PREDICTIONS:
        raise DesignError(
            f"{n} prediction says nothing of a share. Give at least {MIN_PREDICTIONS}."
        )
    codes = table.codes(n)
    combine = fisher if codes is None else harmonic_mean
    distance = pit_distance(compared)
    found = {name: _interval(p, name, codes, settings) for name in MEASURES}
    return PredictiveFit(
        n=n, log10_p=float(combine(log_p) / np.log(10)), cfdr=found["cfdr"], rfdr=found["rfdr"],
        share=found["storey"], distance=distance, distance_p=float(stats.kstwo.sf(distance, n)),
        counts=tuple(np.histogram(compared, BINS, (0, 1))[0].tolist()), level=settings.level,
        n_draw=n_draw, is_clustered=codes is not None, p_values=p,
        source=table.source_or(y, *read),
        settings=vars(settings), notes=tuple(_notes(n_draw, codes, settings)),
    )  # fmt: skip


def _normal_p(y: Values, mean: Values, sd: Values, tail: str) -> Values:
    """Log p-values by normal distributions."""
    check_same_length(y=y, mean=mean, sd=sd)
    if not (sd > 0).all():
        row = int((~(sd > 0)).argmax())
        raise DesignError(
            f"row {row + 1}: sd is {sd[row]:g}, and a predictive distribution needs a spread above "
            "0. Give standard deviations of new responses, not variances or logs."
        )
    return log_p_value(Normal(mean, sd), y, tail)


def _refuse_odd_draws(y: Values, draws: Float[np.ndarray, "obs draw"]) -> None:
    if draws.ndim != 2 or len(draws) != len(y) or draws.shape[1] < MIN_PREDICTIONS:
        raise DesignError(
            f"draws have shape {draws.shape} for {len(y):,} responses. Give a row for each "
            f"response and a column for each draw, at least {MIN_PREDICTIONS}."
        )
    if not np.isfinite(draws).all():
        row = int((~np.isfinite(draws).all(axis=1)).argmax())
        raise DesignError(f"row {row + 1}: a draw is missing or not finite. Leave the row out.")


def _rank_p(
    y: Values, draws: Float[np.ndarray, "obs draw"], settings: PredictiveSettings
) -> tuple[Values, Values]:
    """Log p-values by the rank of the response, and p-values spread at random over its steps.

    If y is as the draws, the first are uniform on their lattice, the second exactly. Czado,
    Gneiting & Held (2009), Biometrics 65, 1254-1261.
    """
    n_draw = draws.shape[1]
    within = np.random.default_rng(settings.seed).random(len(y))
    n_below = (draws < y[:, np.newaxis]).sum(axis=1)
    n_equal = (draws == y[:, np.newaxis]).sum(axis=1)
    p = _of_tail(1 + n_below + n_equal, 1 + n_draw - n_below, n_draw + 1, settings.tail)
    spread = n_below + within * (1 + n_equal)
    return np.log(p), _of_tail(spread, n_draw + 1 - spread, n_draw + 1, settings.tail)


def _of_tail(lower: Values, upper: Values, total: int, tail: str) -> Values:
    p = {"lower": lower, "upper": upper, "both": 2 * np.minimum(lower, upper)}[tail] / total
    return np.asarray(np.minimum(p, 1.0))


def _interval(
    p: Values, name: str, codes: Int[np.ndarray, " row"] | None, settings: PredictiveSettings
) -> tuple[float, float, float]:
    """A measure with its percentile interval, from resampled predictions or groups."""
    measure, rng = MEASURES[name], np.random.default_rng(settings.seed)
    if len(p) > RANKED_LIMIT and name != "storey":
        return float(measure(p)), math.nan, math.nan
    groups: Values | list[Values] = p  # without clusters, each prediction is a group
    if codes is not None:
        groups = np.split(p[np.argsort(codes, kind="stable")], np.cumsum(np.bincount(codes))[:-1])
    drawn = []
    for _ in range(int(np.clip(RESAMPLED_LIMIT // len(p), MIN_BOOT, settings.n_boot))):
        places = rng.integers(0, len(groups), len(groups))
        again = p[places] if codes is None else np.concatenate([groups[i] for i in places])
        drawn.append(float(measure(again)))
    tails = [(1 - settings.level) / 2, (1 + settings.level) / 2]
    low, high = np.quantile(drawn, tails, method="weibull")
    return float(measure(p)), float(low), float(high)


def _notes(n_draw: int | None, codes: Any, settings: PredictiveSettings) -> Iterator[str]:
    if n_draw is not None and n_draw < COARSE:
        least = (2 if settings.tail == "both" else 1) / (n_draw + 1)
        yield (
            f"with {n_draw} draws no p-value can be below {least:.2g}, so the combined p-value is "
            "too large; give more draws, or law=normal"
        )
    if settings.law == "normal":
        yield (
            "distributions that hold only the spread of a fitted function are too narrow: in "
            "`predictive_pvalue` they lacked residual noise, and the measures flagged it"
        )
    if codes is not None:
        yield "groups were resampled; Fisher's test needs independence, so Wilson's stands for it"
