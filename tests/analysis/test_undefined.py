"""A measure without a value in one cell is NaN there, with the reason, and keeps all others."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study, grid
from simstudy.errors import StudyError
from simstudy.measures import bias, model_se, relative_bias


@dataclass(frozen=True)
class Trial:
    effect: float

    def draw(self, streams, n_rep):
        return {"z": streams("data").normal(size=(n_rep, 2)), "theta": np.array([self.effect, 1.0])}

    def simulate(self, streams, n_rep):
        b = self.effect + streams("data").normal(size=(n_rep, 2))
        se = np.ones(n_rep) if self.effect else -np.ones(n_rep)
        theta = np.array([[self.effect, 1.0]])
        return {"b": b, "se": se, "theta": theta}


MEASURES = [
    bias("b", "effect"),
    relative_bias("b", "effect"),
    relative_bias("b", "theta", name="by_term"),
    model_se("se"),
]


def study(effects, measures=MEASURES):
    return Study(
        "trial", grid(Trial, effect=effects), axes={"term": ("x", "y")}, measures=measures,
        block_size=50,
    )  # fmt: skip


@pytest.mark.parametrize("effects", [[0.2, 0.5, 0.0], [0.0, 0.5]])
def test_a_scenario_without_a_value_keeps_the_others(effects):
    measures = MEASURES if effects[0] else MEASURES[:-1]  # the first scenario shows a mistake
    result = study(effects, measures).run(100, n_jobs=1)
    alone = study([0.5]).run(100, n_jobs=1)
    for measure in measures:
        axes = {} if measure.name == "model_se" else {"term": "x"}
        there = result.row(measure.name, effect=0.5, **axes)
        assert there["estimate"] == alone.row(measure.name, effect=0.5, **axes)["estimate"]
        missing = result.row(measure.name, effect=0.0, **axes)
        if measure.name == "bias":
            assert np.isfinite(missing["estimate"])
            continue
        assert np.isnan(missing["estimate"])
        assert np.isnan(missing["mcse"])
        expected = "negative standard errors" if measure.name == "model_se" else "the truth is 0"
        assert expected in missing["reason"]
    assert np.isfinite(result.row("by_term", effect=0.0, term="y")["estimate"])
    assert str(result.table())


def test_a_measure_without_any_value_is_a_mistake():
    with pytest.raises(StudyError, match="relative_bias divides by the truth, which is 0"):
        _ = study([0.0], [relative_bias("b", "effect")]).run(50, n_jobs=1).summary
    with pytest.raises(StudyError, match="negative standard errors"):
        _ = study([0.0, -0.0], [model_se("se")]).run(50, n_jobs=1).summary
