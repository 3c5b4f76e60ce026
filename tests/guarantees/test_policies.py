"""What a study does with failures: leave them out, or hold methods together."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from simstudy.design import Columns
from simstudy.engine.methods import each_replicate
from simstudy.measures import convergence_rate, mean
from simstudy.output.folder import publish
from simstudy.provenance.streams import Streams
from simstudy.study import Rules, Study
from tests.support import INLINE

N_REP = 400


@dataclass(frozen=True)
class Fragile:
    shift: float = 1.0

    def draw(self, streams: Streams, n_rep: int) -> Columns:
        return {"x": self.shift + streams("data").standard_normal(n_rep)}


def fragile(x: float) -> dict[str, float]:
    if x < 0:
        raise ValueError(f"{x:.3f} is negative")
    return {"value": x}


METHODS = {"sure": lambda x: {"value": x}, "fragile": each_replicate(fragile)}


def run(**settings: object):
    measures = [mean("value", name="value")]
    made = Study("fragile", [Fragile()], measures, methods=METHODS, block_size=100, **settings)
    return made.run(N_REP, seed=5, **INLINE)


def data() -> np.ndarray:
    result = run()
    return result.columns(result.plan.scenarios[0], "value")["value"][:, 0]


def row(result, measure: str, method: str):
    return result.summary.query("measure == @measure and method == @method").iloc[0]


def test_complete_cases_leave_a_failure_out_of_its_own_method_only():
    x, result = data(), run()
    assert row(result, "value", "sure")["estimate"] == pytest.approx(x.mean())
    assert row(result, "value", "fragile")["estimate"] == pytest.approx(x[x >= 0].mean())


def test_the_summary_shows_the_convergence_rate_with_its_error():
    share = float((data() >= 0).mean())
    found = row(run(), "convergence_rate", "fragile")
    assert found["estimate"] == pytest.approx(share)
    assert found["mcse"] == pytest.approx(np.sqrt(share * (1 - share) / N_REP))
    assert row(run(), "convergence_rate", "sure")["estimate"] == 1


def test_all_methods_compares_on_the_replicates_that_all_finished():
    x, together = data(), run().summary_all_methods
    rows = together[together["measure"] == "value"]
    assert list(rows["method"]) == ["sure", "fragile"]
    assert rows["estimate"].to_numpy() == pytest.approx(x[x >= 0].mean())


def test_a_value_that_may_be_missing_is_no_failure_of_its_replicate():
    """Its replicate stays in all measures, also among those that all methods finished."""

    def with_width(x):
        return {"value": x, "width": np.where(x > 1, np.nan, 1.0)}

    methods = {"sure": lambda x: {"value": x, "width": np.ones(len(x))}, "open": with_width}
    measures = [mean("value", name="value"), mean("width"), convergence_rate()]
    rules = Rules(may_be_missing=("width",))
    made = Study("open", [Fragile()], measures, methods=methods, block_size=100, rules=rules)
    result = made.run(N_REP, seed=5, **INLINE)
    assert result.n_failed == 0
    pd.testing.assert_frame_equal(result.summary_all_methods, result.summary)
    rates = result.select(measure="convergence_rate")
    assert rates["estimate"].tolist() == [1.0, 1.0]


def test_files_tell_failures_and_the_other_cases(tmp_path):
    measures = [mean("value", name="value")]
    made = Study("fragile", [Fragile()], measures, methods=METHODS, block_size=100)
    publish(made.run(N_REP, seed=5, out=tmp_path, **INLINE), figures=False)
    assert (tmp_path / "fragile" / "failures.parquet").exists()
    assert (tmp_path / "fragile" / "summary_all_methods.parquet").exists()
