"""What a study declares, what it refuses, and what a run promises."""

import json
from dataclasses import replace

import numpy as np
import pytest

from simstudy.claims import Claim
from simstudy.design import grid, scenario_key
from simstudy.engine.block import Address
from simstudy.errors import ConfigError, StoreError, StudyError
from simstudy.measures import mean
from simstudy.study import Rules, Study
from tests.factories import Mean, mean_study
from tests.support import INLINE

SCENARIOS = grid(Mean, n_obs=[3])


CLAIM = Claim("c", "s", "t", float, 1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": ""}, "study name '' is not a folder name"),
        ({"name": ".."}, r"study name '\.\.' is not a folder name: .* a text of letters, digits"),
        ({"scenarios": []}, "study 'toy' has no scenarios: there is nothing to simulate"),
        ({"measures": [mean("x"), mean("x")]}, "two measures are named 'mean_x'"),
        ({"claims": [CLAIM] * 2}, "two claims are named 'c'"),
        ({"figures": {"a/b": len}}, "'a/b' is not a file name for a figure"),
        ({"tables": {1: len}}, "1 is not a file name for a table"),
        ({"axes": {"k": "ab"}}, "axes={'k': 'ab'} is not allowed: must be a dict with a list"),
        ({"axes": {"k": {"a"}}}, "axes={'k': {'a'}} is not allowed: must be a dict with"),
        ({"axes": {"exact": ("a",)}}, "an axis is named 'exact'.* a standard column"),
        ({"block_size": "10"}, "block_size='10' is not allowed: must be a whole number"),
        (
            {"rules": Rules(common_random_numbers=("n_ops",))},
            "common names no factor 'n_ops'; did you mean 'n_obs'",
        ),
        ({"labels": {"n_ops": {0: "∞"}}}, "names no factor 'n_ops'; did you mean 'n_obs'"),
    ],
    ids=str,
)
def test_a_study_refuses(changes, says):
    with pytest.raises(StudyError, match=says):
        Study(**{"name": "toy", "scenarios": SCENARIOS, **changes})


@pytest.mark.parametrize("n_rep", [np.int32(7), 7.0])
def test_whole_numbers_of_any_kind_will_do(n_rep):
    result = mean_study((3,)).run(n_rep)
    assert len(result.rows(columns=["truth"])) == 7
    assert all(type(n) is int for n in result.n_rep.values())
    with pytest.raises(ConfigError, match=r"n_rep=100.5 is not allowed"):
        mean_study().run(100.5)


@pytest.mark.parametrize("seed", [-1, True, None])
def test_a_seed_that_is_none(seed):
    with pytest.raises(ConfigError, match=r"seed=.* is not allowed: seed of"):
        mean_study((3,)).run(10, seed)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"n_rep": 0}, "n_rep=0 is not allowed: replicates per .* than or equal to 1"),
        (
            {"precision": 0.1},
            r"precision=0\.1 has no names: give a dict, such as precision={'power'",
        ),
        ({"adopt": "maybe"}, "adopt=maybe is not allowed"),
        ({"max_rep": "x"}, "max_rep=x is not allowed: largest number .* valid integer"),
        ({"redraw": "x"}, "redraw=x: the study has no such method"),
        ({"out": 5}, "5 names no place for files: give a path"),
        ({"shard": (3, 2)}, "shard=3/2 is not allowed: must be i/N with integers"),
        ({"retry": "all"}, "retry=all is not allowed: .* 'failed'"),
    ],
    ids=str,
)
def test_a_run_refuses(asked, says):
    with pytest.raises(ConfigError, match=says):
        mean_study((3,)).run(**asked)


def test_only_what_is_missing_is_computed(tmp_path):
    study = mean_study((3, 10))
    assert study.run(120, out=tmp_path, **INLINE).outcome.n_blocks == 2 * 3
    assert study.run(120, out=tmp_path, **INLINE).outcome.n_blocks == 0
    assert study.run(150, out=tmp_path, **INLINE).outcome.n_blocks == 0
    assert study.run(151, out=tmp_path, **INLINE).outcome.n_blocks == 2
    assert study.run(20, out=tmp_path, **INLINE).outcome.n_blocks == 0
    assert mean_study((3, 10, 30)).run(120, out=tmp_path).outcome.n_blocks == 3


def test_another_studys_folder_is_refused(tmp_path):
    study = mean_study((3,))
    study.run(60, out=tmp_path)
    (tmp_path / "toy" / "manifest.json").write_text(json.dumps({"study": "someone else's"}))
    blocks = sorted((tmp_path / "toy" / "replicates").iterdir())
    with pytest.raises(StoreError, match='holds the results of study "someone else\'s"'):
        study.run(60, out=tmp_path)
    assert sorted((tmp_path / "toy" / "replicates").iterdir()) == blocks


def test_an_address_of_another_study_is_refused():
    study = mean_study((3,))
    with pytest.raises(ConfigError, match=r"has no scenario 0123456789abcdef with these settings"):
        study.replay(Address("0123456789abcdef", 3))
    assert set(study.replay(Address(scenario_key(Mean(3)), 130))) >= {"estimate", "truth"}


def test_the_time_limit_of_a_run_goes_before_that_of_the_rules():
    study = replace(mean_study(), rules=Rules(block_seconds=60.0))
    limits = [study.plan(1, seconds).rules.block_seconds for seconds in (None, 5.0)]
    assert limits == [60.0, 5.0]
    assert study.rules.block_seconds == 60.0
