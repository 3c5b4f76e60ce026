"""Right studies that are no dead end: each runs, or is refused in a line with what works."""

import itertools
import json
from dataclasses import dataclass

import pandas as pd
import pytest

import simstudy
from simstudy import Rules, Study, from_file, load, publish
from simstudy.errors import SimstudyError, StoreError, StudyError
from simstudy.measures import mean
from simstudy.output.report import write_index
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


def test_options_that_nothing_fills_are_left_empty():
    def wrapped(x, **options):
        return {"b": x.mean() + len(options)}

    plain = study({"m": lambda x: {"b": x.mean()}}).run(100)
    assert (
        study({"m": wrapped}).run(100).row("mean_b")["estimate"] == plain.row("mean_b")["estimate"]
    )


@pytest.mark.parametrize(
    ("name", "remedy"), [(0.5, "0.5"), ("block", "block_"), ("a/b", "a b"), (" ", "welch")]
)
def test_a_name_is_refused_with_a_remedy_that_works(name, remedy):
    with refused(f"a method is named {name!r}: give it a text", StudyError):
        study({name: average})
    assert study({remedy: average}).run(50).summary["method"].tolist() == [remedy]


def test_seconds_may_differ_each_time():
    """A column of computing time is declared, and then nobody is accused.

    Its clock runs slower later on, as on a machine that others use too.
    """
    clock = (1e-6 * (1 + n // 50) for n in itertools.count())

    def timed(x):
        return {"b": x.mean(), "seconds": next(clock)}

    rules = Rules(unrepeatable=("seconds",))
    measures = [mean("b"), mean("seconds")]
    declared = study({"m": timed}, measures, rules=rules).run(300).outcome.warnings
    assert not [text for text in declared if "seconds" in text]


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


TABLE = "rep,method,b\n" + "".join(f"{i},m,{i % 7}\n" for i in range(30))
ROLES = {"estimate": "b", "truth": 0.0, "method": "method", "rep": "rep"}


@pytest.mark.parametrize(
    "text",
    [
        f"# made by R\n{TABLE}",
        f"{TABLE}# the end\n",
        TABLE.replace("3,m,3\n", "# half\n3,m,3\n", 1),
    ],
)
def test_a_comment_in_a_table_becomes_no_row(text, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(SimstudyError):
        from_file(path, **ROLES)
    table = pd.read_csv(path, comment="#")
    assert simstudy.from_frame(table, **ROLES).row("bias")["n_rep"] == 30


@pytest.mark.parametrize(
    "change",
    [
        {"replicates_per_scenario": {"a": 10, "b": 20}},
        {"scenarios": None},
        {"seed": None},
    ],
    ids=str,
)
def test_a_strangers_manifest_is_one_line_and_is_written_again(change, tmp_path):
    result = study(figures={"one": lambda result: None}).run(100, out=tmp_path)
    options = {"report": False, "only_if_changed": True}
    path = publish(result, **options).folder / "manifest.json"
    content = json.loads(path.read_text())
    changed = {name: value for name, value in {**content, **change}.items() if value is not None}
    path.write_text(json.dumps(changed))
    with pytest.raises(StoreError, match="is damaged: ") as refused:
        _ = load(path.parent).replicates
    assert "\n" not in str(refused.value)
    assert write_index(tmp_path).exists()
    again = study(figures={"one": lambda result: None}).run(100, out=tmp_path)
    assert publish(again, **options).folder == path.parent
