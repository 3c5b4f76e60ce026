"""Settings shared by configurations of trials."""

from dataclasses import dataclass, fields
from typing import Any

from simstudy.documents.dgps.fits import DRAWS
from simstudy.options import option


@dataclass
class LinearConfig:
    """Settings of the data of every study of a least-squares fit."""

    n_feature: int = option("features", at_least=1)
    coefficient: float = option("size of every coefficient", above=0, at_most=1e6)
    draws: str = option(
        "fits and errors from their exact laws, or from features and responses", one_of=DRAWS
    )
    n_rep: int = option("published replicates in each scenario", at_least=1)


@dataclass
class TrialConfig:
    """Settings of every study of models, apart from its data, models and metrics."""

    n_test: list[int] = option("observations that the bound comes from", at_least=10)
    k: float = option("standard errors from the test metric to the bound", above=0, at_most=30)
    alpha: float = option("size of the test given a true null", above=0, below=1)
    power: float = option("power that the prospective sample is to give", above=0, below=1)
    n_train: int = option("observations that the models learn from", at_least=10)
    n_boot: int = option("bootstrap resamples", at_least=2)
    n_truth: int = option("fresh observations behind each true metric", at_least=1000)
    n_rep: int = option("replicates for each kind of data", at_least=1)

    def trial(self) -> dict[str, Any]:
        """These settings as `model_trial_study` takes them."""
        return {field.name: getattr(self, field.name) for field in fields(TrialConfig)}
