"""What the document says of measures in general: what they discourage, and what makes them grow."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.proportion_compatible.lists import DOCUMENT_N, independent, scenarios
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced, Rival, chance_reach, decided
from simstudy.lazy.scipy import special
from simstudy.plan import factors_of
from simstudy.stats.compatible.false_discovery import cfdr, rfdr


def _falls_with_n(result: Result, wrong: bool = True) -> Reproduced:
    """Whether p falls by a factor of ten and more from each number of predictions to the next.

    With three of four compatible and the rest three standard deviations off, or all compatible.
    """
    sizes = sorted({trial.n_prediction for trial in result.plan.scenarios})
    share = 0.75 if wrong else 1.0
    rows = []
    for n in sizes:
        trial = scenarios(
            result,
            lambda t: (
                independent(t) and t.null_share == share and t.shift in (0, 3) and t.spread == 1
            ),
            n,
        )[0]
        rows.append(result.value("mean_log10_p", estimator="rfdr", **factors_of(trial)))
    if len(rows) < 2:
        raise LookupError("lists of several lengths")
    found, error = (np.array([row[name] for row in rows]) for name in ("estimate", "mcse"))
    reach = chance_reach(np.hypot(error[1:], error[:-1]), rows[0]["n_rep"], len(rows) - 1)
    said = ", ".join(f"{value:.1f} of {n}" for value, n in zip(found, sizes, strict=True))
    return decided(-1 - np.diff(found), reach, f"mean log10 p {said}")


def _exaggerating_costs(_: Result, wide: float = 2.0) -> Reproduced:
    """Whether distributions too wide have worse measures than right ones, one of them at least.

    Of errors at the quantiles of what is so, by the sum of log p, mean CFDR and mean RFDR.
    """
    errors = special.ndtri((np.arange(DOCUMENT_N) + 0.5) / DOCUMENT_N)
    right, too_wide = (2 * special.ndtr(-np.abs(errors) / width) for width in (1.0, wide))
    both = {
        "log10 p, in all": [float(np.log10(p).sum()) for p in (right, too_wide)],
        "CFDR": [float(cfdr(p).mean()) for p in (right, too_wide)],
        "RFDR": [float(rfdr(p).mean()) for p in (right, too_wide)],
    }
    said = ", ".join(f"{name} {a:.3f} right, {b:.3f} too wide" for name, (a, b) in both.items())
    return decided([a - b for a, b in both.values()], 0.0, said, everywhere=False)


ABSOLUTE = (
    Claim(
        "exaggerated uncertainty",
        "The measures discourage exaggerating the uncertainty, as well as suppressing it",
        "introduction",
        _exaggerating_costs,
        published=True,
        expected="differs",
        ours=True,  # the introduction asks it of measures, and does not say it of these
        note="Distributions twice as wide as they should be have large p-values, and by all three "
        "measures they are no worse than right ones. The measures are told of small ones alone.",
    ),
    Claim(
        "combined p-value of many",
        "Of a model that is wrong the combined p-value falls, the more predictions there are",
        "section 4.1",
        _falls_with_n,
        published=True,
        rival=Rival("a model that is right", partial(_falls_with_n, wrong=False)),
    ),
)
