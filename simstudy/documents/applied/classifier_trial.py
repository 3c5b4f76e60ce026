"""The trial of a classifier: a threshold that keeps its sensitivity, and cases that prove it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from simstudy.documents.applied.answers import Answer, check_plan, curves
from simstudy.documents.applied.settings import (
    THRESHOLD_METHODS,
    ClassifierPlanSettings,
    ClassifierTestSettings,
)
from simstudy.documents.applied.tables import Table, Values, check_same_length, is_positive
from simstudy.documents.stats import classifier_trial as trial
from simstudy.documents.stats import umbrella
from simstudy.documents.stats.thresholds import Target, thresholds
from simstudy.errors import DesignError
from simstudy.lazy import ggplot, p9, pd, stats
from simstudy.options import build

MARGIN, POWER = 0.05, 0.8  # the document's values
CASE_LIMIT = 10**6  # largest sample size to search for: it takes some seconds
CONFIDENCES = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99)
STUDY_NAMES = {"bca": "bca strict"}  # the document leaves resamples equal to the estimate out
DRAWN = ("umbrella", "bca", "percentile", "tolerance")  # methods of the figure


@dataclass(frozen=True, repr=False)
class ClassifierPlan(Answer):
    """Plan of a classifier's trial: the threshold, and how many positive cases prove it.

    A case is called positive where its score is at or above the threshold.

    Parameters
    ----------
    threshold
        In the units of the scores.
    threshold_method
        How it was set.
    sensitivity, confidence
        The target, and the probability with which a threshold should keep it.
    coverage
        Probability that a threshold set in this way keeps the sensitivity, whatever the law of the
        scores; None for methods without such a guarantee.
    thresholds
        Thresholds by all methods.
    n_positive, n_negative
        Cases of the file.
    expected_sensitivity
        Mean sensitivity of thresholds at this rank among the positive scores.
    specificity
        Share of the negative cases of the file below the threshold.
    null, alpha
        The trial is to show that the sensitivity is above `null`, at this level.
    n, critical
        Positive cases of the trial, and the fewest true positives that reject.
    power, size
        Exact probabilities of rejecting if the sensitivity is the target, and if it is the null.
    power_with_threshold
        Power on average over thresholds set in this way (umbrella only).
    n_first, n_forever
        The least n with the requested power, and the least from which it is never lost;
        None if n was given.
    n_formula, power_at_formula
        The document's formula, and the exact power there.
    lowest_score, highest_score
        Number among all cases of the file.
    is_clustered
        Whether one positive case of each group was taken.
    positive
        The label of positive cases, if it was given.
    curve
        Method, confidence and threshold of each point of the figure.
    simulated
        Rates of the simulated plan, by name, each with its Monte Carlo standard error.
    """

    method: ClassVar[str] = "classifier-trial plan"

    threshold: float
    threshold_method: str
    sensitivity: float
    confidence: float
    coverage: float | None
    thresholds: tuple[tuple[str, float], ...]
    n_positive: int
    n_negative: int
    expected_sensitivity: float
    specificity: float
    null: float
    alpha: float
    n: int
    critical: int
    power: float
    size: float
    power_with_threshold: float | None
    n_first: int | None
    n_forever: int | None
    n_formula: int
    power_at_formula: float
    lowest_score: float
    highest_score: float
    is_clustered: bool
    positive: str | None
    curve: tuple[tuple[str, float, float | None], ...]
    simulated: tuple[tuple[str, float, float], ...] = ()

    @property
    def compared(self) -> tuple[str, ...]:
        """Methods whose measured coverage is printed."""
        return tuple(dict.fromkeys(("umbrella", self.threshold_method, "bca")))

    def study_name(self, method: str) -> str:
        """Return the key of a method's evidence.

        Parameters
        ----------
        method
            Name of the method.

        Returns
        -------
        str
            The key.
        """
        return f"threshold {STUDY_NAMES.get(method, method)}"

    def figure(self) -> ggplot:
        """Draw the thresholds of all methods against the confidence; dotted: the plan's.

        Returns
        -------
        ggplot
            The figure; None where there is none.
        """
        frame = pd.DataFrame(self.curve, columns=["method", "confidence", "threshold"])
        figure = curves(
            frame.dropna(), "confidence", "threshold", "method",
            title=f"Thresholds that keep a sensitivity of {self.sensitivity:g}",
            x="confidence (dotted: the plan)", y="threshold, in the units of the scores",
        )  # fmt: skip
        figure += p9.geom_vline(xintercept=self.confidence, linetype="dotted")
        return figure + p9.geom_hline(yintercept=self.threshold, linetype="dotted")


@dataclass(frozen=True, repr=False)
class ClassifierVerdict(Answer):
    """Result of a classifier's trial.

    Parameters
    ----------
    rejects
        Whether the sensitivity is shown to be above the null.
    n, found
        Positive cases, and those of them at or above the threshold.
    planned_n
        Positive cases as planned.
    threshold, null, alpha
        Values of the plan.
    critical
        Fewest true positives that reject with n cases.
    p_value
        Exact probability of so many or more, if the sensitivity is the null.
    lower_bound
        Exact lower limit of the sensitivity, at one-sided level 1 - alpha.
    power
        Value with n cases, if the sensitivity is the one planned for.
    n_negative, n_false_positive
        Negative cases, and those of them at or above the threshold.
    is_clustered
        Whether one positive case of each group was taken.
    """

    method: ClassVar[str] = "classifier-trial test"

    rejects: bool
    n: int
    found: int
    planned_n: int
    threshold: float
    null: float
    alpha: float
    critical: int
    p_value: float
    lower_bound: float
    power: float
    n_negative: int
    n_false_positive: int
    is_clustered: bool

    def figure(self) -> ggplot:
        """Draw the law of the count under the null, and the count that was found.

        Returns
        -------
        ggplot
            The figure; None where there is none.
        """
        counts = np.arange(max(int(self.n * self.null) - 60, 0), self.n + 1)
        law = stats.binom.pmf(counts, self.n, self.null)
        frame = pd.DataFrame({"true positives": counts, "probability": law, "law": "null"})
        title = (
            f"{self.found:,} positive cases found; dashed: the test rejects from {self.critical:,}"
        )
        figure = curves(
            frame, "true positives", "probability", "law", title=title,
            x="positive cases found", y="probability under the null",
        )  # fmt: skip
        figure += p9.geom_vline(xintercept=self.found)
        return figure + p9.geom_vline(xintercept=self.critical, linetype="dashed")


# ---------------------------------------------------------------- functions
def plan_classifier_trial(
    label: Any,
    score: Any,
    *,
    positive: Any = None,
    cluster: Any = None,
    sensitivity: float = 0.95,
    confidence: float = 0.8,
    method: str = "umbrella",
    margin: float | None = None,
    alpha: float = 0.05,
    power: float | None = None,
    n: int | None = None,
    seed: int = 1,
    simulate: bool = False,
    n_rep: int = 10_000,
) -> ClassifierPlan:
    """Set a classifier's threshold, and plan the trial that proves its sensitivity.

    Parameters
    ----------
    label, score
        Classes and scores of a test set, one of each for every case; larger scores for positive
        cases.
    positive
        The label of positive cases; None if labels are 0 and 1, or true and false.
    cluster
        Group of each case, if cases of a group depend on each other: one positive case of each
        group is taken, at random.
    sensitivity, confidence
        Share of positive cases to find, and the probability that the threshold does.
    method
        "umbrella" keeps its confidence whatever the law of the scores; also "empirical",
        "percentile", "basic", "normal", "bca", and "tolerance" for normal scores.
    margin
        The trial is to show that the sensitivity is above `sensitivity` - `margin`. Default: 0.05,
        or, if `n` and `power` are given, the least margin with that power.
    alpha, power
        Level of the exact test, and the requested power. Default: 0.8, or computed if `n`
        is set.
    n
        Positive cases of the trial; computed unless given.
    seed
        Seed of the choice among a group's cases, and of the simulation.
    simulate, n_rep
        Whether to simulate the plan with scores drawn from these, and how many times.

    Returns
    -------
    ClassifierPlan
        Printed, it reads as a short report.

    Raises
    ------
    ConfigError
        For a setting outside its range.
    DesignError
        For labels of one class, too few positive cases, or what no trial can reach.
    """
    settings = build(ClassifierPlanSettings, {
        "positive": None if positive is None else str(positive), "sensitivity": sensitivity,
        "confidence": confidence, "method": method, "margin": margin, "alpha": alpha,
        "power": power, "n": n, "seed": seed, "simulate": simulate, "n_rep": n_rep,
    })  # fmt: skip
    return plan_table(Table({"label": label, "score": score, "cluster": cluster}, settings))


def judge_classifier_trial(
    plan: ClassifierPlan, label: Any, score: Any, *, positive: Any = None, cluster: Any = None
) -> ClassifierVerdict:
    """Test the sensitivity on the cases of a planned trial.

    Parameters
    ----------
    plan
        From `plan_classifier_trial`, or read by `ClassifierPlan.read`.
    label, score
        Classes and scores of the new cases.
    positive
        The label of positive cases; default: the plan's.
    cluster
        Group of each case; needed exactly if the plan was made with groups.

    Returns
    -------
    ClassifierVerdict
        Printed, it reads as a short report.

    Raises
    ------
    SimstudyError
        For labels or scores that do not fit the plan, or the cases that it was made from.
    """
    settings = ClassifierTestSettings(positive=None if positive is None else str(positive))
    columns = {"label": label, "score": score, "cluster": cluster}
    return judge_table(plan, Table(columns, settings))


# ---------------------------------------------------------------- cases
class _Cases:
    """Scores of a table, and those of positive cases that count."""

    def __init__(self, table: Table, positive: str | None, seed: int = 1) -> None:
        label, self.scores = table.column("label"), table.numbers("score")
        check_same_length(label=label, score=self.scores)
        self.is_positive = is_positive(table.settings.label, label, positive, table.name)
        codes = table.codes(len(self.scores))
        rows = np.flatnonzero(self.is_positive)
        self.is_clustered = codes is not None
        if codes is not None:  # the first of a random order is a random case of its group
            rows = np.random.default_rng(seed).permutation(rows)
            rows = rows[np.unique(codes[rows], return_index=True)[1]]
        self.positive: Values = self.scores[rows]
        self.negative: Values = self.scores[~self.is_positive]
        self.source = table.source_or(self.scores, self.is_positive)


# ---------------------------------------------------------------- threshold
def all_thresholds(
    positive: Values, target: Target, methods: Sequence[str] = THRESHOLD_METHODS
) -> dict[str, float]:
    """Set thresholds by several methods; -inf by the umbrella if no score is safe."""
    known = [STUDY_NAMES.get(name, name) for name in methods]
    found = thresholds(positive[np.newaxis], target, known)
    return {name: float(found[key][0]) for name, key in zip(methods, known, strict=True)}


def expected_sensitivity(threshold: float, positive: Values) -> float:
    """Return the mean sensitivity of a threshold at this place among n positive scores.

    A threshold at the r-th smallest score has a sensitivity of mean (n + 1 - r) / (n + 1), whatever
    the continuous law of the scores; between two scores the place is interpolated.
    """
    n = len(positive)
    rank = np.interp(threshold, np.sort(positive), np.arange(1, n + 1), left=0.5)
    return float((n + 1 - rank) / (n + 1))


def _curve(positive: Values, sensitivity: float) -> Iterator[tuple[str, float, float | None]]:
    for confidence in CONFIDENCES:
        found = all_thresholds(positive, Target(sensitivity, confidence), DRAWN)
        for name, value in found.items():
            yield name, confidence, value if math.isfinite(value) else None


def _safe_rank(n_obs: int, target: Target) -> int:
    """The umbrella's rank; refused where no score is safe."""
    if rank := int(umbrella.umbrella_rank(n_obs, *target)):
        return rank
    best = 1 - umbrella.violation(1, n_obs, target.sensitivity)
    raise DesignError(
        f"n_obs={n_obs} positive scores cannot keep a sensitivity of {target.sensitivity:g} with "
        f"confidence {target.confidence:g}: even the smallest score as the threshold has only "
        f"{best:.3g}. Collect at least {umbrella.least_feasible_n(*target)} positives, or ask for "
        f"confidence {best:.3g} or less."
    )


