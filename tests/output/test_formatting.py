"""Numbers, sizes and times read as they should."""

from dataclasses import replace

from simstudy import Result
from simstudy.output.formatting import format_precision, format_size, format_work
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
