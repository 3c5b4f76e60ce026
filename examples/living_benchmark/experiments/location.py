"""Which estimate of a centre has the smallest error under which tails?

Aims         Which of the estimates in methods/ is the most precise in each case of dgps/?
Data         Samples of symmetric distributions around 0: every class in dgps/.
Estimands    The centre of symmetry, 0.
Methods      Every function in methods/.
Performance  Mean squared error; one MCSE is some 2% of the value, or less, at the
             default 10,000 replicates.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from simstudy import Study, grid, option
from simstudy.measures import bias, mse


@dataclass
class Config:
    n_obs: list[int] = option("values in a sample", default=[20], at_least=5)


def each_file(folder):
    """What each file defines under its own name, `trimmed` or `HeavyTails`; entries of dicts."""
    found = {}
    for path in sorted((Path(__file__).parents[1] / folder).glob("[!_]*.py")):
        defined = vars(import_module(f"{folder}.{path.stem}"))
        name = path.stem if path.stem in defined else path.stem.title().replace("_", "")
        entries = defined[name] if isinstance(defined[name], dict) else {path.stem: defined[name]}
        found |= entries
    return found


def study(config):
    dgps = each_file("dgps").values()
    return Study(
        name="location",
        scenarios=[each for dgp in dgps for each in grid(dgp, n_obs=config.n_obs)],
        methods=each_file("methods"),
        measures=[bias("estimate", truth="centre"), mse("estimate", truth="centre")],
        n_rep=10_000,
    )
