"""Measures that cannot be taken are refused when a first block is there, and not when all is."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy.errors import StudyError
from simstudy.measures import MomentMeasure, mean, rejection_rate
from simstudy.measures.moments import only
from simstudy.study import Study
from tests.support import INLINE

SIZE = 20


@dataclass(frozen=True)
class Two:
    truth: float = 0.0

    def simulate(self, streams, n_rep):
        x = streams("data").normal(size=(n_rep, 2))
        return {"x": x, "p": np.abs(x[:, 0]), "text": np.full(n_rep, "a")}


def misspelt(x):
    return x + ofset  # noqa: F821


def study(measures, **declared):
    return Study("early", [Two()], measures, axes={"cell": ("a", "b")}, block_size=SIZE, **declared)


WIDE = MomentMeasure(
    name="wide", reads=("x",), terms=lambda columns: (columns["x"] + np.zeros(3),), value=only
)
MISTAKES = {
    "a name": (study([mean("z")], derived={"z": misspelt}), "'z' of Two.*NameError.*ofset"),
    "p-values": (study([rejection_rate("p")]), "p"),
    "text": (study([mean("text")]), "text"),
    "a measure of one's own": (
        study([mean("x"), WIDE]),
        "measure 'wide' cannot be computed from the first block: ValueError: ",
    ),
}


@pytest.mark.parametrize(("declared", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_when_one_block_is_there(declared, says, tmp_path):
    with pytest.raises(StudyError, match=says) as refusal:
        declared.run(50 * SIZE, out=tmp_path, **INLINE)
    assert "\n" not in str(refusal.value)
    good = study([mean("x")], derived=declared.derived)
    assert good.run(50 * SIZE, out=tmp_path, **INLINE).outcome.n_blocks == 49


def test_it_is_refused_before_anything_is_drawn_where_a_block_is_stored(tmp_path):
    study([mean("x")]).run(SIZE, out=tmp_path, **INLINE)
    with pytest.raises(StudyError, match="text"):
        study([mean("text")]).run(50 * SIZE, out=tmp_path, **INLINE)
    assert study([mean("x")]).run(2 * SIZE, out=tmp_path, **INLINE).outcome.n_blocks == 1
