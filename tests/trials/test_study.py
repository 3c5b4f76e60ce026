"""A study of trials of models, as its docstring shows it."""

import doctest

from simstudy.trials.study import model_trial_study


def test_the_example_of_the_docstring_runs():
    found = doctest.DocTestFinder().find(model_trial_study, globs={})
    assert sum(len(test.examples) for test in found) > 5
    runner = doctest.DocTestRunner()
    assert [runner.run(test).failed for test in found] == [0]
