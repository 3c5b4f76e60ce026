"""Numbers, sizes and times read as they should."""

from dataclasses import dataclass, replace

import numpy as np

from simstudy import Result, Study, grid
from simstudy.measures import mean, outlier_rate
from simstudy.output.folder import publish
from simstudy.output.formatting import format_outliers, format_precision, format_size, format_work
from simstudy.output.terminal import print_closing
from tests.factories import mean_study


def test_sizes_of_one_scenario_of_several_and_of_several_sizes():
    alone = mean_study((3,)).run(60)
    assert format_work(alone).startswith("60 replicates of one scenario (2 blocks drawn now")
    result = mean_study((3, 10)).run(60)
    assert format_size(result) == "60 replicates in each of 2 scenarios"
    few, many = result.plan.keys
    rows = replace(result.details.replicates, n_rep={few: 50, many: 1100})
    uneven = Result(replace(result.details, replicates=rows))
    assert format_size(uneven) == "50 to 1,100 replicates in each of 2 scenarios"


def test_precision_reached_and_not():
    study = mean_study((3, 10))
    reached = study.run(100, precision={"bias": 10.0})
    assert format_precision(reached).startswith("precision reached in 2 of 2 scenarios; the same")
    short = study.run(100, precision={"bias": 1e-9}, max_rep=100)
    assert format_precision(short).startswith("precision reached in 0 of 2 scenarios; the others")


@dataclass(frozen=True)
class Wild:
    n_wild: int

    def simulate(self, streams, n_rep):
        x = streams("data").standard_normal((n_rep, 2))
        x[: self.n_wild, 1] += 1e6
        return {"x": x, "steps": np.round(x)}


def test_what_lies_far_out_is_said_and_where_most_of_it_is(tmp_path, capsys):
    looking = [outlier_rate("x", beyond=100), outlier_rate("steps", beyond=1e9), mean("x")]
    axes = {"method": ("tame", "wild")}
    found = Study("wild", grid(Wild, n_wild=[0, 2, 3]), looking, axes=axes, block_size=100)
    assert format_outliers(found.run(100)) == [
        "5 of 600 values of x lie more than 100 robust standard deviations from their median, in 2 "
        "of 6 cells. They are in every measure."
    ]
    wild = found.run(100, out=tmp_path)
    print_closing(wild, publish(wild, figures=False, report=False))
    assert "outliers: 5 of 600 values of x lie more than 100 robust" in capsys.readouterr().out
    tame = Study("wild", [Wild(0)], looking, axes=axes, block_size=100)
    assert format_outliers(tame.run(100)) == []
