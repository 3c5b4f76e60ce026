"""Every study of this project keeps the contracts that come with simstudy."""

from pathlib import Path

from simstudy.testing import ExperimentContracts


class TestContracts(ExperimentContracts):
    root = Path(__file__).parents[1]
