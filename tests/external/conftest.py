"""A table of replicates, which no test changes."""

import pytest

from tests.external.tables import long_table


@pytest.fixture(scope="module")
def table():
    return long_table()
