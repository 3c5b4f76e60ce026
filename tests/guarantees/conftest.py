"""One server of projects for the tests of a file."""

from collections.abc import Iterator

import pytest

from tests.guarantees.projects import Projects


@pytest.fixture(scope="module")
def projects() -> Iterator[Projects]:
    running = Projects()
    yield running
    running.close()
