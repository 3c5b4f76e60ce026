"""One server of projects for all tests of a process."""

from collections.abc import Iterator

import pytest

from tests.guarantees.projects import Projects


@pytest.fixture(scope="session")
def projects() -> Iterator[Projects]:
    running = Projects()
    yield running
    running.close()
