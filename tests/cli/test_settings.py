"""The command line's own settings."""

import pytest

from simstudy.cli.project import PACKAGE_CONF
from simstudy.cli.settings import Scale
from simstudy.engine.workers import BACKENDS


def test_every_backend_can_be_chosen():
    files = {path.stem for path in (PACKAGE_CONF / "backend").glob("*.yaml")}
    assert files == {*BACKENDS, "slurm_dask"}, "which is dask, told how to start its workers"


@pytest.mark.parametrize(
    ("times", "n_rep", "published", "expected"),
    [
        (None, None, 700, 700),
        (0.2, None, 700, 140),
        (None, 50, 700, 50),
        (0.2, 50, 700, 50),
        (0.2, 50, 100, 20),
        (0.2, 50, 2, 1),
    ],
)
def test_a_scale_is_so_many_replicates_or_so_many_times_the_published(
    times, n_rep, published, expected
):
    assert Scale(times, n_rep, "out").replicates(published) == expected
