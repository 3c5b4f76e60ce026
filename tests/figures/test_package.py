import importlib

import pytest

from simstudy import figures


@pytest.mark.parametrize("name", figures.__all__)
def test_every_name_is_there_and_no_module_stands_in_for_it(name):
    found = getattr(figures, name)
    assert callable(found)
    assert importlib.import_module(found.__module__).__name__.startswith("simstudy.figures.")
    assert found.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'simstudy\.figures' has no attribute 'pie_chart'"):
        _ = figures.pie_chart


def test_dir_lists_what_can_be_had():
    assert dir(figures) == sorted(figures.__all__)
