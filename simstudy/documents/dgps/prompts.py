"""Populations of prompts: every prompt's score in a reference run, and in the run that checks it.

An evaluation scores a subset of a data set's prompts, so the data set's own scores are the
population that it draws from: N equally likely prompts, each with a pair of scores. Populations
here are made, not drawn: the scores of either run are the N midpoint quantiles of a distribution,
and a lattice of normal pairs says which of them belong to one prompt. So a run that has changed in
nothing has the very scores of the reference in another order, and means, standard deviations and
the correlation are those of N known numbers, with no error of their own.

Subsets are drawn with replacement: scores are independent draws from the population, as the theory
of these tests takes them to be.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.stats.arguments import check_count, check_proportion
from simstudy.errors import DesignError
from simstudy.lazy import special

Level = Float[np.ndarray, " prompt"]
Scores = Float[np.ndarray, " prompt"]
PerRep = Float[np.ndarray, " rep"]

GOLDEN_RATIO = (np.sqrt(5.0) - 1) / 2  # its multiples modulo 1 fill (0, 1) evenly (Weyl)
STEP_LIMIT = 10**6  # between own scores on a lattice; a finer one is as good as none
BISECTIONS = 60  # halvings of an interval of length 2, down to the spacing of doubles


# ---------------------------------------------------------------- distributions of scores
@runtime_checkable
class ScoreDistribution(Hashable, Protocol):
    """Protocol of the distribution of the scores of one run."""

    @property
    def lower_is_better(self) -> bool:
        """Whether a run with higher scores is the worse one."""
        ...

    @property
    def step(self) -> float:
        """Scores are whole multiples of it apart; 0 where they are not on a lattice."""
        ...

    def quantile(self, level: Level) -> Scores:
        """Compute the score with so much of the distribution at or below it.

        Parameters
        ----------
        level
            Probabilities.

        Returns
        -------
        Scores
            Scores.
        """
        ...

    def worse_by(self, effect: float) -> Self:
        """Return the distribution, on the same support, of a run whose mean is worse.

        Parameters
        ----------
        effect
            Loss of the mean, in the units of the scores.

        Returns
        -------
        Self
            The distribution.
        """
        ...


@dataclass(frozen=True)
class BinaryScores:
    """Right or wrong: 1 with probability `mean`, else 0.

    A worse run has a smaller probability.

    Parameters
    ----------
    mean
        Probability of 1, in (0, 1).
    """

    mean: float = 0.8
    lower_is_better = False
    step = 1.0

    def __post_init__(self) -> None:
        _check_between_ends("BinaryScores", self.mean)

    def quantile(self, level: Level) -> Scores:
        return (level > 1 - self.mean).astype(float)

    def worse_by(self, effect: float) -> Self:
        return replace(self, mean=self.mean - effect)


@dataclass(frozen=True)
class BoundedScores:
    """Beta scores between 0 and 1, as shares of words in common (ROUGE) are.

    Parameters
    ----------
    mean
        In (0, 1). A worse run has a smaller mean, and the same precision.
    precision
        Sum of the two parameters of the beta distribution: the variance is
        mean (1 - mean) / (precision + 1).
    """

    mean: float = 0.2
    precision: float = 6.0
    lower_is_better = False
    step = 0.0

    def __post_init__(self) -> None:
        _check_between_ends("BoundedScores", self.mean)
        _check_scale("BoundedScores", "precision", self.precision)

    def quantile(self, level: Level) -> Scores:
        first = self.mean * self.precision
        return np.asarray(special.betaincinv(first, self.precision - first, level))

    def worse_by(self, effect: float) -> Self:
        return replace(self, mean=self.mean - effect)


@dataclass(frozen=True)
class PerplexityScores:
    """Lognormal scores, of which lower ones are better: few prompts have most of the sum.

    Parameters
    ----------
    mean
        Mean of the scores. A worse run has every score larger by the same factor.
    spread
        Standard deviation of their logs; 1 gives a skewness of 6.2, and of 5.5 where the law is cut
        to 16384 prompts.
    """

    mean: float = 20.0
    spread: float = 1.0
    lower_is_better = True
    step = 0.0

    def __post_init__(self) -> None:
        _check_scale("PerplexityScores", "mean", self.mean)
        _check_scale("PerplexityScores", "spread", self.spread)

    def quantile(self, level: Level) -> Scores:
        log_mean = np.log(self.mean) - self.spread**2 / 2
        return np.asarray(np.exp(log_mean + self.spread * special.ndtri(level)))

    def worse_by(self, effect: float) -> Self:
        return replace(self, mean=self.mean + effect)


@dataclass(frozen=True)
class GaussianScores:
    """Normal scores, for which theory is exact. A worse run is shifted down.

    Parameters
    ----------
    mean
        Mean score.
    sd
        Standard deviation of a score, above 0.
    """

    mean: float = 0.0
    sd: float = 1.0
    lower_is_better = False
    step = 0.0

    def __post_init__(self) -> None:
        _check_scale("GaussianScores", "sd", self.sd)

    def quantile(self, level: Level) -> Scores:
        return np.asarray(self.mean + self.sd * special.ndtri(level))

    def worse_by(self, effect: float) -> Self:
        return replace(self, mean=self.mean - effect)


def _bisected(function: Callable[[float], float], value: float, low: float, high: float) -> float:
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < value else (low, middle)
    return high


# ---------------------------------------------------------------- populations
class Population(NamedTuple):
    """Equally likely prompts, with the score of each in both runs.

    Every statement about it holds for these prompts and not for the distribution they were made
    from. Standard deviations divide by their number.

    Attributes
    ----------
    reference
        Scores of the reference run.
    check
        Scores of the check, in the same order.
    lower_is_better
        Whether lower scores are better.
    """

    reference: Scores
    check: Scores
    lower_is_better: bool = False

    @property
    def sign(self) -> float:
        """Sign of a change for the worse."""
        return 1.0 if self.lower_is_better else -1.0

    @property
    def worse(self) -> Scores:
        """Each prompt's loss in the check, in units of the scores."""
        return np.asarray(self.sign * (self.check - self.reference))

    @property
    def effect(self) -> float:
        """Mean loss in the check."""
        return float(self.sign * (self.check.mean() - self.reference.mean()))

    @property
    def sd(self) -> float:
        """Standard deviation of one score of the reference run: the document's σ."""
        return float(self.reference.std())

    @property
    def sd_check(self) -> float:
        """Standard deviation of one score of the check."""
        return float(self.check.std())

    @property
    def sd_worse(self) -> float:
        """Standard deviation of the difference of the two scores of one prompt."""
        return float(self.worse.std())

    @property
    def correlation(self) -> float:
        """Correlation of the two scores of one prompt."""
        return _correlation(self.reference, self.check)


