"""Claims of the document and of theory about its test, compared with `accuracy_scores`.

A rival is another test instead of the one that is claimed to keep its rates, or a neighbouring
formula. The document is about the limit only. Claims about few prompts, pilots, one reference and
the same prompts are ours, or counted by `accuracy_regression`.
"""

from functools import partial

from experiments.accuracy_scores.answers import (
    ALL,
    STRINGENT,
    as_luck_says,
    level_as_derived,
    level_as_derived_of_few,
    level_at,
    level_by,
    level_given_any,
    level_on_the_same,
    pilot_trusted,
    power_at,
    safe_side,
    saved,
    without_root,
)
from experiments.accuracy_scores.figures import WORDS
from simstudy.claims import Claim, WrongAlternative
from simstudy.documents.scenarios.score_checks import LIBERAL
from simstudy.documents.stats.accuracy.design import level_given_reference

DERIVED = "Derived, and not in the document."
LATTICE = "Scores of 0 and 1 have few means at small n, and none of them is at the threshold."
SPREAD = "The worse run has another standard deviation, which the formula does not know."
TAIL = "Most pilots miss the tail that makes up σ."
SIGMA_TOO_SMALL, SIGMA_TOO_LARGE = "a σ a fifth too small", "a σ a quarter too large"
PILOT = "σ of a pilot of 32"
NEAR_LEVEL, NEAR_POWER = "a tenth of α", "a tenth of β"

