"""Claims of the document about many features, by its own approximation and exactly."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.loo_importance.figures import wide
from experiments.loo_r2.cells import values
from experiments.loo_r2.claims import IN_R2, OVERFITTED, close_to_one, downward, overfitted
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Finding, IntendedValue, WrongValue, average


def _downward(result: Result) -> Finding:
    return downward(result, overfitted(result), answer="importance")


def _leaves_out(result: Result) -> Finding:
    """Mean difference of R² by importance sampling from the exact one, with p = n and more."""
    gaps = {s.n_feature: _gap(result, s) for s in wide(result)}
    said = ", ".join(f"{gap.value:.3f} ± {2 * gap.mcse:.3f} at p = {p}" for p, gap in gaps.items())
    most = [gaps[s.n_feature] for s in overfitted(result)]
    mcse = float(np.sqrt(sum(gap.mcse**2 for gap in most))) / len(most)
    n_rep = min(gap.n_rep for gap in most)
    return Finding(float(np.mean([gap.value for gap in most])), mcse, said, n_rep)


def _gap(result: Result, scenario: object) -> Finding:
    by_answer = [
        values(result, scenario, "estimate", answer=answer, utility="r2_variance", method="taylor")
        for answer in ("importance", "exact")
    ]
    return average(by_answer[0] - by_answer[1])


FIRST = min(OVERFITTED)
CLAIMS = (
    Claim(
        "high p, importance sampling",
        "In the figure of p = 50 and 100 Taylor's standard errors are below the bootstrap's",
        "figure simres_high_p_n50",
        _downward,
        published=True,
        expected="differs",
        scored=False,  # figure of "too small for high p" in loo_calibration
        note="Not even with the leave-one-out of the software. What the document saw is not in its "
        "formulas.",
    ),
    *(
        Claim(
            f"overfitted, p = {p}, importance sampling",
            f"R² is close to 1 with p = {p} and n = 50, for the model overfits",
            "section 5, figure simres_high_p_n50",
            partial(close_to_one, n_feature=p, answer="importance"),
            published=True,
            wrong_value=WrongValue(
                "exact leave-one-out", partial(close_to_one, n_feature=p, answer="exact")
            ),
            expected="true as written, not as meant",
            criterion="nearer to 1 than to the R² of the same fit on new data",
            intended=IntendedValue(
                "with exact leave-one-out", partial(close_to_one, n_feature=p, answer="exact")
            ),
            scored=p <= FIRST,  # one sentence for all numbers of features
            note="The importance weights have a Pareto k near 0.9 at most observations: R² is then "
            "more that of the fit than that of leave-one-out.",
        )
        for p in OVERFITTED
    ),
    Claim(
        "leaves an observation out",
        "Importance sampling gives the leave-one-out R² where p is n or more",
        "section 4",
        _leaves_out,
        published=0.0,
        difference=IN_R2,
        expected="differs",
        scored=False,  # about another paper's method, without p
        note="The leverage of every observation is then near 1, and it is the k of the weights: "
        "no posterior draw is where the posterior without the observation lies.",
    ),
)
