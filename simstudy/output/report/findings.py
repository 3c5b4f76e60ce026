"""The answer to a study's question, and the evidence for it, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from simstudy.analysis.result import Result
from simstudy.analysis.summary import MEASURE, factor_names, overview
from simstudy.claims import DIFFERS, format_counts, format_values
from simstudy.errors import describe
from simstudy.lazy import pd
from simstudy.output.formatting import counted, number
from simstudy.tables.summary import as_words

MAX_MEASURES = 4  # measures in a sentence
MAX_METHODS = 8  # methods that get a line each
MAX_PER_METHOD = 2  # measures in the line of a method
NOMINAL = {"coverage": 0.95, "type_1_error": 0.05}
"""Nominal values by measure, for scenarios without a factor `level` or `alpha`."""


def answer_of(result: Result) -> list[str]:
    """The answer to the study's question.

    Returns
    -------
    list of str
        The sentences of the study's `answer`. Without one, a line for each method: its best and
        its worst scenario, and how many intervals miss the nominal value.
    """
    if result.details.answer is not None:
        try:
            given = result.details.answer(result)
            return [given] if isinstance(given, str) else list(map(str, given))
        except LookupError:  # a scenario that this run leaves out
            pass
        except Exception as error:  # user code
            return [f"The study's answer could not be computed: {describe(error)}", *_lines(result)]
    return _lines(result)


def evidence_of(result: Result) -> list[str]:
    """Counts of claims, the largest difference, and Monte Carlo errors."""
    measures = overview(result.summary, result.details.measures)
    sentences = [_verdicts(result.claims), _largest_difference(result.claims), _errors(measures)]
    return list(filter(None, sentences))


def _lines(result: Result) -> list[str]:
    """For each method: its measures, best and worst scenario."""
    summary = result.summary
    axis = result.plan.methods_axis if result.plan.methods else "method"
    if axis not in summary or summary[axis].nunique() > MAX_METHODS:
        text = _line(result, summary, MAX_MEASURES)
        return [f"{text[:1].upper()}{text[1:]}."] if text else []
    groups = summary.groupby(axis, sort=False)
    texts = {name: _line(result, rows, MAX_PER_METHOD, axis) for name, rows in groups}
    return [f"{as_words(name)}: {text}." for name, text in texts.items() if text]


def _line(result: Result, rows: pd.DataFrame, n_measures: int, axis: str = "") -> str:
    # nominal values first, since they define the best scenario
    names = sorted(dict.fromkeys(rows[MEASURE]), key=lambda name: _base(name) not in NOMINAL)
    factors = [name for name in (*factor_names(result.plan), *result.plan.axes) if name != axis]
    parts = (_of_measure(str(name), rows[rows[MEASURE] == name], factors) for name in names)
    return "; ".join([part for part in parts if part][:n_measures])


def _of_measure(name: str, rows: pd.DataFrame, factors: Sequence[str]) -> str:
    """A measure at its extremes: by distance from the nominal value, else by size."""
    known = rows[rows["estimate"].map(math.isfinite)]
    if known.empty:
        return ""
    nominal = _nominal(name, known)
    by = known["estimate"] if nominal is None else (known["estimate"] - nominal).abs()
    at = by.to_numpy()
    first, last = (known.iloc[int(place)] for place in (at.argmin(), at.argmax()))
    varying = [factor for factor in factors if factor in rows and rows[factor].nunique() > 1]
    where = [", ".join(f"{as_words(f)} {_value(row[f])}" for f in varying) for row in (first, last)]
    ends = [number(first["estimate"]), number(last["estimate"])]
    places = [f" ({text})" if where[0] != where[1] else "" for text in where]
    text = f"{as_words(name)} {ends[0]}{places[0]}"
    if ends[0] != ends[1] or places[0]:
        text += f" to {ends[1]}{places[1]}"
    if nominal is None:
        return text
    missed = ((known["lower"] > nominal) | (known["upper"] < nominal)).sum()
    levels = f"{nominal.iloc[0]:g}" if nominal.nunique() == 1 else "the nominal value"
    return f"{text}; {missed:,} of {len(known):,} intervals miss {levels}"


def _nominal(name: str, rows: pd.DataFrame) -> pd.Series | None:
    """The nominal value in each row; None for a measure without one."""
    kind = _base(name)
    if kind not in NOMINAL:
        return None
    if "alpha" in rows and pd.api.types.is_numeric_dtype(rows["alpha"]):
        return 1 - rows["alpha"] if kind == "coverage" else rows["alpha"]
    if "level" in rows and pd.api.types.is_numeric_dtype(rows["level"]):
        return rows["level"] if kind == "coverage" else 1 - rows["level"]
    return pd.Series(NOMINAL[kind], index=rows.index)


def _base(name: Any) -> str:
    return next((kind for kind in NOMINAL if str(name) == kind), "")


def _value(value: Any) -> str:
    return number(value) if isinstance(value, float) else as_words(value)


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
    named = list(_largest_errors(measures))
    largest = "Monte Carlo standard errors are not known."
    if named:
        largest = f"Largest Monte Carlo standard errors: {', '.join(named)}."
    z = measures["worst_z"].max()
    if math.isnan(z):
        return largest
    return f"{largest} Largest distance from exact theory: {z:.2g} standard errors."


def _largest_errors(measures: pd.DataFrame) -> Iterator[str]:
    for row in measures.head(MAX_MEASURES).to_dict("records"):
        if not math.isnan(row["largest_mcse"]):
            yield f"{as_words(row['measure'])} {row['largest_mcse']:.2g}"
