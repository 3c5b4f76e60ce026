import importlib

import pytest

from simstudy import trials


@pytest.mark.parametrize("name", trials.__all__)
def test_every_name_is_there_and_no_module_stands_in_for_it(name):
    found = getattr(trials, name)
    assert importlib.import_module(found.__module__).__name__.startswith("simstudy.trials.")
    assert found.__doc__
