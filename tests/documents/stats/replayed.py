"""The bootstrap of `arch`, where it is installed: with its own resamples, or with given ones."""

import pytest

NEEDS_DEV = "needs pip install -e '.[dev]'"


def bootstrapped(data, **how):
    return pytest.importorskip("arch.bootstrap", reason=NEEDS_DEV).IIDBootstrap(data, **how)


def replayed(data, resamples):
    """A bootstrap of `data` whose resamples have these indices, one after the other."""
    base = pytest.importorskip("arch.bootstrap", reason=NEEDS_DEV).IIDBootstrap

    class Replayed(base):
        indices_left = iter(())

        def update_indices(self):
            return next(self.indices_left)

    made = Replayed(data)
    made.indices_left = iter(resamples)
    return made
