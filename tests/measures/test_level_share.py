"""The share of a level of a text column, against counting by hand."""

import numpy as np
import pytest

from simstudy import Study, each_replicate, grid
from simstudy.errors import StudyError
from simstudy.measures import level_share
from tests.factories import Sample


@each_replicate
def choose(x):
    if x[0] > 1.5:
        raise RuntimeError("no fit")
    return {"selected": "lasso" if x[0] < 0 else "subset", "positive": bool(x[1] > 0)}


def run():
    measures = [
        level_share("selected", "lasso"),
        level_share("selected", "lasso", given="positive", name="where_positive"),
        level_share("selected", "ridge"),
    ]
    return Study("selection", grid(Sample, n_obs=[2, 3]), measures,
                 methods={"choose": choose}, block_size=20).run(200)  # fmt: skip


def test_it_is_the_share_of_the_replicates_that_did_not_fail():
    result = run()
    for n in (2, 3):
        rows = result.replicates.query("n_obs == @n")
        known = rows[rows["selected"].notna()]
        row = result.row("selected_lasso", n_obs=n)
        assert row["estimate"] == np.mean(known["selected"] == "lasso")
        assert (row["n_rep"], row["n_failed"]) == (len(known), 200 - len(known))
        within = known[known["positive"].astype(bool)]
        given = result.row("where_positive", n_obs=n)
        assert given["estimate"] == pytest.approx(np.mean(within["selected"] == "lasso"))
        never = result.row("selected_ridge", n_obs=n)
        assert never["estimate"] == 0
        assert never["mcse"] > 0
        assert never["warning"] == "no replicate has 'ridge': is it a value of 'selected'?"
        assert row["warning"] == ""


def test_a_text_is_never_a_number():
    with pytest.raises(StudyError, match="which is never 'a'"):
        level_share("x", "a").estimate({"x": np.zeros(3)})
