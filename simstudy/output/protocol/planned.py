"""Sections of a protocol on what is measured, how often, and what is done about failures."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simstudy.measures import Measure
from simstudy.measures.formulas import formula_of
from simstudy.output.formatting import number
from simstudy.output.protocol.intent import Intent, written
from simstudy.output.protocol.lines import bullets, code, prose, table, to_fill_in
from simstudy.output.protocol.replicates import EXACT, PILOT, UNKNOWN, WORST, Need

KNOWN_BY = {
    WORST: "by theory, whatever the share: √(1/4n)",
    EXACT: "by the study's own theory of its scenarios: √(p(1 − p)/n)",
    PILOT: "by a pilot",
    UNKNOWN: "not known before a pilot",
}
POLICIES = {
    "record": "A replicate that fails is recorded with its error, and left out of the measures of "
    "the method in which it failed; the other methods and replicates go on. Beside every estimate "
    "stands how many replicates were used and how many failed; where any failed, a convergence "
    "rate is reported, and every measure once more on the replicates in which all methods "
    "succeeded.",
    "abort": "The first replicate that fails stops the study.",
    "impute_worst": "A replicate that fails is recorded with its error, and counts as the worst "
    "value of its columns.",
}


def measures_table(intent: Intent) -> str:
    """Each measure with its formula, its error, its columns, and how large the error will be."""
    heads = ["measure", "estimate", "Monte Carlo standard error", "of columns"]
    heads.append(f"largest error at n = {intent.planned:,}")
    return table(heads, (_measure_row(intent, measure) for measure in intent.measures))


def _measure_row(intent: Intent, measure: Measure) -> list[str]:
    formula = formula_of(measure)
    columns = ", ".join(code(name) for name in measure.reads)
    at = "; ".join(f"{axis} {_values(values)}" for axis, values in measure.axes.items())
    return [
        code(measure.name) + f" ({at})" * bool(at),
        formula.estimate.replace("|", "\\|"),
        formula.mcse.replace("|", "\\|"),
        columns,
        _expected(intent, measure),
    ]


def _values(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _expected(intent: Intent, measure: Measure) -> str:
    """How large the error will be, and how that is known."""
    spread = intent.spreads[measure.name]
    if math.isnan(spread.sd):
        return "not known"
    error = number(spread.sd / math.sqrt(intent.planned))
    return f"about {error} (pilot)" if spread.by == PILOT else f"at most {error} ({spread.by})"


# ---------------------------------------------------------------- replicates
def replicates(intent: Intent) -> str:
    """How many, and why so many."""
    n, n_scenarios = intent.planned, len(intent.plan.scenarios)
    each = "the one scenario" if n_scenarios == 1 else f"each of {n_scenarios:,} scenarios"
    said = [f"**{n:,} replicates** in {each}, {n * n_scenarios:,} in all."]
    said += [_why(intent)]
    said += [bullets(map(_need, intent.needs))] * bool(intent.needs)
    said += list(_of_pilot(intent))
    return "\n\n".join(said)


def _why(intent: Intent) -> str:
    n = intent.planned
    if intent.needs and intent.n_rep is None:
        return "So many are needed for the Monte Carlo standard errors that are to be reached:"
    known = [need.n_rep for need in intent.needs if need.n_rep]
    if known and max(known) > n:
        return (
            f"The number is fixed beforehand, and is **fewer** than the {max(known):,} that these "
            "Monte Carlo standard errors would take:"
        )
    if intent.needs:
        return "The number is fixed beforehand; these Monte Carlo standard errors are aimed at:"
    return (
        "The number is fixed beforehand; the table of measures has the Monte Carlo standard "
        f"errors to be expected. {to_fill_in('why these errors are small enough')}"
    )


def _need(need: Need) -> str:
    target = f"{code(need.target.measure)} at most {written(need.target)}"
    of = " of the estimate" * need.target.relative
    if need.n_rep is None:
        return f"{target}{of}: {KNOWN_BY[UNKNOWN]}"
    return f"{target}{of}: {need.n_rep:,} replicates, {KNOWN_BY[need.by]}"


def _of_pilot(intent: Intent) -> Iterator[str]:
    """What the pilot was, if there was one."""
    if intent.pilot is None:
        return
    yield (
        f"The pilot had {intent.n_pilot:,} replicates of each scenario, of other random numbers "
        "than the study will have (so that it tells the study nothing), and is not kept. Where it "
        "decides, the number follows from the upper end of what its errors may be. "
        f"{intent.pilot.n_failed:,} of its replicates failed."
    )


# ---------------------------------------------------------------- failures
def failures(intent: Intent) -> str:
    """What is done where a method gives no result."""
    plan = intent.plan
    said = [POLICIES[plan.on_failure]]
    if intent.worst:
        said.append(_listed("Worst values", {n: f"{v:g}" for n, v in intent.worst.items()}))
    if plan.may_be_missing:
        names = ", ".join(code(name) for name in plan.may_be_missing)
        said.append(f"A missing value is a result and no failure in {names}.")
    if plan.max_failed is not None:
        of = "each method's" if plan.methods else "a scenario's"
        said.append(
            f"The study stops where more than {plan.max_failed:.2%} of {of} replicates fail."
        )
    if intent.block_seconds is not None:
        said.append(
            f"A block of {plan.block_size:,} replicates that takes longer than "
            f"{intent.block_seconds:g} seconds has failed."
        )
    said.append(to_fill_in("how failures will be looked into, and what share of them is too many"))
    return "\n\n".join(said)


def _listed(what: str, pairs: dict[str, str]) -> str:
    return f"{what}: " + ", ".join(f"{code(name)} {value}" for name, value in pairs.items()) + "."


def interpretation(intent: Intent) -> str:
    """What is expected, or would be a finding."""
    rows = [
        [prose(claim.name), prose(claim.statement), _published(claim.published), claim.expected]
        for claim in intent.claims
    ]
    heads = ["claim", "what a document states", "published", "expected"]
    claims = [
        "These statements are held against Monte Carlo intervals of the results, and count as "
        "reproduced only where all of the interval is close enough:",
        table(heads, rows),
    ]
    place = to_fill_in("which values of which measures would lead to which conclusion")
    return "\n\n".join([*(claims if rows else []), place])


def _published(value: float | bool) -> str:
    return "it holds" if isinstance(value, bool) else number(float(value))
