"""An accuracy check as a short report, and tasks as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simstudy.lazy import pd

if TYPE_CHECKING:
    from simstudy.documents.applied.accuracy import AccuracyCheck

WIDTH = 14  # of the names on the left


def number(value: float) -> str:
    """Format a number with four significant digits, without exponent where readable."""
    if math.isnan(value):
        return "none"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def per_cent(share: float) -> str:
    """Format a probability in percent; 100% only for 1."""
    if math.isnan(share):
        return "unknown"
    text = f"{100 * share:.3g}%"
    if text == "100%" and share < 1:  # as many digits as there are nines, and two more
        return f"{100 - float(f'{100 * (1 - share):.2g}'):.12g}%"
    return text


def report(check: AccuracyCheck) -> str:
    """The report of a check as text."""
    change = f"{number(abs(check.worse_by))} {'worse' if check.worse_by > 0 else 'better'}"
    sign = "<=" if check.is_regression else ">"
    headline = (
        f"{check.verdict}: {check.metric} {number(check.candidate_mean)} against the reference's "
        f"{number(check.reference_mean)}, {change if check.worse_by else 'no change'} (standard "
        f"error {number(check.standard_error)}); p = {check.p_value:.3g} {sign} alpha = "
        f"{check.alpha:g}"
    )
    rows = [
        ("test", check.words),
        ("scores", _scores(check)),
        ("threshold", _threshold(check)),
        ("level", _level(check)),
        ("detectable", _detectable(check)),
        ("power", _power(check)),
        ("needed", _needed(check)),
        *(("note", note) for note in check.notes),
    ]
    return "\n".join([headline, *(f"{name:{WIDTH}}{text}" for name, text in rows if text)])


def _scores(check: AccuracyCheck) -> str:
    of = f"{check.n_reference:,} of the reference and {check.n_candidate:,} of the candidate, on "
    of += "different prompts"
    if check.paired:
        pairs = "" if math.isnan(check.correlation) else f", correlation {check.correlation:.2g}"
        of = f"{check.n_reference:,} prompts, each with both scores{pairs}"
    return f"{of}; {'lower' if check.lower_is_better else 'higher'} is better"


def _level(check: AccuracyCheck) -> str:
    if math.isnan(check.level):
        return ""
    found = "" if check.level == check.alpha else ", at the shares that were found"
    return f"{per_cent(check.level)} of unchanged candidates fail (alpha {check.alpha:g}{found})"


def _threshold(check: AccuracyCheck) -> str:
    if math.isnan(check.threshold):
        return "none: with so few right answers, changes or differences no candidate fails"
    side = "above" if check.lower_is_better else "below"
    return f"{number(check.threshold)}: a candidate there or {side} fails"


def _detectable(check: AccuracyCheck) -> str:
    with_probability = f"with probability {per_cent(1 - check.beta)} (1 - beta)"
    if math.isnan(check.level):
        return "unknown: these scores have no spread to learn it from"
    if math.isnan(check.detectable_effect):
        return f"none: no effect fails {with_probability}"
    if check.detectable_effect == 0:
        return f"any: even unchanged candidates fail {with_probability} or more"
    return f"{number(check.detectable_effect)} worse: such a candidate fails {with_probability}"


def _power(check: AccuracyCheck) -> str:
    if math.isnan(check.power_at):
        return ""
    text = f"{per_cent(check.power)} against a candidate {number(check.power_at)} worse "
    return f"{text}({'theta' if check.theta else 'the detectable effect; theta= states another'})"


def _needed(check: AccuracyCheck) -> str:
    if check.n_needed is None or check.theta is None:
        return ""
    about = "about " if check.n_needed > check.rule.most_sized else ""
    of = "prompts" if check.paired else "scores of each model"
    return (
        f"{about}{check.n_needed:,} {of}, to fail a candidate {number(check.theta)} worse with "
        f"probability {per_cent(1 - check.beta)}"
    )


def format_table(table: pd.DataFrame) -> str:
    """Format a table of tasks without empty columns."""
    kept = table.loc[:, table.notna().any()]
    kept = kept.loc[:, [bool((kept[name] != "").any()) for name in kept]]
    lines = kept.astype(object).map(_cell).to_string(index=False).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return number(float(value)) if isinstance(value, int | float | np.number) else str(value)
