"""The cells of the report on leave-one-out standard errors, which two studies draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simstudy.design import grid
from simstudy.documents.scenarios.leave_one_out import LeaveOneOut
from simstudy.options import option


@dataclass
class CellsConfig:
    """Factors that every study of these cells sweeps.

    The report leaves two settings open, and both studies read them alike: p and σ of few
    observations are those of many, and σ under the wide prior is 1.
    """

    n_obs: list[int] = option("observations", at_least=2)
    n_feature: list[int] = option("features", at_least=1)
    noise_sd: list[float] = option("standard deviations of the errors", above=0)
    high_p: list[int] = option("features under a wide prior", at_least=1)
    high_p_n_obs: int = option("observations with that many features", at_least=2)
    high_p_noise_sd: list[float] = option("standard deviations of their errors", above=0)
    n_draw: int = option("draws of the Bayesian bootstrap", at_least=2)
    n_rep: int = option("published replicates in each scenario", at_least=1)


def cells(config: CellsConfig, n_obs: Sequence[int], **common: Any) -> list[LeaveOneOut]:
    """Scenarios under the default prior, then those of many features under the wide one.

    Parameters
    ----------
    config
        Factors of the sweep.
    n_obs
        Observations under the default prior, in the order of the scenarios.
    **common
        Fields of every scenario, each a list with one level.
    """
    ordinary = grid(
        LeaveOneOut,
        n_obs=n_obs,
        noise_sd=config.noise_sd,
        n_feature=config.n_feature,
        n_draw=config.n_draw,
        **common,
    )
    many_features = grid(
        LeaveOneOut,
        n_obs=config.high_p_n_obs,
        noise_sd=config.high_p_noise_sd,
        n_feature=config.high_p,
        prior="wide",
        n_draw=config.n_draw,
        **common,
    )
    return [*ordinary, *many_features]
