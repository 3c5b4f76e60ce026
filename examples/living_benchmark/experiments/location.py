"""Which estimate of a centre has the smallest error under which tails?

Aims         Which of the estimates in methods/ is the most precise in each case of dgps/?
Data         Samples of symmetric distributions around 0: every class in dgps/.
Estimands    The centre of symmetry, 0.
Methods      Every function in methods/.
Performance  Mean squared error; one MCSE is some 2% of the value, or less, at the
             default 10,000 replicates.
"""

from dataclasses import dataclass

from simstudy import Study, discover, grid, option
from simstudy.measures import bias, mse


@dataclass
class Config:
    n_obs: list[int] = option("values in a sample", default=[20], at_least=5)


def study(config):
    dgps = discover("dgps").values()
    return Study(
        name="location",
        scenarios=[each for dgp in dgps for each in grid(dgp, n_obs=config.n_obs)],
        methods=discover("methods"),
        measures=[bias("estimate", truth="centre"), mse("estimate", truth="centre")],
        n_rep=10_000,
    )
