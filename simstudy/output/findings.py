"""Sentences on a study: its answer, or its methods and the best of them; evidence, failures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.result import Result
from simstudy.analysis.summary import MEASURE, factor_names, overview
from simstudy.claims.verdict import format_counts
from simstudy.design.reprs import format_names
from simstudy.errors import SimstudyError, describe
from simstudy.lazy import pd, special
from simstudy.output.formatting import counted
from simstudy.tables.rounding import plus_minus
from simstudy.tables.summary import as_words, identities, in_words

MAX_IN_SENTENCE = 4  # measures in a sentence of evidence
MAX_METHODS = 8  # methods that get a line each
MAX_MEASURES = 3  # measures in a line
ROUNDING = 1e-9  # relative: a smaller difference of two methods is that of arithmetic
LEVEL = 0.95  # joint confidence level of all comparisons in a sentence
KINDS = ((True, "claim of the source", "claims of the source"), (False, "extra check", ""))
"""Kinds of claims: whether they are scored, and what they are called."""
NOMINAL = {"coverage": 0.95, "type_1_error": 0.05}
"""Nominal values by measure, for scenarios without a factor `level` or `alpha`."""
SMALLEST = ("mse", "rmse", "mae", "variance", "empirical_se", "interval_score", "run_time")
LARGEST = ("power", "sensitivity", "specificity", "relative_precision")
"""Measures whose smallest, and whose largest, value is the best."""
NEAREST_0 = ("bias", "median_bias", "standardised_bias", "relative_bias")


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


def evidence_of(result: Result) -> list[str]:
    """Counts of claims, and Monte Carlo errors."""
    counts = count_claims(result.claims.to_dict("records"))
    verdicts = " ".join(f"{label}: {text}." for label, text in counts)
    errors = _errors(overview(result.summary, result.details.measures))
    return list(filter(None, [verdicts, errors]))


def count_claims(claims: Sequence[dict[Any, Any]]) -> list[tuple[str, str]]:
    """Count scored claims and extra checks, with their verdicts.

    Parameters
    ----------
    claims
        Rows of tables of claims. A kind without claims is omitted.
    """
    found = []
    for is_scored, *names in KINDS:
        kind = [claim for claim in claims if bool(claim["scored"]) == is_scored]
        if kind:
            found.append((counted(len(kind), *names), format_counts(kind)))
    return found


def _errors(measures: pd.DataFrame) -> str:
    if measures.empty:
        return "The study has no measures, so its replicates are not summarised."
    errors = measures.head(MAX_IN_SENTENCE).dropna(subset="largest_mcse").to_dict("records")
    named = [f"{as_words(row['measure'])} {row['largest_mcse']:.2g}" for row in errors]
    largest = "Monte Carlo standard errors are not known."
    if named:
        largest = f"Largest Monte Carlo standard errors: {', '.join(named)}."
    z = measures["worst_z"].max()
    theory = f" Largest distance from exact theory: {z:.2g} standard errors."
    return largest if math.isnan(z) else largest + theory


# At a glance ----------------------------------------------------------
def at_a_glance(result: Result) -> list[str]:
    """Sentences on a study that has no `answer`.

    Returns
    -------
    list of str
        A line for each method with the study's first measures, over all scenarios: the estimate,
        or the least and the greatest, each with its error. Then the best method by the first
        measure, if it has a best value, and the rates of failures.
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
    best = _best(result, str(axis)) if has_methods else ""
    failed = failures_of(result)
    return [*lines, *filter(None, [best, f"Failures: {failed}." * bool(failed)])]


# A line ---------------------------------------------------------------
def _line(result: Result, rows: pd.DataFrame, axis: str) -> str:
    """The first measures of a method, in the study's order."""
    where = [name for name in (*factor_names(result.plan), *result.plan.axes) if name != axis]
    asked = {measure.name: measure.nominal for measure in result.details.declared}
    names = [name for name in rows[MEASURE].unique() if name in asked]
    parts = (_of_measure(result, n, rows[rows[MEASURE] == n], where, asked[n]) for n in names)
    return "; ".join([part for part in parts if part][:MAX_MEASURES])


def are_independent(result: Result, rows: pd.DataFrame) -> bool:
    """Whether no two rows of a measure share random numbers: each is of another scenario."""
    factors = factor_names(result.plan)
    is_shared = rows.duplicated(factors).any() if factors else len(rows) > 1
    return not (result.plan.rules.common_random_numbers or is_shared)


