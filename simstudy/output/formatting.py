"""Numbers, sizes and verdicts as people read them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from simstudy.analysis.frames import DATA, IN_ALL, TIMED
from simstudy.analysis.precision import shortfalls, spent
from simstudy.analysis.result import Result
from simstudy.analysis.summary import MEASURE
from simstudy.claims.verdict import (
    AS_EXPECTED,
    IN_PRINT_ONLY,
    NO_DATA,
    REPRODUCED,
    TOO_FEW,
    UNEXPECTED,
    against_expectation,
    standing_in,
)
from simstudy.design.reprs import from_to, names_in_short
from simstudy.lazy import pd
from simstudy.measures import OutlierRate
from simstudy.remote.paths import Place

UNITS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "μs": 1e-6}
LEAST_OF_A_UNIT = {"d": 2.0, "h": 2.0, "min": 2.0}  # others: 1, or what three digits make of it


def number(value: float | None) -> str:
    """Four significant digits; a dash for what is not there."""
    return "–" if value is None or math.isnan(value) else f"{value + 0.0:.4g}"  # no zero has a sign


def counted(n: int, one: str, several: str = "") -> str:
    """So many of something: "1 study", "2,000 studies"."""
    return f"{n:,} {one if n == 1 else several or f'{one}s'}"


def seen_from_here(folder: Place) -> str:
    """A folder as it is found from the working directory, if it lies below that."""
    if isinstance(folder, Path):
        with suppress(ValueError, OSError):  # elsewhere, or there is no working directory
            return str(folder.relative_to(Path.cwd()))
    return str(folder)


def size_in_words(result: Result) -> str:
    """How many replicates of how many scenarios."""
    n_scenarios = len(result.plan.scenarios)
    each = from_to(min(result.n_rep.values()), max(result.n_rep.values()))
    if n_scenarios == 1:
        return f"{each} replicates of one scenario"
    return f"{each} replicates in each of {n_scenarios:,} scenarios"


def work_in_words(result: Result) -> str:
    """The same, with what of it was drawn by this run."""
    n_rep, outcome = sum(result.n_rep.values()), result.outcome
    drawn = outcome.n_blocks * result.plan.block_size
    in_all = f", {n_rep:,} in all" * (len(result.plan.scenarios) > 1)
    if result.given:
        return f"{size_in_words(result)}{in_all} (given, not drawn)."
    return f"{size_in_words(result)}{in_all} ({drawn:,} drawn now, {outcome.seconds:.1f} s)."


def time_in_words(seconds: float) -> str:
    """Seconds in the unit in which they are a small number: "0.2 ms", "12 min", "3.5 h"."""
    for unit, size in UNITS.items():
        if seconds >= LEAST_OF_A_UNIT.get(unit, 0.9995) * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / UNITS['μs']:.3g} μs"


def run_time_in_words(result: Result) -> str:
    """What drawing took in all, and a replicate of each method; empty if not timed."""
    in_all = 0.0 if result.seconds.empty else result.seconds[IN_ALL].sum()
    if not in_all > 0:  # blocks that killed their processes are not timed
        return ""
    said = [f"{time_in_words(in_all)} on one core in all", _of_methods(result)]
    return "; ".join(filter(None, said))


def _of_methods(result: Result) -> str:
    """What a replicate takes each method, the slowest first."""
    axis = result.plan.methods_axis
    if not axis:
        return ""
    each = result.seconds.groupby(axis, sort=False)[[IN_ALL, TIMED]].sum()
    costs = (each[IN_ALL] / each[TIMED]).sort_values(ascending=False, kind="stable")
    named = [
        f"{'its data' if name == DATA else name} {time_in_words(c)}" for name, c in costs.items()
    ]
    return "a replicate takes " + names_in_short(named)


def precision_in_words(result: Result) -> str:
    """Whether the Monte Carlo errors that were asked for are there, and what that saved."""
    taken = spent(result, result.targets)
    n_short = int((~taken["reached"]).sum())
    uniform = int(taken["n_rep"].max()) * len(taken)
    text = f"precision reached in {len(taken) - n_short:,} of {len(taken):,} scenarios"
    if result.n_pilot:
        worst = max(shortfalls(result, result.targets).values())
        share = f"{text}, by a pilot of {result.n_pilot:,} replicates"
        return f"{share}; the largest error is {worst:.3g} times what was asked for"
    if n_short:
        return f"{text}; the others stopped at max_rep: raise it to go on"
    return f"{text}; the same number everywhere would have taken {uniform:,} replicates"


def outliers_in_words(result: Result) -> list[str]:
    """What lies far out, by each measure that looks for it; empty where nothing does."""
    said = []
    for measure in result.measures:
        if isinstance(measure, OutlierRate):
            rows = result.summary[result.summary[MEASURE] == measure.name]
            n_outliers = int((rows["estimate"] * rows["n_rep"]).fillna(0).round().sum())
            if n_outliers:
                said.append(
                    f"{n_outliers:,} of {rows['n_rep'].sum():,} values of {measure.reads[0]} lie "
                    f"more than {measure.beyond:g} robust standard deviations from their median. "
                    "They are in every measure."
                )
    return said


# ---------------------------------------------------------------- claims
class Standing(NamedTuple):
    """A verdict beside what was expected: in words, and of which kind it is."""

    text: str
    kind: str


def standing(claim: Mapping[Any, Any]) -> Standing:
    """How a claim stands, by its `verdict` and what was `expected`.

    The kind is `expected`, `unexpected`, or `open` where the verdict decides nothing or is not
    known here.
    """
    word, expected = in_a_word(claim), claim.get("expected")
    verdict = str(claim["verdict"]) if word == IN_PRINT_ONLY else word
    foreseen = against_expectation(verdict, expected if isinstance(expected, str) else REPRODUCED)
    text = word if foreseen in ("", AS_EXPECTED) else f"{word}, {foreseen}"
    kinds = {"": "open", UNEXPECTED: "unexpected"}
    return Standing(text, kinds.get(foreseen, "expected"))


def in_a_word(claim: Mapping[Any, Any]) -> str:
    """The verdict; of what reproduces in print, how it stands by what the document means by it."""
    verdict = str(claim["verdict"])
    return standing_in(claim) if verdict == REPRODUCED else verdict


def claims_in_words(claims: pd.DataFrame) -> str:
    """How many claims stand as expected, and apart from them what became of the others."""
    if claims.empty:
        return "none stated"
    found = [standing(claim) for claim in claims.to_dict("records")]
    kinds = Counter(each.kind for each in found)
    undecided = Counter(each.text for each in found if each.kind == "open")
    parts = [f"{kinds['expected']:,} of {len(found):,} {AS_EXPECTED}"]
    parts += [f"{kinds['unexpected']:,} {UNEXPECTED}"] * (kinds["unexpected"] > 0)
    return ", ".join(parts + [_undecided(verdict, n) for verdict, n in undecided.items()])


def _undecided(verdict: str, n: int) -> str:
    if verdict == TOO_FEW:
        return f"{n:,} need{'s' * (n == 1)} more replicates"
    return f"{n:,} {'without data' if verdict == NO_DATA else verdict}"
