"""The answer to a study's question, and the evidence for it, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simstudy.analysis.result import Result
from simstudy.analysis.summary import MEASURE, factor_names, overview
from simstudy.claims.table import format_values
from simstudy.claims.verdict import DIFFERS, format_counts
from simstudy.design.reprs import format_names
from simstudy.errors import describe
from simstudy.lazy import pd, special
from simstudy.output.formatting import counted
from simstudy.tables.summary import as_words
from simstudy.tables.words import in_words

MAX_ERRORS = 4  # measures whose errors are in a sentence
ANSWER, AT_A_GLANCE = "Answer", "At a glance"  # headings
MAX_METHODS = 8  # methods that get a line each
MAX_MEASURES = 3  # measures in a line
LEVEL = 0.95  # joint confidence level of all comparisons in a sentence
NOMINAL = {"coverage": 0.95, "type_1_error": 0.05}
"""Nominal values by measure, for scenarios without a factor `level` or `alpha`."""


def answer_of(result: Result) -> list[str]:
    """The answer to the study's question.

    Returns
    -------
    list of str
        The sentences of the study's `answer`, or of `at_a_glance` if it has none.
    """
    if result.details.answer is not None:
        try:
            given = result.details.answer(result)
            return [given] if isinstance(given, str) else list(map(str, given))
        except LookupError:  # a scenario that this run leaves out
            pass
        except Exception as error:  # user code
            failed = f"The study's answer could not be computed: {describe(error)}"
            return [failed, *at_a_glance(result)]
    return at_a_glance(result)


def heading_of(result: Result) -> str:
    """The heading of the answer: "Answer" if the study gives one."""
    return ANSWER if result.details.answer is not None else AT_A_GLANCE


def evidence_of(result: Result) -> list[str]:
    """Counts of claims, the largest difference, and Monte Carlo errors."""
    measures = overview(result.summary, result.details.measures)
    sentences = [_verdicts(result.claims), _largest_difference(result.claims), _errors(measures)]
    return list(filter(None, sentences))


def count_claims(claims: Sequence[dict[Any, Any]]) -> list[tuple[str, str]]:
    """Count scored claims and extra checks, with their verdicts.

    Parameters
    ----------
    claims
        Rows of tables of claims. A kind without claims is omitted.
    """
    scored = [claim for claim in claims if claim["scored"]]
    extra = [claim for claim in claims if not claim["scored"]]
    found = []
    if scored:
        label = counted(len(scored), "claim of the source", "claims of the source")
        found.append((label, format_counts(scored)))
    if extra:
        found.append((counted(len(extra), "extra check"), format_counts(extra)))
    return found


def _verdicts(claims: pd.DataFrame) -> str:
    counts = count_claims(claims.to_dict("records"))
    return " ".join(f"{label}: {text}." for label, text in counts)


def _largest_difference(claims: pd.DataFrame) -> str:
    """The claim with the largest relative difference.

    Misprints are left out: their numbers are not results of the document.
    """
    if claims.empty:
        return ""
    is_number = (claims["kind"] == "number") & ~claims["misprint"].astype(bool)
    rows = claims[(claims["verdict"] == DIFFERS) & is_number]
    relative = (rows["reproduced"] / rows["published"].where(rows["published"] != 0) - 1).abs()
    relative = relative[relative.map(math.isfinite)]
    if relative.empty:
        return ""
    (row,) = rows.loc[[relative.idxmax()]].to_dict("records")
    published, ours = format_values(row)
    return f"Largest difference: {row['claim']}, published {published}, ours {ours}."


def _errors(measures: pd.DataFrame) -> str:
    if measures.empty:
        return "The study has no measures, so its replicates are not summarised."
    errors = measures.head(MAX_ERRORS).dropna(subset="largest_mcse").to_dict("records")
    named = [f"{as_words(row['measure'])} {row['largest_mcse']:.2g}" for row in errors]
    largest = "Monte Carlo standard errors are not known."
    if named:
        largest = f"Largest Monte Carlo standard errors: {', '.join(named)}."
    z = measures["worst_z"].max()
    if math.isnan(z):
        return largest
    return f"{largest} Largest distance from exact theory: {z:.2g} standard errors."


# ---------------------------------------------------------------- a study without an answer
def at_a_glance(result: Result) -> list[str]:
    """Sentences on a study that has no `answer`.

    Returns
    -------
    list of str
        A line for each method with the study's first measures, over all scenarios: the estimate,
        or the least and the greatest, each with its error. Then the rates of failures.
    """
    summary = result.summary
    axis = result.plan.methods_axis if result.plan.methods else "method"
    has_methods = axis in summary and 1 < summary[axis].nunique() <= MAX_METHODS
    if has_methods:
        groups = summary.groupby(axis, sort=False)
        texts = {name: _line(result, rows, str(axis)) for name, rows in groups}
        lines = [f"{as_words(name)}: {text}." for name, text in texts.items() if text]
    else:
        text = _line(result, summary, "")
        lines = [f"{text[:1].upper()}{text[1:]}."] if text else []
    failed = failures_of(result)
    return [*lines, *[f"Failures: {failed}."] * bool(failed)]


def _line(result: Result, rows: pd.DataFrame, axis: str) -> str:
    """The first measures of a method, in the study's order."""
    where = [name for name in (*factor_names(result.plan), *result.plan.axes) if name != axis]
    declared = {measure.name for measure in result.details.declared}
    names = [name for name in dict.fromkeys(rows[MEASURE]) if name in declared]
    asked = _asked(result)
    parts = (
        _of_measure(str(name), rows[rows[MEASURE] == name], where, asked.get(str(name)))
        for name in names
    )
    return "; ".join([part for part in parts if part][:MAX_MEASURES])


