"""Claims of the document about measures in general: incentives, and dependence on n."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.proportion_compatible.lists import DOCUMENT_N, independent
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Finding, WrongAlternative, decide, mc_margin
from simstudy.design.plan import factors_of
from simstudy.documents.stats.compatible import cfdr, rfdr
from simstudy.lazy import special

OFF = 3  # predictive standard deviations


def _falls_with_n(result: Result, wrong: bool = True) -> Finding:
    """Whether p falls by a factor of ten and more from each number of predictions to the next.

    The lists have the largest share of compatible predictions below 1, and the rest three standard
    deviations off; or all predictions are compatible, for a rival.
    """
    trials = [trial for trial in result.plan.scenarios if independent(trial) and trial.spread == 1]
    share = max((t.null_share for t in trials if t.null_share < 1), default=1) if wrong else 1
    chosen = {t.n_prediction: t for t in trials if t.null_share == share and t.shift in (0, OFF)}
    if len(chosen) < 2:
        raise LookupError("lists of several lengths")
    cells = [chosen[n] for n in sorted(chosen)]
    rows = [result.row("mean_log10_p", estimator="rfdr", **factors_of(t)) for t in cells]
    found, error = (np.array([row[name] for row in rows]) for name in ("estimate", "mcse"))
    reach = mc_margin(np.hypot(error[1:], error[:-1]), rows[0]["n_rep"], len(rows) - 1)
    pairs = zip(found, sorted(chosen), strict=True)
    said = ", ".join(f"{value:.1f} of {n}" for value, n in pairs)
    return decide(-1 - np.diff(found), reach, f"mean log10 p {said}; {share:.0%} compatible")


def _exaggerating_costs(_: Result, wide: float = 2.0) -> Finding:
    """Whether at least one measure is worse for too wide distributions than for right ones.

    Errors are at the quantiles of the true distribution. The measures are the sum of log p, mean
    CFDR and mean RFDR.
    """
    errors = special.ndtri((np.arange(DOCUMENT_N) + 0.5) / DOCUMENT_N)
    right, too_wide = (2 * special.ndtr(-np.abs(errors) / width) for width in (1.0, wide))
    both = {
        "log10 p, in all": [float(np.log10(p).sum()) for p in (right, too_wide)],
        "CFDR": [float(cfdr(p)) for p in (right, too_wide)],
        "RFDR": [float(rfdr(p)) for p in (right, too_wide)],
    }
    said = ", ".join(f"{name} {a:.3f} right, {b:.3f} too wide" for name, (a, b) in both.items())
    return decide([a - b for a, b in both.values()], 0.0, said, everywhere=False)


ABSOLUTE = (
    Claim(
        "exaggerated uncertainty",
        "The measures discourage exaggerating the uncertainty, as well as suppressing it",
        "introduction",
        _exaggerating_costs,
        published=True,
        expected="differs",
        scored=False,  # a requirement of the introduction, not a statement
        note="Distributions twice as wide as they should be have large p-values, and by all three "
        "measures they are no worse than right ones. The measures are told of small ones alone.",
    ),
    Claim(
        "combined p-value of many",
        "Of a model that is wrong the combined p-value falls, the more predictions there are",
        "section 4.1",
        _falls_with_n,
        published=True,
        rival=WrongAlternative("a model that is right", partial(_falls_with_n, wrong=False)),
        criterion="by a factor of 10 for each longer list",
    ),
)
