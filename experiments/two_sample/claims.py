"""Claims of theory and the literature about such tests, compared with `two_sample`."""

from __future__ import annotations

from functools import partial

from experiments.two_sample.answers import (
    SYMMETRIC,
    UNEQUAL,
    exact_t_tests,
    exact_under_equality,
    grows_with_n,
    inflated_though_balanced,
    keeps_level,
    large_sample_size,
    no_omnibus_test,
    nominal,
    one_sided_misses,
    worse_after_ranking,
)
from simstudy.claims import Claim, WrongAlternative
from simstudy.documents.stats.two_sample import theory

DERIVED = "Derived, and not read off a table: the study's own theory."
ZIMMERMAN = "Zimmerman (2004), Psicologica 25, 103-133, abstract"
BEYOND = "Substantial is taken as beyond Bradley's liberal limit, half of alpha above it."

CLAIMS = (
    *(
        Claim(
            f"exact size, {method}",
            f"For normal data {words} has the size that a one-dimensional integral gives",
            "Wang (1971), J. Am. Stat. Assoc. 66, 605-608",
            partial(exact_t_tests, method=method),
            published=True,
            rival=WrongAlternative(
                f"{other.title()}'s t", partial(exact_t_tests, method=method, drawn=other)
            ),
            note=DERIVED,
        )
        for method, other, words in (
            ("student", "welch", "Student's t"),
            ("welch", "student", "Welch's t"),
        )
    ),
    *(
        Claim(
            f"exact level, {method}",
            f"For equal distributions {words} is exact, whatever they are",
            source,
            partial(exact_under_equality, method=method),
            published=True,
            rival=WrongAlternative(
                "unequal variances", partial(exact_under_equality, method=method, ratio=UNEQUAL)
            ),
            note=DERIVED + " A test rejects at p <= alpha: at 50 of 1000 p-values, and of ranks "
            "at what their law allows.",
        )
        for method, words, source in (
            (
                "permutation",
                "the studentized permutation test",
                "Janssen (1997), Stat. Probab. Lett. 36, 9-21",
            ),
            (
                "plain_permutation",
                "the plain permutation test",
                "Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9(1), 39",
            ),
            (
                "rank_sum",
                "the rank-sum test",
                "Mann & Whitney (1947), Ann. Math. Statist. 18, 50-60",
            ),
        )
    ),
    Claim(
        "rank-sum size",
        "Unequal variances move the rank-sum test's size for normal data however large the samples",
        "Pratt (1964), J. Am. Stat. Assoc. 59, 665-680",
        partial(
            large_sample_size,
            method="rank_sum",
            size=theory.rank_sum_size_for_normals,
            dgps=["normal"],
        ),
        published=True,
        rival=WrongAlternative(
            "the nominal size",
            partial(large_sample_size, method="rank_sum", size=nominal, dgps=["normal"]),
        ),
        note=DERIVED,
    ),
    Claim(
        "plain permutation size",
        "The plain permutation test has the wrong variance unless sizes or variances are equal",
        "Romano (1990), J. Am. Stat. Assoc. 85, 686-692",
        partial(
            large_sample_size,
            method="plain_permutation",
            size=theory.pooled_size,
            dgps=SYMMETRIC,
        ),
        published=True,
        rival=WrongAlternative(
            "the nominal size",
            partial(large_sample_size, method="plain_permutation", size=nominal, dgps=SYMMETRIC),
        ),
        note=DERIVED,
    ),
    Claim(
        "studentized permutation size",
        "The studentized permutation test keeps its level under unequal variances in large samples",
        "Janssen (1997); Chung & Romano (2013), Ann. Statist. 41, 484-507, abstract",
        partial(keeps_level, method="permutation", dgps=SYMMETRIC),
        published=True,
        rival=WrongAlternative(
            "the plain permutation test",
            partial(keeps_level, method="plain_permutation", dgps=SYMMETRIC),
        ),
        note="Kept is taken as Bradley's liberal limits, half of alpha either side.",
    ),
    Claim(
        "one-sided misses",
        "The bootstrap t corrects for skewness: its intervals miss on both sides alike",
        "Hall (1988), Ann. Statist. 16, 927-953",
        one_sided_misses,
        published=True,
        rival=WrongAlternative(
            "studentized permutations", partial(one_sided_misses, method="permutation")
        ),
        note="Of an order smaller is taken as less than half of the imbalance of Welch's misses.",
    ),
    Claim(
        "inflated though balanced",
        "For skewed data unequal variances inflate the rank-sum test's size even in equal samples",
        ZIMMERMAN,
        inflated_though_balanced,
        published=True,
        rival=WrongAlternative("Welch's t", partial(inflated_though_balanced, method="welch")),
        note=BEYOND,
    ),
    Claim(
        "inflation grows",
        "That inflation grows with the sample size",
        ZIMMERMAN,
        grows_with_n,
        published=True,
        rival=WrongAlternative("Student's t", partial(grows_with_n, method="student")),
    ),
    Claim(
        "worse after ranking",
        "That distortion is greater after transformation to ranks than it is for Student's t",
        ZIMMERMAN,
        worse_after_ranking,
        published=True,
        rival=WrongAlternative("Welch's t", partial(worse_after_ranking, method="welch")),
        note="Greater is taken as by half of alpha.",
    ),
    Claim(
        "no omnibus test",
        "Welch's test cannot be relied on for all skewed data with unequal variances",
        "Fagerland & Sandvik (2009), Contemp. Clin. Trials 30, 490-496, abstract",
        no_omnibus_test,
        published=True,
        rival=WrongAlternative("symmetric data", partial(no_omnibus_test, dgps=SYMMETRIC)),
        note=BEYOND,
    ),
)
