"""Contracts that every experiment of a project must keep; a user's test file is one class.

    from pathlib import Path
    from simstudy.testing import ExperimentContracts

    class TestContracts(ExperimentContracts):
        root = Path(__file__).parents[1]

Every experiment in `root` is run once, at smoke scale, into a temporary folder. `exact()` is held
against up to 100 blocks of each study.

An experiment whose data or libraries are not on this machine (it raises `NotHereError`) is skipped.

What the contracts cannot see: columns that depend on the number of replicates asked for, or that
are centred across the replicates of a block. `simulate` always gets `block_size`, and a block is
part of the study's identity, so such rows are the same in every run and still not independent.
"""

from simstudy.testing.contracts import ExperimentContracts

__all__ = ["ExperimentContracts"]
