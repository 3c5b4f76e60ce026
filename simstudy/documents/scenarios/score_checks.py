"""Whether a check of a model's scores fails, by tests that know different things.

Scores are those of a population of prompts (`simstudy.documents.dgps.prompts`), of any
distribution. The z test takes the standard deviation of one score as known: it may be right, wrong
by a factor, or the estimate of a pilot run. Student's t estimates it from both runs, and
paired tests use the differences of the prompts that both runs share.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.design import Columns
from simstudy.documents.dgps.prompts import (
    GaussianScores,
    Population,
    ScoreDistribution,
    check_pairing,
    draw_pairs,
    draw_run,
    midpoint_scores,
    paired_population,
)
from simstudy.documents.stats.accuracy.design import detectable_effect
from simstudy.documents.stats.arguments import Numbers, check_count, check_proportion
from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.measures import rejection_rate
from simstudy.provenance.streams import Streams

SIGMA_FACTORS = {"z": 1.0, "z_sigma_small": 0.8, "z_sigma_large": 1.25}
"""What a z test's σ is of the true one, where it is right or wrong by a factor."""

PILOTS = {"z_pilot_32": 32, "z_pilot_256": 256}
"""Scores of a pilot run whose standard deviation a z test takes for σ."""

METHODS = (*SIGMA_FACTORS, *PILOTS, "t", "paired_z", "paired_t")
"""All tests. `t` is Student's, with the variance pooled over both runs; not Welch's."""

MISLED = {name.replace("z_pilot", "misled_by"): n_pilot for name, n_pilot in PILOTS.items()}
LIBERAL = 0.5  # share of alpha by which a pilot may move the level: Bradley's (1978) limits

PerRep = Float[np.ndarray, " rep"]


class Differences(NamedTuple):
    """Differences of a replicate's two runs, in units of the scores; NaN where they are not seen.

    Loss of the check's mean, the pooled standard deviation of one score, and that of
    the difference of two scores of a prompt.
    """

    worse: PerRep
    sd: Numbers
    sd_worse: Numbers


