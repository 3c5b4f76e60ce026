"""An accuracy check as a short report, a figure and a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simstudy.applied.count_tests import CHANGE_TESTS, COUNT_TESTS
from simstudy.errors import FigureError
from simstudy.figures.captions import caption
from simstudy.figures.theme import BLUE, INK, MUTED, VERMILLION, theme_study
from simstudy.lazy import ggplot, p9, pd

if TYPE_CHECKING:
    from simstudy.applied.accuracy import AccuracyCheck

WIDTH = 14  # of the names on the left
N_PLACES = 800
SHOWN = 4.0  # standard errors on either side of a centre
UNCHANGED, WORSE = "nothing changed", "worse by the effect"


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


# ---------------------------------------------------------------- the figure
def sampling_figure(check: AccuracyCheck) -> ggplot:
    """The two sampling distributions, with threshold, errors, effect and means marked.

    Raises
    ------
    FigureError
        Where there is no spread, and so no distribution to draw.
    """
    effects = {UNCHANGED: 0.0, WORSE: check.power_at}  # the second is NaN where none is detected
    laws = {name: check.rule.law(e) for name, e in effects.items() if not math.isnan(e)}
    if None in laws.values():
        raise FigureError(
            "these scores have no spread, so the candidate's mean has no distribution to draw. "
            "Report the means as they are."
        )
    curves = _curves(check, laws)
    top = float(curves["density"].max())
    return (
        p9.ggplot(curves, p9.aes("mean", "density"))
        + _areas(check, curves)
        + p9.geom_line(p9.aes(group="law"), color=INK, size=0.7)
        + _marks(check)
        + _effect(check, top)
        + theme_study()
        + p9.theme(
            figure_size=(7.2, 4.4), legend_position="right", legend_key_width=22,
            axis_text_y=p9.element_blank(), axis_ticks_major_y=p9.element_blank(),
        )
        + p9.scale_y_continuous(expand=(0, 0, 0.06, 0))
        + p9.labs(x=f"candidate's mean ({check.metric})", y="density", caption=_caption(check))
    )  # fmt: skip


def _curves(check: AccuracyCheck, laws: dict[str, Any]) -> pd.DataFrame:
    """The density of the candidate's mean under each hypothesis.

    A place's density is the mean of that around it, by differences of the distribution function,
    so that areas are right, and laws need no density.
    """
    middle = laws[UNCHANGED].ppf(0.8413) - laws[UNCHANGED].ppf(0.1587)  # two errors, if normal
    reach, found = SHOWN * float(middle) / 2, check.worse_by
    last = (0.0 if math.isnan(check.power_at) else check.power_at) + reach
    edges = np.linspace(min(-reach, found), max(last, found), N_PLACES + 1)
    worse = (edges[1:] + edges[:-1]) / 2
    # By the upper tail: SciPy's noncentral t has no lower one where it is all but 0.
    return pd.concat(
        pd.DataFrame({
            "law": name, "worse": worse, "mean": _mean_at(check, worse),
            "density": -np.diff(law.sf(edges)) / np.diff(edges),
        })
        for name, law in laws.items()
    )  # fmt: skip


def _mean_at(check: AccuracyCheck, effect: Any) -> Any:
    """The mean of a candidate that is worse by an effect."""
    return check.reference_mean + (effect if check.lower_is_better else -effect)


def _areas(check: AccuracyCheck, curves: pd.DataFrame) -> list[Any]:
    """The two errors as areas under the curves."""
    words = {
        UNCHANGED: f"α = {per_cent(check.level)}, false alarm",
        WORSE: f"β = {per_cent(1 - check.power)}, missed",
    }
    if math.isnan(check.threshold):
        return []
    fails = curves["worse"] >= check.rule.margin
    is_error = np.where(curves["law"] == UNCHANGED, fails, ~fails)
    shaded = curves[is_error].assign(error=lambda rows: rows["law"].map(words))
    colors = {words[UNCHANGED]: VERMILLION, words[WORSE]: BLUE}
    drawn = [word for word in colors if (shaded["error"] == word).any()]
    return [
        p9.geom_ribbon(p9.aes(ymax="density", fill="error"), shaded, ymin=0, alpha=0.45),
        p9.scale_fill_manual(values=colors, limits=drawn, name="errors"),
    ]


def _marks(check: AccuracyCheck) -> list[Any]:
    """The marks of the means and the threshold."""
    places = {
        f"reference {number(check.reference_mean)}": (check.reference_mean, MUTED, "solid"),
        f"candidate {number(check.candidate_mean)}": (check.candidate_mean, "#009E73", "solid"),
        f"threshold γ {number(check.threshold)}": (check.threshold, INK, "dashed"),
    }
    kept = {name: mark for name, mark in places.items() if not math.isnan(mark[0])}
    lines = pd.DataFrame({"place": [mark[0] for mark in kept.values()], "mark": list(kept)})
    colors, types = ({name: mark[i] for name, mark in kept.items()} for i in (1, 2))
    return [
        p9.geom_vline(p9.aes(xintercept="place", color="mark", linetype="mark"), lines, size=0.9),
        p9.scale_color_manual(values=colors, limits=list(kept), name="means"),
        p9.scale_linetype_manual(values=types, limits=list(kept), name="means"),
    ]


def _effect(check: AccuracyCheck, top: float) -> list[Any]:
    """An arrow between the centres of the distributions."""
    if math.isnan(check.power_at):
        return []
    start, end = check.reference_mean, _mean_at(check, check.power_at)
    heads = p9.arrow(ends="both", type="closed", length=0.06, angle=20)
    label = f"θ = {number(check.power_at)}"
    return [
        p9.annotate("segment", x=start, xend=end, y=1.06 * top, yend=1.06 * top, arrow=heads),
        p9.annotate("label", x=(start + end) / 2, y=1.06 * top, label=label, size=9, label_size=0),
    ]


def _caption(check: AccuracyCheck) -> str:
    law = "Student's t" if check.test in ("t", "pooled_t") else "normal law"
    effect = "the detectable effect" if check.theta is None else "the effect asked for"
    cases = f" and if it is worse by θ, {effect}"
    if math.isnan(check.power_at):
        cases = "; no effect would be detected"
    return caption(
        f"Distributions of the candidate's mean ({law}, errors of both means) about the "
        f"reference's mean, if nothing changed{cases}.",
        "Areas are approximate: the errors are those of the exact test."
        * (check.test in {**COUNT_TESTS, **CHANGE_TESTS}),
        "No simulation: there is no Monte Carlo error.",
    )
