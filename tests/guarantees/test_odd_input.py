"""Odd input ends in one line, or means what it says."""

import shutil
from dataclasses import dataclass

import pytest

from simstudy import Study
from simstudy.errors import ConfigError, StoreError
from simstudy.measures import mean

N_REP = 20
INLINE = {"backend": "inline"}


@dataclass(frozen=True)
class Odd:
    deletes: str = ""

    def simulate(self, streams, n_rep):
        if self.deletes:
            shutil.rmtree(self.deletes, ignore_errors=True)
        return {"x": streams("data").standard_normal(n_rep)}


def study(scenario=Odd(), **settings):
    settings = {"name": "odd", "measures": [mean("x")], "block_size": N_REP} | settings
    return Study(scenarios=[scenario], **settings)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_rep": 10**30}, r"n_rep=1000.* is more than 1,000,000,000 blocks of 20 replicates"),
        ({"shard": (1, 10**30)}, "shard=.* 1 <= i <= N <= 1,000,000"),
        ({"out": "a\0b"}, "names no place for files"),
        ({"out": "\ud800"}, "names no place for files"),
    ],
    ids=["n_rep", "shard", "zero byte", "surrogate"],
)
def test_what_cannot_be_asked_for_is_one_line(given, said):
    with pytest.raises(ConfigError, match=said) as refusal:
        study().run(**{"n_rep": N_REP} | given, **INLINE)
    assert "\n" not in str(refusal.value)


def test_names_that_are_too_long_for_a_folder(tmp_path):
    for settings, out in (({"name": "a" * 300}, tmp_path), ({}, tmp_path / ("a" * 300))):
        with pytest.raises(StoreError, match=r"(?i)file name too long\. Choose another"):
            study(**settings).run(N_REP, out=out, **INLINE)


def test_a_study_without_measures_has_no_rows(tmp_path):
    result = study(measures=[]).run(N_REP, out=tmp_path, **INLINE)
    assert len(result.summary) == 0
    assert len(result.replicates) == N_REP


def test_a_folder_that_is_deleted_under_a_run(tmp_path):
    with pytest.raises(StoreError, match=r"No such file or directory.*run the same command again"):
        study(Odd(deletes=str(tmp_path / "out"))).run(N_REP, out=tmp_path / "out", **INLINE)