@dataclass(frozen=True)
class ScoreCheck:
    """A check of n scores against a reference of as many.

    Parameters
    ----------
    scores
        Their distribution in the reference run.
    n
        Scores in each run, at least 2.
    detectable_at
        The check is worse by the effect that a z test with this many scores in each run, drawn
        independently, detects with probability 1 - beta; 0: it is not worse.
    correlation
        Correlation of the two scores of one prompt if nothing has changed.
    same_prompts
        Whether both runs have the same prompts, or prompts of their own.
    reference
        Level in (0, 1) of a reference that is held fixed: its mean is so good that only a share
        1 - reference of references is better, by their normal law, and of scores on a lattice the
        nearest mean that there is. None: another reference is drawn in each replicate.
    alpha, beta
        Level of the tests, below one half, and type-II error of the effect.
    n_prompts
        Size of the population, at most 65535.
    """

    scores: ScoreDistribution
    n: int
    detectable_at: int = 0
    correlation: float = 0.0
    same_prompts: bool = True
    reference: float | None = None
    alpha: float = 0.05
    beta: float = 0.2
    n_prompts: int = 2**14

    def __post_init__(self) -> None:
        check_count("n", self.n, least=2, meaning="the spread of a run")
        check_count("detectable_at", self.detectable_at, least=0, meaning="an effect")
        check_pairing(self.correlation)
        if not 0 < self.alpha < 0.5:
            raise DesignError(
                f"alpha={self.alpha:g} puts the threshold where nothing is worse, so checks that "
                "are better would fail. Use a level above 0 and below 0.5."
            )
        if self.reference is not None:
            check_proportion("reference", self.reference, "a fixed reference")
            self._refuse_pairs_with_a_record()
        self.scores.worse_by(self.effect).quantile(np.array([0.5]))  # refuses too large an effect

    def _refuse_pairs_with_a_record(self) -> None:
        if self.same_prompts or self.correlation:
            raise DesignError(
                f"reference={self.reference:g} fixes the mean of a run and not its prompts, so the "
                "check cannot have the same ones. Use same_prompts=False, correlation=0."
            )

    # ------------------------------------------------------------ what is true
    @property
    def population(self) -> Population:
        """Population of prompts with both scores, the check worse by the effect."""
        return self._population(self.effect)

    def _population(self, effect: float) -> Population:
        return paired_population(
            self.scores, correlation=self.correlation, effect=effect, n_prompts=self.n_prompts
        )

    @property
    def sigma(self) -> float:
        """Standard deviation of one score of the reference run."""
        return float(midpoint_scores(self.scores, self.n_prompts).std())

    @property
    def effect(self) -> float:
        """Difference by which the check is to be worse, in units of the scores."""
        # Requested in any case, so that errors that no test has are refused here.
        at = self.detectable_at or self.n
        found = float(detectable_effect(self.alpha, self.beta, self.sigma, at))
        return found if self.detectable_at else 0.0

    @property
    def luck(self) -> float:
        """Luck of the reference: how much too good it is, in its standard errors."""
        return self._recorded_better() * float(np.sqrt(self.n)) / self.sigma

    def _recorded_better(self) -> float:
        """Recorded mean less the population's, as a gain in units of the scores."""
        if self.reference is None:
            return 0.0
        sign = 1.0 if self.scores.lower_is_better else -1.0
        scores = midpoint_scores(self.scores, self.n_prompts)
        truth, least = float(scores.mean()), float(scores[0])
        better = float(special.ndtri(self.reference)) * self.sigma / np.sqrt(self.n)
        step, recorded = self.scores.step / self.n, truth - sign * better
        recorded = least + round((recorded - least) / step) * step if step else recorded
        return float(sign * (truth - recorded))

    @property
    def expected_worse(self) -> float:
        """Expectation of the difference of means, for the worse."""
        return self.population.effect + self._recorded_better()

    # ------------------------------------------------------------ what is drawn
    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        found = self.differences(streams, n_rep)
        pilots = {name: self._pilot_sd(streams, n, n_rep) for name, n in PILOTS.items()}
        misled = [self._misleads(sd) for sd in pilots.values()]
        return {
            "reject": self._rejections(found, pilots),
            **dict(zip(MISLED, misled, strict=True)),
        }

    def differences(self, streams: Streams, n_rep: int) -> Differences:
        """Differences of each replicate's two runs."""
        if self.reference is not None:
            return self._from_the_record(streams, n_rep)
        return (
            self._on_the_same(streams, n_rep) if self.same_prompts else self._apart(streams, n_rep)
        )

    def _on_the_same(self, streams: Streams, n_rep: int) -> Differences:
        n, about = self.n, self.population
        sums = draw_pairs(streams("prompts"), about, n_rep, n)
        check = sums.reference + about.sign * sums.worse
        squares = _about_means(sums.squares, [sums.reference, check], n)
        of_worse = _about_means(sums.squared_worse, [sums.worse], n)
        return Differences(
            sums.worse / n, np.sqrt(squares / (2 * n - 2)), np.sqrt(of_worse / (n - 1))
        )

    def _apart(self, streams: Streams, n_rep: int) -> Differences:
        n, about = self.n, self.population
        centre = float(about.reference.mean())
        reference = draw_run(streams("prompts"), about.reference, n_rep, n, centre=centre)
        check = draw_run(streams("check"), about.check, n_rep, n, centre=centre)
        squares = reference.squares + check.squares
        squares = _about_means(squares, [reference.total, check.total], n)
        worse = about.sign * (check.total - reference.total) / n
        return Differences(worse, np.sqrt(squares / (2 * n - 2)), np.nan)

    def _from_the_record(self, streams: Streams, n_rep: int) -> Differences:
        """Differences from a mean on record, without the scores that it is the mean of."""
        about = self.population
        centre = float(about.reference.mean())
        check = draw_run(streams("check"), about.check, n_rep, self.n, centre=centre)
        worse = about.sign * check.total / self.n + self._recorded_better()
        return Differences(worse, np.nan, np.nan)

    def _pilot_sd(self, streams: Streams, n_pilot: int, n_rep: int) -> PerRep:
        scores = self.population.reference
        centre = float(scores.mean())
        sums = draw_run(streams(f"pilot {n_pilot}"), scores, n_rep, n_pilot, centre=centre)
        squares = _about_means(sums.squares, [sums.total], n_pilot)
        return np.asarray(np.sqrt(squares / (n_pilot - 1)))

    # ------------------------------------------------------------ what is decided
    def _rejections(
        self, found: Differences, pilots: dict[str, PerRep]
    ) -> Float[np.ndarray, "rep method"]:
        """1 where a test fails the check, 0 where not, NaN where it needs what is not there."""
        margins = self._margins(found, pilots)
        reject = np.empty((len(found.worse), len(METHODS)))
        for place, method in enumerate(METHODS):
            margin = margins[method]
            # Without any spread the margin is 0, and no difference is no reason to fail.
            failed = (found.worse >= margin) & (found.worse > 0)
            reject[:, place] = np.where(np.isnan(margin), np.nan, failed)
        return reject

    def _margins(self, found: Differences, pilots: dict[str, PerRep]) -> dict[str, Numbers]:
        """Margin by which a check must be worse to fail, by each test, in units of the scores."""
        two_runs, pairs = np.sqrt(2 / self.n), np.sqrt(1 / self.n)
        by_pilot = {name: self._normal_reach * two_runs * sd for name, sd in pilots.items()}
        return (
            self._known_margins()
            | by_pilot
            | {
                "t": self._student_reach(2 * self.n - 2) * two_runs * found.sd,
                "paired_t": self._student_reach(self.n - 1) * pairs * found.sd_worse,
            }
        )

    def _known_margins(self) -> dict[str, Numbers]:
        """Margins of the tests that take their standard deviation as known."""
        sigma = self._normal_reach * np.sqrt(2 / self.n) * self.sigma
        paired = self._normal_reach * np.sqrt(1 / self.n) * self._known_sd_worse
        return {name: factor * sigma for name, factor in SIGMA_FACTORS.items()} | {
            "paired_z": paired
        }

    @property
    def _known_sd_worse(self) -> float:
        """Standard deviation of the differences without a change: what a z test can know."""
        return self._population(0.0).sd_worse if self.same_prompts else np.nan

    @property
    def _normal_reach(self) -> float:
        """Standard errors from no difference to the threshold."""
        return -float(special.ndtri(self.alpha))

    def _student_reach(self, df: int) -> float:
        return -float(special.stdtrit(df, self.alpha))

    def _misleads(self, pilot_sd: PerRep) -> Bool[np.ndarray, " rep"]:
        """Whether a pilot's σ moves the level of the z test, by normal theory, out of limits."""
        shares = pilot_sd / self.sigma
        low, high = self._limits_of_sigma
        return np.asarray((shares < low) | (shares > high))

    @property
    def _limits_of_sigma(self) -> tuple[float, float]:
        """Shares of σ at which the level is half as large again as alpha, and half of alpha."""
        levels = self.alpha * np.array([1 + LIBERAL, 1 - LIBERAL])
        low, high = -special.ndtri(levels) / self._normal_reach
        return float(low), float(high)

    # ------------------------------------------------------------ what is known
    def exact(self) -> Columns:
        """Rejections, for normal scores; NaN where only simulation says.

        A population of normal quantiles is not quite normal: of 16384 prompts the kurtosis is up
        to 0.011 too small and pairs have a skewness of up to 0.003, which by Edgeworth's expansion
        moves no rejection rate by 1e-4 from n = 26 on.
        """
        known = self._normal_rates() if isinstance(self.scores, GaussianScores) else {}
        rates = np.array([known.get(method, np.nan) for method in METHODS])
        return {"rejection_rate": rates}

    def _normal_rates(self) -> dict[str, float]:
        """P(difference >= margin) of a normal difference, in its standard errors."""
        error, margins = self._sd_of_difference(), self._known_margins()
        shift = self.expected_worse / error
        known = {name: float(special.ndtr(shift - at / error)) for name, at in margins.items()}
        # A pilot's σ is independent of both runs, as a denominator of Student's t is.
        at_sigma = float(margins["z"] / error)
        pilots = {name: _beyond(at_sigma, n - 1, shift) for name, n in PILOTS.items()}
        student = {
            name: _beyond(self._student_reach(df), df, shift)
            for name, df in self._degrees_of_freedom().items()
        }
        return known | pilots | student

    def _degrees_of_freedom(self) -> dict[str, int]:
        """Degrees of freedom of Student's tests where their law is a noncentral t.

        Between runs that are correlated the pooled variance is not a multiple of one χ².
        """
        independent = self.correlation == 0 and self.reference is None
        return ({"t": 2 * self.n - 2} if independent else {}) | (
            {"paired_t": self.n - 1} if self.same_prompts else {}
        )

    def _sd_of_difference(self) -> float:
        about = self.population
        if self.reference is not None:
            variance = about.sd_check**2
        elif self.same_prompts:
            variance = about.sd_worse**2
        else:
            variance = about.sd**2 + about.sd_check**2
        return float(np.sqrt(variance / self.n))


def _about_means(squares: PerRep, totals: list[PerRep], n: int) -> PerRep:
    """Sums of squares about each run's own mean; 0 where only rounding is left of them.

    A sum of n squares is rounded by at most n times the spacing of doubles at 1, in units of
    itself; what is below that may be what a run without spread leaves.
    """
    about = squares - sum(total * total for total in totals) / n
    return np.where(about > n * np.finfo(float).eps * squares, about, 0.0)


def _beyond(at: float, df: int, shift: float) -> float:
    """P(T >= at) of a noncentral t."""
    return float(1 - special.nctdtr(df, shift, at))


MEASURES = (
    rejection_rate("reject"),
    *(rejection_rate(name, name=name) for name in MISLED),
)
