"""Contracts that every experiment of a project must keep; a user's test file is one class.

    from pathlib import Path
    from simstudy.testing import ExperimentContracts

    class TestContracts(ExperimentContracts):
        root = Path(__file__).parents[1]

Every experiment in `root` is run once, at smoke scale, into a temporary folder. `exact()` is
compared with up to 100 blocks of each study. An experiment whose data or libraries are missing on
this machine (it raises `NotHereError`) is skipped.

The contracts cannot detect columns that depend on `n_rep`, or that are centred across the
replicates of a block. `simulate` always gets `block_size`, so such rows are the same in every run
although they are not independent.
"""

from simstudy.testing.contracts import ExperimentContracts

__all__ = ["ExperimentContracts"]