def _of_measure(
    name: str, rows: pd.DataFrame, where: Sequence[str], asked: float | None = None
) -> str:
    """A measure over the scenarios, and in how many it differs from its nominal value."""
    try:
        text = f"{as_words(name)} {in_words(rows, where=where)}"
    except LookupError:  # no estimate
        return ""
    nominal = nominal_values(name, rows, asked)
    if nominal is None:
        return text
    n_far, n = int(_far_from(rows, nominal).sum()), len(rows)
    value = f"{nominal.iloc[0]:g}" if nominal.nunique() == 1 else "its nominal value"
    if n == 1:
        return f"{text} ({'not ' if n_far else ''}{value} within chance)"
    return f"{text}; beyond chance it differs from {value} in {n_far:,} of {n:,} scenarios"


def _far_from(rows: pd.DataFrame, nominal: pd.Series) -> np.ndarray:
    """Rows of a proportion that differ from its nominal value; all together at `LEVEL`."""
    n = rows["n_given"].to_numpy(dtype=float) if "n_given" in rows else rows["n_rep"].to_numpy()
    error = np.sqrt(nominal * (1 - nominal) / np.maximum(n, 1)).to_numpy()
    error = np.maximum(error, rows["mcse"].fillna(0).to_numpy())
    z = np.abs(rows["estimate"].to_numpy() - nominal.to_numpy()) / error
    return np.asarray(z > _critical(len(rows)))


def _critical(n: int) -> float:
    """The critical value of one of `n` two-sided comparisons (Bonferroni)."""
    return float(-special.ndtri((1 - LEVEL) / 2 / max(n, 1)))


def _asked(result: Result) -> dict[str, float]:
    """The nominal values that the measures know, by name."""
    declared = result.details.declared
    return {each.name: each.nominal for each in declared if each.nominal is not None}


def nominal_values(name: str, rows: pd.DataFrame, asked: float | None = None) -> pd.Series | None:
    """The nominal value in each row; None for a measure without one.

    It is that of the factors `alpha` or `level`, also of an axis of the measure; else the one that
    the measure was made with.

    Parameters
    ----------
    asked
        The value that the measure was made with.
    """
    if name not in NOMINAL:
        return None
    for factor, is_coverage in (("alpha", False), ("level", True)):
        values = pd.to_numeric(rows[factor], errors="coerce") if factor in rows else None
        if values is not None and values.notna().all():
            same = (name == "coverage") == is_coverage
            return values if same else 1 - values
    return pd.Series(NOMINAL[name] if asked is None else asked, index=rows.index)


def failures_of(result: Result) -> str:
    """The rate of failed replicates, by method: "likelihood failed in 579 of 6,000 replicates"."""
    if not result.n_failed:
        return ""
    axis = result.plan.methods_axis if result.plan.methods else "method"
    failures, n = result.failures, sum(result.n_rep.values())
    counts: dict[Any, int] = {"": result.n_failed}
    if axis in failures:
        counts = failures.groupby(axis, sort=False).size().to_dict()
    each = [
        f"{as_words(name)} failed in {count:,} of {n:,} replicates ({count / n:.1%})".strip()
        for name, count in counts.items()
    ]
    return format_names(each)
