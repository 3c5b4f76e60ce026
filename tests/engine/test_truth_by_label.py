"""A truth for each term or method: a dict names its axis, an array is over the study's own."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study
from simstudy.measures import bias

TERMS = {"term": ("intercept", "slope")}
TRUTH = {"slope": 2.0, "intercept": 1.0}  # a dict is aligned by its labels, not by its order


@dataclass(frozen=True)
class Line:
    """Data of a line; its truth has a value for each term."""

    kind: str
    n: int = 20

    @property
    def truth(self):
        return {"dict": TRUTH, "array": np.array([1.0, 2.0]), "axis": [1.0, 2.0]}[self.kind]

    def draw_one(self, rng):
        return {"x": rng.normal([1, 2], size=(self.n, 2))}


@dataclass(frozen=True)
class DrawnLine:
    """The same, where the truth is drawn: for one replicate, or for a block."""

    kind: str
    n: int = 20

    def draw(self, streams, n_rep):
        x = streams("data").normal([1, 2], size=(n_rep, self.n, 2))
        rows = np.tile([1.0, 2.0], (n_rep, 1))
        by_term = {"slope": rows[:, 1], "intercept": 1.0}
        return {"x": x, "truth": {"dict": TRUTH, "array": rows, "axis": by_term}[self.kind]}


@dataclass(frozen=True)
class LineByOne:
    kind: str
    n: int = 20

    def draw_one(self, rng):
        x = rng.normal([1, 2], size=(self.n, 2))
        array = np.array([1.0, 2.0])
        return {"x": x, "truth": {"dict": TRUTH, "array": array, "axis": [1.0, 2.0]}[self.kind]}


def centre(x):
    return {"b": x.mean(axis=-2)}


def nothing(x):
    return {"b": np.zeros_like(x[..., 0, :])}


@pytest.mark.parametrize("n_methods", [1, 2, 3])
@pytest.mark.parametrize("kind", ["dict", "array", "axis"])
@pytest.mark.parametrize("scenario", [Line, DrawnLine, LineByOne])
def test_a_truth_for_each_term_works_for_any_number_of_methods(scenario, kind, n_methods):
    """Also for as many methods as terms: an array is never taken by the axis of the methods."""
    methods = dict(list({"mean": centre, "zero": nothing, "none": nothing}.items())[:n_methods])
    study = Study("line", [scenario(kind)], methods=methods, axes=TERMS,
                  measures=[bias("b", truth="truth")], block_size=50)  # fmt: skip
    rows = study.run(100, n_jobs=1).summary.set_index(["method", "term"])["estimate"]
    for method in list(methods)[1:]:
        assert rows[method].to_dict() == {"intercept": -1.0, "slope": -2.0}
    assert rows["mean"].abs().max() < 4.4 / np.sqrt(20 * 100)


@dataclass(frozen=True)
class Square:
    """Two axes of one size: only a label says which is meant."""

    kind: str

    @property
    def truth(self):
        return {"rows": {"a": 1.0, "b": 2.0}, "columns": {"p": 1.0, "q": 2.0},
                }[self.kind]  # fmt: skip

    def simulate(self, streams, n_rep):
        return {"x": np.zeros((n_rep, 2, 2)) + streams("data").normal(size=(n_rep, 1, 1)) * 0}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("rows", [-1.0, -1.0, -2.0, -2.0]), ("columns", [-1.0, -2.0, -1.0, -2.0])],
)
def test_a_dict_names_its_axis_among_axes_of_one_size(kind, expected):
    axes = {"row": ("a", "b"), "column": ("p", "q")}
    study = Study("square", [Square(kind)], [bias("x", truth="truth")], axes=axes, block_size=50)
    assert study.run(100, n_jobs=1).summary["estimate"].tolist() == expected
