"""Warnings that the user made errors are failed replicates, in workers too, as in a plain loop."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Rules, Study, each_replicate
from simstudy.design.plan import WarningFilter, action_of, current_filters
from simstudy.errors import StudyError
from simstudy.measures import mean
from tests.support import INLINE

LOKY = {"backend": "loky", "n_jobs": 2}
N_REP = 200


class NotConverged(UserWarning):
    """A warning of a method that iterates."""


@dataclass(frozen=True)
class Pairs:
    n_obs: int = 2

    def draw(self, streams, n_rep):
        return {"x": streams("data").standard_normal((n_rep, self.n_obs))}


@dataclass(frozen=True)
class OnePair:
    n_obs: int = 2

    def draw_one(self, rng):
        x = rng.standard_normal(self.n_obs)
        if x[0] > 1:
            warnings.warn("drawn badly", NotConverged, stacklevel=1)
        return {"x": x}


def fit(x):
    if x[0] > 1:
        warnings.warn("did not converge", NotConverged, stacklevel=1)
    return {"est": float(x.mean())}


def quiet(x):
    return {"est": float(np.mean(x))}


def study(scenario, method, **rules) -> Study:
    methods = {"fit": each_replicate(method)}
    return Study(
        "filtered", [scenario], [mean("est")], methods=methods, rules=Rules(**rules), block_size=100
    )


def plain_loop() -> tuple[int, float]:
    """Failures, and the mean of the others, of a loop under the same filters."""
    plan = study(Pairs(), fit).plan(seed=1)
    (scenario,) = plan.scenarios
    values = []
    for block in range(N_REP // 100):
        for x in scenario.draw(plan.streams(scenario, block), 100)["x"]:
            try:
                values.append(fit(x)["est"])
            except NotConverged:
                continue
    return N_REP - len(values), float(np.mean(values))


@pytest.mark.parametrize("how", [INLINE, pytest.param(LOKY, marks=pytest.mark.slow)])
def test_error_filters_fail_the_replicates_that_a_plain_loop_loses(how):
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotConverged)
        n_failed, average = plain_loop()
        result = study(Pairs(), fit).run(N_REP, seed=1, **how)
    assert n_failed > 20
    assert result.n_failed == n_failed
    assert result.row("mean_est")["estimate"] == pytest.approx(average)
    assert set(result.failures["error"]) == {"NotConverged: did not converge"}


@pytest.mark.parametrize("how", [INLINE, pytest.param(LOKY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scenario", [Pairs(), OnePair()])
def test_a_rule_says_it_without_a_filter(how, scenario):
    method = fit if isinstance(scenario, Pairs) else quiet
    result = study(scenario, method, warnings_as_failures=NotConverged).run(N_REP, seed=1, **how)
    assert result.n_failed > 20
    assert study(Pairs(), quiet).run(N_REP, seed=1, **how).n_failed == 0


def test_the_filters_of_the_process_are_as_before():
    before = list(warnings.filters), warnings.showwarning
    strict = study(OnePair(), quiet, warnings_as_failures=NotConverged)
    strict.run(100, seed=1, **INLINE)
    assert (list(warnings.filters), warnings.showwarning) == before


def test_an_earlier_filter_wins_as_it_does_in_a_loop():
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotConverged)
        warnings.simplefilter("ignore", NotConverged)
        result = study(Pairs(), fit).run(N_REP, seed=1, **INLINE)
    assert result.n_failed == 0


def test_filters_count_in_what_a_block_is_named_by(tmp_path):
    plain = study(Pairs(), fit).run(N_REP, seed=1, out=tmp_path, **INLINE)
    strict = study(Pairs(), fit, warnings_as_failures=NotConverged)
    failed = strict.run(N_REP, seed=1, out=tmp_path, **INLINE)
    assert (plain.n_failed, failed.outcome.n_blocks) == (0, 2)
    assert failed.n_failed > 20
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotConverged)
        filtered = study(Pairs(), fit).run(N_REP, seed=1, out=tmp_path, **INLINE)
    assert filtered.n_failed == failed.n_failed
    again = study(Pairs(), fit).run(N_REP, seed=1, out=tmp_path, **INLINE)
    assert (again.n_failed, again.outcome.n_blocks) == (0, 0)


def test_a_replay_raises_the_warning():
    strict = study(Pairs(), fit, warnings_as_failures=NotConverged)
    address = strict.run(N_REP, seed=1, **INLINE).failures["address"][0]
    with pytest.raises(NotConverged, match="did not converge"):
        strict.replay(address)


def test_filters_are_those_of_classes_up_to_the_last_error():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("default")
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", NotConverged)
        warnings.filterwarnings("error", message="a.*b", module="pack", lineno=3)
        found = current_filters()
    assert found == (WarningFilter("ignore", NotConverged), WarningFilter("error", UserWarning))
    found_of = [action_of(found, kind) for kind in (NotConverged, UserWarning, FutureWarning)]
    assert found_of == ["ignore", "error", ""]


def test_what_is_no_class_of_warnings_is_refused():
    with pytest.raises(StudyError, match="warnings_as_failures='UserWarning' is not allowed"):
        study(Pairs(), fit, warnings_as_failures="UserWarning")


def test_filters_count_for_the_methods_that_they_hold_for(tmp_path):
    """A method of whole blocks keeps its blocks when one of single replicates is added."""

    def whole(x):
        return {"estimate": x.mean(axis=1)}

    def single(x):
        return {"estimate": x.mean()}

    @dataclass(frozen=True)
    class Plain:
        def draw(self, streams, n_rep):
            return {"x": streams("data").normal(size=(n_rep, 3))}

    def study(**methods):
        return Study("filtered", [Plain()], [mean("estimate")], methods=methods, block_size=50)

    with warnings.catch_warnings():
        warnings.simplefilter("error", UnicodeWarning)
        study(whole=whole).run(100, out=tmp_path, **INLINE)
        both = study(whole=whole, single=each_replicate(single)).run(100, out=tmp_path, **INLINE)
    assert both.outcome.n_blocks == 2
