"""Numbers and sizes as people read them."""

import math
from dataclasses import replace

import pytest

from simstudy.output.wording import number, precision_in_words, size_in_words, work_in_words
from tests import toy


@pytest.mark.parametrize(
    ("value", "said"), [(None, "–"), (math.nan, "–"), (0.123456, "0.1235"), (12.0, "12")]
)
def test_a_number(value, said):
    assert number(value) == said


@pytest.fixture(scope="module")
def result():
    return toy.study((3, 10)).run(1100)


def test_one_size_or_several(result):
    assert size_in_words(result) == "1,100 replicates in each of 2 scenarios"
    few, many = result.plan.keys
    uneven = replace(result, n_rep={few: 50, many: 1100})
    assert size_in_words(uneven) == "50 to 1,100 replicates in each of 2 scenarios"


def test_what_was_drawn_now(result):
    said = work_in_words(result)
    assert said.startswith("1,100 replicates in each of 2 scenarios, 2,200 in all (2,200 drawn")


def test_precision_reached_and_not(result):
    measure = result.measures[0].name
    study = toy.study((3, 10))
    reached = study.run(100, precision={measure: 10.0})
    assert precision_in_words(reached).startswith("precision reached in 2 of 2 scenarios; the same")
    short = study.run(100, precision={measure: 1e-9}, max_rep=100)
    assert precision_in_words(short).startswith("precision reached in 0 of 2 scenarios; the others")