# ---------------------------------------------------------------- plan and test
def plan_table(table: Table) -> ClassifierPlan:
    """Plan a trial with the columns of a table."""
    settings: ClassifierPlanSettings = table.settings
    cases, k = _Cases(table, settings.positive, settings.seed), settings.sensitivity
    positive = cases.positive
    target = Target(k, settings.confidence)
    rank = _safe_rank(len(positive), target) if settings.method == "umbrella" else 0
    found = all_thresholds(positive, target)
    threshold = found[settings.method]
    sizes = _sizes(settings)
    n, null = sizes["n"], sizes["null"]
    test = trial.trial_power(n, k, null, settings.alpha)
    coverage, mean_power = None, None
    if rank:
        coverage = 1 - float(umbrella.violation(rank, len(positive), k))
        mean_power = trial.power_with_order_statistic(rank, len(positive), n, int(test.critical))
    at_formula = trial.trial_power(sizes["n_formula"], k, null, settings.alpha)
    plan = ClassifierPlan(
        threshold=threshold, threshold_method=settings.method, sensitivity=k,
        confidence=settings.confidence, coverage=coverage,
        thresholds=tuple((n, v) for n, v in found.items() if math.isfinite(v)),
        n_positive=len(positive), n_negative=len(cases.negative),
        expected_sensitivity=expected_sensitivity(threshold, positive),
        specificity=float((cases.negative < threshold).mean()), alpha=settings.alpha,
        critical=int(test.critical), power=float(test.power), size=float(test.size),
        power_with_threshold=mean_power, power_at_formula=float(at_formula.power),
        lowest_score=float(cases.scores.min()), highest_score=float(cases.scores.max()),
        is_clustered=cases.is_clustered,
        positive=settings.positive, curve=tuple(_curve(positive, k)), source=cases.source,
        settings=vars(settings), notes=tuple(_notes(cases, threshold)), **sizes,
    )  # fmt: skip
    if settings.simulate:
        from simstudy.documents.scenarios.planned_trials import classifier_rates

        rates = classifier_rates(
            positive, n_rep=settings.n_rep, seed=settings.seed, n=plan.n, sensitivity=k,
            threshold_method=STUDY_NAMES.get(settings.method, settings.method),
            confidence=plan.confidence, null=plan.null, alpha=plan.alpha,
        )  # fmt: skip
        plan = replace(plan, simulated=rates)
    return plan