def paired_population(
    scores: ScoreDistribution,
    *,
    correlation: float = 0.0,
    effect: float = 0.0,
    n_prompts: int = 2**14,
) -> Population:
    """Make a population of pairs from a distribution of scores, the same whenever it is made.

    Parameters
    ----------
    scores
        Mean of the reference run.
    correlation
        Correlation of unchanged scores of one prompt, from 0 to below 1. It is met as
        closely as so many prompts allow; `Population.correlation` says exactly. A check with an
        effect has the same normal pairs behind it, and what correlation these then give.
    effect
        Loss of the check's mean, in units of the scores.
    n_prompts
        Prompts, at least 2 and at most 65535; drawing is fastest from a power of two.

    Returns
    -------
    Population
        The population.
    """
    _check_population(correlation, n_prompts)
    return _paired_population(scores, correlation, effect, n_prompts)


@lru_cache(maxsize=64)
def midpoint_scores(scores: ScoreDistribution, n_prompts: int) -> Scores:
    """Compute quantiles of a distribution in the middles of equal steps, in rising order.

    Parameters
    ----------
    scores
        Law of the scores.
    n_prompts
        Steps.

    Returns
    -------
    Scores
        Scores.
    """
    return scores.quantile((np.arange(n_prompts) + 0.5) / n_prompts)


@lru_cache(maxsize=64)
def _paired_population(
    scores: ScoreDistribution, correlation: float, effect: float, n_prompts: int
) -> Population:
    reference = midpoint_scores(scores, n_prompts)
    check = midpoint_scores(scores.worse_by(effect), n_prompts) if effect else reference
    ranks = _ranks_of_check(scores, correlation, n_prompts)
    return Population(reference, check[ranks], scores.lower_is_better)


@lru_cache(maxsize=64)
def _ranks_of_check(
    scores: ScoreDistribution, correlation: float, n_prompts: int
) -> Int[np.ndarray, " prompt"]:
    """Rank of each prompt in the check, so that equal runs have the correlation requested.

    The lattice has (i + ½)/N next to the multiples of the golden ratio modulo 1, through the normal
    quantile function; a mixture of the two is ranked. The correlation of the scores grows with the
    share of the first in it, in steps.
    """
    places = np.arange(n_prompts) + 0.5
    first, second = special.ndtri(places / n_prompts), special.ndtri(places * GOLDEN_RATIO % 1)
    reference = midpoint_scores(scores, n_prompts)

    def ranks(latent: float) -> Int[np.ndarray, " prompt"]:
        mixture = latent * first + np.sqrt(1 - latent**2) * second
        return np.argsort(np.argsort(mixture, kind="stable"), kind="stable")

    def found(latent: float) -> float:
        return _correlation(reference, reference[ranks(latent)])

    return ranks(_bisected(found, correlation, -1.0, 1.0))


