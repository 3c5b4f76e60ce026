"""A check as a short report, and numbers as people read them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simstudy.applied.answers import OfAnswers
from simstudy.applied.findings import Findings
from simstudy.lazy import pd

WIDTH = 14  # of the names on the left


def number(value: float) -> str:
    """Four significant digits, none of them in an exponent where that is readable."""
    if math.isnan(value):
        return "none"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def per_cent(share: float) -> str:
    """A probability with three digits; 100% is said of 1 alone."""
    if math.isnan(share):
        return "unknown"
    said = f"{100 * share:.3g}%"
    if said == "100%" and share < 1:  # as many digits as there are nines, and two more
        return f"{100 - float(f'{100 * (1 - share):.2g}'):.12g}%"
    return said


def in_words(check: Findings) -> str:
    """The report: what was found, what would have been, and what to know besides."""
    rows = {
        "test": check.words,
        "scores": _scores(check),
        "threshold": _threshold(check),
        "level": _level(check),
        "detectable": _detectable(check),
        "power": _power(check),
        "needed": _needed(check),
    }
    lines = [f"{name:{WIDTH}}{text}" for name, text in rows.items() if text]
    notes = [f"{'note':{WIDTH}}{note}" for note in check.notes]
    return "\n".join([headline(check), *lines, *notes])


def headline(check: Findings) -> str:
    """The verdict, in one line."""
    change = f"{number(abs(check.worse_by))} {'worse' if check.worse_by > 0 else 'better'}"
    how = change if check.worse_by else "no change"
    sign = "<=" if check.is_regression else ">"
    return (
        f"{check.verdict}: {check.metric} {number(check.candidate_mean)} against the reference's "
        f"{number(check.reference_mean)}, {how} (standard error {number(check.standard_error)}); "
        f"p = {check.p_value:.3g} {sign} alpha = {check.alpha:g}"
    )


def _scores(check: Findings) -> str:
    better = "lower" if check.lower_is_better else "higher"
    if check.paired:
        pairs = "" if math.isnan(check.correlation) else f", correlation {check.correlation:.2g}"
        return f"{check.n_reference:,} prompts, each with both scores{pairs}; {better} is better"
    return (
        f"{check.n_reference:,} of the reference and {check.n_candidate:,} of the candidate, on "
        f"different prompts; {better} is better"
    )


def _level(check: Findings) -> str:
    if math.isnan(check.level):
        return ""
    found = "" if check.level == check.alpha else ", at the shares that were found"
    return f"{per_cent(check.level)} of unchanged candidates fail (alpha {check.alpha:g}{found})"


def _threshold(check: Findings) -> str:
    if math.isnan(check.threshold):
        return "none: with so few right answers, changes or differences no candidate fails"
    side = "above" if check.lower_is_better else "below"
    return f"{number(check.threshold)}: a candidate there or {side} fails"


def _detectable(check: Findings) -> str:
    caught = per_cent(1 - check.beta)
    if math.isnan(check.level):
        return "unknown: these scores have no spread to learn it from"
    if math.isnan(check.detectable_effect):
        return f"none: no effect fails with probability {caught} (1 - beta)"
    if check.detectable_effect == 0:
        return f"any: even unchanged candidates fail with probability {caught} (1 - beta) or more"
    return (
        f"{number(check.detectable_effect)} worse: such a candidate fails with probability "
        f"{caught} (1 - beta)"
    )


def _power(check: Findings) -> str:
    if math.isnan(check.power_at):
        return ""
    said = f"{per_cent(check.power)} against a candidate {number(check.power_at)} worse "
    return f"{said}({'theta' if check.theta else 'the detectable effect; theta= states another'})"


def _needed(check: Findings) -> str:
    if check.theta is None:
        return ""
    what = f"to fail a candidate {number(check.theta)} worse with probability "
    what += per_cent(1 - check.beta)
    of = "prompts" if check.paired else "scores of each model"
    if check.n_needed is None:
        return ""
    is_exact = not isinstance(check.rule, OfAnswers) or check.n_needed <= check.rule.most_sized
    about = "" if is_exact else "about "
    return f"{about}{check.n_needed:,} {of}, {what}"


def table_in_words(table: pd.DataFrame) -> str:
    """A table of tasks, without columns in which nothing stands."""
    kept = table.loc[:, table.notna().any()]
    kept = kept.loc[:, [bool((kept[name] != "").any()) for name in kept]]
    shown = {name: [_cell(value) for value in kept[name]] for name in kept}
    lines = pd.DataFrame(shown).to_string(index=False).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return number(float(value)) if isinstance(value, int | float | np.number) else str(value)
