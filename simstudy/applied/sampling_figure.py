"""Where a candidate's mean falls if nothing changed, and if it is worse by the effect."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simstudy.applied.answers import OfAnswers
from simstudy.applied.findings import Findings
from simstudy.applied.student import StudentT
from simstudy.applied.wording import number, per_cent
from simstudy.errors import FigureError
from simstudy.figures.captions import caption
from simstudy.figures.theme import BLUE, INK, MUTED, VERMILLION, theme_study
from simstudy.lazy import ggplot, p9, pd
from simstudy.shapes import Float

N_PLACES = 800
SHOWN = 4.0  # standard errors on either side of a centre
UNCHANGED, WORSE = "nothing changed", "worse by the effect"


def sampling_figure(check: Findings) -> ggplot:
    """The two sampling distributions, with threshold, errors, effect and means marked.

    Raises
    ------
    FigureError
        Where there is no spread, and so no distribution to draw.
    """
    laws = _laws(check)
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


def _laws(check: Findings) -> dict[str, Any]:
    """Of how much worse the candidate is found."""
    if math.isnan(check.power_at):
        laws = {UNCHANGED: check.rule.law(0.0)}
    else:
        laws = {UNCHANGED: check.rule.law(0.0), WORSE: check.rule.law(check.power_at)}
    if None in laws.values():
        raise FigureError(
            "these scores have no spread, so the candidate's mean has no distribution to draw. "
            "Report the means as they are."
        )
    return laws


def _curves(check: Findings, laws: dict[str, Any]) -> pd.DataFrame:
    """Density of the candidate's mean at each place, a row for each place and law.

    A place's density is the mean of that around it, by differences of the distribution function,
    so that areas are right, and laws need no density.
    """
    reach, found = SHOWN * _spread(laws), check.worse_by
    last = (0.0 if math.isnan(check.power_at) else check.power_at) + reach
    edges = np.linspace(min(-reach, found), max(last, found), N_PLACES + 1)
    worse = (edges[1:] + edges[:-1]) / 2
    means = check.reference_mean - _sign(check) * worse
    return pd.concat(
        pd.DataFrame({"law": name, "worse": worse, "mean": means, "density": _density(law, edges)})
        for name, law in laws.items()
    )


def _spread(laws: dict[str, Any]) -> float:
    """Half of the middle 68% of unchanged candidates: one standard error, if they are normal."""
    return float(laws[UNCHANGED].ppf(0.8413) - laws[UNCHANGED].ppf(0.1587)) / 2


def _density(law: Any, edges: Float[np.ndarray, " edge"]) -> Float[np.ndarray, " place"]:
    """By the upper tail: SciPy's noncentral t has no lower one where it is all but 0."""
    return np.asarray(-np.diff(law.sf(edges)) / np.diff(edges))


def _sign(check: Findings) -> float:
    return -1.0 if check.lower_is_better else 1.0


def _areas(check: Findings, curves: pd.DataFrame) -> list[Any]:
    """The two errors, as areas under the curves on either side of the threshold."""
    words = _errors_in_words(check)
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


def _errors_in_words(check: Findings) -> dict[str, str]:
    return {
        UNCHANGED: f"α = {per_cent(check.level)}, false alarm",
        WORSE: f"β = {per_cent(1 - check.power)}, missed",
    }


def _marks(check: Findings) -> list[Any]:
    """The means, and the threshold."""
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


def _effect(check: Findings, top: float) -> list[Any]:
    """An arrow from the centre of the one distribution to that of the other."""
    if math.isnan(check.power_at):
        return []
    start, end = check.reference_mean, check.reference_mean - _sign(check) * check.power_at
    heads = p9.arrow(ends="both", type="closed", length=0.06, angle=20)
    label = f"θ = {number(check.power_at)}"
    return [
        p9.annotate("segment", x=start, xend=end, y=1.06 * top, yend=1.06 * top, arrow=heads),
        p9.annotate("label", x=(start + end) / 2, y=1.06 * top, label=label, size=9, label_size=0),
    ]


def _caption(check: Findings) -> str:
    law = "Student's t" if isinstance(check.rule, StudentT) else "normal law"
    return caption(
        f"Distributions of the candidate's mean ({law}, errors of both means) about the "
        f"reference's mean, {_cases(check)}.",
        "Areas are approximate: the errors are those of the exact test."
        * isinstance(check.rule, OfAnswers),
        "No simulation: there is no Monte Carlo error.",
    )


def _cases(check: Findings) -> str:
    if math.isnan(check.power_at):
        return "if nothing changed; no effect would be detected"
    effect = "the detectable effect" if check.theta is None else "the effect asked for"
    return f"if nothing changed and if it is worse by θ, {effect}"
