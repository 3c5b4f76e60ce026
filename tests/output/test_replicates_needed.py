"""How many replicates a precision takes: counted by hand, and enough when they are drawn."""

import pytest

from simstudy.analysis.precision import precision_ratios, read_targets
from simstudy.errors import ConfigError
from simstudy.measures import (
    bias_eliminated_coverage,
    outlier_rate,
    rejection_rate,
    weighted_proportion,
)
from simstudy.output.plan_snapshot import is_plain_share
from tests.output.planned_trial import INLINE, MEASURES, METHODS, SPREAD, KnownTrial, Trial, trial


def planned(precision, kind=KnownTrial, **more):
    """Replicates in each scenario."""
    return trial(kind).protocol(precision=precision, **more).n_rep


@pytest.mark.parametrize(
    ("kind", "error", "n_rep"),
    [
        (Trial, 0.01, 2500),  # worst case: theory is silent
        (KnownTrial, 0.01, 1600),  # of a level of 0.2, the worse of two
        (KnownTrial, "2%", 47_500),  # of 0.05
    ],
)
def test_a_share_takes_what_theory_says_or_its_worst_case(kind, error, n_rep):
    assert planned({"rejection_rate": error}, kind) == n_rep


def test_a_share_that_theory_knows_to_be_certain_takes_what_one_more_replicate_would():
    """0 of n has the error of about 1/n, which no run of fewer than 1/error falls below."""

    class Never(KnownTrial):
        def exact(self):
            return {"rejection_rate": 0.0}

    study = trial(Never, levels=(1e-12,), methods={"plain": METHODS["plain"]})
    n = study.protocol(precision={"rejection_rate": 0.01}).n_rep
    assert n == 100
    (target,) = read_targets({"rejection_rate": 0.01}, study.measures)
    (short,) = precision_ratios(study.run(n, workers=INLINE), [target]).values()
    assert short <= 1


def test_what_has_no_bound_is_refused_until_there_is_a_pilot():
    said = (
        r"precision\.bias takes cannot be told.*pilot=200, or fix the number yourself, n_rep=1000"
    )
    with pytest.raises(ConfigError, match=said):
        planned({"bias": 0.1})
    with pytest.raises(ConfigError, match="pilot=1: must be a whole number at least 2"):
        planned({"bias": 0.1}, pilot=1)


def test_a_pilot_finds_the_spread_and_says_so():
    """(sd/error)^2, at most a third more for a pilot of 400, whose sd is 7% off at 2 SE."""
    protocol = trial().protocol(precision={"bias": 0.1}, pilot=400, workers=INLINE)
    needed = (SPREAD / 0.1) ** 2
    assert needed <= protocol.n_rep <= 4 / 3 * needed + 50
    text = str(protocol)
    assert "`bias` at most 0.1: " in text
    assert "by a pilot" in text
    assert "The pilot had 400 replicates of each scenario, of other random numbers" in text


def test_the_largest_need_counts_and_fewer_are_planned_only_as_such():
    both = {"rejection_rate": 0.01, "bias": 0.1}
    text = str(trial(KnownTrial).protocol(precision=both, pilot=400, workers=INLINE))
    assert "**1,600 replicates**" in text
    assert "`rejection_rate` at most 0.01: 1,600 replicates, by the study's own theory" in text
    text = str(trial().protocol(100, precision={"rejection_rate": 0.01}))
    assert "**100 replicates**" in text
    assert "is **fewer** than the 2,500 that" in text


def test_so_many_replicates_have_the_error_that_was_planned_and_an_eighth_has_not(tmp_path):
    study, asked = trial(), {"rejection_rate": 0.02}
    protocol = study.protocol(precision=asked, out=tmp_path)
    n = protocol.n_rep
    enough = study.run(n, workers=INLINE, out=tmp_path)
    assert protocol.deviations(enough) == []
    (target,) = read_targets(asked, study.measures)
    few = study.run(n // 8, workers=INLINE, out=tmp_path)
    assert max(precision_ratios(few, [target]).values()) > 1
    assert any("rejection_rate: planned" in said for said in protocol.deviations(few))


@pytest.mark.parametrize(
    ("measure", "is_one"),
    [
        (MEASURES[0], True),
        (rejection_rate("reject", given="x"), False),
        (bias_eliminated_coverage("estimate", "l", "u"), False),
        (outlier_rate("estimate"), False),
        (MEASURES[1], False),
        (weighted_proportion("reject", weight="w"), False),
        (MEASURES[0].of_groups(2), False),
    ],
)
def test_only_a_share_of_all_replicates_has_a_binomial_error(measure, is_one):
    assert is_plain_share(measure) == is_one