def _correlation(x: Scores, y: Scores) -> float:
    about = (x - x.mean()) @ (y - y.mean()) / len(x)
    spread = float(x.std() * y.std())
    return float(about / spread) if spread else 0.0


# ---------------------------------------------------------------- drawing
class RunSums(NamedTuple):
    """Sums of each replicate's run, of scores about a centre.

    Attributes
    ----------
    total
        Sum of the scores.
    squares
        Sum of their squares.
    """

    total: PerRep
    squares: PerRep


class PairSums(NamedTuple):
    """Sums of each replicate's two runs on the same prompts, of scores about one centre.

    Attributes
    ----------
    reference
        Sum of the reference's scores.
    worse
        Sum of the differences for the worse.
    squares
        Sum of both runs' squares.
    squared_worse
        Sum of the squared differences.
    """

    reference: PerRep
    worse: PerRep
    squares: PerRep
    squared_worse: PerRep


def draw_run(
    rng: np.random.Generator, scores: Scores, n_rep: int, n: int, *, centre: float = 0.0
) -> RunSums:
    """Draw sums over `n` prompts drawn with replacement, in each replicate.

    Parameters
    ----------
    rng
        Gives one word, which starts the stream of indices.
    scores
        One for each prompt, at most 65535 of them.
    n_rep
        Replicates.
    n
        Prompts of a run.
    centre
        Taken off each score; one near their mean keeps their squares from cancelling.

    Returns
    -------
    RunSums
        Sums of each replicate.
    """
    about = scores - centre
    sums = _sums(rng, np.stack([about, about * about]), n_rep, n)
    return RunSums(sums[:, 0], sums[:, 1])


def draw_pairs(rng: np.random.Generator, population: Population, n_rep: int, n: int) -> PairSums:
    """Draw sums over `n` prompts, the same for both runs, about the mean of the reference run.

    Parameters
    ----------
    rng
        Gives one word, which starts the stream of indices.
    population
        The prompts.
    n_rep
        Replicates.
    n
        Prompts of a run.

    Returns
    -------
    PairSums
        Sums of each replicate.
    """
    centre, worse = population.reference.mean(), population.worse
    x, y = population.reference - centre, population.check - centre
    sums = _sums(rng, np.stack([x, worse, x * x + y * y, worse * worse]), n_rep, n)
    return PairSums(*(np.ascontiguousarray(column) for column in sums.T))


def _sums(
    rng: np.random.Generator, columns: Float[np.ndarray, "column prompt"], n_rep: int, n: int
) -> Float[np.ndarray, "rep 4"]:
    from simstudy.documents.dgps._prompt_kernels import drawn_sums, rows_of
    from simstudy.documents.stats.bootstrap._resample_kernels import COLUMNS

    check_count("n", n, least=1, meaning="a run")
    sums = np.empty(n_rep * COLUMNS)
    seed = rng.integers(0, 2**64, dtype=np.uint64)
    drawn_sums(rows_of(columns), n, seed, sums)
    return sums.reshape(n_rep, COLUMNS)


# ---------------------------------------------------------------- refusals
def _check_population(correlation: float, n_prompts: int) -> None:
    from simstudy.documents.dgps._prompt_kernels import PROMPT_LIMIT

    check_count("n_prompts", n_prompts, least=2, meaning="a population with a spread")
    if n_prompts > PROMPT_LIMIT:
        raise DesignError(
            f"n_prompts={n_prompts} is more than the {PROMPT_LIMIT} that an index of 16 bits tells "
            "apart. Use fewer: tested is a population and not the law that it is made from, "
            "of which it lacks the far tail."
        )
    check_pairing(correlation)


def check_pairing(correlation: float) -> None:
    """Raise an error for a correlation that two runs of one prompt cannot be tested with.

    Parameters
    ----------
    correlation
        Correlation of the two scores of one prompt.

    Raises
    ------
    DesignError
        If it is not from 0 to below 1.
    """
    if not 0 <= correlation < 1:
        raise DesignError(
            f"correlation={correlation:g} leaves no difference between two runs of one prompt to "
            "test, or is none that repeated prompts have. Use one from 0 to below 1."
        )


def _check_between_ends(kind: str, mean: float) -> None:
    check_proportion("mean", mean, f"a population of {kind} that differ")


def _check_scale(kind: str, name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise DesignError(
            f"{kind}({name}={value:g}) is no distribution of scores that differ. "
            f"Give a finite {name} above 0."
        )