def _of_measure(
    result: Result, name: str, rows: pd.DataFrame, where: Sequence[str], asked: float | None
) -> str:
    """A measure over the scenarios, and in how many it differs from its nominal value."""
    try:
        independent = are_independent(result, rows)
        text = f"{as_words(name)} {in_words(rows, where=where, independent=independent)}"
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


# The best method ------------------------------------------------------
class _Gap(NamedTuple):
    """The best method of a scenario, and how far the next is behind."""

    best: str
    second: str
    size: float
    error: float


def _best(result: Result, axis: str) -> str:
    """The best method by the study's first measure; empty if no value of it is best."""
    if not result.details.declared:
        return ""
    first = result.details.declared[0]
    rows = result.select(measure=first.name)
    rows = rows[np.isfinite(rows["estimate"])]
    loss = _loss(first.name, rows, first.nominal)
    if loss is None:
        return ""
    gaps: list[_Gap] = []
    with suppress(SimstudyError):  # a measure without contrasts
        gaps = list(_gaps(result, first.name, rows.assign(loss=loss), axis))
    if not gaps:
        return ""
    measure, critical = as_words(first.name), _critical(len(gaps))
    is_apart = [gap.size > critical * gap.error and gap.size > 0 for gap in gaps]
    if len(gaps) == 1:
        (gap,) = gaps
        difference = plus_minus(gap.size, gap.error)
        if is_apart[0]:
            return f"Best by {measure}: {gap.best}, {difference} better than {gap.second}."
        both = f"{gap.best} and {gap.second}"
        return f"Best by {measure}: {both} cannot be told apart (difference {difference})."
    counts = Counter(gap.best for gap, apart in zip(gaps, is_apart, strict=True) if apart)
    named = [f"{as_words(method)} in {n:,}" for method, n in counts.items()]
    if n_alike := len(gaps) - counts.total():
        named.append(f"the best two cannot be told apart in {n_alike:,}")
    return f"Best by {measure}, of {len(gaps):,} scenarios: {format_names(named)}."


def _loss(name: str, rows: pd.DataFrame, asked: float | None) -> pd.Series | None:
    """The loss by which methods are ranked; None if the measure has no best value."""
    nominal = nominal_values(name, rows, asked)
    if nominal is not None:
        return (rows["estimate"] - nominal).abs()
    if name in NEAREST_0:
        return rows["estimate"].abs()
    if name in SMALLEST:
        return rows["estimate"]
    return -rows["estimate"] if name in LARGEST else None


def _gaps(result: Result, name: str, rows: pd.DataFrame, axis: str) -> Iterator[_Gap]:
    """The two best methods of each scenario and cell, with the error of their difference."""
    others = [each for each in (*factor_names(result.plan), *result.plan.axes) if each != axis]
    known: dict[tuple[str, str], Mapping[str, float]] = {}
    for place, several in rows.assign(place=identities(rows[others])).groupby("place", sort=False):
        if len(several) < 2:
            continue
        best, second = several.sort_values("loss", kind="stable").iloc[:2].to_dict("records")
        size = second["loss"] - best["loss"]
        if size <= ROUNDING * (abs(second["estimate"]) + abs(best["estimate"])):
            size = 0.0
        pair = str(best[axis]), str(second[axis])
        if pair not in known:
            frame = result.contrast(name, axis=axis, first=pair[0], second=pair[1])
            known[pair] = dict(zip(identities(frame[others]), frame["mcse"], strict=True))
        error = known[pair].get(str(place), math.nan)
        if not math.isclose(size, abs(second["estimate"] - best["estimate"]), abs_tol=1e-12):
            error = best["mcse"] + second["mcse"]  # on two sides of the ideal value: at most
        yield _Gap(*pair, size, error)


# Failures -------------------------------------------------------------
def failures_of(result: Result) -> str:
    """The rate of failed replicates, by method: "likelihood failed in 579 of 6,000 replicates"."""
    if not result.n_failed:
        return ""
    axis = result.plan.methods_axis if result.plan.methods else "method"
    failures, n = result.failures, sum(result.n_rep.values())
    counts = failures[axis].value_counts(sort=False) if axis in failures else {"": result.n_failed}
    each = [
        f"{as_words(name)} failed in {count:,} of {n:,} replicates ({count / n:.1%})".strip()
        for name, count in counts.items()
    ]
    return format_names(each)
