"""Without a library of an extra, the command says in one line which extra to install."""

import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from simstudy import Rules, Study, each_replicate, grid
from simstudy.cli.project import in_own_code
from simstudy.errors import EXTRAS, ConfigError, NotHereError, SimstudyError
from tests.cli.projects import python
from tests.support import INLINE, ROOT, on

DISTRIBUTIONS = {"dask": "distributed", "sklearn": "scikit-learn", "dask_jobqueue": "dask-jobqueue"}
CLUSTER = {"cluster": "dask_jobqueue:SLURMCluster"}
LAUNCHER = """
import sys
try:
    import hydra_plugins
    hydra_plugins.__path__ = []
except ImportError:
    pass
from simstudy.cli import main
sys.exit(main(sys.argv[1:]))
"""
SWEEP = ("run", "-m", "experiment=two_stage", "seed=1,2")


@dataclass(frozen=True)
class Normal:
    n_obs: int

    def draw(self, streams, n_rep):
        return {"x": streams("data").standard_normal((n_rep, self.n_obs))}


def average(x):
    return {"mean": x.mean(axis=1)}


def install(extra: str) -> str:
    return rf"Install it: pip install 'simstudy\[{extra}\]'\.$"


def without(monkeypatch, *modules):
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)


def study(method=average):
    return Study("toy", grid(Normal, n_obs=[3]), methods={"own": method}, n_rep=10)


@pytest.mark.parametrize("module", EXTRAS)
def test_the_extra_brings_the_library(module):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    brought = project["optional-dependencies"][EXTRAS[module]]
    name = DISTRIBUTIONS.get(module, module)
    assert any(needed.startswith(name) for needed in brought)


@pytest.mark.parametrize(
    ("module", "options", "extra"),
    [("distributed", {}, "dask"), ("dask_jobqueue", CLUSTER, "slurm")],
)
def test_a_backend_names_the_extra(module, options, extra, monkeypatch):
    without(monkeypatch, module)
    with pytest.raises(ConfigError, match=install(extra)):
        study().run(10, **on("dask", 1, backend_options=options))


def test_a_cluster_that_cannot_submit_is_refused_at_once(monkeypatch):
    """It waited for ever for workers."""
    cluster = SimpleNamespace(SLURMCluster=SimpleNamespace(job_cls=Job))
    monkeypatch.setitem(sys.modules, "dask_jobqueue", cluster)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        ConfigError, match="submits jobs with sbatch --quiet, which is not on the PATH"
    ):
        study().run(10, **on("dask", 1, backend_options=CLUSTER))


class Job:
    submit_command = "sbatch --quiet"


def test_a_method_without_its_library_is_no_mistake_in_the_study(monkeypatch):
    def own(x):
        import numba

        return {"x": numba.njit(x)}

    def translated(x):
        try:
            return own(x)
        except ImportError as error:
            said = "it needs numba. Install it: pip install 'simstudy[kernels]'."
            raise SimstudyError(said) from error

    without(monkeypatch, "numba")
    for method in (own, translated):
        with pytest.raises(NotHereError, match=install("kernels")) as found:
            study(method).run(10, **INLINE)
        assert "mistake" not in str(found.value)
        assert str(found.value).count("pip install") == 1


def test_a_library_that_is_missing_in_a_later_block_is_not_recorded_as_a_failure():
    """Another machine may lack it: the run ends, also where failures are allowed."""

    def lacking(x):
        if x[0] > 0:  # the sign of the first observation: both occur
            import module_of_nobody  # noqa: F401
        return {"x": x[0]}

    for rules in (Rules(), Rules(max_failed=1.0)):
        made = replace(study(each_replicate(lacking)), rules=rules, block_size=1)
        with pytest.raises(NotHereError, match=r"toy: .*No module named 'module_of_nobody'.*line"):
            made.run(10, **INLINE)


def test_an_experiment_without_its_library_need_not_be_mended(monkeypatch):
    without(monkeypatch, "sklearn")
    with (
        pytest.raises(ConfigError, match=install("models")),
        in_own_code(Path(__file__), ROOT, "Config cannot be made"),
    ):
        import sklearn  # noqa: F401


def test_a_launcher_names_the_extra(tmp_path):
    done = python(ROOT, "-c", LAUNCHER, *SWEEP, f"out={tmp_path}", "hydra/launcher=slurm")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "hydra-submitit-launcher is not installed" in done.stderr
    assert "pip install 'simstudy[slurm]'" in done.stderr