def _notes(cases: _Cases, threshold: float) -> Iterator[str]:
    if cases.positive.mean() < cases.negative.mean():
        yield (
            "positive cases have lower scores on average than negative ones: are labels or scores "
            "the wrong way round?"
        )
    if (ties := int((cases.positive == threshold).sum())) > 1:
        yield (
            f"{ties} positive scores equal the threshold: the sensitivity is kept, and may be "
            "higher than planned"
        )
    if cases.is_clustered:
        yield (
            "one positive case of each group was taken, at random: the sensitivity is that of "
            "groups, and the trial counts groups"
        )


def _sizes(settings: ClassifierPlanSettings) -> dict[str, Any]:
    """Solve for n, for the power, or for the margin: the fields `null` and `n...` of the plan."""
    k, alpha, n, margin = settings.sensitivity, settings.alpha, settings.n, settings.margin
    if n is not None and settings.power is not None:
        if margin is not None:
            raise DesignError(
                "n, power and margin are all given, and each follows from the other two. Leave out "
                "the one that is wanted."
            )
        margin = trial.exact_margin(n, k, settings.power, alpha)
        if not 0 < margin < k:
            raise DesignError(
                f"n={n} positive cases have power {settings.power:g} for no null below sensitivity "
                f"{k:g}. Raise n, or ask for less power."
            )
        margin *= 1 + 1e-9  # the infimum itself is just not rejected
    margin = MARGIN if margin is None else margin
    goal = settings.power or POWER
    _refuse_no_size(k, margin, goal, alpha)
    formula = math.ceil(trial.normal_sample_size(k, margin, goal, alpha))
    known = {"null": k - margin, "n_formula": formula}
    if n is not None:
        return known | {"n": n, "n_first": None, "n_forever": None}
    if not (enough := trial.proven_sample_size(k, margin, goal, alpha)) <= CASE_LIMIT:
        raise DesignError(
            f"margin={margin:g} may take {enough:.2g} cases, and of more than {CASE_LIMIT:,} the "
            "powers are not all computed. Give a wider margin, or n."
        )
    first, forever = trial.sample_sizes(k, margin, goal, alpha)
    return known | {"n": forever, "n_first": first, "n_forever": forever}


