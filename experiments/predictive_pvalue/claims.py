"""Claims of the document about three networks, compared over splits and training seeds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from experiments.predictive_pvalue.cells import (
    METHOD_WORDS,
    NETWORKS,
    first_scenario,
    methods_drawn,
    values,
)
from experiments.predictive_pvalue.named_data import boston
from simstudy.analysis.result import Result
from simstudy.array_types import Bool, Float
from simstudy.claims import Claim, Finding, Uncheckable, WrongValue, average, share
from simstudy.documents.stats.compatible import cfdr, rfdr

REJECTED = -5.0  # log to base 10 of the document's level
OF_UNIFORM = float(-1 / np.log(10))  # mean log to base 10 of a uniform p-value
# The document has one split. Here a test rejects if it does so in nine of ten splits, and an order
# is due to chance if it differs in more than one of twenty.
NOT_REJECTED, NOT_IN_ORDER = 0.1, 0.05
TWOFOLD = float(np.log10(2))  # factor of a p-value
A_POINT = 0.01  # coverage
IN_A_SHARE = 0.005  # half a unit of the second digit of a share as printed
MEASURES = {"log10_p": "Fisher's combined p-value", "cfdr": "mean CFDR", "rfdr": "mean RFDR"}
ByNetwork = Float[np.ndarray, "rep network"]
PerReplicate = Bool[np.ndarray, " rep"]


def of_networks(result: Result, column: str, **where: str) -> ByNetwork:
    """A column of all three networks, in the order of `NETWORKS`."""
    if not set(NETWORKS) <= set(result.plan.axes["method"]):
        raise LookupError("all three networks")
    scenario = first_scenario(result)
    return np.stack([values(result, scenario, column, method=n, **where) for n in NETWORKS], axis=1)


def of_method(result: Result, column: str, method: str) -> Float[np.ndarray, " rep"]:
    """A column of one method."""
    if method not in methods_drawn(result):
        raise LookupError(METHOD_WORDS[method])
    return values(result, first_scenario(result), column, method=method)


# ---------------------------------------------------------------- which network is best
def _all_rejected(result: Result, distribution: str = "centered") -> Finding:
    """The share of splits in which all three networks are rejected."""
    logs = of_networks(result, "log10_p", distribution=distribution)
    said = ", ".join(
        f"{METHOD_WORDS[name]} {each.min():.0f} to {each.max():.0f}"
        for name, each in zip(NETWORKS, logs.T, strict=True)
    )
    return share((logs < REJECTED).all(axis=1), f"log10 p of {said}")


def ordered_as_printed(measured: ByNetwork) -> PerReplicate:
    """Mark replicates in which Net 5 has the largest value, and Net 10 the smallest."""
    ten, eight, five = measured.T
    return np.asarray((five > eight) & (eight > ten))


def _as_printed(result: Result, column: str) -> Finding:
    measured = of_networks(result, column)
    gap = average(measured[:, 2] - measured[:, 0])
    said = f"Net 5 less Net 10 on average {gap.value:.3g} ± {2 * gap.mcse:.2g}"
    detail = f"{said}; chance alone: 1/6 of replicates"
    return share(ordered_as_printed(measured), detail)


def _all_as_printed(result: Result) -> Finding:
    return share(
        np.all([ordered_as_printed(of_networks(result, column)) for column in MEASURES], axis=0)
    )


def _agree(result: Result) -> Finding:
    """Whether all three measures have the same best and the same worst network."""
    measured = np.stack([of_networks(result, column) for column in MEASURES])
    best, worst = measured.argmax(axis=2), measured.argmin(axis=2)
    return share(((best == best[0]) & (worst == worst[0])).all(axis=0))


def _best_has_least_error(result: Result) -> Finding:
    """Whether the network with the largest RFDR has the least RMSE of the three."""
    best = of_networks(result, "rfdr").argmax(axis=1)
    return share(
        best == of_networks(result, "rmse").argmin(axis=1), "chance alone: 1/3 of replicates"
    )


def _size_of_the_data(_: Result, *, capped: bool = True) -> Finding:
    table = boston()
    value = table[:, -1]
    n = len(value) if capped else int((value < value.max()).sum())
    return Finding(float(n), detail=f"{table.shape[1] - 1} variables beside the value")


def _rfdr_of_caption(_: Result) -> Finding:
    """Whether the means of 168 CFDRs and of 168 RFDRs are equal, for p-values i/169."""
    p = np.arange(1, 169) / 169
    means = [float(mean_rate(p)) for mean_rate in (cfdr, rfdr)]
    detail = f"CFDR {means[0]:.3f}, RFDR {means[1]:.3f}"
    return Finding(float(np.isclose(means[0], means[1])), detail=detail)


# ---------------------------------------------------------------- what the numbers mean
def _coverage(result: Result, distribution: str) -> Finding:
    noise = of_networks(result, "coverage", distribution=f"{distribution}_noise").mean(axis=1)
    with_noise = average(noise)
    detail = f"with residual noise {with_noise.value:.3f} ± {2 * with_noise.mcse:.3f}"
    covered = of_networks(result, "coverage", distribution=distribution).mean(axis=1)
    return average(covered, detail)


def _of_method(result: Result, column: str, method: str) -> Finding:
    found = of_method(result, column, method)
    return average(found, f"from {found.min():.3g} to {found.max():.3g}")


SECTION = "section 5.3"
SPLITS = (
    "Share of replicates, each with a split, bootstrap samples and training of its own: the "
    "document has one, of which nothing can be told. Published as holding for that one."
)

CLAIMS = (
    Claim(
        "joint null",
        "All three combined p-values reject the joint null hypothesis at the level 1e-5",
        SECTION,
        _all_rejected,
        published=1.0,
        difference=NOT_REJECTED,
        wrong_value=WrongValue(
            "distributions with residual noise",
            partial(_all_rejected, distribution="centered_noise"),
        ),
        note=SPLITS,
    ),
    *(
        Claim(
            f"order by {column}",
            f"Net 5 predicts best and Net 10 worst by {words}",
            SECTION,
            partial(_as_printed, column=column),
            published=1.0,
            difference=NOT_IN_ORDER,
            expected="differs",
            scored=False,  # counted by "order by all"
            note=SPLITS,
        )
        for column, words in MEASURES.items()
    ),
    Claim(
        "order by all",
        "In other splits the three measures agree on Net 5 as the best and Net 10 as the worst",
        SECTION,
        _all_as_printed,
        published=1.0,
        difference=NOT_IN_ORDER,
        expected="differs",
        scored=False,  # other splits; "order in figure 1" has the document's
        note=SPLITS,
    ),
    Claim(
        "agreement",
        "The three measures agree on which network predicts best and which worst",
        SECTION,
        _agree,
        published=1.0,
        difference=NOT_IN_ORDER,
        expected="differs",
        scored=False,  # counted by "order by all"
        note=SPLITS,
    ),
    Claim(
        "size of the data",
        "13 independent variables, and 338 + 168 = 506 observations",
        "sections 1 and 5.2",
        _size_of_the_data,
        published=338 + 168,
        wrong_value=WrongValue(
            "without the capped houses", partial(_size_of_the_data, capped=False)
        ),
        note="The public data have 506 rows and 13 variables beside the value.",
    ),
    Claim(
        "caption of figure 1",
        "The RFDR is the average of the 168 CFDRs",
        "figure 1, caption",
        _rfdr_of_caption,
        published=True,
        expected="differs",
        misprint=True,
        note="Of the 168 RFDRs, as the next words of the caption and section 4.2 have it.",
    ),
    Uncheckable(
        "measures of three networks",
        "Combined p-value, mean CFDR and mean RFDR of Net 10, Net 8 and Net 5",
        "figure 1",
        missing="the nine numbers, which stand in the picture alone; how many bootstrap samples, "
        "how the networks are trained, and the seeds",
    ),
    Uncheckable(
        "order in figure 1",
        "The three measures agree that Net 5 predicts best and that Net 10 predicts worst",
        SECTION,
        missing="the split, the number of bootstrap samples, how the networks are trained, and the "
        "seeds: with ours the order changes from split to split",
    ),
    Uncheckable(
        "measures of true nulls",
        "Combined p-value, mean CFDR and mean RFDR of one list of 168 uniform numbers",
        "figure 1, last panel",
        missing="the three numbers, which stand in the picture alone, and the list; what they are "
        "on average is checked",
    ),
)

CONTROLS = (
    Claim(
        "best predicts best",
        "The network that the measures find best predicts best",
        "section 4.2",
        _best_has_least_error,
        published=1.0,
        difference=NOT_IN_ORDER,
        expected="differs",
        scored=False,  # the document means the predictive distribution, not its centre
        note="By mean RFDR and by root mean squared error. A distribution that holds the spread of "
        "the trained function alone makes p-values larger where that spread is larger, whether or "
        "not predictions are better.",
    ),
    Claim(
        "example 3 is predictive",
        "The distribution of example 3 is one of the value that is predicted",
        "section 2, example 3",
        partial(_coverage, distribution="centered"),
        published=0.9,
        difference=A_POINT,
        expected="differs",
        scored=False,  # a null hypothesis that the document rejects: "joint null"
        note="Share of test values in central 90% intervals, mean of the three networks. The "
        "distribution holds the spread of the trained function and no residual noise.",
    ),
    Claim(
        "CFDR of true nulls",
        "The farther the mean CFDR is from 1, the more room there is for improvement",
        SECTION,
        partial(_of_method, column="cfdr", method="true_nulls"),
        published=1.0,
        difference=IN_A_SHARE,
        expected="differs",
        scored=False,  # proportion_compatible counts it
        note="Mean CFDR where nothing can be improved: equation (4) as printed is not held at 1.",
    ),
    Claim(
        "combined p of true nulls",
        "Fisher's combined p-value of uniform p-values is uniform",
        "section 4.1",
        partial(_of_method, column="log10_p", method="true_nulls"),
        published=OF_UNIFORM,
        scored=False,
        difference=TWOFOLD,
        wrong_value=WrongValue(
            "p-values of Net 5", partial(_of_method, column="log10_p", method="net_5")
        ),
        note="Mean log to base 10; derived. A difference would be a p-value twice or half as large "
        "in geometric mean.",
    ),
)

ON_OTHER_DATA = tuple(replace(claim, scored=False) for claim in CONTROLS)
"""The same claims on other data, which are not counted again."""

OF_TRUTH = tuple(
    Claim(
        f"{name} of the truth",
        f"True predictive distributions have the {words}",
        "section 3",
        partial(_of_method, column=column, method="truth"),
        published=expected,
        difference=difference,
        scored=name == "coverage",
        wrong_value=WrongValue(
            "distributions of Net 5", partial(_of_method, column=column, method="net_5")
        ),
        note="By example 5 p-values are uniform then.",
    )
    for name, words, column, expected, difference in (
        ("combined p", "mean log10 p of a uniform p-value", "log10_p", OF_UNIFORM, TWOFOLD),
        ("coverage", "coverage that their intervals ask for", "coverage", 0.9, A_POINT),
    )
)
