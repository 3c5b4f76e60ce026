"""What a document states, against what our simulation says."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simstudy.errors import StudyError, describe
from simstudy.lazy.pandas import pd
from simstudy.lazy.scipy import special

CLOSE_Z = 3.0  # a difference beyond three standard errors of it is not chance
BROKEN = "could not be computed"  # begins the detail of a claim that raised what it should not
FALSE_ALARM = 1e-4  # studies in which chance alone fails a statement that holds


class Reproduced(NamedTuple):
    """Our value of a claimed number, with its Monte Carlo error (0 where it is exact)."""

    value: float
    mcse: float = 0.0
    detail: str = ""
    n_rep: float = math.inf  # that the error was estimated from


# ---------------------------------------------------------------- chance
def chance_limit(n_compared: int = 1, *, false_alarm: float = FALSE_ALARM) -> float:
    """How many standard errors the largest of several deviations stays below, chance alone.

    Parameters
    ----------
    n_compared
        Deviations compared, at least 1; whether they are independent does not matter (Bonferroni).
    false_alarm
        Probability that one of them exceeds the limit though nothing is wrong, in (0, 1).
    """
    if n_compared < 1 or not 0 < false_alarm < 1:
        raise StudyError(
            f"chance_limit({n_compared}, false_alarm={false_alarm:g}) compares nothing, or always "
            "or never raises an alarm. Compare at least 1 deviation, at a rate between 0 and 1."
        )
    return -float(special.ndtri(false_alarm / (2 * n_compared)))


def largest_deviation(
    found: Any, theory: Any, error: Any, *, detail: str = "largest deviation {:.2f} MCSE"
) -> Reproduced:
    """Whether the largest of several deviations from theory, in standard errors, is chance.

    Its size goes into `detail`.
    """
    z = np.abs(np.asarray(found, float) - theory) / error
    worst = float(z.max())
    return Reproduced(float(worst < chance_limit(z.size)), detail=detail.format(worst))


def decided(excess: Any, reach: Any, detail: str, *, everywhere: bool = True) -> Reproduced:
    """Whether something is above 0 in every cell, or in one, beyond what chance explains.

    Parameters
    ----------
    excess
        By how much what was found speaks for the statement, in each cell.
    reach
        How far chance reaches there: `chance_limit` times the Monte Carlo error.
    everywhere
        Whether it must be so in every cell; else one is enough.

    Raises
    ------
    LookupError
        Where replicates are too few for either answer, so that no verdict is easier with fewer.
    """
    found, error = np.asarray(excess, float), np.asarray(reach, float)
    sure, refuted = found - error > 0, found + error < 0
    holds = sure.all() if everywhere else sure.any()
    fails = refuted.any() if everywhere else refuted.all()
    if not (holds or fails):
        raise LookupError(f"replicates enough to decide ({detail})")
    return Reproduced(float(holds), detail=detail)


def settled(found: Reproduced, published: float, rounding: float = 0.0) -> Reproduced:
    """What was found, where Monte Carlo error cannot turn whether it is what is published.

    Chance reaches as far as Student's t of the replicates that the error was estimated from.

    Raises
    ------
    LookupError
        Where replicates are too few for either answer, so that no verdict is easier with fewer.
    """
    if found.n_rep < 2:
        raise LookupError(f"replicates enough to decide ({found.value:.4g} of one)")
    z = -float(special.stdtrit(found.n_rep - 1, float(special.ndtr(-CLOSE_Z))))
    distance, reach = abs(found.value - published), z * found.mcse
    if distance - reach <= rounding < distance + reach:
        raise LookupError(
            f"replicates enough to decide ({found.value:.4g}, and {reach:.4g} is within reach of "
            f"chance, for {published:g})"
        )
    return found


def binomial_error(share: Any, n: Any) -> Any:
    """Monte Carlo error of a share of n independent replicates."""
    return np.sqrt(share * (1 - np.asarray(share, float)) / n)


def cautious_binomial_error(share: Any, n: Any) -> Any:
    """The same, as if one replicate more had gone either way: 0 of n is not without error."""
    return binomial_error((np.asarray(share, float) * n + 1) / (n + 2), n)


def share(hits: Any, detail: str = "") -> Reproduced:
    """The share of replicates that are hits, with its error; LookupError where there are none."""
    flags = np.asarray(hits, bool)
    if flags.size == 0:
        raise LookupError("a replicate that meets the condition of this share")
    hit = float(flags.mean())
    error = binomial_error if 0 < hit < 1 else cautious_binomial_error
    return Reproduced(hit, float(error(hit, flags.size)), detail, flags.size)


def average(values: Any, detail: str = "") -> Reproduced:
    """The mean of one value per replicate, with its error."""
    given = np.asarray(values, float)
    error = float(given.std(ddof=1) / np.sqrt(len(given)))
    return Reproduced(float(given.mean()), error, detail, len(given))


def of_row(row: Any, detail: str = "") -> Reproduced:
    """The estimate of a row of the summary, with its error."""
    return Reproduced(row["estimate"], row["mcse"], detail)


# ---------------------------------------------------------------- claims
@dataclass(frozen=True)
class Claim:
    """A number or a statement that a document publishes.

    Parameters
    ----------
    name
        Short and unique in its study.
    statement
        What the document says, in our words.
    source
        Where it says so: figure, table or section.
    reproduce
        From the result, our value. For a statement without a number: 1 where it holds, else 0.
    published
        The number as printed; for a statement without one, True.
    rounding
        Half a unit of the last printed digit.
    published_mcse
        Monte Carlo error of the published number, from its own number of replicates.
    tolerance
        How far "about" reaches, where the document itself says so.
    expected
        `reproduced`, or `differs` where re-derivation says that the document is off.
    note
        Why it differs, or what to keep in mind.
    """

    name: str
    statement: str
    source: str
    reproduce: Callable[[Any], Reproduced]
    published: float | bool
    rounding: float = 0.0
    published_mcse: float = 0.0
    tolerance: float = 0.0
    expected: str = "reproduced"
    note: str = ""

    def __post_init__(self) -> None:
        if self.expected not in ("reproduced", "differs"):
            raise StudyError(
                f"claim {self.name!r} expects {self.expected!r}: say 'reproduced' or 'differs'."
            )

    def verdict(self, ours: Reproduced) -> str:
        """`reproduced`, `differs` or `no data`."""
        if not (math.isfinite(ours.value) and math.isfinite(ours.mcse)):
            return "no data"
        allowed = self.rounding + self.tolerance
        allowed += CLOSE_Z * math.hypot(ours.mcse, self.published_mcse)
        near = abs(ours.value - self.published) <= allowed + 1e-12 * abs(self.published)
        return "reproduced" if near else "differs"


def check_claims(claims: Sequence[Claim], result: Any) -> pd.DataFrame:
    """One row per claim: published and reproduced value, MCSE, verdict, and whether we foresaw it.

    A claim that needs a scenario which this run leaves out, or more replicates than it has, has
    the verdict `no data` and says why.
    """
    return pd.DataFrame([_row(claim, result) for claim in claims], columns=COLUMNS)


COLUMNS = [
    *("claim", "statement", "source", "kind", "published", "reproduced"),
    *("mcse", "verdict", "expected", "detail", "note"),
]


def shown(kind: str, value: float) -> str:
    """A published or reproduced value for people: a number, or whether a statement holds."""
    if math.isnan(value):
        return "–"
    if kind == "statement":
        return "holds" if value == 1 else "fails"
    return f"{value:.4g}"


def _as_reproduced(claim: Claim, ours: Any) -> Reproduced:
    """What a claim gave: a plain number is a value without an error of its own.

    Raises
    ------
    TypeError
        Where it is no number.
    """
    if isinstance(ours, Reproduced):
        return ours
    if isinstance(ours, numbers.Real | np.bool_):
        return Reproduced(float(ours))
    raise TypeError(
        f"the claim {claim.name!r} gave {type(ours).__name__}, which is no number to hold against "
        "the published one: return Reproduced(value, mcse)."
    )


def _row(claim: Claim, result: Any) -> dict[str, Any]:
    try:
        ours = _as_reproduced(claim, claim.reproduce(result))
    except (LookupError, StudyError) as error:
        ours = Reproduced(math.nan, math.nan, f"not in this run: {error}")
    except Exception as error:  # one claim must not cost the others, nor the summary
        ours = Reproduced(math.nan, math.nan, f"{BROKEN}: {describe(error)}")
    return {
        "claim": claim.name,
        "statement": claim.statement,
        "source": claim.source,
        "kind": "statement" if claim.published is True else "number",
        "published": float(claim.published),
        "reproduced": ours.value,
        "mcse": ours.mcse,
        "verdict": claim.verdict(ours),
        "expected": claim.expected,
        "detail": ours.detail,
        "note": claim.note,
    }
