"""Methods whose rows depend on each other are named; others are not accused."""

import numpy as np
import pytest

from simstudy.engine.methods import each_replicate
from simstudy.engine.progress import Silent
from simstudy.errors import StudyError
from simstudy.measures import mean
from simstudy.study import Rules, Study
from tests.factories import Sample
from tests.support import INLINE


def noticed(block_size=40, scenario=None, **methods):
    study = Study("rows", [scenario or Sample()], methods=methods, measures=[mean("estimate")],
                  block_size=block_size)  # fmt: skip
    found = study.run(block_size, **INLINE, progress=Silent()).outcome.warnings
    return [text for text in found if "when they are analysed alone" in text]


def mean_of(x):
    return {"estimate": x.mean(axis=1)}


def ranked(x):
    return {"estimate": x.mean(axis=1).argsort().argsort().astype(float)}


def centred(x):
    return {"estimate": x.mean(axis=1) - x.mean()}


def unseeded(x):
    return {"estimate": x.mean(axis=1) + np.random.default_rng().normal(size=len(x))}


def iterated(x):
    """A fit that goes on until all replicates have converged."""
    found = np.zeros(len(x))
    step = np.ones(len(x))
    while np.abs(step).max() > 1e-8:
        step = 0.7 * (x.mean(axis=1) - found)
        found = found + step
    return {"estimate": found}


def needs_many(x):
    if len(x) < 10:
        raise ValueError("too few")
    return mean_of(x)


@pytest.mark.parametrize("method", [lambda x: {"estimate": x.mean()}, centred, unseeded, ranked])
def test_rows_that_know_of_each_other_are_told(method):
    (said,) = noticed(suspect=method)
    assert said.startswith("method suspect of Sample(n_obs=5) gives rows other values")
    assert "across_replicates" in said


def test_an_infinite_value_hides_nothing():
    def infinite(x):
        return {"estimate": np.where(np.arange(len(x)) == 1, np.inf, x.mean(axis=1) - x.mean())}

    assert noticed(suspect=infinite)
    assert not noticed(fine=lambda x: {"estimate": np.where(x[:, 0] > 0, np.inf, x[:, 0])})


def test_a_sort_over_the_wrong_axis_is_told_where_the_sizes_are_equal():
    """Some rows alone raise an IndexError; all rows in another order do not."""

    for wrong in (lambda x: np.sort(x)[20], lambda x: x.mean(axis=0)):
        assert noticed(
            scenario=Sample(n_obs=40), suspect=lambda x, wrong=wrong: {"estimate": wrong(x)}
        )


@pytest.mark.parametrize(
    "method",
    [
        lambda x, truth: {"estimate": x.mean(axis=1) - truth},
        iterated,
        lambda x: {"estimate": x @ np.full(x.shape[1], 1 / x.shape[1])},
        needs_many,
        lambda x, streams: {"estimate": streams("own").standard_normal(len(x))},
        each_replicate(lambda x: {"estimate": x.mean()}),
    ],
    ids=["plain", "iterated", "product", "needs many", "draws", "one by one"],
)
def test_others_are_not_accused(method):
    assert noticed(fine=method) == []


def test_a_method_that_says_so_may_look_across():
    study = Study("rows", [Sample()], methods={"eb": centred}, measures=[mean("estimate")],
                  block_size=40, rules=Rules(across_replicates=("eb",)))  # fmt: skip
    assert study.run(40, **INLINE, progress=Silent()).outcome.warnings == []
    with pytest.raises(StudyError, match=r"across_replicates names no method 'be'.*'eb'"):
        Study("rows", [Sample()], methods={"eb": centred}, rules=Rules(across_replicates=("be",)))


@pytest.mark.parametrize(("by", "is_told"), [(1e-3, True), (1e-4, True), (1e-8, False)])
def test_rows_may_differ_by_rounding_and_no_more(by, is_told):
    """An iterative method may stop at another step; a shrinkage of a thousandth is no rounding."""

    def shrunk(x):
        means = x.mean(axis=1)
        return {"estimate": (1 - by) * means + by * means.mean()}

    assert bool(noticed(suspect=shrunk)) == is_told
