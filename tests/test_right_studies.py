"""Right studies that are no dead end: each runs, or is refused in a line with what works."""

from dataclasses import dataclass

import pytest

from simstudy import Study, load, publish
from simstudy.errors import SimstudyError, StudyError
from simstudy.measures import mean
from tests.support import refused


@dataclass(frozen=True)
class Trial:
    n: int = 5
    label: str = "a"

    def draw_one(self, rng):
        return {"x": rng.normal(0.3, size=self.n)}


def average(x):
    return {"b": x.mean(), "c": x.max()}


MEAN = mean("b")


def study(methods=None, measures=(MEAN,), **more):
    methods = methods or {"m": average}
    return Study("trial", [Trial()], list(measures), methods=methods, **more)


@pytest.mark.parametrize(
    ("name", "remedy"), [(0.5, "0.5"), ("block", "block_"), ("a/b", "a b"), (" ", "welch")]
)
def test_a_name_is_refused_with_a_remedy_that_works(name, remedy):
    with refused(f"a method is named {name!r}: give it a text", StudyError):
        study({name: average})
    assert study({remedy: average}).run(50).summary["method"].tolist() == [remedy]


def test_the_call_that_a_loaded_result_names_draws_the_figure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def figure(result):
        from matplotlib.figure import Figure

        return Figure()

    kept = study(figures={"one": figure})
    publish(kept.run(100, out="center"))
    publish(kept.run(50, out="center"), "center/trial/runs/n_rep=50", figures=False, report=False)
    for folder, n_rep in (("center/trial/runs/n_rep=50", 50), ("center/trial", 100)):
        with pytest.raises(SimstudyError, match="needs the study's code: ") as refused:
            load(folder).figure("one")
        call = str(refused.value).partition("code: ")[2].partition(" can")[0]
        assert eval(call, {"study": kept}) is not None
        result = eval(call.partition(".figure")[0], {"study": kept})
        assert (result.outcome.n_blocks, len(result.replicates)) == (0, n_rep)
