"""Scores one below the other, paired by the names of their prompts."""

import pytest

from simstudy.applied.csv_text import TextTable
from simstudy.applied.long_form import read_long
from simstudy.applied.settings import AccuracySettings
from simstudy.errors import SimstudyError

ROWS = [("A", "p1", "0.5"), ("B", "p2", "0.7"), ("A", "p2", "0.9"), ("B", "p1", "0.1")]


def table(*rows):
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("m", "p", "score"))}
    return TextTable("scores.csv", "", columns, list(range(2, 2 + len(rows))))


def read(*rows, **settings):
    about = {"model": "m", "reference": "A", "candidate": "B", **settings}
    reference, candidate, paired = read_long(table(*rows), AccuracySettings(**about))
    return reference.tolist(), candidate.tolist(), paired


def test_prompts_pair_in_whatever_order_they_stand():
    assert read(*ROWS, prompt="p") == ([0.5, 0.9], [0.1, 0.7], "true")


def test_without_prompts_scores_do_not_pair():
    assert read(*ROWS) == ([0.5, 0.9], [0.7, 0.1], "false")
    assert read(*ROWS, prompt="p", paired="false") == ([0.5, 0.9], [0.7, 0.1], "false")


def test_different_prompts_do_not_pair():
    apart = [ROWS[0], ("B", "p3", "1"), ROWS[2], ("B", "p4", "0")]
    assert read(*apart, prompt="p") == ([0.5, 0.9], [1, 0], "false")


def test_other_models_need_no_scores():
    assert read(*ROWS, ("C", "p1", "broken"), prompt="p")[2] == "true"


@pytest.mark.parametrize(
    ("extra", "settings", "said"),
    [
        ((), {"paired": "true"}, "paired=true with model=: rows of two models are paired by the"),
        ((), {"candidate": "C"}, "candidate=C: no row of scores.csv has that m; there is: A, B"),
        ((), {"model": "n"}, "model=n: scores.csv has no such column; there is: m, p, score"),
        ((), {"score": "scores"}, "score=scores: scores.csv has no such column; did you mean 'sc"),
        ((), {"prompt": "q"}, "prompt=q: scores.csv has no such column"),
        ((("A", "p1", "1"),), {"prompt": "p"}, "line 6: A has a second score for the prompt 'p1'"),
        ((("A", "p3", "1"),), {"prompt": "p"}, "B has no score for the prompt 'p3', which A has"),
        ((("B", "p3", "1"),), {"prompt": "p"}, "A has no score for the prompt 'p3', which B has"),
        ((("B", "", "1"),), {"prompt": "p"}, "scores.csv, line 6: p is blank, so it is not known"),
        ((("A", "", "1"), ("B", "", "0")), {"prompt": "p"}, "line 6: p is blank"),
        ((("B", "p3", "0,5"),), {}, "line 6: score is '0,5', and score is '0.5' at scores.csv, li"),
        ((("B", "p3", ""),), {}, "scores.csv, line 6: score is blank"),
        ((("B", "p3", "x"),), {}, "scores.csv, line 6: score is 'x', which is no number"),
    ],
)
def test_what_does_not_pair_is_refused(extra, settings, said):
    with pytest.raises(SimstudyError) as refusal:
        read(*ROWS, *extra, **settings)
    assert said in str(refusal.value)


def test_prompts_that_do_not_pair_need_no_names():
    assert read(*ROWS, ("B", "", "1"), prompt="p", paired="false")[1] == [0.7, 0.1, 1]
