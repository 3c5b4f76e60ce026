import numpy as np
import pandas as pd

from simstudy.figures.captions import (
    WIDTH,
    caption,
    dashed,
    failures_in_words,
    replicates_in_words,
    undefined_in_words,
)


def test_failures_are_counted_by_point():
    rows = pd.DataFrame({"n_rep": [100, 100, 50], "n_failed": [0, 7, 2]})
    assert failures_in_words(rows) == (
        "Failed replicates: 2 of 3 points have some, at most 7 of 107."
    )
    assert replicates_in_words(rows) == "50 to 100 replicates."
    assert failures_in_words(rows.assign(n_failed=np.nan)) == ""


def test_estimates_and_errors_that_are_not_there_are_counted():
    rows = pd.DataFrame(
        {"estimate": [1.0, np.nan, 2.0], "lower": [0, np.nan, np.nan], "upper": [2, np.nan, 3]}
    )
    assert undefined_in_words(rows) == (
        "1 of 3 estimates are not finite and not drawn. "
        "1 of 3 points have no Monte Carlo error to show."
    )


def test_captions_wrap_and_leave_out_what_is_empty():
    assert caption("One.", "", "Two.") == "One. Two."
    assert max(map(len, caption(*["A sentence of some length."] * 9).splitlines())) <= WIDTH


def test_a_dashed_line_says_what_it_is():
    assert dashed() == "Dashed: the level asked for."
    assert dashed("equality") == "Dashed: equality."
