"""Claims of the document about its test, compared with shares of checks that fail.

A rival is another test, or the same test with violated assumptions.
"""

from functools import partial

from experiments.accuracy_regression.answers import (
    HALF_A_PERCENT,
    TWENTIETH,
    all_of_theta,
    as_enumerated,
    at_or_below,
    below_reference,
    by_luck,
    conservative,
    failing,
    far_from_one_half,
    is_t_test,
    least_of_all,
    least_size,
    of_one_reference,
    of_same_prompts,
    one_half,
    pairs_find_more,
    pairs_keep_level,
    passing,
    variance,
    variance_over_sigma,
)
from simstudy.claims import Claim, IntendedValue, WrongValue
from simstudy.documents.stats.accuracy.design import level_given_reference

METHODOLOGY = "hypothesis testing methodology"
T_TEST = "two-sample t-test"
CODE = "TensorRT-LLM, tests/integration/defs/accuracy/accuracy_core.py"
SCRIPT = "TensorRT-LLM, tests/integration/defs/accuracy/scripts/compute_theta_and_thresholds.py"
STEPS = "steps to add accuracy tests"
DERIVED = "Derived, and not stated by the document."

CLAIMS = (
    # ------------------------------------------------------------ where the document is right
    Claim(
        "alpha", "A check of an unchanged model fails with probability 0.05", T_TEST,
        partial(failing, choose=one_half), published=0.05, difference=HALF_A_PERCENT,
        wrong_value=WrongValue(
            "one reference, at its truth",
            partial(failing, choose=partial(of_one_reference, quantile=0.5)),
        ),
        intended=IntendedValue(
            "against one reference on record, a typical one",
            partial(failing, choose=partial(of_one_reference, quantile=0.5)),
        ),
        expected="true as written, not as meant",
        note="Averaged over references, at an accuracy of one half and the largest n. A reference "
        "is recorded once, and checks are held against that one.",
    ),
    Claim(
        "beta", "A check of a model that is worse by θ passes with probability 0.2", T_TEST,
        partial(passing, choose=partial(one_half, effect=1.0)), published=0.2,
        difference=HALF_A_PERCENT,
        wrong_value=WrongValue(
            "the same prompts, correlated by 0.6",
            partial(passing, choose=partial(of_same_prompts, effect=1.0)),
        ),
        note="Averaged over references, at an accuracy of one half and the largest n.",
    ),
    Claim(
        "spread", "The difference has the variance 2σ²/n", T_TEST,
        partial(variance, choose=one_half), published=1.0, difference=TWENTIETH,
        wrong_value=WrongValue(
            "the same prompts, correlated by 0.6", partial(variance, choose=of_same_prompts)
        ),
        note="Its variance over the formula's, on different prompts, to a twentieth.",
    ),
    Claim(
        "threshold", "γ lies below the reference", T_TEST, below_reference, published=True,
        wrong_value=WrongValue("Φ⁻¹(1 - α)", partial(below_reference, upper=True)),
    ),
    Claim(
        "at the threshold", "A check fails at γ or below, or only below: the two are one test",
        CODE, partial(at_or_below, at="document", below="document_strict"), published=True,
        scored=False,
        wrong_value=WrongValue(
            "a rounded γ", partial(at_or_below, at="rounded", below="rounded_strict")
        ),
        note="The document has P(x̄' ≤ γ), the code fails strictly below. As computed, γ is on no "
        "lattice: Φ⁻¹(α)·√(n/2) is never whole.",
    ),
    Claim(
        "two forms of θ", "θ has two forms, and is positive where α and β are below one half",
        T_TEST, all_of_theta, published=True,
        wrong_value=WrongValue("Φ⁻¹(1 - α)", partial(all_of_theta, turned=True)),
    ),
    Claim(
        "least n of all", "Going through n from small to large finds the least that is enough",
        STEPS, least_of_all, published=True,
        wrong_value=WrongValue("doubling n from 32 on", partial(least_of_all, by="doubled")),
        note="As the document says it. Doubling n from 32 on finds more than are needed.",
    ),
    # ------------------------------------------------------------ where it is off
    Claim(
        "at a rounded threshold", "The same, with γ rounded to a number of right answers", T_TEST,
        partial(at_or_below, at="rounded", below="rounded_strict"), scored=False, published=True,
        expected="differs", note="So a threshold that is rounded must say which is meant.",
    ),
    Claim(
        "sigma", "The scores have the variance σ: the ratio of the two", METHODOLOGY,
        variance_over_sigma, published=1.0, difference=TWENTIETH, expected="differs",
        misprint=True,
        note="The variance is σ², and σ the standard deviation, as the document's own √(2σ²/n) has "
        "it. Tried with scores of 0 and 1 at an accuracy of one half.",
    ),
    Claim(
        "t test", "The test is a two-sample t test", T_TEST, is_t_test, published=True,
        expected="differs", scored=False, note="It is a z test with a known σ: a name, no result.",
    ),
    Claim(
        "alpha given the reference", "With the reference that is on record α is 0.05", T_TEST,
        partial(failing, choose=partial(of_one_reference, quantile=0.5)), scored=False,
        published=0.05, difference=HALF_A_PERCENT, expected="differs",
        note="α is an average over references. The reference is typical: at its truth.",
    ),
    Claim(
        "alpha given a lucky reference", "The same, where the reference is at its 95% quantile",
        T_TEST, partial(failing, choose=partial(of_one_reference, quantile=0.95)), published=0.05,
        difference=HALF_A_PERCENT, expected="differs", scored=False,
    ),
    Claim(
        "spread on the same prompts", "The variance is 2σ²/n on the same prompts too", STEPS,
        partial(variance, choose=of_same_prompts), scored=False, published=1.0,
        difference=TWENTIETH, expected="differs",
        note="It is 2(1 - ρ)σ²/n. Drawn with a correlation ρ of 0.6.",
    ),
    Claim(
        "alpha on the same prompts", "α is 0.05 on the same prompts too", STEPS,
        partial(failing, choose=of_same_prompts), published=0.05, difference=HALF_A_PERCENT,
        expected="differs", scored=False, note="A correlation of 0.6, averaged over references.",
    ),
    Claim(
        "beta on the same prompts", "β is 0.2 at θ on the same prompts too", STEPS,
        partial(passing, choose=partial(of_same_prompts, effect=1.0)), scored=False,
        published=0.2, difference=HALF_A_PERCENT, expected="differs",
        note="A correlation of 0.6: θ is pessimistic.",
    ),
    Claim(
        "alpha away from one half", "α is 0.05 with σ = 50 at an accuracy of 0.9", CODE,
        partial(failing, choose=far_from_one_half), published=0.05, difference=HALF_A_PERCENT,
        expected="differs", scored=False, note="The true σ is 30 points there.",
    ),
    Claim(
        "beta away from one half", "β is 0.2 at θ with σ = 50 at an accuracy of 0.9", CODE,
        partial(passing, choose=partial(far_from_one_half, effect=1.0)), scored=False,
        published=0.2, difference=HALF_A_PERCENT, expected="differs",
    ),
    Claim(
        "least n", "Doubling n from 32 on finds the least that is enough", SCRIPT,
        least_size, scored=False, published=True, expected="differs",
    ),
    # ------------------------------------------------------------ beyond it
    Claim(
        "conservative", "σ = 50 keeps α with room to spare from an accuracy of 0.7 on", CODE,
        conservative, scored=False, published=True,
        wrong_value=WrongValue("Welch's t test", partial(conservative, method="estimated")),
        note=f"{DERIVED} To spare is at least half a percent.",
    ),
    Claim(
        "by luck", "Given a reference α is Φ(√2 Φ⁻¹(α) + δ), to half a right answer", T_TEST,
        by_luck, scored=False, published=True,
        wrong_value=WrongValue(
            "a check of twice as many prompts",
            partial(by_luck, law=partial(level_given_reference, ratio=2)),
        ),
        note=DERIVED,
    ),
    Claim(
        "pairs keep alpha", "Tests of pairs have 0.025 to 0.075 for α on the same prompts", STEPS,
        pairs_keep_level, scored=False, published=True,
        wrong_value=WrongValue(
            "the document's test", partial(pairs_keep_level, tests=["document"])
        ),
        note=f"{DERIVED} The liberal limits of Bradley (1978), Br. J. Math. Stat. Psychol. 31.",
    ),
    Claim(
        "pairs find more", "On the same prompts McNemar's exact test finds θ more often", STEPS,
        pairs_find_more, scored=False, published=True,
        wrong_value=WrongValue(
            "Fisher's exact test", partial(pairs_find_more, test="fisher")
        ), note=DERIVED,
    ),
    Claim(
        "as enumerated", "Simulated shares are those that enumeration gives", "all scenarios",
        as_enumerated, scored=False, published=True,
        wrong_value=WrongValue("exact shares of the test before", partial(as_enumerated, shift=1)),
        note=DERIVED,
    ),
)  # fmt: skip