CLAIMS = (
    *(
        Claim(
            f"level at the least n, {WORDS[name]}",
            f"The statistic is close to standard normal, whatever the scores: alpha is kept"
            f" ({WORDS[name]})",
            "two-sample t-test",
            partial(level_at, scores=[name], choice=min),
            published=True,
            scored=False,
            rival=WrongAlternative(
                SIGMA_TOO_SMALL,
                partial(level_at, scores=[name], choice=min, method="z_sigma_small"),
            ),
            expected="differs" if name == "binary" else "reproduced",
            note=LATTICE if name == "binary" else "",
        )
        for name in ALL
    ),
    *(
        Claim(
            f"power at the least n, {WORDS[name]}",
            f"A check that is worse by the detectable effect fails with probability 1 - beta"
            f" ({WORDS[name]})",
            "two-sample t-test",
            partial(power_at, scores=[name], choice=min),
            published=True,
            scored=False,
            rival=WrongAlternative(
                SIGMA_TOO_LARGE,
                partial(power_at, scores=[name], choice=min, method="z_sigma_large"),
            ),
            expected="reproduced" if name == "normal" else "differs",
            note="" if name == "normal" else SPREAD,
        )
        for name in ALL
    ),
    Claim(
        "level at the largest n",
        "The statistic converges to a standard normal: alpha is kept for all scores",
        "two-sample t-test",
        partial(level_at, scores=ALL, choice=max),
        published=True,
        rival=WrongAlternative(
            PILOT, partial(level_at, scores=ALL, choice=max, method="z_pilot_32")
        ),
        criterion=NEAR_LEVEL,
    ),
    Claim(
        "power at the largest n",
        "The same of a model that is worse by θ: beta is kept for all scores",
        "two-sample t-test",
        partial(power_at, scores=ALL, choice=max),
        published=True,
        rival=WrongAlternative(
            SIGMA_TOO_LARGE, partial(power_at, scores=ALL, choice=max, method="z_sigma_large")
        ),
        criterion=NEAR_POWER,
    ),
    Claim(
        "a two-sample t-test",
        "The test is a t-test: it keeps alpha also where σ is a fifth too small",
        "two-sample t-test",
        partial(level_by, scores=["normal"], method="z_sigma_small", share=STRINGENT),
        published=True,
        scored=False,
        expected="differs",
        note="It is a z test, and takes what σ it is given.",
    ),
    Claim(
        "Student's t",
        "A test that estimates one σ from both runs (pooled) keeps alpha for all scores and n",
        "theory",
        partial(level_by, scores=ALL, method="t", share=STRINGENT),
        published=True,
        scored=False,
        rival=WrongAlternative(
            PILOT, partial(level_by, scores=ALL, method="z_pilot_32", share=STRINGENT)
        ),
        note=DERIVED,
    ),
    Claim(
        "a large σ is safe",
        "A σ that is a quarter too large costs power and no false alarms",
        "theory",
        safe_side,
        published=True,
        scored=False,
        rival=WrongAlternative(SIGMA_TOO_SMALL, partial(safe_side, method="z_sigma_small")),
        note=DERIVED,
    ),
    *(
        Claim(
            f"σ of a pilot of 32, {WORDS[name]}",
            f"σ can be estimated beforehand: on average over pilots alpha is kept to half of it"
            f" ({WORDS[name]})",
            "steps to add accuracy tests",
            partial(level_by, scores=[name], method="z_pilot_32", share=LIBERAL),
            published=True,
            scored=False,
            rival=WrongAlternative(
                SIGMA_TOO_SMALL,
                partial(level_by, scores=[name], method="z_sigma_small", share=LIBERAL),
            ),
            expected="differs" if name == "perplexity" else "reproduced",
            note=TAIL if name == "perplexity" else "",
        )
        for name in ALL
    ),
    *(
        Claim(
            f"σ of one pilot of 256, {WORDS[name]}",
            f"σ can be estimated once: 19 of 20 pilots leave alpha within half of itself"
            f" ({WORDS[name]})",
            "steps to add accuracy tests",
            partial(pilot_trusted, scores=[name]),
            published=True,
            scored=False,
            rival=WrongAlternative(
                PILOT, partial(pilot_trusted, scores=[name], measure="misled_by_32")
            ),
            expected="differs" if name == "perplexity" else "reproduced",
            note=TAIL if name == "perplexity" else "",
        )
        for name in ALL
    ),
    Claim(
        "the same prompts",
        "alpha is kept when the check evaluates the prompts of the reference",
        "null hypothesis and alternative hypothesis",
        partial(level_on_the_same, scores=ALL, method="z"),
        published=True,
        scored=False,
        expected="differs",
        note="The runs are paired: the difference varies less than independent runs would have it.",
    ),
    Claim(
        "their level",
        "It is then Φ(Φ⁻¹(alpha)/√(1 - correlation))",
        "theory",
        level_as_derived,
        published=True,
        scored=False,
        rival=WrongAlternative(
            "Φ(Φ⁻¹(alpha)/(1 - correlation))", partial(level_as_derived, law=without_root)
        ),
        note=f"{DERIVED} Of less than 0.001 only that it is less.",
    ),
    Claim(
        "their level at the least n",
        "So it is for all scores already at the least n",
        "theory",
        level_as_derived_of_few,
        published=True,
        scored=False,
        expected="differs",
        note="Of heavy tails a mean of few has a far tail that is not normal.",
    ),
    Claim(
        "paired t",
        "A paired t test keeps alpha on the same prompts",
        "theory",
        partial(level_on_the_same, scores=ALL, method="paired_t"),
        published=True,
        scored=False,
        rival=WrongAlternative("Student's t", partial(level_on_the_same, scores=ALL, method="t")),
        note=DERIVED,
    ),
    *(
        Claim(
            f"prompts saved, {WORDS[name]}",
            f"A paired test needs 1 - correlation of the prompts for about as much power"
            f" ({WORDS[name]})",
            "theory",
            partial(saved, scores=[name]),
            published=True,
            scored=False,
            rival=WrongAlternative("z with so few", partial(saved, scores=[name], method="z")),
            expected="differs" if name == "binary" else "reproduced",
            note="A worse accuracy means prompts that are lost: what is correlated where nothing "
            "has changed is less so then."
            if name == "binary"
            else DERIVED,
        )
        for name in ALL
    ),
    Claim(
        "level given the reference",
        "alpha is the rate of false alarms against the reference that is on record",
        "two-sample t-test",
        level_given_any,
        published=True,
        scored=False,
        expected="differs",
        note="It is the average over references; of one it depends on how lucky that was.",
    ),
    Claim(
        "luck of the reference, normal",
        "It is Φ(√2 Φ⁻¹(alpha) + δ) with a reference δ of its standard errors above the truth",
        "theory",
        partial(as_luck_says, scores=["normal"]),
        published=True,
        scored=False,
        rival=WrongAlternative(
            "a check of twice as many prompts",
            partial(
                as_luck_says,
                scores=["normal"],
                law=partial(level_given_reference, n_check=2),
            ),
        ),
        note=DERIVED,
    ),
    *(
        Claim(
            f"luck of the reference, {WORDS[name]}",
            "So it is of these scores, already at the least n",
            "theory",
            partial(as_luck_says, scores=[name]),
            published=True,
            scored=False,
            expected="differs",
            note="Between two redrawn runs skewness cancels; against a fixed one it does not.",
        )
        for name in ("binary", "perplexity")
    ),
)