def _refuse_no_size(k: float, margin: float, power: float, alpha: float) -> None:
    """Refuse what no sample size can show, and what any can."""
    trial.refuse_no_null(k, margin)
    if trial.normal_power(0, k, margin, alpha) >= power:
        raise DesignError(
            "power is so low for this alpha that the normal approximation reaches it at any "
            "sample size, so no least one exists. Ask for a power clearly above alpha."
        )


def judge_table(plan: ClassifierPlan, table: Table) -> ClassifierVerdict:
    """Test a plan with the columns of a table."""
    cases = _Cases(table, table.settings.positive or plan.positive)
    planned = trial.trial_power(plan.n, plan.sensitivity, plan.null, plan.alpha)
    computed = {"critical": float(planned.critical), "power": float(planned.power)}
    check_plan(plan, cases.source, computed, is_clustered=cases.is_clustered)
    _refuse_other_scale(plan, cases)
    n, found = len(cases.positive), int((cases.positive >= plan.threshold).sum())
    test = trial.trial_power(n, plan.sensitivity, plan.null, plan.alpha)
    return ClassifierVerdict(
        rejects=found >= int(test.critical), n=n, found=found, planned_n=plan.n,
        threshold=plan.threshold, null=plan.null, alpha=plan.alpha, critical=int(test.critical),
        p_value=float(trial.upper_tail(found, n, plan.null)),
        lower_bound=trial.clopper_pearson_lower(found, n, plan.alpha),
        power=float(test.power), n_negative=len(cases.negative),
        n_false_positive=int((cases.negative >= plan.threshold).sum()),
        is_clustered=plan.is_clustered, source=cases.source, settings={"plan": plan.to_dict()},
    )  # fmt: skip


def _refuse_other_scale(plan: ClassifierPlan, cases: _Cases) -> None:
    """Refuse percentages for a threshold on proportions, and the reverse."""
    lowest, highest = float(cases.scores.min()), float(cases.scores.max())
    scales = _scale(plan.lowest_score, plan.highest_score), _scale(lowest, highest)
    if set(scales) == {"share", "per cent"}:
        raise DesignError(
            f"scores go up to {highest:g}, and those of the plan to {plan.highest_score:g}: "
            "proportions beside per cent cannot share a threshold. Divide or multiply by 100."
        )


def _scale(lowest: float, highest: float) -> str:
    if lowest < 0 or 1 < highest <= 10 or highest > 100:
        return "unknown"
    return "share" if highest <= 1 else "per cent"
